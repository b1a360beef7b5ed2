# SPDX-License-Identifier: MIT
"""PyTorch's tensors, streams and memory for libtegula.py."""

import ctypes
import functools

import torch

import libtegula as tegula

DTYPES = {torch.float32: tegula.F32, torch.float16: tegula.F16, torch.bfloat16: tegula.BF16,
          torch.float8_e4m3fn: tegula.E4M3, torch.int32: tegula.I32, torch.int8: tegula.I8, torch.bool: tegula.I8}


def stream_of(tensor):
    return torch.cuda.current_stream(tensor.device).cuda_stream if tensor.is_cuda else None


def workspace_hooks(device):
    """Workspaces from PyTorch's caching allocator, which hands memory on in the stream's order."""

    def allocate(_, size, stream):
        return torch.cuda.caching_allocator_alloc(size, device, stream or 0)

    def release(_, memory, size, stream):
        torch.cuda.caching_allocator_delete(memory)

    return tegula.Hooks(allocate=tegula.ALLOCATE(allocate), release=tegula.RELEASE(release))


@functools.lru_cache(maxsize=None)
def context(device, library=tegula.library, cached=True):
    """Returns a context of a library. If it is not `cached`, it compiles each kernel once in this process, and takes no tuned
    schedules from the user's directory."""
    options = tegula.ContextOptions()
    if not cached:
        options.cache_directory = options.schedule_directory = b""
    if device.type == "cuda":
        torch.cuda.init()
        options.device, options.ordinal = tegula.CUDA, device.index
        options.hooks = ctypes.pointer(workspace_hooks(device.index))
    return tegula.Context(options, library)


def view(tensor):
    dtype = DTYPES[tensor.dtype]
    return tegula.Tensor(tensor.data_ptr(), dtype, tensor.dim(), tuple(tensor.shape), tuple(tensor.stride()))
