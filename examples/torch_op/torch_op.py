# SPDX-License-Identifier: MIT
"""Attention as an operator of PyTorch, with its gradient, on PyTorch's memory and streams; compared with PyTorch's own.

With Tegula installed in DIR:
    LIBTEGULA=DIR/lib/libtegula.so.2 PYTHONPATH=DIR/share/tegula/python python3 torch_op.py
"""

import math
import sys
from typing import Optional

try:
    import torch
except ImportError:
    print("PyTorch is not installed")
    sys.exit(77)

import libtegula as tegula
from libtegula_torch import DTYPES, context, stream_of, view


def problem_of(q, v, causal, lse_gradient=False):
    return tegula.Problem(dtype=DTYPES[q.dtype], head_dim=q.shape[-1], value_dim=v.shape[-1], backward=1,
                          causal=tegula.CAUSAL_TOP_LEFT if causal else tegula.CAUSAL_NONE,
                          seqlen_q=q.shape[-2], seqlen_k=v.shape[-2], lse_gradient=lse_gradient)


@torch.library.custom_op("tegula::attention", mutates_args=())
def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float,
              causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """o and lse of [batch, heads, length, dim] tensors with any strides."""
    o = torch.empty(*q.shape[:-1], v.shape[-1], dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)
    args = tegula.ForwardArgs(scale=scale, q=view(q), k=view(k), v=view(v), o=view(o), lse=view(lse),
                              stream=stream_of(q))
    context(q.device).forward(problem_of(q, v, causal), args)
    return o, lse


@attention.register_fake
def _(q, k, v, scale, causal):
    return q.new_empty(*q.shape[:-1], v.shape[-1]), q.new_empty(q.shape[:-1], dtype=torch.float32)


@torch.library.custom_op("tegula::attention_backward", mutates_args=())
def attention_backward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor, lse: torch.Tensor,
                       d_o: torch.Tensor, d_lse: Optional[torch.Tensor], scale: float,
                       causal: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of q, k and v. d_lse is None where nothing depends on lse."""
    dq, dk, dv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    args = tegula.BackwardArgs(scale=scale, q=view(q), k=view(k), v=view(v), o=view(o), lse=view(lse), d_o=view(d_o),
                               dq=view(dq), dk=view(dk), dv=view(dv), stream=stream_of(q))
    if d_lse is not None:
        args.d_lse = view(d_lse)
    context(q.device).backward(problem_of(q, v, causal, lse_gradient=d_lse is not None), args)
    return dq, dk, dv


@attention_backward.register_fake
def _(q, k, v, o, lse, d_o, d_lse, scale, causal):
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def setup_context(ctx, inputs, output):
    q, k, v, ctx.scale, ctx.causal = inputs
    ctx.save_for_backward(q, k, v, *output)
    ctx.set_materialize_grads(False)


def backward(ctx, d_o, d_lse):
    """Either gradient is None where nothing depends on its output."""
    q, k, v, o, lse = ctx.saved_tensors
    d_o = torch.zeros_like(o) if d_o is None else d_o
    return *attention_backward(q, k, v, o, lse, d_o, d_lse, ctx.scale, ctx.causal), None, None


attention.register_autograd(backward, setup_context=setup_context)


def expected(q, k, v, scale, causal):
    """o and lse as PyTorch computes them."""
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)
    s = scale * q.float() @ k.float().transpose(-2, -1)
    hidden = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1)
    return o, torch.logsumexp(s.masked_fill(hidden, -math.inf) if causal else s, dim=-1)


LOSSES = {"o": lambda o, lse, d_o, d_lse: (o * d_o).sum(), "lse": lambda o, lse, d_o, d_lse: (lse * d_lse).sum(),
          "both": lambda o, lse, d_o, d_lse: (o * d_o).sum() + (lse * d_lse).sum()}


def largest_difference(device, dtype, causal, loss):
    """Of the outputs and of the gradients of a loss that depends on one of them, or on both."""
    torch.manual_seed(1)
    leaves = [torch.randn(2, 200, 4, 64, dtype=dtype, device=device, requires_grad=True) for _ in range(3)]
    q, k, v = (leaf.transpose(1, 2) for leaf in leaves)
    d_o = torch.randn(2, 4, 200, 64, dtype=dtype, device=device)
    d_lse = torch.randn(2, 4, 200, device=device)
    results = []
    for function in attention, expected:
        o, lse = function(q, k, v, 0.125, causal)
        gradients = torch.autograd.grad(LOSSES[loss](o, lse, d_o, d_lse), leaves, retain_graph=True, allow_unused=True,
                                        materialize_grads=True)
        results.append([o.detach(), lse.detach(), *gradients])
    return max((a - b).abs().max().item() for a, b in zip(*results))


def main():
    cases = [(torch.device("cpu"), torch.float32, 1e-4)]
    if torch.cuda.is_available():
        cases.append((torch.device("cuda", 0), torch.bfloat16, 0.1))
    good = True
    for device, dtype, bound in cases:
        for causal in False, True:
            for loss in LOSSES:
                difference = largest_difference(device, dtype, causal, loss)
                print(f"{device} {dtype} causal={causal} loss of {loss}: largest difference from PyTorch's attention "
                      f"{difference:.1e}")
                good &= difference < bound
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
