# SPDX-License-Identifier: MIT
"""The lists of tiles that kernels visit, kept between calls with the same block mask."""

import weakref

import torch

_MOST = 16  # Lists that a block mask keeps.
_kept = weakref.WeakKeyDictionary()


class Lists:
    """The lists of a block mask, for calls whose mask_mod captures `tensors`."""

    def __init__(self, block_mask, tensors):
        self._of = _kept.setdefault(block_mask, {})
        self._tensors = tensors

    def find(self, call, device, make):
        """Returns what make() returned for an earlier call with an equal `call`, a tuple, and the same contents of the tensors;
        otherwise make(). Returns None if lists must not be kept, so that each launch makes its own."""
        if torch._C._len_torch_dispatch_stack():
            return None  # Tensors may have no contents, because a graph is made.
        if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return None  # The graph may outlive the block mask.
        if any(x.is_inference() for x in self._tensors):
            return None  # PyTorch does not count its changes.
        # Another stream would have to wait for the one that makes the lists.
        stream = torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0
        key = (call, device, stream, *((id(x), x._version) for x in self._tensors))
        if key not in self._of:
            if len(self._of) >= _MOST:
                self._of.clear()
            self._of[key] = make(), self._tensors  # The tensors live as long as their ids are compared.
        return self._of[key][0]
