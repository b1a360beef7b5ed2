# SPDX-License-Identifier: MIT
import sys

import pytest
import torch

import reference
from tegula import flash_attn

OPTIONS = {"plain": {}, "causal": dict(causal=True), "window": dict(window_size=(10, 4)),
           "open window": dict(window_size=(-1, 3), causal=True), "softcap": dict(softcap=3.0),
           "slopes": dict(alibi_slopes=torch.tensor([0.5, 0.25, 0.1, 0.01]), causal=True),
           "slopes of entries": dict(alibi_slopes=torch.rand(2, 4)), "deterministic": dict(deterministic=True),
           "scale": dict(softmax_scale=0.3)}


def expected(q, k, v, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None, softmax_scale=None,
             deterministic=False):
    window = tuple(None if bound < 0 else bound for bound in window_size)
    parts = [reference.plain(*(x[n:n + 1].transpose(1, 2) for x in (q, k, v)), causal=causal, window=window, bottom_right=True,
                             softcap=softcap, scale=softmax_scale,
                             alibi_slopes=alibi_slopes[n] if alibi_slopes is not None and alibi_slopes.dim() == 2
                             else alibi_slopes)[0] for n in range(q.shape[0])]
    return torch.cat(parts).transpose(1, 2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_results_and_gradients_are_right(device, dtype, options):
    leaves = [torch.randn(2, length, heads, 48, device=device, dtype=dtype, requires_grad=True)
              for length, heads in ((33, 4), (57, 2), (57, 2))]
    options = {name: x.to(device) if torch.is_tensor(x) else x for name, x in options.items()}
    d_o = torch.randn(2, 33, 4, 48, device=device, dtype=dtype)

    def results(function, q, k, v, d_o):
        o = function(q, k, v, **options)
        return dict(zip(["o", "dq", "dk", "dv"], [o.detach(), *torch.autograd.grad(o, (q, k, v), d_o.to(o.dtype))]))

    exact = results(expected, *reference.doubles([*leaves, d_o]))
    formula = reference.errors_of_formula(lambda *tensors: results(expected, *tensors), [*leaves, d_o], exact)
    reference.assert_right(results(flash_attn.flash_attn_func, *leaves, d_o), exact, formula)


def test_packed_tensors_are_the_same_attention(device):
    qkv = torch.randn(2, 33, 3, 4, 16, device=device, dtype=torch.float16)
    o = flash_attn.flash_attn_func(*qkv.unbind(2), causal=True)
    assert o.is_contiguous()
    assert torch.equal(flash_attn.flash_attn_qkvpacked_func(qkv, causal=True), o)
    assert torch.equal(flash_attn.flash_attn_kvpacked_func(qkv[:, :, 0], qkv[:, :, 1:], causal=True), o)


def test_statistics(device):
    q = torch.randn(2, 33, 4, 16, device=device, dtype=torch.float16)
    o, lse, probabilities = flash_attn.flash_attn_func(q, q, q, return_attn_probs=True)
    s = torch.einsum("bqhd,bkhd->bhqk", q.double(), q.double()) / 4
    assert torch.allclose(lse.double(), torch.logsumexp(s, -1), atol=1e-3)
    assert probabilities is None


def test_probabilities_show_what_dropout_drops(device):
    q, k, v = (torch.randn(2, n, 4, 16, device=device, dtype=torch.float16) for n in (65, 130, 130))
    o, lse, s_dmask = flash_attn.flash_attn_func(q, k, v, 0.25, causal=True, return_attn_probs=True)
    s = torch.einsum("bqhd,bkhd->bhqk", q.double(), k.double()) / 4
    hidden = torch.ones(65, 130, dtype=torch.bool, device=device).tril(65).logical_not()
    p = s.masked_fill(hidden, float("-inf")).softmax(-1)
    relative = s_dmask.double().abs()
    assert s_dmask.dtype == q.dtype and torch.allclose(relative, p / p.amax(-1, keepdim=True), atol=2e-3)
    kept = s_dmask.signbit().logical_not()
    share = kept[(~hidden).expand_as(kept)].double().mean().item()
    assert abs(share - 0.75) < 0.02
    expected = torch.einsum("bhqk,bkhd->bqhd", p * kept / 0.75, v.double())
    assert torch.allclose(o.double(), expected, atol=4e-3)


def test_what_is_not_computed_is_named(device):
    q = torch.randn(1, 8, 1, 16, device=device, dtype=torch.float16)
    with pytest.raises(NotImplementedError, match="flash_attn_varlen_func: Tegula has no sequences of variable lengths"):
        flash_attn.flash_attn_varlen_func(q, q, q)


def test_the_package_can_be_replaced(device, monkeypatch):
    for name in ("flash_attn", "flash_attn.flash_attn_interface"):
        monkeypatch.setitem(sys.modules, name, None)
    flash_attn.install()
    import flash_attn as package
    from flash_attn.flash_attn_interface import flash_attn_func
    assert package is flash_attn and flash_attn_func is flash_attn.flash_attn_func
