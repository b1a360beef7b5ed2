# SPDX-License-Identifier: MIT
"""Attention in float64, and the bound of the project: twice the error of the plain formula in the type under test."""

import itertools
import math

import torch


def plain(q, k, v, *, bias=None, mask=None, causal=False, window=(None, None), bottom_right=False, diagonal_offset=None,
          interval_begin=None, interval_end=None, scale=None, softcap=0.0, alibi_slopes=None, sinks=None):
    """Returns o and lse by the plain formula, in the type of q."""
    groups = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(groups, 1) for x in (k, v))
    s = _Product.apply(q, k.transpose(-2, -1)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    length_q, length_k = s.shape[-2:]
    keys = torch.arange(length_k, device=q.device)
    distance = keys - torch.arange(length_q, device=q.device)[:, None] - (length_k - length_q if bottom_right else 0)
    if diagonal_offset is not None:
        distance = distance - diagonal_offset[:, None, None, None]
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    if alibi_slopes is not None:
        s = s - alibi_slopes.to(s.dtype)[:, None, None] * distance.abs()
    if bias is not None:
        s = s + bias.to(s.dtype)
    seen = torch.ones_like(s, dtype=torch.bool)
    if mask is not None:
        seen &= mask.bool()
    if causal:
        seen &= distance <= 0
    left, right = window
    if left is not None:
        seen &= distance >= -left
    if right is not None:
        seen &= distance <= right
    if interval_begin is not None:
        seen &= keys >= interval_begin[..., None, :, None]
    if interval_end is not None:
        seen &= keys < interval_end[..., None, :, None]
    s = s.masked_fill(~seen, -math.inf)
    if sinks is not None:
        s = torch.cat([s, sinks.to(s.dtype)[None, :, None, None].expand(*s.shape[:3], 1)], -1)
    p, lse = softmax(s)
    return _Product.apply(p[..., :length_k], v), lse


class _Product(torch.autograd.Function):
    """The product of two matrices. It and its gradients add in the order that a run of the formula has."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return _product(a, b)

    @staticmethod
    def backward(ctx, d):
        a, b = ctx.saved_tensors
        return _product(d, b.transpose(-2, -1)), _product(a.transpose(-2, -1), d)


def _product(a, b):
    return a.flip(-1) @ b.flip(-2) if _adds_backwards else a @ b


def softmax(s):
    """Returns P and lse. P is computed from lse, which is one number in the type of s, as the backward passes of all flash
    attentions compute it."""
    lse = torch.logsumexp(s - _origin, -1) + _origin
    return torch.exp(s - lse.masked_fill(lse == -math.inf, 0)[..., None]), lse


# Runs of the plain formula differ in what it leaves open: the order of sums, and what exponentials are relative to.
_origin, _adds_backwards = 0.0, False
ORIGINS = (0.0, 0.3, 0.7, 1.1)
ORDERS = {"as it is": lambda x: x, "reversed": lambda x: x.flip(-1), "turned": lambda x: x.roll(3, -1)}
BACK = {"as it is": lambda x: x, "reversed": lambda x: x.flip(-1), "turned": lambda x: x.roll(-3, -1)}


def errors(results, exact):
    """Returns the largest error of each result by its name."""
    return {name: (x.double() - exact[name]).abs().max().item() for name, x in results.items()}


def errors_of_formula(run, tensors, exact):
    """Returns the largest errors of several runs of the plain formula. `run` takes the tensors, and returns results by name."""
    global _origin, _adds_backwards
    found = {}
    for (name, order), _origin, _adds_backwards in itertools.product(ORDERS.items(), ORIGINS, (False, True)):
        results = run(*(order(x.detach()).requires_grad_() for x in tensors))
        for key in {"o", "dq", "dk", "dv"} & results.keys():
            results[key] = BACK[name](results[key])
        for key, error in errors(results, exact).items():
            found[key] = max(found.get(key, 0), error)
    _origin, _adds_backwards = 0.0, False
    return found


def assert_right(results, exact, formula):
    """Compares results with those of float64. `formula` is what errors_of_formula returns."""
    assert results.keys() == exact.keys()
    for name, error in errors(results, exact).items():
        assert results[name].shape == exact[name].shape
        rounding = torch.finfo(results[name].dtype).eps / 2 * exact[name].abs().max().item()
        bound = 2 * max(formula[name], rounding)
        assert error <= bound, f"{name}: the error is {error}, the bound {bound}"


def doubles(tensors):
    return [x.detach().double().requires_grad_() for x in tensors]
