# SPDX-License-Identifier: MIT

import math
import re

import pytest
import torch
from torch.nn.attention import flex_attention as torch_flex
from torch.nn.attention.flex_attention import and_masks, or_masks

import reference
import tegula
from tegula import flex_attention

B, H, S, D = 2, 4, 150, 16


@pytest.fixture(autouse=True)
def tensors_on(device):
    with device:
        yield


def causal(b, h, q, kv):
    return q >= kv


def window(size):
    return lambda b, h, q, kv: (q - kv).abs() <= size


def prefix(lengths):
    return lambda b, h, q, kv: (kv <= q) | (kv < lengths[b])


def documents(ids):
    return lambda b, h, q, kv: ids[b, q] == ids[b, kv]


def softcap(cap):
    return lambda score, b, h, q, kv: cap * torch.tanh(score / cap)


def alibi(slopes):
    return lambda score, b, h, q, kv: score - slopes[h] * (q - kv).abs()


def relative(table):
    return lambda score, b, h, q, kv: score + table[h, q - kv + S - 1]


def ids():
    return torch.arange(S).mul(7).div(300, rounding_mode="floor").repeat(B, 1)


MASKS = {
    "causal": lambda: causal,
    "window": lambda: and_masks(causal, window(20)),
    "prefix": lambda: prefix(torch.tensor([30, 70])),
    "documents": lambda: documents(ids()),
    "documents_int32": lambda: and_masks(documents(ids().int()), causal),
    "or": lambda: or_masks(window(5), lambda b, h, q, kv: kv < 4, lambda b, h, q, kv: q < 4),
    "of_heads": lambda: lambda b, h, q, kv: torch.where(h % 2 == 0, q >= kv, q - kv < 3 * (b + 1)),
    "dilated": lambda: lambda b, h, q, kv: ((q - kv) % 3 == 0) & ~(kv // 10 == 2),
    "bits": lambda: lambda b, h, q, kv: ((q ^ kv) >> 4 == 0) | torch.logical_not(torch.logical_or(kv > 7, h < 1)),
    "table": lambda: lambda b, h, q, kv, seen=torch.rand(S, S) < 0.6: seen[q, kv],
    "padding": lambda: lambda b, h, q, kv, length=torch.tensor([100, 149]): kv < length[b],
    "nothing": lambda: lambda b, h, q, kv: q < 0,
    "all": lambda: torch_flex.noop_mask,
}

SCORES = {
    "softcap": lambda: softcap(5.0),
    "alibi": lambda: alibi(torch.exp2(-torch.arange(1.0, H + 1))),
    "relative": lambda: relative(torch.randn(H, 2 * S - 1)),
    "negative_index": lambda: lambda s, b, h, q, kv, table=torch.randn(2 * S): s + table[q - kv],
    "masked": lambda: lambda s, b, h, q, kv: torch.where(q >= kv, s, -float("inf")),
    "constant_index": lambda: lambda s, b, h, q, kv, bias=torch.randn(B, H, S): s + bias[b, h, kv] * bias[0, -1, q],
    "scalar": lambda: lambda s, b, h, q, kv, scale=torch.tensor(0.5), one=torch.tensor([1]): s * scale + one,
    "head_scale": lambda: lambda s, b, h, q, kv: s / (h + 1) - 2 ** -(b + 1.0),
    "buckets": lambda: lambda s, b, h, q, kv, t=torch.randn(H, 8): s + t[h, torch.clamp((q - kv).abs() // 16, max=7)],
    "functions": lambda: lambda s, b, h, q, kv: torch.sigmoid(s) + torch.nn.functional.silu(s) + s.sin() * torch.exp(-s * s)
                         + torch.maximum(s, torch.zeros_like(s)) + torch.nn.functional.gelu(s, approximate="tanh"),
    "combination": lambda: lambda s, b, h, q, kv, t=torch.randn(H, 2 * S): torch.where(
        (q + kv) % 2 == 0, softcap(3.0)(s, b, h, q, kv), relative(t)(s, b, h, q, kv)),
    "gathered_index": lambda: lambda s, b, h, q, kv, d=torch.randint(6, (S, S)), t=torch.randn(6): s + t[d[q, kv]],
    "half": lambda: lambda s, b, h, q, kv, bias=torch.randn(S).half(): s + bias[kv].to(torch.float32),
    "int_to_float": lambda: lambda s, b, h, q, kv: s * 1.0 / (1 + q.to(torch.float32)) + (q > kv) * 0.5 + (q >= kv).float(),
}

PROBS = {
    "square": lambda: lambda p, b, h, q, kv: p * p,
    "where_it_is_hidden": lambda: lambda p, b, h, q, kv: torch.where((q + kv) % 3 == 0, p + 0.1 / (h + 1), torch.exp(-p)),
    "table": lambda: lambda p, b, h, q, kv, table=torch.rand(H, 2 * S): p * table[h, q - kv + S],
    "unchanged": lambda: lambda p, b, h, q, kv: p,
}


def tensors(heads=H, dtype=torch.float32, length=S):
    return [torch.randn(B, h, length, D, dtype=dtype, requires_grad=True) for h in (H, heads, heads)]


def plain(q, k, v, score_mod, mask_mod, prob_mod=None):
    """Returns o and lse by the plain formula: functions see all positions at the same time."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    at = [torch.arange(n).reshape([-1 if axis == place else 1 for axis in range(4)]) for place, n in enumerate(s.shape)]
    if score_mod is not None:
        s = score_mod(s, *at)
    if mask_mod is not None:
        s = s.masked_fill(~mask_mod(*at), -math.inf)
    p, lse = reference.softmax(s)
    if prob_mod is not None:
        p = prob_mod(p, *at).masked_fill(s == -math.inf, 0)
    return p @ v, lse


def compare(q, k, v, score_mod=None, mask_mod=None, block_mask=None, prob_mod=None, **options):
    """Compares o, lse and the gradients with PyTorch's function in float64."""
    d_o, d_lse = torch.randn_like(q), torch.randn(q.shape[:3])

    def results(function, q, k, v):
        o, lse = function(q, k, v)
        finite = lse.masked_fill(lse == -math.inf, 0)
        loss = (o * d_o.to(o.dtype)).sum() + (finite * d_lse.to(lse.dtype)).sum()
        gradients = torch.autograd.grad(loss, (q, k, v))
        return dict(zip(["o", "lse", "dq", "dk", "dv"], [o.detach(), finite.detach(), *gradients]))

    def ours(q, k, v):
        return flex_attention(q, k, v, score_mod, block_mask, return_lse=True, prob_mod=prob_mod, **options)

    def exactly(q, k, v):
        return plain(q, k, v, score_mod, mask_mod, prob_mod)

    exact = results(exactly, *reference.doubles([q, k, v]))
    formula = reference.errors_of_formula(lambda *inputs: results(exactly, *inputs), [q, k, v], exact)
    reference.assert_right(results(ours, q, k, v), exact, formula)


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("whose", ["ours", "torch"])
def test_masks(name, whose):
    mask_mod = MASKS[name]()
    make = tegula.create_block_mask if whose == "ours" else torch_flex.create_block_mask
    block_mask = make(mask_mod, B, H, S, S, device=torch.get_default_device(), BLOCK_SIZE=32)
    compare(*tensors(), mask_mod=mask_mod, block_mask=block_mask)


@pytest.mark.parametrize("name", SCORES)
def test_scores(name):
    compare(*tensors(), score_mod=SCORES[name]())


@pytest.mark.parametrize("name", PROBS)
def test_probabilities(name):
    compare(*tensors(), prob_mod=PROBS[name]())


def test_probabilities_with_scores_masks_and_grouped_heads():
    q, _, _ = tensors()
    _, k, v = tensors(2)
    mask_mod = and_masks(causal, lambda b, h, q, kv: q != 7)
    compare(q, k, v, softcap(5.0), mask_mod, tegula.create_block_mask(mask_mod, None, None, S, S), PROBS["where_it_is_hidden"](),
            enable_gqa=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bits(dtype):
    block_mask = tegula.create_block_mask(causal, None, None, S, S)
    compare(*tensors(dtype=dtype), softcap(5.0), causal, block_mask)


def test_grouped_heads_and_other_lengths():
    q, _, _ = tensors()
    _, k, v = tensors(2, length=90)
    mask_mod = and_masks(window(40), lambda b, h, q, kv: kv != 3)
    block_mask = torch_flex.create_block_mask(mask_mod, None, None, S, 90, device=torch.get_default_device(), BLOCK_SIZE=(64, 32))
    compare(q, k, v, alibi(torch.rand(H)), mask_mod, block_mask, enable_gqa=True)


@pytest.mark.parametrize("make_score, mask_mod", [(None, causal), (lambda: softcap(2.0), window(30)), (SCORES["relative"], None)],
                         ids=["mask", "both", "score"])
def test_pytorch_in_float64(make_score, mask_mod):
    """The plain formula of these tests is PyTorch's function."""
    score_mod = make_score and make_score()
    q, k, v = (x.detach().double() for x in tensors())
    block_mask = mask_mod and torch_flex.create_block_mask(mask_mod, B, H, S, S, device=torch.get_default_device())
    o = torch_flex.flex_attention(q, k, v, score_mod, block_mask)
    assert torch.allclose(o, plain(q, k, v, score_mod, mask_mod)[0], atol=1e-6)
    ours = flex_attention(*(x.float() for x in (q, k, v)), score_mod, block_mask)
    assert torch.allclose(ours.double(), o, atol=1e-5)


@pytest.mark.parametrize("whose", ["ours", "torch"])
def test_lists_are_kept_with_a_block_mask(whose, monkeypatch):
    made = []
    make = tegula._operators.flex_lists
    monkeypatch.setattr(tegula._operators, "flex_lists", lambda *arguments: made.append(arguments) or make(*arguments))
    document = torch.arange(S) // 40

    def same_document(b, h, q, kv):
        return document[q] == document[kv]

    create = tegula.create_block_mask if whose == "ours" else torch_flex.create_block_mask
    block_mask = create(same_document, None, None, S, S, device=torch.get_default_device(), BLOCK_SIZE=32)
    for _ in range(2):
        compare(*tensors(), mask_mod=same_document, block_mask=block_mask)
        assert len(made) == 2  # One for each pass.
    flex_attention(*tensors(dtype=torch.float16), None, block_mask).sum().backward()
    assert len(made) == 4
    with torch.inference_mode():
        document = document.clone()
    with torch.no_grad():
        flex_attention(*tensors(), None, block_mask)
    assert len(made) == 4  # PyTorch does not count the changes of such a tensor.


def test_lists_are_made_anew_for_other_contents():
    document = torch.arange(S) // 40

    def same_document(b, h, q, kv):
        return document[q] == document[kv]

    block_mask = tegula.create_block_mask(same_document, None, None, S, S)
    compare(*tensors(), mask_mod=same_document, block_mask=block_mask)
    document.copy_(torch.arange(S) // 70)
    compare(*tensors(), mask_mod=same_document, block_mask=block_mask)
    document = torch.arange(S) // 20
    compare(*tensors(), mask_mod=same_document, block_mask=block_mask)


def test_lists_decide_with_the_mask():
    """A score exists if its block is full, or if its block is partial and the mask lets it exist."""
    counts, indices = torch.tensor([[[1, 0]]], dtype=torch.int32), torch.tensor([[[[0, 1], [0, 1]]]], dtype=torch.int32)
    full_counts, full_indices = torch.tensor([[[0, 1]]], dtype=torch.int32), torch.tensor([[[[0, 1], [1, 0]]]], dtype=torch.int32)
    block_mask = torch_flex.BlockMask.from_kv_blocks(counts, indices, full_counts, full_indices, BLOCK_SIZE=32, mask_mod=causal,
                                                     seq_lengths=(64, 64))
    q, k, v = tensors(length=64)
    compare(q, k, v, None, lambda b, h, q, kv: (q < 32) & (kv <= q) | (q >= 32) & (kv >= 32), block_mask)


def test_captured_tensors_have_gradients():
    q, k, v = tensors()
    inputs = {"table": torch.randn(H, 2 * S - 1), "gate": torch.tensor(0.7), "factor": torch.rand(H),
              "low": torch.randn(B, S).bfloat16()}

    def gradients(attention, dtype):
        learnt = {name: x.to(dtype if x.dtype == torch.float32 else x.dtype).requires_grad_() for name, x in inputs.items()}
        low = learnt["low"].to(dtype) if dtype == torch.float64 else learnt["low"]

        def score_mod(score, b, h, q, kv):
            return score * learnt["gate"] + (2 * learnt["table"])[h, q - kv + S - 1] + low[b, kv]

        def prob_mod(prob, b, h, q, kv):
            return prob * learnt["factor"][h] + prob * prob * learnt["gate"]

        o = attention(*(x.detach().to(dtype) for x in (q, k, v)), score_mod, prob_mod=prob_mod)
        return torch.autograd.grad((o * o).sum(), learnt.values())

    ours = gradients(flex_attention, torch.float32)
    exact = gradients(lambda q, k, v, score_mod, prob_mod: plain(q, k, v, score_mod, None, prob_mod)[0], torch.float64)
    for x, y, captured in zip(ours, exact, inputs.values()):
        assert x.dtype == captured.dtype
        assert torch.allclose(x.double(), y.double(), atol=1e-3, rtol=1e-2)


def test_rows_of_captured_tensors():
    q, k, v = tensors()
    bias = torch.randn(B, H, S)
    assert torch.equal(flex_attention(q, k, v, lambda s, b, h, q, kv: s + bias[b][h][kv]),
                       flex_attention(q, k, v, lambda s, b, h, q, kv: s + bias[b, h, kv]))


def test_a_mask_gives_no_gradient():
    bias = torch.randn(S, requires_grad=True)
    block_mask = tegula.create_block_mask(lambda b, h, q, kv: bias[kv] > 0, None, None, S, S)
    q, k, v = tensors()
    o = flex_attention(q, k, v, None, block_mask)
    assert torch.autograd.grad(o.sum(), bias, allow_unused=True) == (None,)


def test_results():
    q, k, v = tensors()
    o = flex_attention(q, k, v)
    assert torch.allclose(o, torch.nn.functional.scaled_dot_product_attention(q, k, v), atol=1e-5)
    both, lse = flex_attention(q, k, v, return_lse=True)
    assert torch.equal(both, o) and lse.shape == (B, H, S)
    both, aux = flex_attention(q, k, v, return_aux=torch_flex.AuxRequest(lse=True))
    assert torch.equal(both, o) and torch.equal(aux.lse, lse) and aux.max_scores is None
    assert flex_attention(q[..., :10], k[..., :10], v[..., :11], scale=0.0).shape == (B, H, S, 11)
    one = flex_attention(q, k[:1], v[:1], None, tegula.create_block_mask(causal, B, None, S, S))
    assert torch.allclose(one[1], flex_attention(q[1:], k[:1], v[:1], None, tegula.create_block_mask(causal, 1, None, S, S))[0])


def test_a_function_is_recorded_anew_at_each_call():
    q, k, v = tensors()
    size = 3
    block_mask = tegula.create_block_mask(lambda b, h, q, kv: (q - kv).abs() <= size, None, None, S, S)
    before = flex_attention(q, k, v, None, block_mask)
    size = S
    assert torch.allclose(flex_attention(q, k, v, None, block_mask), flex_attention(q, k, v), atol=1e-5)
    assert not torch.allclose(before, flex_attention(q, k, v), atol=1e-2)


def test_compiled_code_breaks_its_graph_once():
    q, k, v = tensors()
    table = torch.randn(H, 2 * S)

    def layer(x):
        return flex_attention(x * 2, k, v, relative(table)) + 1

    explanation = torch._dynamo.explain(layer)(q)
    assert explanation.graph_break_count == 1
    assert torch.allclose(torch.compile(layer, backend="aot_eager")(q), layer(q), atol=1e-5)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="tegula.flex_attention records its functions itself"):
        torch.compile(layer, backend="eager", fullgraph=True)(q)


def refusal(score_mod=None, mask_mod=None, prob_mod=None):
    q, k, v = tensors()
    block_mask = mask_mod and tegula.create_block_mask(mask_mod, None, None, S, S)
    with pytest.raises(NotImplementedError) as error:
        flex_attention(q, k, v, score_mod, block_mask, prob_mod=prob_mod)
    return str(error.value)


def test_what_cannot_be_recorded_has_its_operation_and_line():
    bias = torch.randn(H, S)
    start = "tegula.flex_attention: "
    here = re.compile(rf" \({re.escape(__file__)}:\d+\)$")

    def message(**functions):
        text = refusal(**functions)
        assert text.startswith(start) and here.search(text), text
        return here.sub("", text.removeprefix(start))

    def branches(score, b, h, q, kv):
        return score if q > kv else -score

    assert "a value decides a branch" in message(score_mod=branches)
    assert f":{branches.__code__.co_firstlineno + 1})" in refusal(score_mod=branches)
    assert message(score_mod=lambda s, b, h, q, kv: torch.sinh(s)) == "there is no 'sinh' in kernels"
    assert message(score_mod=lambda s, b, h, q, kv: s.add_(1)) == "there is no 'add_' in kernels"
    assert message(score_mod=lambda s, b, h, q, kv: s * float(q)) == (
        "a value is converted to a number of Python, which is not known while the function is recorded")
    assert message(score_mod=lambda s, b, h, q, kv: s + bias) == (
        f"an operand is a captured tensor of shape ({H}, {S}); index it by integers such as h or q_idx")
    assert message(score_mod=lambda s, b, h, q, kv: s + bias[h]) == (
        "an operand is a row of a captured tensor; functions compute with single elements")
    assert message(score_mod=lambda s, b, h, q, kv: s + (bias[h] - bias[h])[q]) == (
        "an operand is a row of a captured tensor; functions compute with single elements")
    assert message(score_mod=lambda s, b, h, q, kv: s + torch.dot(bias[h], bias[h])) == (
        "'dot' is given a row of a captured tensor; functions compute with single elements")
    assert message(score_mod=lambda s, b, h, q, kv: s + bias[:, q]) == (
        "a captured tensor is indexed by slice(None, None, None); each index must be an integer")
    assert message(score_mod=lambda s, b, h, q, kv: s + bias[h, q / 2]) == (
        "a captured tensor is indexed by torch.float32; each index must be an integer")
    assert message(score_mod=lambda s, b, h, q, kv: bias[q]) == (
        "the result of a score_mod is a row of a captured tensor; functions compute with single elements")
    assert message(prob_mod=lambda p, b, h, q, kv: torch.sinh(p)) == "there is no 'sinh' in kernels"
    assert message(prob_mod=lambda p, b, h, q, kv: bias) == (
        f"the result of a prob_mod is a captured tensor of shape ({H}, {S}); index it by integers such as h or q_idx")
    assert message(mask_mod=lambda b, h, q, kv: None) == (
        "the result of a mask_mod is NoneType; it must be a number or a scalar tensor")
    assert message(score_mod=lambda s, b, h, q, kv: s // 2) == (
        "'floor_divide' is given torch.float32; kernels have it for integers")
    assert message(mask_mod=lambda b, h, q, kv: q < 2**40) == "the number 1099511627776 has more than 32 bits"
    assert message(mask_mod=lambda b, h, q, kv: q.add(kv, out=3) > 0) == (
        "'add' has arguments that kernels do not take (got an unexpected keyword argument 'out')")
    assert message(score_mod=lambda s, b, h, q, kv: s.T) == "there is no 'T' in kernels"
    assert message(mask_mod=lambda b, h, q, kv: bias.to(torch.complex64)[h, q] != 0).startswith(
        "a captured tensor is torch.complex64; kernels read ")


def test_what_is_not_computed_is_named():
    q, k, v = tensors()
    with pytest.raises(NotImplementedError, match="torch.float64"):
        flex_attention(q.double(), k.double(), v.double())
    with pytest.raises(NotImplementedError, match="max_scores"):
        flex_attention(q, k, v, return_aux=torch_flex.AuxRequest(max_scores=True))
    with pytest.raises(ValueError, match="query has 4 heads, and key has 2; set enable_gqa"):
        flex_attention(q, k[:, :2], v[:, :2])
    with pytest.raises(ValueError, match=f"block_mask was created for 64 queries and {S} keys; there are {S} queries and {S} keys"):
        flex_attention(q, k, v, None, tegula.create_block_mask(causal, None, None, 64, S))
    block_mask = torch_flex.create_block_mask(causal, None, None, S, S, device=torch.get_default_device()).to("meta")
    with pytest.raises(ValueError, match=f"block_mask is on meta, and query is on {q.device}; they must be equal"):
        flex_attention(q, k, v, None, block_mask)
