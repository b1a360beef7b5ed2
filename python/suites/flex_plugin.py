# SPDX-License-Identifier: MIT
"""A pytest plugin for PyTorch's test_flex_attention.py. Tegula computes what the tests compile; the rest is their reference."""

import functools

import torch
from torch.nn.attention import flex_attention as torch_flex
from torch.nn.attention.experimental._paged_attention import PagedAttention

import suite
import tegula

_original, _ours = torch_flex.flex_attention, suite.counts(tegula.flex_attention)
_compile = torch.compile
_compiled = 0  # Compiled functions that are running.


@functools.wraps(_original)
def flex_attention(*args, **options):
    if _compiled:
        return _ours(*args, **options)
    torch.compile = _compile  # PyTorch's own function uses it.
    try:
        return _original(*args, **options)
    finally:
        torch.compile = compile


def compile(function=None, **options):
    """Stands for torch.compile: returns the function, in which Tegula computes flex_attention."""
    if function is None:
        return functools.partial(compile, **options)

    def compiled(*args, **keywords):
        global _compiled
        _compiled += 1
        try:
            return function(*args, **keywords)
        finally:
            _compiled -= 1

    return compiled


def assign(self, batch_idx, input_pos, *values, _assign=PagedAttention.assign):
    """Stands for PagedAttention.assign: tests of PyTorch before 2.7 give one row of positions for all entries of the batch."""
    return _assign(self, batch_idx, input_pos.expand(len(batch_idx), -1), *values)


PagedAttention.assign = assign
torch_flex.flex_attention = flex_attention
torch.compile = compile
