# SPDX-License-Identifier: MIT
"""Calls functions of shared libraries that are written for XLA's FFI, version 0 of its C interface, without XLA. The caller
chooses the stream and gives the memory, so that the calls can be recorded in a CUDA graph."""

import ctypes
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int32, c_int64, c_size_t, c_void_p

DTYPES = {"int32": 4, "float16": 10, "float32": 11, "bfloat16": 16, bool: 1, int: 5, float: 12}
SCALARS = {bool: c_bool, int: c_int64, float: c_double}
BUFFER, SCALAR, EXECUTE = 1, 3, 3


def structure(name, *fields):
    """Returns a structure that begins with its size and a list of extensions, which is empty."""
    return type(name, (ctypes.Structure,), {"_fields_": [("struct_size", c_size_t), ("extensions", c_void_p), *fields]})


def make(kind, **fields):
    return kind(struct_size=ctypes.sizeof(kind), **fields)


Buffer = structure("Buffer", ("dtype", c_int32), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64)))
Values = structure("Values", ("size", c_int64), ("kinds", POINTER(c_int32)), ("values", POINTER(c_void_p)))
Attributes = structure("Attributes", ("size", c_int64), ("kinds", POINTER(c_int32)), ("names", POINTER(c_void_p)),
                       ("values", POINTER(c_void_p)))
Version = structure("Version", ("major", c_int32), ("minor", c_int32))
ErrorCreate = structure("ErrorCreate", ("message", c_char_p), ("code", c_int32))
StreamGet = structure("StreamGet", ("context", c_void_p), ("stream", c_void_p))
Memory = structure("Memory", ("context", c_void_p), ("size", c_size_t), ("alignment", c_size_t), ("data", c_void_p))
Freed = structure("Freed", ("context", c_void_p), ("size", c_size_t), ("data", c_void_p))
Ordinal = structure("Ordinal", ("context", c_void_p), ("ordinal", c_int32))


class Scalar(ctypes.Structure):
    _fields_ = [("dtype", c_int32), ("value", c_void_p)]


class Name(ctypes.Structure):
    _fields_ = [("text", c_char_p), ("length", c_size_t)]


# The functions of the interface, in its order.
NAMES = ("error_create error_get_message error_destroy handler_register stream_get type_register context_get state_set "
         "state_get allocate free schedule threads future_create future_set_available future_set_error run_id "
         "device_ordinal").split()
CALLBACK = ctypes.CFUNCTYPE(c_void_p, c_void_p)
Api = structure("Api", ("version", Version), ("internal", c_void_p), *((name, CALLBACK) for name in NAMES))
Frame = structure("Frame", ("api", POINTER(Api)), ("context", c_void_p), ("stage", c_int32), ("args", Values),
                  ("rets", Values), ("attributes", Attributes), ("future", c_void_p))


def pointers(items):
    return (c_void_p * len(items))(*(ctypes.addressof(item) for item in items))


def kinds(kind, items):
    return (c_int32 * len(items))(*[kind] * len(items))


def buffer_of(tensor):
    dims = (c_int64 * tensor.dim())(*tensor.shape)
    return make(Buffer, dtype=DTYPES[str(tensor.dtype).split(".")[-1]], data=tensor.data_ptr(), rank=tensor.dim(), dims=dims)


def values_of(tensors):
    buffers = [buffer_of(tensor) for tensor in tensors]
    return make(Values, size=len(buffers), kinds=kinds(BUFFER, buffers), values=pointers(buffers)), buffers


def attributes_of(numbers):
    """The interface wants the names in order."""
    names = [Name(name.encode(), len(name)) for name in sorted(numbers)]
    values = [SCALARS[type(numbers[name])](numbers[name]) for name in sorted(numbers)]
    scalars = [Scalar(DTYPES[type(numbers[name])], ctypes.addressof(value)) for name, value in zip(sorted(numbers), values)]
    return make(Attributes, size=len(scalars), kinds=kinds(SCALAR, scalars), names=pointers(names),
                values=pointers(scalars)), (names, values, scalars)


class Caller:
    """Gives functions the stream and the memory that they ask for: `allocate(bytes)` returns an address, and `free` takes
    it."""

    def __init__(self, device, stream, allocate, free):
        self.message, self.device, self.stream, self.allocate, self.free = None, device, stream, allocate, free
        self.api = make(Api, version=make(Version, major=0, minor=1))
        for name in NAMES:
            setattr(self.api, name, CALLBACK(getattr(self, f"do_{name}", lambda _, name=name: self.refuse(name))))

    def refuse(self, name):
        self.message = f"it calls {name}, which is not offered"
        return 1

    def do_error_create(self, address):
        self.message = ErrorCreate.from_address(address).message.decode(errors="replace")
        return 1  # Any address: nothing reads it.

    def do_error_destroy(self, _):
        return None

    def do_stream_get(self, address):
        StreamGet.from_address(address).stream = self.stream

    def do_allocate(self, address):
        memory = Memory.from_address(address)
        memory.data = self.allocate(memory.size)

    def do_free(self, address):
        self.free(Freed.from_address(address).data)

    def do_device_ordinal(self, address):
        Ordinal.from_address(address).ordinal = self.device

    def call(self, function, tensors, results, **numbers):
        """Calls a function of a library. Raises what it says if it fails."""
        function.restype, function.argtypes, self.message = c_void_p, [c_void_p], None
        (args, _), (rets, _), (attributes, _) = kept = values_of(tensors), values_of(results), attributes_of(numbers)
        frame = Frame(struct_size=Frame.future.offset, api=ctypes.pointer(self.api), stage=EXECUTE, args=args, rets=rets,
                      attributes=attributes)
        failed = function(ctypes.addressof(frame))
        del kept  # Addresses do not keep what they point to.
        if failed:
            raise RuntimeError(self.message or "the function failed")
