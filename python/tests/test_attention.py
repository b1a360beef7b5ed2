# SPDX-License-Identifier: MIT
import itertools

import pytest
import torch

import reference
from tegula import attention

TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def ints(numbers, device):
    return torch.tensor(numbers, dtype=torch.int32, device=device)


OPTIONS = {
    "plain": {},
    "causal": dict(causal=True),
    "causal from the last query": dict(causal=True, bottom_right=True),
    "window": dict(window=(20, 5)),
    "open window": dict(window=(None, 3), bottom_right=True),
    "softcap": dict(softcap=2.0),
    "scale": dict(scale=-0.3),
    "scale of 0": dict(scale=0),
    "alibi": dict(alibi_slopes=lambda shape, device: torch.rand(shape[1], device=device), causal=True),
    "bias": dict(bias=lambda shape, device: torch.randn(shape, device=device)),
    "bias that repeats": dict(bias=lambda shape, device: torch.randn(shape[1], 1, shape[3], device=device)),
    "mask": dict(mask=lambda shape, device: torch.rand(shape, device=device) < 0.7),
    "mask that repeats": dict(mask=lambda shape, device: torch.rand(shape[0], 1, 1, shape[3], device=device) < 0.7),
    "offset of the diagonal": dict(causal=True, window=(30, None), diagonal_offset=lambda _, device: ints([35, 8], device)),
    "one offset": dict(window=(None, 3), bottom_right=True, diagonal_offset=lambda _, device: ints([-5], device)),
    "lengths": dict(interval_end=lambda _, device: ints([[31], [90]], device)),
    "key intervals": dict(interval_begin=lambda shape, device: ints(range(shape[2]), device) // 2,
                          interval_end=lambda shape, device: ints([range(30, 30 + shape[2])] * 2, device)),
    "sinks": dict(sinks=lambda shape, device: torch.randn(shape[1], device=device)),
}


def inputs(device, dtype, heads=4, kv_heads=2, length_q=70, length_k=90, dim=40, value_dim=40):
    """Returns leaves [batch, length, heads, dim], whose views [batch, heads, length, dim] attention takes."""
    shapes = [(2, length_q, heads, dim), (2, length_k, kv_heads, dim), (2, length_k, kv_heads, value_dim)]
    return [torch.randn(shape, device=device, dtype=dtype, requires_grad=True) for shape in shapes]


def made(options, shape, device):
    return {name: value(shape, device) if callable(value) else value for name, value in options.items()}


def results(function, q, k, v, d_o, d_lse, options):
    """Returns o, lse and the gradients of sum(o d_o) + sum(lse d_lse) by their names."""
    extra = {name: options[name].detach().requires_grad_() for name in ("bias", "sinks") if name in options}
    o, lse = function(*(x.transpose(1, 2) for x in (q, k, v)), **options | extra)
    loss = (o * d_o.to(o.dtype)).sum() + (lse * d_lse.to(lse.dtype)).sum()
    names = ["dq", "dk", "dv", *("d" + name for name in extra)]
    return dict(zip(["o", "lse", *names], [o.detach(), lse.detach(), *torch.autograd.grad(loss, [q, k, v, *extra.values()])]))


def compare(device, dtype, options, **shapes):
    leaves = q, k, v = inputs(device, dtype, **shapes)
    shape = (2, q.shape[2], q.shape[1], k.shape[1])
    options = made(options, shape, device)
    d_o = torch.randn(*shape[:3], v.shape[3], device=device, dtype=dtype)
    d_lse = torch.randn(shape[:3], device=device)
    in_double = {name: x.double() if torch.is_tensor(x) and x.is_floating_point() else x for name, x in options.items()}
    exact = results(reference.plain, *reference.doubles([*leaves, d_o]), d_lse, in_double)
    formula = reference.errors_of_formula(lambda *tensors: results(reference.plain, *tensors, d_lse, options), [*leaves, d_o],
                                          exact)
    reference.assert_right(results(attention, *leaves, d_o, d_lse, options), exact, formula)


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_results_and_gradients_are_right(device, dtype, options):
    compare(device, dtype, options)


@pytest.mark.parametrize("dims", [(8, 8), (13, 13), (59, 111), (64, 128), (256, 256)], ids=str)
def test_head_dimensions(device, dims):
    compare(device, torch.float32, {"causal": True}, dim=dims[0], value_dim=dims[1])


def test_a_row_that_sees_no_key_is_0(device):
    leaves = inputs(device, torch.float32)
    mask = torch.ones(70, 90, dtype=torch.bool, device=device)
    mask[3] = False
    o, lse = attention(*(x.transpose(1, 2) for x in leaves), mask=mask)
    assert (o[:, :, 3] == 0).all() and (lse[:, :, 3] == -torch.inf).all()
    for gradient in torch.autograd.grad(o.sum(), leaves):
        assert gradient.isfinite().all()


def test_dropout_keeps_elements_and_repeats_with_the_generator(device):
    q, k, v = (x.detach().transpose(1, 2) for x in inputs(device, torch.float32, heads=2, length_k=64, dim=64, value_dim=64))
    v = torch.eye(64, device=device).expand(2, 2, 64, 64)  # o is the matrix of probabilities.
    p = attention(q, k, v)[0]

    def dropped(seed):
        torch.manual_seed(seed)
        return attention(q, k, v, dropout_p=0.25)[0]

    first, again, other = dropped(1), dropped(1), dropped(2)
    assert torch.equal(first, again) and not torch.equal(first, other)
    kept = first != 0
    assert torch.allclose(first[kept], p[kept] / 0.75, rtol=1e-5)
    assert abs(kept.float().mean().item() - 0.75) < 5 * (0.25 * 0.75 / kept.numel())**0.5


def test_dropout_has_the_same_mask_in_both_passes(device):
    q, k, v = (x.detach().transpose(1, 2) for x in inputs(device, torch.float32, heads=2))
    v.requires_grad_()
    state = torch.tensor([5, 6], device=device)
    o = attention(q, k, v, dropout_p=0.5, dropout_state=state)[0]
    d_o = torch.randn_like(o)
    dv, = torch.autograd.grad(o, v, d_o)
    # o is linear in v: <o(v + x), d_o> - <o(v), d_o> = <x, dv>.
    x = torch.randn_like(v)
    moved = attention(q, k, v + x, dropout_p=0.5, dropout_state=state)[0]
    assert torch.allclose(((moved - o) * d_o).sum(), (x * dv).sum(), rtol=1e-3)


def test_the_graph_can_be_used_twice(device):
    leaves = inputs(device, torch.float32)
    o, _ = attention(*(x.transpose(1, 2) for x in leaves), causal=True)
    first = torch.autograd.grad(o.sum(), leaves, retain_graph=True)
    second = torch.autograd.grad(o.sum(), leaves)
    assert all(torch.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(first, second))


def test_deterministic_gradients_have_the_same_bits(device):
    leaves = inputs(device, torch.float32, length_q=600, length_k=600)

    def gradients():
        o, _ = attention(*(x.transpose(1, 2) for x in leaves), deterministic=True)
        return torch.autograd.grad((o * o).sum(), leaves)

    assert all(torch.equal(a, b) for a, b in zip(gradients(), gradients()))


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"sinks": True}, {"bias": True}, {"interval_end": True}], ids=str)
@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
def test_opcheck(device, dtype, options):
    q, k, v = (x.transpose(1, 2) for x in inputs(device, dtype))
    sinks = torch.zeros(4, device=device, requires_grad=True) if "sinks" in options else None
    bias = torch.zeros(4, 70, 90, device=device, requires_grad=True) if "bias" in options else None
    intervals = (ints([0], device), ints([50], device)) if "interval_end" in options else (None, None)
    tensors = (bias, None, None, sinks, None, None, *intervals, None, None, None, None)
    arguments = (q, k, v, 0.125, "causal" in options, *tensors, False, -1, -1, 0.0, 0.0, True)
    torch.library.opcheck(torch.ops.tegula.attention_forward.default, arguments)


@pytest.mark.parametrize("sizes", [(2, 4, 24), (2, 1, 24), (1, 4, 1)], ids=str)
@pytest.mark.parametrize("order", itertools.permutations(range(3)), ids=str)
def test_results_have_the_order_of_their_inputs(device, order, sizes):
    q = torch.randn(*(sizes[axis] for axis in order), 16, device=device).permute(*(order.index(axis) for axis in range(3)), 3)
    q.requires_grad_()
    o, _ = attention(q, q, q)
    dq, = torch.autograd.grad(o.sum(), q)
    assert o.stride() == q.stride() == dq.stride()
    arguments = (q, q, q, 0.25, False)
    torch.library.opcheck(torch.ops.tegula.attention_forward.default, arguments)


def test_plain_forward_leaves_tensors_that_kernels_do_not_take_as_they_are(device):
    plain = torch.ops.tegula.plain_forward
    q, k, v = (torch.randn(1, 2, 8, 16, device=device) for _ in range(3))
    for result, expected in zip(plain(q, k, v, 0.0, True, False), torch.ops.tegula.attention_forward(q, k, v, 0.25, True)):
        assert torch.equal(result, expected)
    one_head, narrow, two_batches = k[:, :1], q[..., :12], k.expand(2, 2, 8, 16)
    assert plain(q, one_head, one_head, 0.0, False, True)[0] is not None
    for tensors in ((q, one_head, one_head), (q, two_batches, two_batches), (q, k.half(), v), (q, k, v.to("meta")),
                    (narrow, narrow, narrow), (q, k[:, :, :0], v[:, :, :0]), [x[0] for x in (q, k, v)],
                    [x.double() for x in (q, k, v)], [x.transpose(2, 3) for x in (q, k, v)],
                    [x.repeat(1, 1, 1, 17) for x in (q, k, v)]):
        assert plain(*tensors, 0.0, False, False) == (None, None)


def test_compiles_without_a_graph_break(device):
    def function(q, k, v):
        o, lse = attention(q * 2, k, v, causal=True, softcap=3.0)
        return (o + 1).sum() + lse.sum()

    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend="aot_eager")
    for length in 40, 70, 90:
        leaves = inputs(device, torch.float32, length_q=length, length_k=length)
        views = [x.transpose(1, 2) for x in leaves]
        expected, got = function(*views), compiled(*views)
        assert torch.allclose(expected, got, rtol=1e-5)
        for a, b in zip(torch.autograd.grad(expected, leaves), torch.autograd.grad(got, leaves)):
            assert torch.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_errors_have_the_message_of_the_library(device):
    q, k, v = (torch.randn(1, 2, 8, 16, device=device) for _ in range(3))
    with pytest.raises(RuntimeError, match="argument 'slopes': its size 0 is 3; it must be .heads. with heads = 2"):
        attention(q, k, v, alibi_slopes=torch.ones(3, device=device))
    with pytest.raises(NotImplementedError, match="q is torch.float64; it must be float32, float16 or bfloat16"):
        attention(q.double(), k.double(), v.double())
    with pytest.raises(NotImplementedError, match="the last dimension of q is 264; it may be at most 256"):
        attention(*(torch.randn(1, 1, 8, 264, device=device) for _ in range(3)))
    with pytest.raises(RuntimeError, match="argument 'diagonal_offset': its size 0 is 3; it must repeat to .batch."):
        attention(q, k, v, causal=True, diagonal_offset=torch.ones(3, dtype=torch.int32, device=device))
    with pytest.raises(RuntimeError, match="argument 'interval_end': its element type is i64; it must be i32"):
        attention(q, k, v, interval_end=torch.tensor([[5]], device=device))
    with pytest.raises(RuntimeError, match="window_left"):
        attention(q, k, v, window=(2**31, 0))


def test_scores_are_returned(device):
    q, k, v = (torch.randn(2, heads, n, 24, device=device) for heads, n in ((4, 33), (2, 57), (2, 57)))
    bias = torch.randn(4, 33, 57, device=device)
    options = dict(bias=bias, causal=True, bottom_right=True, softcap=2.0)
    o, lse = attention(q, k, v, **options)
    products = torch.einsum("bhqd,bhkd->bhqk", q.double(), k.double().repeat_interleave(2, 1)) / 24**0.5
    hidden = torch.ones(33, 57, dtype=torch.bool, device=device).tril(57 - 33).logical_not()
    scores = (2 * torch.tanh(products / 2) + bias.double()).masked_fill(hidden, float("-inf"))
    expected = {"products": products, "scores": scores, "probabilities": scores.softmax(-1)}
    for name, exact in expected.items():
        again, lse_again, result = attention(q, k, v, return_scores=name, **options)
        assert torch.equal(again, o) and torch.equal(lse_again, lse)
        assert torch.allclose(result.double(), exact, atol=1e-5), name
    with pytest.raises(ValueError, match="return_scores is 'all'; it must be None or one of"):
        attention(q, k, v, return_scores="all")


def test_inverse_intervals_need_intervals():
    q, bounds = torch.ones(1, 1, 8, 8), torch.zeros(1, 8, dtype=torch.int32)
    with pytest.raises(ValueError, match="query_begin and query_end need each other, interval_begin and interval_end"):
        attention(q, q, q, interval_end=bounds, query_begin=bounds, query_end=bounds)
    with pytest.raises(ValueError, match="query_offsets and key_offsets need each other, and all four bounds of intervals"):
        attention(q, q, q, query_offsets=bounds, key_offsets=bounds)
