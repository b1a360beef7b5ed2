# SPDX-License-Identifier: MIT
"""Tells whether a function of Python would record the same text again, without calling it."""

import builtins
import functools
import types

import torch

_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_PACKAGES = ("torch", "math", "operator")  # Modules whose contents nobody changes.


class Unknown(Exception):
    """A function uses something whose changes cannot be seen."""


def fingerprint(functions, tensors):
    """Returns what decides the text of functions, each of which may be None: equal values have equal texts. Adds the tensors
    that they use to `tensors`, a dictionary by their ids. A text depends on the kinds of tensors, but not on which they are.
    Raises Unknown if a function uses an object that may change unseen."""
    return tuple(_of(function, tensors) for function in functions)


def _of(x, tensors):
    if isinstance(x, _PLAIN):
        return type(x), x.hex() if type(x) is float else x  # 1, 1.0 and True are equal in Python; so are 0.0 and -0.0.
    if isinstance(x, torch.Tensor):
        place, _ = tensors.setdefault(id(x), (len(tensors), x))
        return place, x.dtype, x.device, x.dim(), 0 in x.shape, x.requires_grad
    if isinstance(x, types.FunctionType):
        return _of_function(x, tensors)
    if isinstance(x, (tuple, list)):
        return type(x), *(_of(y, tensors) for y in x)
    if isinstance(x, functools.partial):
        return functools.partial, _of(x.func, tensors), _of(x.args, tensors), _of(list(x.keywords.items()), tensors)
    if isinstance(x, types.ModuleType) and x.__name__.partition(".")[0] in _PACKAGES:
        return x.__name__
    if isinstance(x, (types.BuiltinFunctionType, types.MethodWrapperType)) and isinstance(x.__self__, (types.ModuleType, type)):
        return id(x)
    raise Unknown


def _of_function(function, tensors):
    code, variables = function.__code__, function.__globals__
    if code in _active:
        raise Unknown  # A function that calls itself.
    _active.add(code)
    try:
        return (code, _of(function.__defaults__, tensors), _of(list((function.__kwdefaults__ or {}).items()), tensors),
                *(_of(cell.cell_contents, tensors) for cell in function.__closure__ or ()),
                *(_of(variables[name], tensors) for name in _global_names(code) if name in variables))
    finally:
        _active.discard(code)


_active = set()


@functools.lru_cache(1024)
def _global_names(code):
    """Returns names that the code, or a function inside of it, may look up among global variables."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= dict.fromkeys(_global_names(constant))
    return tuple(name for name in names if not hasattr(builtins, name))
