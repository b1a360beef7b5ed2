# SPDX-License-Identifier: MIT
"""As much of tegula.h as a framework needs, through ctypes. LIBTEGULA names the library."""

import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, c_void_p

F32, F16, BF16, I32 = 0, 1, 2, 4
CAUSAL_NONE, CAUSAL_TOP_LEFT, CAUSAL_BOTTOM_RIGHT = 0, 1, 2
WINDOW, SOFTCAP, ALIBI, PREFIX_LM, DOCUMENTS, BIAS = 1, 2, 4, 8, 16, 32
CPU, CUDA = 0, 1


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("rank", c_int32), ("shape", c_int64 * 5),
                ("strides", c_int64 * 5)]


class Versioned(ctypes.Structure):
    """A structure that begins with its size."""

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(self), **fields)


ALLOCATE = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_int64, c_void_p)
RELEASE = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_int64, c_void_p)


class Hooks(ctypes.Structure):
    _fields_ = [("user", c_void_p), ("compilation", c_void_p), ("submit", c_void_p), ("allocate", ALLOCATE),
                ("release", RELEASE), ("load", c_void_p), ("save", c_void_p)]


class ContextOptions(Versioned):
    _fields_ = [("struct_size", c_uint32), ("device", c_int32), ("ordinal", c_int32), ("threads", c_int32),
                ("policy", c_int32), ("workers", c_int32), ("cache_directory", c_char_p),
                ("cache_limit_bytes", c_int64), ("read_only", POINTER(c_char_p)), ("read_only_count", c_size_t),
                ("compiler", c_char_p), ("compile_time_limit_ms", c_int64), ("compile_memory_bytes", c_int64),
                ("reproducer_directory", c_char_p), ("schedule_directory", c_char_p), ("hooks", Hooks),
                ("check_finite", c_int32), ("reserved", c_int32), ("print", c_void_p)]


class Problem(Versioned):
    _fields_ = [("struct_size", c_uint32), ("dtype", c_int32), ("head_dim", c_int32), ("value_dim", c_int32),
                ("causal", c_int32), ("backward", c_int32), ("variants", c_int32), ("bottom_right", c_int32),
                ("window_left", c_int64), ("window_right", c_int64), ("softcap", c_double),
                ("seqlen_q", c_int64), ("seqlen_k", c_int64), ("lse_gradient", c_int32), ("contain_nonfinite", c_int32),
                ("deterministic", c_int32), ("reserved", c_int32)]


class ForwardArgs(Versioned):
    _fields_ = [("struct_size", c_uint32), ("scale", c_float)] + [(name, Tensor) for name in "q k v o lse".split()] + [
        ("variant_tensors", POINTER(Tensor)), ("variant_tensor_count", c_size_t), ("workspace", c_void_p),
        ("workspace_bytes", c_int64), ("stream", c_void_p)]


class BackwardArgs(Versioned):
    _fields_ = [("struct_size", c_uint32), ("scale", c_float)] + [
        (name, Tensor) for name in "q k v o lse d_o dq dk dv".split()] + [
        ("variant_tensors", POINTER(Tensor)), ("variant_tensor_count", c_size_t), ("variant_gradients", POINTER(Tensor)),
        ("variant_gradient_count", c_size_t), ("workspace", c_void_p), ("workspace_bytes", c_int64),
        ("stream", c_void_p), ("d_lse", Tensor)]


library = ctypes.CDLL(os.environ.get("LIBTEGULA", "libtegula.so.1"))
library.tegula_error_message.restype = c_char_p
library.tegula_error_message.argtypes = [c_void_p]
library.tegula_error_free.argtypes = [c_void_p]


def call(function, *arguments):
    """Calls with a place for an error, and raises it."""
    error = c_void_p()
    if function(*arguments, byref(error)) != 0:
        message = library.tegula_error_message(error).decode()
        library.tegula_error_free(error)
        raise RuntimeError(message)


class Context:
    def __init__(self, options):
        self.options = options  # Its hooks are called as long as the context lives.
        self.handle = c_void_p()
        call(library.tegula_context_create, byref(options), byref(self.handle))

    def forward(self, problem, args):
        call(library.tegula_attention_forward, self.handle, byref(problem), byref(args))

    def backward(self, problem, args):
        call(library.tegula_attention_backward, self.handle, byref(problem), byref(args))
