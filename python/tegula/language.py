# SPDX-License-Identifier: MIT
"""The tile language, for functions that tegula.kernel decorates.

It has the operations of docs/language.md. Names that C++ writes in camelCase have underscores here: reduceMax is
reduce_max. Types are strings, such as "bf16". Recording a function computes nothing; errors have the lines of Python.
"""

import dataclasses

try:
    from tegula._language import *
except ImportError as error:
    raise ImportError("this package has no tegula.language for this Python: it is there for the Python that built the "
                      f"package and, if that is 3.12 or newer, for later ones ({error})") from error


@dataclasses.dataclass(frozen=True)
class Tensor:
    """The annotation of a parameter that is a tensor: it becomes a View. With the type None, kernels take tensors of
    any type, and each type is another program. The type "i1" makes conditions of a tensor of bool."""
    dtype: str | None
    rank: int


@dataclasses.dataclass(frozen=True)
class Scalar:
    """The annotation of a parameter that is a number: it becomes a Value. The type is f32, i32 or i64."""
    dtype: str
