# SPDX-License-Identifier: MIT
"""FlashAttention-3 of the package dew-flash-attn-cu13, which is written for XLA. Its backward pass works without JAX, too."""

import ctypes
import pathlib
import sys

import torch

from performance import xla_ffi

FILE = "libdew_flash_attn3.so"


class Library:
    """The package's library, in the first folder of Python's path that has it."""

    def __init__(self):
        path = next((path for folder in sys.path if (path := pathlib.Path(folder, FILE)).is_file()), None)
        if not path:
            raise ImportError(f"no folder of Python's path has {FILE}")
        self.functions = ctypes.CDLL(str(path))

    @staticmethod
    def caller(device):
        stream = torch.cuda.current_stream(device).cuda_stream
        return xla_ffi.Caller(device.index, stream,
                              lambda size: torch.cuda.caching_allocator_alloc(size, device.index, stream),
                              torch.cuda.caching_allocator_delete)

    def launch(self, name, tensors, results, causal, **numbers):
        """Returns a function that launches a pass. q [..., heads, dim] is the first tensor of the forward pass, and d_o of the same
        shape that of the backward pass."""
        caller, function = self.caller(tensors[0].device), getattr(self.functions, f"dew_flash3_mha_{name}")
        numbers |= {"softmax_scale": tensors[0].shape[-1]**-0.5, "is_causal": causal, "window_size_left": -1,
                    "window_size_right": -1}
        return lambda: caller.call(function, tensors, results, **numbers)

    def packed(self, q, k, v, d_o, offsets, longest, causal):
        """Returns functions of the forward and of the backward pass of packed sequences. q, k and v are [total, heads, dim]."""
        numbers = {"max_seqlen": longest, "max_seqlen_k": longest}
        total, heads, _ = q.shape
        o, lse = torch.empty_like(q), torch.empty(heads, total, device=q.device)
        unused = [torch.empty(shape, device=q.device) for shape in ((1, 1, 1, 1), (1, 1, 1))]
        scratch = [torch.empty(heads * (total + 128 * len(offsets)), device=q.device) for _ in range(2)]
        gradients = [torch.empty_like(tensor) for tensor in (q, k, v)]
        forward = self.launch("varlen_fwd", [q, k, v, offsets, offsets], [o, lse, *unused], causal, **numbers)
        forward()
        return forward, self.launch("varlen_bwd", [d_o, q, k, v, o, lse, offsets, offsets], [*gradients, *scratch], causal,
                                    **numbers)
