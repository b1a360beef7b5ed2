# SPDX-License-Identifier: MIT
"""Kernels that are written in Python: what tegula.kernel returns."""

import functools
import inspect
import operator
import sys

from tegula import _language
from tegula.language import Scalar, Tensor

_FINITE_CHECKS = {None: 0, "nan": 1, "inf": 2}  # TEGULA_FINITE_... of tegula.h


def kernel(function=None, *, schedule="", check_finite=None, device_asserts=False):
    """Makes a kernel of a function over tiles.

    Parameters with the annotations tegula.language.Tensor and Scalar are arguments of a launch. All others are
    constants: each set of values is another program. `schedule` is a line such as "num_warps=4"; the compiler chooses
    fields that it does not have. With check_finite="nan", or "inf", a launch raises for the first element that is not
    finite. With device_asserts=True it raises for the first tl.device_assert whose condition is false.
    """
    if function is None:
        return lambda function: Kernel(function, schedule, check_finite, device_asserts)
    return Kernel(function, schedule, check_finite, device_asserts)


class Kernel:
    """A function over tiles, with its programs. `kernel[grid](...)` launches it; the grid has one to three numbers.

    Calling it without a grid, inside another kernel, records its operations there.
    """

    def __init__(self, function, schedule, check_finite=None, device_asserts=False):
        if check_finite not in _FINITE_CHECKS:
            raise ValueError(f'check_finite is {check_finite!r}; legal are None, "nan" and "inf"')
        function = getattr(function, "function", function)  # Another kernel's, to give it another schedule.
        if not inspect.isfunction(function):
            raise TypeError(f"tegula.kernel takes a function, not {function!r}")
        functools.update_wrapper(self, function)
        self.function, self.schedule, self.check_finite = function, schedule, check_finite
        self.device_asserts = device_asserts
        self.signature = inspect.signature(function, eval_str=True)
        self._arguments, self._constants = {}, {}  # Annotations of arguments, and defaults of constants.
        for name, parameter in self.signature.parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise TypeError(f"kernel '{self.__name__}': '{parameter}' has no name; each parameter needs one")
            if isinstance(parameter.annotation, (Tensor, Scalar)):
                self._arguments[name] = parameter.annotation
            else:
                self._constants[name] = parameter.default
        self.argument_names = list(self._arguments)
        self._are_first = list(self.signature.parameters)[:len(self.argument_names)] == self.argument_names
        self._tensors = [i for i, spec in enumerate(self._arguments.values()) if isinstance(spec, Tensor)]
        self._open = [i for i, spec in enumerate(self._arguments.values()) if spec.dtype is None]
        self._texts, self._compiled = {}, {}

    def __call__(self, *arguments, **constants):
        return self.function(*arguments, **constants)

    def __getitem__(self, grid):
        grid = tuple(map(operator.index, grid if isinstance(grid, tuple) else (grid,)))
        if not 1 <= len(grid) <= 3:
            raise ValueError(f"kernel '{self.__name__}': the grid has {len(grid)} axes; it may have 1 to 3")
        # Nothing is traced before torch._dynamo is imported, which takes seconds.
        launch = self._launch_outside_graphs if "torch._dynamo" in sys.modules else self._launch
        return functools.partial(launch, grid + (1,) * (3 - len(grid)))

    def record(self, *dtypes, **constants):
        """Returns the text of the program. `dtypes` are the types of the tensors whose annotation leaves them open."""
        if len(dtypes) != len(self._open):
            raise TypeError(f"kernel '{self.__name__}': {len(self._open)} tensors have open types, and {len(dtypes)} "
                            "types are given")
        return self._text(dtypes, self._complete(constants))

    def tune(self, grid, *given, seconds=60, again=False, **named):
        """Finds the fastest constants and schedule, and returns Tuned: `tuned(*arguments)` launches what was found.

        A constant that is a list stands for each of its values. `grid` is as for a launch, or a function that returns it: its
        parameters have names of parameters of the kernel, and it is also called with shorter tensors. Each candidate is
        compared with the kernel on the cores of this machine, on random numbers, and only their types and shapes come from
        the arguments. This takes up to `seconds`. The result is kept on disk for this kernel, device, driver and compiler,
        and measured only once, or `again`. `tegula tune` is the program that does it.

        Raises RuntimeError if no candidate is right.
        """
        from tegula import _tune
        arguments, constants = self._split(given, named)
        return _tune.tune(self, grid, dict(zip(self.argument_names, arguments)), constants, seconds, again)

    def text_for(self, arguments, constants):
        """Returns the text of the program for arguments, by name, and constants."""
        values = list(arguments.values())
        return self._text(tuple(self._dtype(i, values[i]) for i in self._open), constants)

    def device_of(self, arguments):
        """Returns the device of the tensors among the arguments, which are by name; None if there is no tensor."""
        values = list(arguments.values())
        return self._device([values[i] for i in self._tensors])

    @functools.cached_property
    def _launch_outside_graphs(self):
        import torch
        return torch.compiler.disable(self._launch, reason="kernels of Tegula are launched outside of graphs")

    def _launch(self, grid, *given, **named):
        arguments, constants = self._split(given, named)
        tensors = [arguments[i] for i in self._tensors]
        device = self._device(tensors)
        dtypes = tuple(self._dtype(i, arguments[i]) for i in self._open)
        key = device, dtypes, *map(_key, constants.values())
        try:
            compiled = self._compiled.get(key)
        except TypeError as error:
            raise TypeError(f"kernel '{self.__name__}': a constant has no hash: {error}") from None
        if compiled is None:
            compiled = self._compiled[key] = self._compile(device, dtypes, constants)
        compiled.launch(grid, arguments, _codes(), _stream(device))

    def _split(self, given, named):
        """Returns the arguments of a launch, as a list, and all constants by name."""
        if self._are_first and len(given) == len(self._arguments):
            return given, self._complete(named)
        try:
            bound = self.signature.bind(*given, **named).arguments
        except TypeError as error:
            raise TypeError(f"kernel '{self.__name__}': {error}") from None
        return [bound.pop(name) for name in self._arguments], self._complete(bound)

    def _complete(self, constants):
        for name in constants:
            if name not in self._constants:
                raise TypeError(f"kernel '{self.__name__}': there is no constant '{name}'")
        constants = self._constants | constants
        for name, value in constants.items():
            if value is inspect.Parameter.empty:
                raise TypeError(f"kernel '{self.__name__}': the constant '{name}' is missing")
        return constants

    def _device(self, tensors):
        for i, tensor in zip(self._tensors, tensors):
            if not hasattr(tensor, "data_ptr"):
                raise TypeError(f"kernel '{self.__name__}': argument '{self.argument_names[i]}': expected a tensor, "
                                f"got {type(tensor).__name__}")
            if tensor.device != tensors[0].device:
                raise RuntimeError(f"kernel '{self.__name__}': argument '{self.argument_names[i]}' is on {tensor.device}, and "
                                   f"'{self.argument_names[self._tensors[0]]}' is on {tensors[0].device}")
        return tensors[0].device if tensors else None

    def _dtype(self, i, tensor):
        if tensor.dtype not in _dtypes():
            raise RuntimeError(f"argument '{self.argument_names[i]}': kernels have no type {tensor.dtype}")
        return _dtypes()[tensor.dtype]

    def _text(self, dtypes, constants):
        key = dtypes, *map(_key, constants.values())
        if key not in self._texts:
            self._texts[key] = self._recorded(dtypes, constants)
        return self._texts[key]

    def _recorded(self, dtypes, constants):
        types = dict(zip(self._open, dtypes))
        parameters = [(name, types.get(i, spec.dtype), spec.rank if isinstance(spec, Tensor) else None)
                      for i, (name, spec) in enumerate(self._arguments.items())]
        code = self.function.__code__
        return _language._record(self.__name__, code.co_filename, code.co_firstlineno, parameters,
                                 lambda *values: self.function(**dict(zip(self._arguments, values)), **constants))

    def _compile(self, device, dtypes, constants):
        ordinal, threads = -1, 0
        if device is not None and device.type == "cuda":
            ordinal = device.index
        elif device is None or device.type == "cpu":
            import torch
            threads = torch.get_num_threads()
        else:
            raise RuntimeError(f"kernel '{self.__name__}': tegula computes on CPUs and CUDA devices, not on {device}")
        return _language._CompiledKernel(self._text(dtypes, constants), self.schedule, ordinal, threads,
                                         _FINITE_CHECKS[self.check_finite], self.device_asserts)


def _key(constant):
    """Returns what tells a constant from others. 1, 1.0 and True are equal in Python; so are 0.0 and -0.0."""
    if type(constant) is float:
        return float, constant.hex()
    if isinstance(constant, tuple):
        return type(constant), *map(_key, constant)
    return type(constant), constant


def _stream(device):
    if device is None or device.type != "cuda":
        return 0
    import torch
    return torch.cuda.current_stream(device).cuda_stream


@functools.cache
def _dtypes():
    """Returns the types of the language by those of PyTorch."""
    import torch
    return {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float8_e4m3fn: "e4m3",
            torch.int64: "i64", torch.int32: "i32", torch.int8: "i8", torch.uint8: "i8", torch.bool: "i1"}


@functools.cache
def _codes():
    """Returns the numbers of types in tegula.h by the types of PyTorch."""
    numbers = {"f32": 0, "f16": 1, "bf16": 2, "i64": 3, "i32": 4, "i8": 5, "i1": 5, "e4m3": 6}  # Conditions are bytes in memory.
    return {dtype: numbers[name] for dtype, name in _dtypes().items()}
