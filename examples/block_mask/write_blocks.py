# SPDX-License-Identifier: MIT
"""Writes the lists of a FlexAttention BlockMask to a file for `tegula attention --blocks`."""

import json


def write_blocks(block_mask, path):
    """Writes a torch.nn.attention.flex_attention.BlockMask. Without full blocks, their lists are null."""
    names = "kv_num_blocks kv_indices full_kv_num_blocks full_kv_indices".split()
    tensors = {name: getattr(block_mask, name) for name in names}
    lists = {name: tensor if tensor is None else tensor.tolist() for name, tensor in tensors.items()}
    with open(path, "w") as file:
        json.dump(lists | {"BLOCK_SIZE": block_mask.BLOCK_SIZE}, file)
