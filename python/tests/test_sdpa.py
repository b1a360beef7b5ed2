# SPDX-License-Identifier: MIT

import pytest
import torch
import torch.nn.functional as F

import reference
import tegula
from tegula import scaled_dot_product_attention

_original = F.scaled_dot_product_attention
MASKS = {"none": None, "bool": lambda *shape: torch.rand(shape) < 0.7, "float": lambda *shape: torch.randn(shape),
         "smallest": lambda *shape: torch.where(torch.rand(shape) < 0.7, 0.0, torch.finfo(torch.float32).min)}


def plain(query, key, value, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """Returns o by the plain formula, with P from lse."""
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    s = query @ key.transpose(-2, -1) * (query.shape[-1]**-0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).tril()
    if attn_mask is not None:
        s = s.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else s + attn_mask
    return reference.softmax(s)[0] @ value


def compare(device, q_shape, k_shape, mask=None, v_shape=None, dtype=torch.float32, **options):
    """Compares o and the gradients with PyTorch's function in float64."""
    q, k, v = (torch.randn(shape, device=device, dtype=dtype, requires_grad=True)
               for shape in (q_shape, k_shape, v_shape or k_shape))
    if mask is not None:
        mask = mask.to(device)

    def results(function, q, k, v, d_o):
        attn_mask = mask.to(q.dtype) if mask is not None and mask.is_floating_point() else mask
        o = function(q, k, v, attn_mask=attn_mask, **options)
        return dict(zip(["o", "dq", "dk", "dv"], [o.detach(), *torch.autograd.grad(o, (q, k, v), d_o.to(o.dtype))]))

    d_o = torch.randn(*_original(q, k, v, **options).shape, device=device, dtype=dtype)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        exact = results(_original, *reference.doubles([q, k, v, d_o]))
    formula = reference.errors_of_formula(lambda *tensors: results(plain, *tensors), [q, k, v, d_o], exact)
    reference.assert_right(results(scaled_dot_product_attention, q, k, v, d_o), exact, formula)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("mask_shape", [(33, 41), (1, 41), (3, 33, 41), (2, 1, 33, 41), (2, 3, 33, 41), (2, 1, 1, 41)], ids=str)
def test_masks(device, mask, mask_shape):
    if mask is None and mask_shape != (33, 41):
        return
    compare(device, (2, 3, 33, 16), (2, 3, 41, 16), None if mask is None else mask(*mask_shape))


@pytest.mark.parametrize("shapes", [((33, 16), (41, 16)), ((3, 33, 16), (3, 41, 16)), ((2, 3, 33, 16), (1, 3, 41, 16)),
                                    ((2, 3, 33, 16), (2, 1, 41, 16)), ((2, 2, 3, 33, 16), (2, 2, 3, 41, 16))], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_shapes(device, shapes, masked):
    compare(device, *shapes, torch.rand(33, 41) < 0.7 if masked else None)


def test_causal_counts_from_the_first_key(device):
    compare(device, (1, 2, 20, 16), (1, 2, 50, 16), is_causal=True)
    compare(device, (1, 2, 50, 16), (1, 2, 20, 16), is_causal=True)


def test_grouped_heads(device):
    compare(device, (2, 6, 33, 16), (2, 2, 41, 16), enable_gqa=True)


def test_values_of_another_dimension(device):
    compare(device, (1, 2, 33, 24), (1, 2, 41, 24), v_shape=(1, 2, 41, 56), scale=0.25)


def test_a_mask_has_its_gradient(device):
    q, k, v = (torch.randn(2, 2, 30, 16, device=device) for _ in range(3))
    results = []
    for function, dtype in ((scaled_dot_product_attention, torch.float32), (_original, torch.float64)):
        mask = torch.linspace(-1, 1, 900, device=device, dtype=dtype).reshape(30, 30).requires_grad_()
        o = function(*(x.to(dtype) for x in (q, k, v)), attn_mask=mask)
        results.append(torch.autograd.grad((o * o).sum(), mask)[0].double())
    assert torch.allclose(*results, atol=1e-4)


def test_a_mask_and_a_causal_mask_are_an_error(device):
    q = torch.randn(1, 1, 8, 16, device=device)
    with pytest.raises(ValueError, match="attn_mask must be None if is_causal is set"):
        scaled_dot_product_attention(q, q, q, torch.ones(8, 8, dtype=torch.bool, device=device), is_causal=True)


def test_what_is_not_computed_is_named(device):
    q = torch.randn(1, 1, 8, 16, device=device)
    with pytest.raises(NotImplementedError, match="query is|q is torch.float64"):
        scaled_dot_product_attention(q.double(), q.double(), q.double())
    with pytest.raises(NotImplementedError, match="dropout_p is 1.0; it may be at most 0.998"):
        scaled_dot_product_attention(q, q, q, dropout_p=1.0)


def test_autocast(device):
    q = torch.randn(1, 1, 8, 16, device=device)
    with torch.autocast(device.type, torch.bfloat16):
        assert scaled_dot_product_attention(q, q, q).dtype == torch.bfloat16


def test_patched_redirects_the_function_and_counts(device):
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, device=device)
    x = torch.randn(2, 17, 32, device=device)
    expected = layer(x)
    with tegula.patched() as counts:
        assert torch.allclose(layer(x), expected, atol=1e-5)
        F.scaled_dot_product_attention(*(x.double()[None] for _ in range(3)))
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            F.scaled_dot_product_attention(x, x, x)
    assert counts.computed == 1
    assert sum(counts.left.values()) == 2 and any("float64" in reason for reason in counts.left)
    assert F.scaled_dot_product_attention is _original


def test_patched_compiles_without_a_graph_break(device):
    q = torch.randn(2, 2, 20, 16, device=device)
    with tegula.patched():
        compiled = torch.compile(lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True) * 2, fullgraph=True,
                                 backend="aot_eager")
        assert torch.allclose(compiled(q), _original(q, q, q, is_causal=True) * 2, atol=1e-5)
