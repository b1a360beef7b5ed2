# SPDX-License-Identifier: MIT
"""A drop-in for torch.nn.attention.flex_attention: attention with a score_mod, a block mask and a prob_mod."""

import math

import torch

from . import _graph, _operators
from ._attention import padded, refusal
from ._lists import Lists
from ._recorder import record

_NONE, _COMPUTED, _GIVEN = 0, 1, 2
_NO_BLOCKS = 2**30  # The BLOCK_SIZE with which PyTorch says that there is no block mask.


class BlockMask:
    """A mask_mod and the lengths for which it holds. Kernels find the tiles in which scores exist, and keep lists of them.

    flex_attention also takes PyTorch's BlockMask, which has lists of blocks."""

    def __init__(self, mask_mod, shape, BLOCK_SIZE):
        self.mask_mod, self.shape, self.BLOCK_SIZE = mask_mod, shape, BLOCK_SIZE

    def __repr__(self):
        return f"tegula.BlockMask({self.mask_mod}, shape={self.shape}, BLOCK_SIZE={self.BLOCK_SIZE})"


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=128, _compile=False):
    """Returns a BlockMask for flex_attention. It evaluates nothing, whatever the lengths are.

    The arguments are those of PyTorch's create_block_mask. Kernels do not need B, H, device and BLOCK_SIZE."""
    del device, _compile
    sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    return BlockMask(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), sizes)


def _blocks_of(block_mask):
    """Returns how the library gets the tiles, and the lists of blocks."""
    if isinstance(block_mask, BlockMask):
        return _COMPUTED, []
    if block_mask is None or min(block_mask.BLOCK_SIZE) >= _NO_BLOCKS:
        return _NONE, []
    lists = [block_mask.kv_num_blocks, block_mask.kv_indices]
    if block_mask.full_kv_num_blocks is not None:
        lists += [block_mask.full_kv_num_blocks, block_mask.full_kv_indices]
    return _GIVEN, lists


def _check(query, key, value, block_mask, enable_gqa, return_lse, return_aux):
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("tegula.flex_attention: query, key and value must be [batch, heads, length, dim]")
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError("tegula.flex_attention: expected query, key, and value to have the same dtype, but got "
                         f"{query.dtype}, {key.dtype} and {value.dtype}")
    if query.shape[1] != key.shape[1] and not enable_gqa:
        raise ValueError(f"tegula.flex_attention: query has {query.shape[1]} heads, and key has {key.shape[1]}; set enable_gqa "
                         "if query heads share them")
    if query.shape[0] != key.shape[0] and (block_mask is None or key.shape[0] != 1):
        raise ValueError(f"tegula.flex_attention: query has the batch size {query.shape[0]}, and key has {key.shape[0]}; with a "
                         "block_mask it may be 1")
    lengths = (query.shape[2], key.shape[2])
    kind, lists = _blocks_of(block_mask)
    if any(x.device != query.device for x in lists):
        raise ValueError(f"tegula.flex_attention: block_mask is on {lists[0].device}, and query is on {query.device}; they must be "
                         "equal")
    if kind != _NONE and tuple(block_mask.shape[-2:]) != lengths:
        raise ValueError(f"tegula.flex_attention: block_mask was created for {block_mask.shape[-2]} queries and "
                         f"{block_mask.shape[-1]} keys; there are {lengths[0]} queries and {lengths[1]} keys")
    if return_lse and return_aux is not None:
        raise ValueError("tegula.flex_attention: return_lse and return_aux are set; set return_aux only")
    if getattr(return_aux, "max_scores", False):
        raise NotImplementedError("tegula.flex_attention: return_aux wants max_scores, which kernels do not write")
    reason = refusal(query, key, value)
    if reason:
        raise NotImplementedError("tegula.flex_attention: " + reason)


def _ordered_as(query, o):
    """Returns `o` with the order of axes in memory that `query` has. Kernels write rows of adjacent elements."""
    if query.stride(-1) == 1:
        return o
    order = sorted(range(4), key=lambda axis: -query.stride(axis))
    return o.permute(order).contiguous().permute([order.index(axis) for axis in range(4)])


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
                   kernel_options=None, *, return_aux=None, prob_mod=None):
    """torch.nn.attention.flex_attention, by Tegula's kernels, forward and backward.

    block_mask is one of tegula.create_block_mask or of PyTorch. kernel_options are those of PyTorch's own kernels and have no
    effect. The result and lse have gradients for query, key, value, and for the tensors that score_mod and prob_mod capture and
    index. prob_mod(prob, b, h, q_idx, kv_idx) is not in PyTorch: it takes an element of the softmax, and returns the factor of
    the value instead. A key that a query does not see, or whose score is -inf, has the factor 0. lse is that of the scores.
    Raises NotImplementedError with the operation and its line if a kernel cannot compute what a function does."""
    del kernel_options
    _check(query, key, value, block_mask, enable_gqa, return_lse, return_aux)
    kind, blocks = _blocks_of(block_mask)
    block_q, block_k = block_mask.BLOCK_SIZE if kind == _GIVEN else (0, 0)
    if key.shape[0] != query.shape[0]:
        key, value = (x.expand(query.shape[0], -1, -1, -1) for x in (key, value))
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    elif scale == 0:  # The library takes 0 for the default.
        query, scale = query * 0, 1.0
    tensors = padded(query), padded(key), padded(value)
    functions = score_mod, prob_mod, block_mask.mask_mod if block_mask is not None else None
    options = scale, kind, block_q, block_k, torch.are_deterministic_algorithms_enabled()

    def compute():
        if torch.compiler.is_dynamo_compiling():
            return _graph.trace(*functions, *tensors, blocks, options)
        recorded = record(*functions, query.dtype, query.device)
        lists = None if kind == _NONE else Lists(block_mask, blocks + recorded.of_mask)
        return _operators.flex(*tensors, recorded.learnt, recorded.constant, blocks, lists, recorded.text, *options)

    o, lse = _graph.call(compute) if torch.compiler.is_dynamo_compiling() else compute()
    o = _ordered_as(query, o if o.shape[-1] == value.shape[-1] else o[..., :value.shape[-1]])
    if return_aux is not None:
        return o, torch.nn.attention.flex_attention.AuxOutput(lse=lse if return_aux.lse else None, max_scores=None)
    return (o, lse) if return_lse else o
