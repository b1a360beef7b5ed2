# SPDX-License-Identifier: MIT
"""As much of PyTorch as tools/bench-rounds calls, without a GPU: tensors have shapes and memory, no arithmetic changes them, and a
step takes the host's time."""

import contextlib
import ctypes
import math
import time
from types import SimpleNamespace

float32, float16, bfloat16, float8_e4m3fn, int8, int32, int64, bool = (
    f"torch.{name}" for name in "float32 float16 bfloat16 float8_e4m3fn int8 int32 int64 bool".split())
__version__, nan = "stand-in", math.nan


MEMORY = []


def allocate(size, *_):
    """Returns the address of memory that lives as long as the process."""
    alignment = 256
    MEMORY.append(ctypes.create_string_buffer(size + alignment))
    return -(-ctypes.addressof(MEMORY[-1]) // alignment) * alignment


class Device:
    """Equal to itself only, so that contexts can be found by it."""
    type, index = "cuda", 0


DEVICE = Device()


class Tensor:
    is_cuda, device = True, DEVICE

    def __init__(self, *shape, dtype=float32, device="cuda"):
        self.shape, self.dtype = tuple(shape[0]) if isinstance(shape[0], (tuple, list)) else shape, dtype
        self.address = allocate(8 * math.prod(self.shape))

    def __getattr__(self, name):
        """Elementwise functions return the tensor itself."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: self

    def operate(self, *_):
        return self

    __sub__ = __truediv__ = __gt__ = __and__ = __getitem__ = __le__ = operate

    def transpose(self, a, b):
        shape = list(self.shape)
        shape[a], shape[b] = shape[b], shape[a]
        return Tensor(shape, dtype=self.dtype)

    def dim(self):
        return len(self.shape)

    def stride(self):
        return tuple(math.prod(self.shape[axis + 1:]) for axis in range(len(self.shape)))

    def data_ptr(self):
        return self.address

    def item(self):
        return 0.001


randn = empty = zeros = Tensor


def empty_like(tensor):
    return Tensor(tensor.shape, dtype=tensor.dtype)


class Stream:
    cuda_stream = 1

    def synchronize(self):
        pass


class Event:
    def __init__(self, enable_timing):
        self.time = None

    def record(self):
        self.time = time.perf_counter()

    def elapsed_time(self, end):
        return (end.time - self.time) * 1000


class CUDAGraph:
    replays = 0

    def replay(self):
        CUDAGraph.replays += 1
        time.sleep(1e-4)


def nothing(*_, **__):
    pass


cuda = SimpleNamespace(
    is_available=lambda: True, current_device=lambda: 0, current_stream=lambda _=None: Stream(), Stream=Stream, Event=Event,
    CUDAGraph=CUDAGraph, graph=lambda *_, **__: contextlib.nullcontext(), synchronize=nothing, set_stream=nothing, init=nothing,
    caching_allocator_alloc=allocate, caching_allocator_delete=nothing,
    get_device_properties=lambda _: SimpleNamespace(multi_processor_count=132))
version = SimpleNamespace(cuda="13.0")
backends = SimpleNamespace(cudnn=SimpleNamespace(version=lambda: 91900))
autograd = SimpleNamespace(grad=lambda o, leaves, d_o, retain_graph: [empty_like(leaf) for leaf in leaves])
no_grad = contextlib.nullcontext
