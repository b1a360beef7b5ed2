# SPDX-License-Identifier: MIT

import math
import re
import sys
import types

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
    torch._dynamo.reset()


def compiled(backend, function=flex_attention):
    """Returns a function whose graph must not break, or the function itself without a backend."""
    return torch.compile(function, backend=backend, fullgraph=True) if backend else function


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
    "powers_of_2": lambda: lambda b, h, q, kv: ((q - kv) % 4 == 1) | ((q - kv) // 8 == -2) | (q % 32 // 16 == kv // 32 % 2),
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


def compare(q, k, v, score_mod=None, mask_mod=None, block_mask=None, prob_mod=None, backend=None, **options):
    """Compares o, lse and the gradients with PyTorch's function in float64."""
    d_o, d_lse = torch.randn_like(q), torch.randn(q.shape[:3])

    def results(function, q, k, v):
        o, lse = function(q, k, v)
        finite = lse.masked_fill(lse == -math.inf, 0)
        loss = (o * d_o.to(o.dtype)).sum() + (finite * d_lse.to(lse.dtype)).sum()
        gradients = torch.autograd.grad(loss, (q, k, v))
        return dict(zip(["o", "lse", "dq", "dk", "dv"], [o.detach(), finite.detach(), *gradients]))

    def ours(q, k, v):
        return compiled(backend)(q, k, v, score_mod, block_mask, return_lse=True, prob_mod=prob_mod, **options)

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


@pytest.mark.parametrize("backend", [None, "eager", "aot_eager"])
def test_captured_tensors_have_gradients(backend):
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

    ours = gradients(compiled(backend), torch.float32)
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


def test_a_function_is_recorded_anew_if_its_variables_change():
    q, k, v = tensors()
    size = 3
    block_mask = tegula.create_block_mask(lambda b, h, q, kv: (q - kv).abs() <= size, None, None, S, S)
    before = flex_attention(q, k, v, None, block_mask)
    size = S
    assert torch.allclose(flex_attention(q, k, v, None, block_mask), flex_attention(q, k, v), atol=1e-5)
    assert not torch.allclose(before, flex_attention(q, k, v), atol=1e-2)


reach = 3


def test_a_function_is_recorded_once(monkeypatch):
    """Its text is used again for the same code, the same numbers, and tensors of the same kind."""
    recorded = []
    record = tegula._recorder._record
    monkeypatch.setattr(tegula._recorder, "_record", lambda *arguments: recorded.append(arguments) or record(*arguments))
    tegula._recorder._texts.clear()
    q, k, v = tensors()

    def check(score_mod, count):
        compare(q, k, v, score_mod)
        recorded.clear()
        compare(q, k, v, score_mod)
        assert len(recorded) == count

    def bias(table):
        return lambda score, b, h, q, kv: torch.where((q - kv).abs() < reach, score + table[h, kv], score)

    check(bias(torch.randn(H, S)), 0)
    check(bias(torch.randn(H, S)), 0)
    recorded.clear()
    table = torch.randn(H, S)
    compare(q, k, v, bias(table))
    assert not recorded
    monkeypatch.setattr(sys.modules[__name__], "reach", 5)
    compare(q, k, v, bias(table))
    compare(q, k, v, bias(table.bfloat16().float().requires_grad_()))
    compare(q, k, v, twice(bias(table)))
    assert len(recorded) == 3
    holder = types.SimpleNamespace(factor=2.0)
    check(lambda score, b, h, q, kv: score * holder.factor, 1)  # Attributes may change unseen.
    check(lambda score, b, h, q, kv: score + (2 * table)[h, kv], 1)  # A tensor that the function makes.


def twice(score_mod):
    return lambda score, *at: score_mod(score_mod(score, *at), *at)


@pytest.mark.parametrize("name", [*MASKS, *SCORES, *PROBS])
def test_each_function_is_the_same_in_a_graph(name):
    q, k, v = tensors()
    mask_mod, score_mod, prob_mod = (functions[name]() if name in functions else None for functions in (MASKS, SCORES, PROBS))

    def layer(q):
        block_mask = mask_mod and tegula.create_block_mask(mask_mod, None, None, S, S)
        return flex_attention(q, k, v, score_mod, block_mask, prob_mod=prob_mod)

    assert torch.equal(compiled("aot_eager", layer)(q), layer(q))


@pytest.mark.parametrize("whose", ["ours", "torch"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_block_masks_of_compiled_code(backend, whose):
    q, _, _ = tensors()
    _, k, v = tensors(2, length=90)
    mask_mod = documents(ids())
    make = tegula.create_block_mask if whose == "ours" else torch_flex.create_block_mask
    block_mask = make(mask_mod, B, None, S, 90, device=torch.get_default_device(), BLOCK_SIZE=32)
    compare(q, k, v, softcap(5.0), mask_mod, block_mask, PROBS["square"](), backend, enable_gqa=True)


@pytest.mark.parametrize("make", [tegula.create_block_mask, torch_flex.create_block_mask], ids=["ours", "torch"])
def test_a_block_mask_is_made_in_compiled_code(make):
    q, k, v = tensors()
    device = torch.get_default_device()

    def layer(q):
        return flex_attention(q, k, v, None, make(causal, None, None, S, S, device=device, BLOCK_SIZE=32))

    assert torch.equal(compiled("aot_eager", layer)(q), layer(q))


class Layer(torch.nn.Module):
    """A model's layer, whose functions read parameters and numbers of their module."""

    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(D, 3 * D)
        self.table = torch.nn.Parameter(torch.randn(H, 2 * S - 1))
        self.gate = torch.nn.Parameter(torch.tensor(0.7))
        self.cap, self.size = 5.0, 20

    def score_mod(self, score, b, h, q, kv):
        return self.cap * torch.tanh(self.gate * score / self.cap) + self.table[h, q - kv + S - 1]

    def forward(self, x, attention=flex_attention):
        def mask_mod(b, h, q, kv):
            return (q - kv).abs() <= self.size

        q, k, v = self.project(x).chunk(3, -1)
        block_mask = tegula.create_block_mask(mask_mod, None, None, S, S)
        return attention(q, k, v, self.score_mod, block_mask)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_compiled_model_learns(backend):
    layer, x = Layer(), torch.randn(B, H, S, D)
    exactly = Layer().double()
    exactly.load_state_dict(layer.state_dict())
    (compiled(backend, layer)(x) ** 2).sum().backward()
    (exactly(x.double(), lambda q, k, v, score_mod, mask: plain(q, k, v, score_mod, mask.mask_mod)[0]) ** 2).sum().backward()
    for (name, ours), exact in zip(layer.named_parameters(), exactly.parameters()):
        assert torch.allclose(ours.grad.double(), exact.grad, atol=1e-3, rtol=1e-3), name


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_what_makes_a_new_graph(backend):
    graphs = []

    def count(graph, inputs):
        graphs.append(graph)
        return torch._dynamo.lookup_backend(backend)(graph, inputs)

    def layer(q, k, v, score_mod, size):
        mask_mod = and_masks(documents(document), window(size))
        return flex_attention(q, k, v, score_mod, tegula.create_block_mask(mask_mod, None, None, q.shape[2], k.shape[2]))

    document = ids()
    ours = compiled(count, layer)

    def new_graphs(q, k, v, *options):
        before = len(graphs)
        with torch.no_grad():
            assert torch.allclose(ours(q, k, v, *options), layer(q, k, v, *options), atol=1e-5)
        return len(graphs) > before

    q, k, v = tensors()
    cap, slopes = softcap(5.0), torch.rand(H)
    assert new_graphs(q, k, v, cap, 20)
    assert not new_graphs(k, v, q, cap, 20)
    document.copy_(document.flip(1))
    slopes += 1
    assert not new_graphs(q, k, v, cap, 20)
    assert new_graphs(q, k, v, softcap(2.0), 20)
    assert new_graphs(q, k, v, alibi(slopes), 20)
    assert not new_graphs(q, k, v, alibi(slopes + 1), 20)
    assert new_graphs(*tensors(dtype=torch.bfloat16), cap, 20)
    assert new_graphs(q, k, v, cap, 30)      # The size becomes a symbol.
    assert not new_graphs(q, k, v, cap, 40)
    assert new_graphs(*tensors(length=90), cap, 20)
    assert not new_graphs(*tensors(length=80), cap, 30)


def test_symbols_of_a_graph_are_tensors_of_its_kernel():
    q, k, v = tensors()

    def layer(q, size):
        block_mask = tegula.create_block_mask(window(size), None, None, S, S)
        return flex_attention(q, k, v, lambda score, b, h, i, j: score + size, block_mask)

    ours = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=True)
    for size in (20, 30):
        assert torch.allclose(ours(q, size), layer(q, size), atol=1e-5)
    with pytest.raises(Exception, match="tegula.flex_attention: the number s[0-9]+ has more than 32 bits"):
        ours(q, 2**40)


def test_what_cannot_be_traced_breaks_the_graph():
    q, k, v = tensors()

    def score_mod(score, b, h, q, kv):
        torch._dynamo.graph_break()
        return score * 2

    def layer(q):
        return flex_attention(q, k, v, score_mod) + 1

    with pytest.raises(torch._dynamo.exc.Unsupported):
        compiled("aot_eager", layer)(q)
    assert torch.equal(torch.compile(layer, backend="aot_eager")(q), layer(q))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_errors_of_compiled_code_have_their_line(backend):
    q, k, v = tensors()

    def score_mod(score, b, h, q, kv):
        return torch.sinh(score)

    line = score_mod.__code__.co_firstlineno + 1
    message = rf"tegula.flex_attention: there is no 'sinh' in kernels \({re.escape(__file__)}:{line}\)"
    with pytest.raises(Exception, match=message):
        compiled(backend)(q, k, v, score_mod)


@pytest.mark.parametrize("backend", [None, "eager", "aot_eager"])
def test_no_grad_in_a_function(backend):
    q, k, v = (x.detach() for x in tensors())
    bias = torch.randn(2, S, requires_grad=True)

    def score_mod(score, b, h, q, kv):
        with torch.no_grad():
            constant = bias[0, kv]
        return score + constant + bias[1, kv]

    gradient, = torch.autograd.grad((compiled(backend)(q, k, v, score_mod) ** 2).sum(), bias)
    assert not gradient[0].any() and gradient[1].any()


@pytest.mark.parametrize("strict", [False, True])
def test_export(strict):
    class Model(torch.nn.Module):
        def forward(self, q, k, v):
            block_mask = tegula.create_block_mask(causal, None, None, S, S)
            return flex_attention(q, k, v, softcap(5.0), block_mask)

    inputs = tuple(x.detach() for x in tensors())
    program = torch.export.export(Model(), inputs, strict=strict)
    assert torch.equal(program.module()(*inputs), Model()(*inputs))


def test_opcheck():
    q, k, v = (x.detach().transpose(1, 2).contiguous().transpose(1, 2) for x in tensors())
    block_mask = torch_flex.create_block_mask(causal, None, None, S, S, device=torch.get_default_device(), BLOCK_SIZE=32)
    blocks = [block_mask.kv_num_blocks, block_mask.kv_indices, block_mask.full_kv_num_blocks, block_mask.full_kv_indices]
    text = "\n".join(["variant 1", "tensor c0 f32[any] gradient", "tensor c1 f32[any]", "v0 = c0[head]", "v1 = c1[key]",
                      "v2 = v0 * v1", "v3 = score + v2", "score = v3", "v4 = query >= key", "mask = v4", ""])
    arguments = [torch.rand(H)], [torch.rand(S)], blocks, text, 0.25, 2, 32, 32, False
    torch.library.opcheck(torch.ops.tegula.flex_forward.default, (q, k, v, *arguments))
    o, lse = torch.ops.tegula.flex_forward(q, k, v, *arguments)
    torch.library.opcheck(torch.ops.tegula.flex_backward.default, (torch.randn_like(o), None, q, k, v, o, lse, *arguments),
                          atol=1e-4, rtol=1e-4)


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
