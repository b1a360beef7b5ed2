# SPDX-License-Identifier: MIT
"""Masks and score modifications that tools/bench-rounds times: what FlexAttention and Tegula are told of each of them.
`tegula bench --variants` has the same ones by the same names."""

import dataclasses
from collections.abc import Callable

import torch

import libtegula as tegula

SOFTCAP, WINDOW, DOCUMENT = 30, 1024, 2048
ROWS = 1024  # Of a mask that exist at a time while its pairs are counted.


@dataclasses.dataclass
class Variant:
    score_mod: Callable | None = None
    mask_mod: Callable | None = None
    fields: dict = dataclasses.field(default_factory=dict)  # Of a tegula.Problem.
    tensors: tuple = ()  # Those that Tegula reads.
    gradients: tuple = ()  # f32; Tegula adds to them.
    leaves: tuple = ()  # Tensors of `score_mod` that FlexAttention computes gradients of.


def softcap(q):
    return Variant(score_mod=lambda score, b, h, i, j: SOFTCAP * torch.tanh(score / SOFTCAP),
                   fields={"variants": tegula.SOFTCAP, "softcap": SOFTCAP})


def alibi(q):
    heads = q.shape[1]
    slopes = torch.exp2(-8.0 * torch.arange(1, heads + 1, device=q.device) / heads)
    return Variant(score_mod=lambda score, b, h, i, j: score - slopes[h] * (i - j).abs(),
                   fields={"variants": tegula.ALIBI}, tensors=(slopes,))


def sliding_window(q):
    return Variant(mask_mod=lambda b, h, i, j: (j <= i) & (i - j <= WINDOW),
                   fields={"variants": tegula.WINDOW, "window_left": WINDOW})


def prefix_lm(q):
    batch, _, length, _ = q.shape
    prefix = length // 2
    return Variant(mask_mod=lambda b, h, i, j: (j <= i) | (j < prefix), fields={"variants": tegula.PREFIX_LM},
                   tensors=(torch.full([batch], prefix, dtype=torch.int32, device=q.device),))


def documents(q):
    batch, _, length, _ = q.shape
    position = torch.arange(length, dtype=torch.int32, device=q.device)
    document = position // DOCUMENT
    begin, end = (edge.expand(batch, length) for edge in (document * DOCUMENT, ((document + 1) * DOCUMENT).clamp(max=length)))
    return Variant(mask_mod=lambda b, h, i, j: document[i] == document[j], fields={"variants": tegula.DOCUMENTS},
                   tensors=(begin, end, begin, end))


def bias(q):
    batch, heads, length, _ = q.shape
    values = torch.randn(batch, heads, length, length, device=q.device, dtype=q.dtype).requires_grad_()
    return Variant(score_mod=lambda score, b, h, i, j: score + values[b, h, i, j], fields={"variants": tegula.BIAS},
                   tensors=(values.detach(),), gradients=(torch.zeros_like(values, dtype=torch.float32),), leaves=(values,))


MAKERS = {make.__name__: make for make in (softcap, alibi, sliding_window, prefix_lm, documents, bias)}
WITH_A_DIAGONAL = ("sliding_window", "prefix_lm")  # A causal mask would change nothing, or hide the prefix.


def with_causal(mask_mod):
    if mask_mod is None:
        return lambda b, h, i, j: j <= i
    return lambda b, h, i, j: (j <= i) & mask_mod(b, h, i, j)


def plain(causal):
    return Variant(mask_mod=with_causal(None) if causal else None)


def make(name, q, causal):
    """Returns the variant for queries `q` and as many keys."""
    variant = MAKERS[name](q)
    return dataclasses.replace(variant, mask_mod=with_causal(variant.mask_mod)) if causal else variant


def count_pairs(mask_mod, length, device):
    """Returns how many pairs of a query and a key of a head have a score."""
    if mask_mod is None:
        return length**2
    keys = torch.arange(length, device=device)
    return sum(int(mask_mod(0, 0, rows[:, None], keys).sum()) for rows in keys.split(ROWS))
