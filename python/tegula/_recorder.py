# SPDX-License-Identifier: MIT
"""Records score_mod, prob_mod and mask_mod functions as the variant text of the library (docs/kernels.md).

A function is called once, with objects that stand for its scalar tensors. They write a line for each operation. The tensors
that it captures are found where it indexes them.
"""

import functools
import math
import numbers
import os
import sys
import typing

import torch

from ._fingerprint import Unknown, fingerprint

# Names of files begin with these if they are not a user's. The last one is the code of a graph.
_INNER = (*(os.path.join(os.path.dirname(file), "") for file in (__file__, torch.__file__)), "<eval_with_key>")


class NotRecorded(NotImplementedError):
    """An operation that a recorded function must not have."""

    def __init__(self, message, lines=None):
        """`lines` are pairs of a file and a line's number, the innermost first; None stands for those that are executed now."""
        self.message = message
        where = next((f" ({file}:{line})" for file, line in lines or _executed() if not file.startswith(_INNER)), "")
        super().__init__(f"tegula.flex_attention: {message}{where}")


def _executed():
    frame = sys._getframe(1)
    while frame:
        yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back


class Recorded(typing.NamedTuple):
    """The text of functions, and the tensors that they capture, as kernels read them."""
    text: str
    learnt: list    # Those that want a gradient.
    constant: list  # The others.
    of_mask: list   # Those that the mask_mod captures, as they were captured.


class Text:
    """The text of a variant while functions are recorded, and the tensors that they capture."""

    def __init__(self, dtype, device):
        self.dtype, self.device = dtype, device
        self.lines, self.names = [], {}  # Equal expressions have one name.
        self.captured = {}               # By the id of a tensor, and if it learns: its name, itself, what kernels read.
        self.of_mask = {}                # By the id: the tensors that the mask_mod captures.
        self.symbols = {}                # By the id of a symbolic number of a graph: the number itself, and a tensor of it.
        self.learns = False              # Captured tensors may want a gradient.

    def define(self, expression, kind, at_least_0=False):
        if expression not in self.names:
            self.names[expression] = f"v{len(self.names)}"
            self.lines.append(f"{self.names[expression]} = {expression}")
        return Scalar(self, self.names[expression], kind, at_least_0)

    def record(self, function, output):
        """Adds the line of the function's result: `score`, `probability` or `mask`."""
        self.learns = output != "mask"
        inputs = [Scalar(self, name, "int", True) for name in ("batch", "head", "query", "key")]
        if self.learns:
            inputs.insert(0, Scalar(self, output, "float"))
        result = _scalar(self, function(*inputs), f"the result of a {_FUNCTIONS[output]}")
        result = _as_float(result) if self.learns else _as_bool(result)
        if result.name not in (output, "true"):
            self.lines.append(f"{output} = {result.name}")

    def capture(self, tensor):
        """Returns the name of a tensor, and what kernels read: a tensor of at least one dimension, in a type of the library."""
        key = id(tensor), self.learns and tensor.requires_grad and torch.is_grad_enabled()
        if key not in self.captured:
            read = tensor
            if read.device != self.device:
                if read.dim() > 0:
                    raise NotRecorded(f"a captured tensor is on {read.device}, and query is on {self.device}")
                read = read.to(self.device)
            if read.dtype == torch.float64:
                read = read.float()
            elif read.dtype in (torch.uint8, torch.int16, torch.uint16):
                read = read.int()
            if read.dtype not in _TYPES:
                raise NotRecorded(f"a captured tensor is {read.dtype}; kernels read {', '.join(map(str, _TYPES))}")
            if read.dim() > 5:
                raise NotRecorded(f"a captured tensor has {read.dim()} dimensions; it may have 5")
            if read.numel() == 0:
                raise NotRecorded(f"a captured tensor has the shape {tuple(read.shape)}; it must have elements")
            self.captured[key] = f"c{len(self.captured)}", tensor, read if read.dim() else read.reshape(1)
        if not self.learns:
            self.of_mask[id(tensor)] = tensor
        name, _, read = self.captured[key]
        return name, read

    def tensor_of(self, symbol):
        """Returns a tensor of a symbolic number, so that the text does not depend on its value."""
        if id(symbol) not in self.symbols:
            dtype = torch.int32 if isinstance(symbol, torch.SymInt) else torch.float32
            if dtype == torch.int32:
                for fits in (-2**31 < symbol, symbol < 2**31):
                    torch._check(fits, lambda: f"tegula.flex_attention: the number {symbol} has more than 32 bits")
            self.symbols[id(symbol)] = symbol, torch.scalar_tensor(symbol, dtype=dtype, device=self.device)
        return self.symbols[id(symbol)][1]

    def finish(self):
        """Returns what was recorded; the text is empty if nothing was."""
        if not any(line.startswith(tuple(f"{output} =" for output in _FUNCTIONS)) for line in self.lines):
            return Recorded("", [], [], [])
        captured = [(learns, name, read) for (_, learns), (name, _, read) in self.captured.items()]
        captured.sort(key=lambda entry: not entry[0])
        tensors = [f"tensor {name} {_TYPES[read.dtype]}[{', '.join(['any'] * read.dim())}]{' gradient' if learns else ''}"
                   for learns, name, read in captured]
        text = "\n".join(["variant 1", *tensors, *self.lines, ""])
        learnt, constant = ([read for learns, _, read in captured if learns == wanted] for wanted in (True, False))
        return Recorded(text, learnt, constant, list(self.of_mask.values()))


_FUNCTIONS = {"score": "score_mod", "probability": "prob_mod", "mask": "mask_mod"}  # By the lines of the text.
_TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float8_e4m3fn: "e4m3", torch.int64: "i64",
          torch.int32: "i32", torch.int8: "i8", torch.bool: "i1"}


class Scalar:
    """A scalar tensor of a recorded function."""

    def __init__(self, text, name, kind, at_least_0=False, literal=None):
        self._text, self.name, self.kind, self._at_least_0, self._literal = text, name, kind, at_least_0, literal

    dtype = property(lambda self: {"float": self._text.dtype, "int": torch.int32, "bool": torch.bool}[self.kind])
    device = property(lambda self: self._text.device)
    shape = property(lambda self: torch.Size())
    ndim = property(lambda self: 0)
    requires_grad = property(lambda self: False)

    def size(self, *axes):
        return torch.Size()

    def dim(self):
        return 0

    def numel(self):
        return 1

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        name = function.__name__
        if name == "__getitem__":
            return _read(*args)
        given = {key: x for key, x in (kwargs or {}).items() if (key, x) not in (("inplace", False), ("out", None))}
        return _call(name, *args, **given)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in _OPERATIONS:
            raise NotRecorded(f"there is no '{name}' in kernels")
        return functools.partial(_call, name, self)

    def __bool__(self):
        raise NotRecorded("a value decides a branch ('if', 'and', 'or', 'not'), which is not known while the function is "
                          "recorded; use torch.where, '&', '|' and '~'")

    def _number(self):
        raise NotRecorded("a value is converted to a number of Python, which is not known while the function is recorded")

    __int__ = __float__ = __index__ = _number
    __hash__ = object.__hash__


class Row:
    """A captured tensor of which some leading dimensions are indexed."""

    def __init__(self, text, tensor, indices):
        self._text, self._tensor, self._indices = text, tensor, indices

    def __getitem__(self, index):
        return _read(self._tensor, (*self._indices, *(index if isinstance(index, tuple) else (index,))), self._text)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise NotRecorded(f"'{function.__name__}' is given a row of a captured tensor; functions compute with single elements")

    def _refuse(self, *others):
        raise NotRecorded("an operand is a row of a captured tensor; functions compute with single elements")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = _refuse
    __matmul__ = __rmatmul__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotRecorded(f"'{name}' is asked of a row of a captured tensor; functions compute with single elements")


def _read(tensor, index, text=None):
    """Returns an element of a captured tensor, or a Row."""
    indices = index if isinstance(index, tuple) else (index,)
    text = text or next(x._text for x in indices if isinstance(x, Scalar))
    for x in indices:
        if x is None or x is Ellipsis or isinstance(x, (slice, list)):
            raise NotRecorded(f"a captured tensor is indexed by {x}; each index must be an integer")
    indices = [_scalar(text, x) for x in indices]
    for x in indices:
        if x.kind != "int":
            raise NotRecorded(f"a captured tensor is indexed by {x.dtype}; each index must be an integer")
    if len(indices) > tensor.dim():
        raise NotRecorded(f"a captured tensor of {tensor.dim()} dimensions is indexed by {len(indices)} indices")
    if len(indices) < tensor.dim():
        return Row(text, tensor, indices)
    name, read = text.capture(tensor)
    places = ", ".join(_wrapped(text, x, f"size({name}, {axis})").name for axis, x in enumerate(indices))
    return text.define(f"{name}[{places}]", _kind_of(read.dtype))


def _wrapped(text, index, size):
    """Returns an index that counts from the front. As in PyTorch, a negative one counts from the end."""
    if index._at_least_0:
        return index
    end = text.define(f"{index.name} + {size}", "int")
    return text.define(f"select({index.name} < 0, {end.name}, {index.name})", "int")


def _kind_of(dtype):
    return "bool" if dtype == torch.bool else "float" if dtype.is_floating_point else "int"


def _scalar(text, x, what="an operand"):
    """Returns an operand, or the result of a function, as a Scalar."""
    if isinstance(x, Scalar):
        return x
    if isinstance(x, (bool, torch.SymBool)):
        return Scalar(text, "true" if x else "false", "bool", True, bool(x))
    if isinstance(x, (torch.SymInt, torch.SymFloat)):
        x = text.tensor_of(x)
    if isinstance(x, numbers.Integral):
        if not -2**31 < x < 2**31:
            raise NotRecorded(f"the number {x} has more than 32 bits")
        return Scalar(text, str(int(x)), "int", x >= 0, int(x))
    if isinstance(x, numbers.Real):
        return Scalar(text, repr(float(x)), "float", False, float(x))
    if isinstance(x, torch.Tensor):
        if x.numel() != 1:
            raise NotRecorded(f"{what} is a captured tensor of shape {tuple(x.shape)}; index it by integers such as h or q_idx")
        name, read = text.capture(x)
        return text.define(f"{name}[{', '.join(['0'] * read.dim())}]", _kind_of(read.dtype))
    if isinstance(x, Row):
        raise NotRecorded(f"{what} is a row of a captured tensor; functions compute with single elements")
    raise NotRecorded(f"{what} is {type(x).__name__}; it must be a number or a scalar tensor")


def _as_float(x):
    if x.kind == "float":
        return x
    if x._literal is not None:
        return _scalar(x._text, float(x._literal))
    return x._text.define(f"f32({x.name})", "float")


def _as_number(x):
    if x.kind != "bool":
        return x
    if x._literal is not None:
        return _scalar(x._text, int(x._literal))
    return x._text.define(f"i32({x.name})", "int", True)


def _as_bool(x):
    if x.kind == "bool":
        return x
    if x._literal is not None:
        return _scalar(x._text, bool(x._literal))
    return x._text.define(f"{x.name} != 0", "bool")


#===-- Operations ---------------------------------------------------------------------------------------------------------===#

_OPERATIONS = {}


def _operation(*names, **options):
    """Registers a function of Scalars for operations of PyTorch, with options of its own."""
    def register(function):
        _OPERATIONS.update({name: functools.partial(function, **options) for name in names})
        return function

    return register


def _call(name, *args, **kwargs):
    plain = name[2:-2] if name.startswith("__") else name
    operation = _OPERATIONS.get(plain)
    if operation is None and plain[1:] in _OPERATIONS and name.startswith("__r"):
        operation, args = _OPERATIONS[plain[1:]], args[::-1]
    if operation is None:
        raise NotRecorded(f"there is no '{name}' in kernels")
    text = next((x._text for x in (*args, *kwargs.values()) if isinstance(x, Scalar)), None)
    if text is None:
        raise NotRecorded(f"'{name}' is given no scalar tensor")
    try:
        return operation(text, *args, **kwargs)
    except TypeError as error:
        problem = str(error).partition("() ")[2]
        raise NotRecorded(f"'{name}' has arguments that kernels do not take ({problem})") from None


def _numbers(text, *operands):
    return [_as_number(_scalar(text, x)) for x in operands]


def _common(*operands):
    return "float" if any(x.kind == "float" for x in operands) else "int"


def _all_at_least_0(*operands):
    return all(x._at_least_0 for x in operands)


def _scaled(text, x, alpha):
    return x if alpha == 1 else mul(text, x, alpha)


@_operation("add")
def add(text, a, b, *, alpha=1):
    a, b = _numbers(text, a, _scaled(text, b, alpha))
    return text.define(f"{a.name} + {b.name}", _common(a, b), _all_at_least_0(a, b))


@_operation("sub", "subtract")
def sub(text, a, b, *, alpha=1):
    a, b = _numbers(text, a, _scaled(text, b, alpha))
    return text.define(f"{a.name} - {b.name}", _common(a, b))


@_operation("rsub")
def rsub(text, a, b, *, alpha=1):
    return sub(text, b, a, alpha=alpha)


@_operation("mul", "multiply")
def mul(text, a, b):
    a, b = _numbers(text, a, b)
    return text.define(f"{a.name} * {b.name}", _common(a, b), _all_at_least_0(a, b))


@_operation("truediv", "div", "divide", "true_divide")
def div(text, a, b, *, rounding_mode=None):
    if rounding_mode == "floor":
        return floor_divide(text, a, b)
    a, b = _numbers(text, a, b)
    if rounding_mode is None:
        return text.define(f"{_as_float(a).name} / {_as_float(b).name}", "float")
    if rounding_mode != "trunc" or _common(a, b) == "float":
        raise NotRecorded(f"'div' has the rounding_mode {rounding_mode!r} of {a.dtype} and {b.dtype}; kernels round integers")
    return text.define(f"{a.name} / {b.name}", "int", _all_at_least_0(a, b))


@_operation("floordiv", "floor_divide")
def floor_divide(text, a, b):
    a, b = _integers(text, "floor_divide", a, b)
    if _is_power_of_2(b):
        return text.define(f"{a.name} >> {b._literal.bit_length() - 1}", "int", a._at_least_0)
    if _all_at_least_0(a, b):  # Both roundings agree.
        return text.define(f"{a.name} / {b.name}", "int", True)
    return text.define(f"floorDiv({a.name}, {b.name})", "int")


@_operation("mod", "remainder")
def remainder(text, a, b):
    a, b = _integers(text, "remainder", a, b)
    if _is_power_of_2(b):
        return text.define(f"{a.name} & {b._literal - 1}", "int", True)
    if _all_at_least_0(a, b):
        return text.define(f"{a.name} % {b.name}", "int", True)
    quotient = text.define(f"floorDiv({a.name}, {b.name})", "int")
    product = text.define(f"{quotient.name} * {b.name}", "int")
    return text.define(f"{a.name} - {product.name}", "int", b._at_least_0)


@_operation("fmod")
def fmod(text, a, b):
    a, b = _integers(text, "fmod", a, b)
    return text.define(f"{a.name} % {b.name}", "int", a._at_least_0)


def _is_power_of_2(x):
    """Such divisors take one instruction, whatever the sign of the dividend."""
    return type(x._literal) is int and x._literal > 0 and x._literal & x._literal - 1 == 0


def _integers(text, name, *operands):
    operands = _numbers(text, *operands)
    for x in operands:
        if x.kind != "int":
            raise NotRecorded(f"'{name}' is given {x.dtype}; kernels have it for integers")
    return operands


@_operation("neg", "negative")
def neg(text, x):
    x, = _numbers(text, x)
    return text.define(f"-{x.name}", x.kind)


@_operation("pos", "positive", "clone", "contiguous")
def pos(text, x, **_):
    return x


@_operation("abs", "absolute")
def absolute(text, x):
    x, = _numbers(text, x)
    return text.define(f"abs({x.name})", x.kind, True)


@_operation("square")
def square(text, x):
    return mul(text, x, x)


@_operation("reciprocal")
def reciprocal(text, x):
    return div(text, 1.0, x)


@_operation("pow", "float_power")
def power(text, x, y):
    x, y = _numbers(text, x, y)
    if y.name == "2":
        return mul(text, x, x)
    if _common(x, y) == "int":
        raise NotRecorded("'pow' is given integers; kernels have it for floating-point numbers, and x ** 2 for integers")
    return text.define(f"pow({x.name}, {y.name})", "float")


@_operation("maximum", "max")
def maximum(text, a, b):
    a, b = _numbers(text, a, b)
    return text.define(f"max({a.name}, {b.name})", _common(a, b), a._at_least_0 or b._at_least_0)


@_operation("minimum", "min")
def minimum(text, a, b):
    a, b = _numbers(text, a, b)
    return text.define(f"min({a.name}, {b.name})", _common(a, b), _all_at_least_0(a, b))


@_operation("clamp", "clip")
def clamp(text, x, min=None, max=None):
    x = x if min is None else maximum(text, x, min)
    return x if max is None else minimum(text, x, max)


@_operation("clamp_min")
def clamp_min(text, x, min):
    return maximum(text, x, min)


@_operation("clamp_max")
def clamp_max(text, x, max):
    return minimum(text, x, max)


@_operation("relu")
def relu(text, x):
    return maximum(text, x, 0)


def _real(text, x, *, word):
    x, = _numbers(text, x)
    return text.define(f"{word}({x.name})", "float")


for _name in ("exp", "exp2", "log", "log2", "tanh", "sqrt", "rsqrt", "erf", "sin", "cos", "sigmoid", "silu"):
    _operation(_name, word=_name)(_real)
_operation("expit", word="sigmoid")(_real)  # torch.special.expit


@_operation("gelu")
def gelu(text, x, *, approximate="none"):
    if approximate == "none":
        return _real(text, x, word="gelu")
    inner = mul(text, math.sqrt(2 / math.pi), add(text, x, mul(text, 0.044715, mul(text, x, mul(text, x, x)))))
    return mul(text, mul(text, 0.5, x), add(text, 1.0, _real(text, inner, word="tanh")))


@_operation("log1p")
def log1p(text, x):
    return _real(text, add(text, 1.0, x), word="log")


@_operation("tan")
def tan(text, x):
    return div(text, _real(text, x, word="sin"), _real(text, x, word="cos"))


@_operation("eq", word="==")
@_operation("ne", "not_equal", word="!=")
@_operation("lt", "less", word="<")
@_operation("le", "less_equal", word="<=")
@_operation("gt", "greater", word=">")
@_operation("ge", "greater_equal", word=">=")
def compare(text, a, b, *, word):
    a, b = _numbers(text, a, b)
    return text.define(f"{a.name} {word} {b.name}", "bool", True)


@_operation("logical_and", word="&")
@_operation("logical_or", word="|")
@_operation("logical_xor", word="^")
def logical(text, a, b, *, word):
    a, b = _as_bool(_scalar(text, a)), _as_bool(_scalar(text, b))
    return text.define(f"{a.name} {word} {b.name}", "bool", True)


@_operation("and", "bitwise_and", word="&")
@_operation("or", "bitwise_or", word="|")
@_operation("xor", "bitwise_xor", word="^")
def bitwise(text, a, b, *, word):
    a, b = _scalar(text, a), _scalar(text, b)
    if a.kind == b.kind == "bool":
        return logical(text, a, b, word=word)
    a, b = _integers(text, word, a, b)
    return text.define(f"{a.name} {word} {b.name}", "int", _all_at_least_0(a, b))


@_operation("logical_not")
def logical_not(text, x):
    return text.define(f"!{_as_bool(_scalar(text, x)).name}", "bool", True)


@_operation("invert", "bitwise_not")
def invert(text, x):
    if x.kind == "bool":
        return logical_not(text, x)
    x, = _integers(text, "bitwise_not", x)
    return text.define(f"{x.name} ^ -1", "int")


@_operation("lshift", "bitwise_left_shift", word="<<")
@_operation("rshift", "bitwise_right_shift", word=">>")
def shift(text, a, b, *, word):
    a, b = _integers(text, word, a, b)
    return text.define(f"{a.name} {word} {b.name}", "int", word == ">>" and a._at_least_0)


@_operation("where")
def where(text, condition, a, b):
    condition, a, b = _as_bool(_scalar(text, condition)), _scalar(text, a), _scalar(text, b)
    if a.kind == "bool" and b.kind == "bool":
        kind = "bool"
    else:
        a, b = _numbers(text, a, b)
        kind = _common(a, b)
    return text.define(f"select({condition.name}, {a.name}, {b.name})", kind, _all_at_least_0(a, b))


@_operation("masked_fill")
def masked_fill(text, x, mask, value):
    return where(text, mask, value, x)


@_operation("isfinite")
def isfinite(text, x):
    x, = _numbers(text, x)
    return text.define(f"isFinite({x.name})", "bool", True)


@_operation("isnan")
def isnan(text, x):
    x, = _numbers(text, x)
    return text.define(f"{x.name} != {x.name}", "bool", True)


@_operation("lerp")
def lerp(text, a, b, weight):
    return add(text, a, mul(text, weight, sub(text, b, a)))


#===-- Types --------------------------------------------------------------------------------------------------------------===#


def _cast(text, x, dtype):
    """Returns x in the type of kernels for `dtype`. Kernels compute in float32, whatever floating-point type is asked for."""
    kind = _kind_of(dtype)
    if kind == "float":
        return _as_float(x)
    if kind == "bool":
        return _as_bool(x)
    if x.kind == "int" and dtype != torch.int64:
        return x
    return text.define(f"{'i64' if dtype == torch.int64 else 'i32'}({x.name})", "int", x._at_least_0)


@_operation("to", "type")
def to(text, x, *args, dtype=None, **_):
    for argument in args:
        if isinstance(argument, (torch.Tensor, Scalar)):
            argument = argument.dtype
        dtype = argument if isinstance(argument, torch.dtype) else dtype
    return x if dtype is None else _cast(text, x, dtype)


@_operation("type_as")
def type_as(text, x, other):
    return _cast(text, x, other.dtype)


for _name, _dtype in {"float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16,
                      "int": torch.int32, "long": torch.int64, "bool": torch.bool}.items():
    _operation(_name, dtype=_dtype)(_cast)


@_operation("full_like")
@_operation("zeros_like", fill_value=0)
@_operation("ones_like", fill_value=1)
def full_like(text, x, fill_value, *, dtype=None, **_):
    return _cast(text, _scalar(text, fill_value), dtype or x.dtype)


@_operation("new_full")
@_operation("new_zeros", fill_value=0)
@_operation("new_ones", fill_value=1)
def new_full(text, x, size, fill_value, *, dtype=None, **_):
    if len(size) != 0:
        raise NotRecorded(f"a tensor of shape {tuple(size)} is made; functions compute with scalars")
    return full_like(text, x, fill_value, dtype=dtype)


def _special(name):
    def method(self, *others):
        return _call(name, self, *others)

    setattr(Scalar, name, method)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    _special(f"__{_name}__")
    _special(f"__r{_name}__")
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"):
    _special(f"__{_name}__")


def record(score_mod, prob_mod, mask_mod, dtype, device):
    """Returns what the functions record; each of them may be None."""
    functions, tensors = (score_mod, prob_mod, mask_mod), {}
    try:
        key = fingerprint(functions, tensors), dtype, device, torch.is_grad_enabled()
    except Unknown:
        return _record(functions, dtype, device)
    if key not in _texts:
        recorded = _record(functions, dtype, device)
        if not all(id(x) in tensors for part in recorded[1:] for x in part):
            return recorded  # A function makes a tensor.
        if len(_texts) >= _MOST_TEXTS:
            _texts.clear()
        _texts[key] = recorded.text, [[tensors[id(x)][0] for x in part] for part in recorded[1:]]
    text, places = _texts[key]
    found = [x for _, x in tensors.values()]
    return Recorded(text, *([found[place] for place in part] for part in places))


_MOST_TEXTS = 256
_texts = {}  # By what decides a text: the text, and the places of its tensors among those of the functions.


def _record(functions, dtype, device):
    text = Text(dtype, device)
    for output, function in zip(_FUNCTIONS, functions):
        if function is not None:
            text.record(function, output)
    return text.finish()
