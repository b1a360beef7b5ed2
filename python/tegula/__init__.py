# SPDX-License-Identifier: MIT
"""Attention kernels for GPUs and CPUs, compiled at run time, as operators of PyTorch and of JAX, and kernels that are written in
Python.

attention                      all options of the library, on [batch, heads, length, dim]
scaled_dot_product_attention   the function of torch.nn.functional
patched                        redirects torch.nn.functional's function
flex_attention                 the function of torch.nn.attention.flex_attention
create_block_mask              its block masks
varlen_attn                    the function of torch.nn.attention.varlen
decode                         attention of new queries on a cache of keys and values, with or without pages
prepare_decode                 computes what such calls of all layers of a model have in common
append_to_cache                writes new keys and values into such a cache
rotary_embedding               rotates keys or queries by the angles of their positions
ring_attention                 attention over a sequence whose parts are on the ranks of a process group
ring_shard, ring_unshard       cut a rank's part out of a tensor, and put the parts together
flash_attn                     the functions of the package flash_attn
hugging_face                   attn_implementation="tegula" for transformers
jax                            dot_product_attention, the function of jax.nn
kernel                         makes a kernel of a function over tiles
language                       the operations of such functions
"""

import importlib

__version__ = "0.1.0"
__all__ = ["attention", "scaled_dot_product_attention", "patched", "flex_attention", "create_block_mask", "BlockMask",
           "varlen_attn", "decode", "prepare_decode", "append_to_cache", "rotary_embedding", "ring_attention", "ring_shard",
           "ring_unshard", "flash_attn", "hugging_face", "jax", "kernel", "language"]

_HOMES = {"attention": "_attention", "scaled_dot_product_attention": "sdpa", "patched": "sdpa",
          "flex_attention": "flex", "create_block_mask": "flex", "BlockMask": "flex",
          "varlen_attn": "_varlen", "decode": "_decode", "prepare_decode": "_decode", "append_to_cache": "_cache",
          "rotary_embedding": "_cache", "ring_attention": "ring", "ring_shard": "ring",
          "ring_unshard": "ring", "kernel": "_kernels"}


def __getattr__(name):
    """Imports PyTorch only if something of it is used."""
    if name not in __all__:
        raise AttributeError(f"module 'tegula' has no attribute '{name}'")
    if name in _HOMES:
        found = getattr(importlib.import_module(f"tegula.{_HOMES[name]}"), name)
    else:
        found = importlib.import_module(f"tegula.{name}")
    globals()[name] = found  # The next look-up finds it without this function.
    return found


def __dir__():
    return __all__
