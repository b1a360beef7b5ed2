# SPDX-License-Identifier: MIT
import sys

import pytest
import torch
import torch.nn.attention.varlen

import reference
import tegula
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


def test_the_package_can_be_replaced(device, monkeypatch):
    for name in ("flash_attn", "flash_attn.flash_attn_interface"):
        monkeypatch.setitem(sys.modules, name, None)
    flash_attn.install()
    import flash_attn as package
    from flash_attn.flash_attn_interface import flash_attn_func
    assert package is flash_attn and flash_attn_func is flash_attn.flash_attn_func


PACKED = {"plain": {}, "causal": dict(causal=True), "window": dict(window_size=(7, 4)),
          "causal window": dict(window_size=(5, 0), causal=True), "softcap": dict(softcap=3.0, causal=True),
          "deterministic": dict(deterministic=True), "slopes": dict(alibi_slopes=True),
          "slopes, softcap, window": dict(alibi_slopes=True, softcap=3.0, window_size=(9, 2))}
LENGTHS = {"self": ([20, 0, 37, 1], [20, 0, 37, 1]), "cross": ([20, 5, 0, 37, 3], [33, 2, 7, 37, 0])}


def offsets(lengths, device):
    return torch.tensor([0, *lengths], device=device).cumsum(0).int()


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("options", PACKED.values(), ids=PACKED)
def test_sequences_one_after_another(device, options, lengths):
    of_q, of_k = lengths
    if "alibi_slopes" in options:
        options = options | dict(alibi_slopes=torch.rand(4, device=device))
    unused = 3  # Rows after the last sequence see nothing, and nothing sees them.
    leaves = [torch.randn(sum(of) + unused, heads, 16, device=device, dtype=torch.float16, requires_grad=True)
              for of, heads in ((of_q, 4), (of_k, 2), (of_k, 2))]
    d_o = torch.randn(sum(of_q) + unused, 4, 16, device=device, dtype=torch.float16)

    def results(attention, q, k, v, d_o):
        o = attention(q, k, v)
        return dict(zip(["o", "dq", "dk", "dv"], [o.detach(), *torch.autograd.grad(o, (q, k, v), d_o.to(o.dtype))]))

    def sequences(q, k, v):
        parts = []
        for q, k, v in zip(q.split([*of_q, unused]), k.split([*of_k, unused]), v.split([*of_k, unused])):
            hidden = len(parts) == len(of_q) or k.shape[0] == 0
            parts.append(q * 0 + (k.sum() + v.sum()) * 0 if hidden else
                         expected(q[None], k[None], v[None], **options)[0].nan_to_num(0))
        return torch.cat(parts)

    def packed(q, k, v):
        return flash_attn.flash_attn_varlen_func(q, k, v, offsets(of_q, device), offsets(of_k, device), 37, 37, **options)

    exact = results(sequences, *reference.doubles([*leaves, d_o]))
    formula = reference.errors_of_formula(lambda *tensors: results(sequences, *tensors), [*leaves, d_o], exact)
    reference.assert_right(results(packed, *leaves, d_o), exact, formula)


def test_packed_forms_of_sequences(device):
    at = offsets([9, 12], device)
    qkv = torch.randn(21, 3, 4, 16, device=device, dtype=torch.float16)
    o, lse, _ = flash_attn.flash_attn_varlen_func(*qkv.unbind(1), at, at, 12, 12, causal=True, return_attn_probs=True)
    assert lse.shape == (4, 21)
    assert torch.equal(flash_attn.flash_attn_varlen_qkvpacked_func(qkv, at, 12, causal=True), o)
    assert torch.equal(flash_attn.flash_attn_varlen_kvpacked_func(qkv[:, 0], qkv[:, 1:], at, at, 12, 12, causal=True), o)


def test_the_function_of_pytorch(device):
    at_q, at_k = (offsets(of, device) for of in LENGTHS["cross"])
    q, k, v = (torch.randn(int(at[-1]), heads, 16, device=device, dtype=torch.float16, requires_grad=True)
               for at, heads in ((at_q, 4), (at_k, 2), (at_k, 2)))
    for window in (-1, -1), (-1, 0), (5, 2):
        found = tegula.varlen_attn(q, k, v, at_q, at_k, 37, 37, return_aux=torch.nn.attention.varlen.AuxRequest(lse=True),
                                   scale=0.3, window_size=window)
        o, lse, _ = flash_attn.flash_attn_varlen_func(q, k, v, at_q, at_k, 37, 37, softmax_scale=0.3, window_size=window,
                                                      return_attn_probs=True)
        assert torch.equal(found[0], o) and torch.equal(found[1], lse)
        assert torch.equal(tegula.varlen_attn(q, k, v, at_q, at_k, 37, 37, scale=0.3, window_size=window), o)
        assert all(torch.equal(x, y) for x, y in zip(torch.autograd.grad(found[0].sum(), (q, k, v)),
                                                     torch.autograd.grad(o.sum(), (q, k, v))))


def test_slopes_of_each_sequence(device):
    at = offsets([9, 12], device)
    q, k, v = torch.randn(3, 21, 4, 16, device=device, dtype=torch.float16)
    slopes = torch.rand(2, 4, device=device)
    o = flash_attn.flash_attn_varlen_func(q, k, v, at, at, 12, 12, causal=True, alibi_slopes=slopes)
    for n, rows in enumerate((slice(9), slice(9, 21))):
        alone = flash_attn.flash_attn_func(q[None, rows], k[None, rows], v[None, rows], causal=True, alibi_slopes=slopes[n])
        assert torch.allclose(o[rows], alone[0], atol=2e-3)


@pytest.mark.parametrize("options", [PACKED[name] for name in ("plain", "causal", "causal window", "softcap", "slopes")], ids=str)
@pytest.mark.parametrize("page_size", [16, 12, 64])
def test_sequences_with_keys_in_pages(device, options, page_size):
    of_q, of_k = LENGTHS["cross"]
    if "alibi_slopes" in options:
        options = options | dict(alibi_slopes=torch.rand(len(of_q), 4, device=device))
    at_q, at_k = offsets(of_q, device), offsets(of_k, device)
    q = torch.randn(sum(of_q) + 2, 4, 16, device=device, dtype=torch.float16)  # Two rows belong to no sequence.
    k, v = (torch.randn(sum(of_k), 2, 16, device=device, dtype=torch.float16) for _ in range(2))
    table = torch.randperm(20, generator=torch.Generator().manual_seed(1)).view(5, 4).to(device)
    pages = [torch.full((20, page_size, 2, 16), torch.nan, device=device, dtype=torch.float16) for _ in range(2)]
    for x, pool in zip((k, v), pages):
        for n, part in enumerate(x.split(of_k)):
            for i, row in enumerate(part):
                pool[table[n, i // page_size], i % page_size] = row
    found = flash_attn.flash_attn_varlen_func(q, *pages, at_q, at_k, 37, 37, block_table=table.int(), return_attn_probs=True,
                                              **options)
    plain = flash_attn.flash_attn_varlen_func(q, k, v, at_q, at_k, 37, 37, return_attn_probs=True, **options)
    for x, y in zip(found[:2], plain[:2]):
        assert torch.allclose(x, y, atol=4e-3)
    if set(options) <= {"causal"}:
        window = (-1, 0 if "causal" in options else -1)
        assert torch.equal(found[0], tegula.varlen_attn(q, *pages, at_q, None, 37, 37, window_size=window, block_table=table,
                                                        seqused_k=at_k.diff()))


def test_sequences_refuse_by_name():
    q, at = torch.randn(4, 1, 16), torch.tensor([0, 4], dtype=torch.int32)
    pages = torch.zeros(1, 1, dtype=torch.int32)
    for option, name in ((dict(alibi_slopes=torch.ones(1), dropout_p=0.5), "dropout with alibi_slopes and cu_seqlens"),
                         (dict(block_table=pages, dropout_p=0.5), "dropout with block_table"),
                         (dict(dropout_p=0.5, return_attn_probs=True), "s_dmask with cu_seqlens")):
        with pytest.raises(NotImplementedError, match=f"Tegula has no {name}"):
            flash_attn.flash_attn_varlen_func(q, q, q, at, at, 4, 4, **option)
