# SPDX-License-Identifier: MIT
"""Tuning of kernels that are written in Python, by the program `tegula tune`. It keeps results on disk."""

import inspect
import itertools
import json
import operator
import os
import pathlib
import shutil
import subprocess
import tempfile

from ._kernels import Kernel, _dtypes

_LONG = 512  # Candidates are checked with shorter tensors. Dimensions that are not longer stay as they are.


class Tuned:
    """The fastest of the candidates that `Kernel.tune` has tried. Calling it with the arguments of the kernel launches it."""

    def __init__(self, kernel, grid, constants, milliseconds):
        self.kernel, self.grid, self.constants, self.milliseconds = kernel, grid, constants, milliseconds

    @property
    def schedule(self):
        """The fields of the schedule; empty if the compiler's choice was the fastest."""
        return self.kernel.schedule

    def __call__(self, *arguments):
        names = dict(zip(self.kernel.argument_names, arguments))
        self.kernel[_call_grid(self.grid, names, self.constants)](*arguments, **self.constants)

    def __repr__(self):
        return (f"Tuned({self.kernel.__name__}, constants={self.constants}, schedule={self.schedule!r}, "
                f"milliseconds={self.milliseconds})")


class _Size:
    """A number that only the tuning program knows, as the text of an expression."""

    def __init__(self, text):
        self.text = text

    def _binary(word, swapped=False):
        def method(self, other):
            if not isinstance(other, (_Size, int)):
                return NotImplemented
            pair = (other, self) if swapped else (self, other)
            return _Size(f"({_text(pair[0])} {word} {_text(pair[1])})")
        return method

    __add__, __radd__ = _binary("+"), _binary("+", True)
    __sub__, __rsub__ = _binary("-"), _binary("-", True)
    __mul__, __rmul__ = _binary("*"), _binary("*", True)
    __floordiv__, __rfloordiv__ = _binary("/"), _binary("/", True)
    __mod__, __rmod__ = _binary("%"), _binary("%", True)

    def _refuse(self, *_):
        raise TypeError("the grid of a tuning is also computed for shorter tensors: it may add, subtract, multiply and divide "
                        "(// and %) lengths, and may not look at their values")

    __bool__ = __int__ = __index__ = __float__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __truediv__ = _refuse
    __hash__ = None


class _Shape:
    """Stands for a tensor in the grid's function."""

    def __init__(self, shape):
        self.shape = shape

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]


def _text(size):
    return size.text if isinstance(size, _Size) else str(operator.index(size))


def _call_grid(grid, arguments, constants):
    """Returns the grid for these arguments and constants. A function gets those that its parameters name."""
    if not callable(grid):
        return grid
    values = arguments | constants
    names = list(inspect.signature(grid).parameters)
    unknown = [name for name in names if name not in values]
    if unknown:
        raise TypeError(f"the grid has the parameter '{unknown[0]}'; it may have those of the kernel: {', '.join(values)}")
    return grid(**{name: values[name] for name in names})


def _tool():
    """Returns the program `tegula`, which is next to the compiler, in the package or on the PATH."""
    compiler = os.environ.get("TEGULA_CC")
    folders = [pathlib.Path(compiler).parent] if compiler else []
    for folder in (*folders, pathlib.Path(__file__).parent):
        if os.access(folder / "tegula", os.X_OK):
            return str(folder / "tegula")
    found = shutil.which("tegula")
    if found is None:
        raise RuntimeError("there is no program `tegula` next to tegula-cc, in the package or on the PATH; it tunes kernels")
    return found


def _described(arguments):
    """Returns the options of the program that describe the arguments, and what the grid sees in their place. Long dimensions
    of one length are one size."""
    options, stand_ins, sizes = [], {}, {}
    for name, value in arguments.items():
        if not hasattr(value, "shape"):
            options += ["--arg", f"{name}={value}"]
            stand_ins[name] = value
            continue
        shape = [sizes.setdefault(n, _Size(f"{name}_{axis}")) if n > _LONG else n for axis, n in enumerate(value.shape)]
        options += ["--arg", f"{name}={_dtypes()[value.dtype]}[{','.join(map(_text, shape))}]"]
        stand_ins[name] = _Shape(shape)
    if sizes:
        options += ["--size", ",".join(f"{size.text}={n}" for n, size in sizes.items())]
    return options, stand_ins


def _choices(constants):
    """Returns all choices of constants. A list stands for each of its values."""
    values = [value if isinstance(value, list) else [value] for value in constants.values()]
    return [dict(zip(constants, choice)) for choice in itertools.product(*values)]


def _gpu(device):
    """Returns the environment in which another process sees only this GPU."""
    if device is None or device.type != "cuda":
        return {}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return {"CUDA_VISIBLE_DEVICES": visible.split(",")[device.index] if visible else str(device.index)}


def tune(kernel, grid, arguments, constants, seconds, again):
    """Does what Kernel.tune describes. `arguments` are by name."""
    device, choices = kernel.device_of(arguments), _choices(constants)
    texts = [kernel.text_for(arguments, choice) for choice in choices]
    options, stand_ins = _described(arguments)
    with tempfile.TemporaryDirectory() as folder:
        command = [_tool(), "tune", "--budget", str(seconds), "--json", f"{folder}/result",
                   "--target", "cpu" if device is None else device.type, *(["--again"] if again else []), *options]
        for number, (choice, text) in enumerate(zip(choices, texts)):
            pathlib.Path(folder, str(number)).write_text(text)
            blocks = _call_grid(grid, stand_ins, choice)
            blocks = ",".join(map(_text, blocks if isinstance(blocks, tuple) else (blocks,)))
            command += ["--grid", blocks, f"{folder}/{number}"]
        done = subprocess.run(command, env=os.environ | _gpu(device), capture_output=True, text=True)
        result = pathlib.Path(folder, "result")
        found = json.loads(result.read_text()) if result.exists() else {}
    best = found.get("best")
    if best is None:
        raise RuntimeError(f"kernel '{kernel.__name__}': no candidate was timed: {(done.stderr or done.stdout).strip()}")
    fastest = found["candidates"][best]
    tuned = Kernel(kernel, fastest["schedule"], kernel.check_finite, kernel.device_asserts)
    return Tuned(tuned, grid, choices[int(fastest.get("program", 0))], fastest["ms"])
