# SPDX-License-Identifier: MIT
"""Compares decode and flash_attn_with_kvcache with float64. What lies outside of the sequences in a cache is NaN."""

import math

import pytest
import torch

import reference
import tegula
from tegula import flash_attn

LENGTHS = [70, 1, 0, 33]
PAGE = 16


def numbers(*sizes, device, dtype=torch.float32, seed=0):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).to(device, dtype)


def caches(device, dtype, kv_heads=2, longest=80, dims=(24, 16)):
    """Returns k and v [batch, kv_heads, longest, dim], whole and with NaN after the last key."""
    whole = [numbers(len(LENGTHS), kv_heads, longest, dim, device=device, dtype=dtype, seed=dim) for dim in dims]
    hidden = torch.arange(longest, device=device) >= torch.tensor(LENGTHS, device=device)[:, None]
    return whole, [x.masked_fill(hidden[:, None, :, None], math.nan) for x in whole]


def paged(x, seed=3, page=PAGE):
    """Returns pages [pages, kv_heads, page, dim] in a random order, and their table."""
    batch, heads, length, dim = x.shape
    count = batch * length // page
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed)).to(x.device)
    pool = torch.empty(count, heads, page, dim, device=x.device, dtype=x.dtype)
    pool[order] = x.view(batch, heads, length // page, page, dim).transpose(1, 2).reshape(count, heads, page, dim)
    return pool, order.int().view(batch, length // page)


def expected(q, k, v, lengths, causal=True, **options):
    """Returns what the plain formula finds in the type of the tensors."""
    parts = []
    for n, length in enumerate(lengths):
        rows = slice(n, n + 1)
        if length == 0:
            parts.append((torch.zeros(1, *q.shape[1:3], v.shape[3], dtype=q.dtype, device=q.device),
                          torch.full((1, *q.shape[1:3]), -math.inf, dtype=q.dtype, device=q.device)))
            continue
        o, lse = reference.plain(q[rows], k[rows, :, :length], v[rows, :, :length], causal=causal, bottom_right=True, **options)
        parts.append((o.nan_to_num(0), lse))  # A row without keys gives 0.
    return dict(zip(("o", "lse"), map(torch.cat, zip(*parts))))


def assert_right(found, tensors, lengths, **options):
    exact = expected(*(x.double() for x in tensors), lengths, **options)
    plain = expected(*tensors, lengths, **options)
    for name, x in zip(("o", "lse"), found):
        finite = exact[name].isfinite()
        assert torch.equal(x.isfinite(), finite)
        error, bound = ((y.double() - exact[name])[finite].abs().max().item() for y in (x, plain[name]))
        assert error <= 2 * bound + 2e-6 * (1 + exact[name][finite].abs().max().item())


@pytest.mark.parametrize("has_pages", [False, True], ids=["strided", "paged"])
@pytest.mark.parametrize("options", [{}, {"causal": False}, {"window": (20, None)}, {"softcap": 2.0}, {"alibi": True},
                                     {"sinks": True}, {"scale": 0.3}], ids=str)
@pytest.mark.parametrize("queries, dtype", [(1, torch.float32), (3, torch.float32), (2, torch.bfloat16)], ids=str)
def test_decode(device, queries, dtype, options, has_pages):
    options = dict(options)
    q = numbers(len(LENGTHS), 4, queries, 24, device=device, dtype=dtype)
    whole, (k, v) = caches(device, dtype)
    if options.pop("alibi", False):
        options["alibi_slopes"] = torch.tensor([0.1, 0.2, 0.3, 0.4], device=device)
    if options.pop("sinks", False):
        options["sinks"] = torch.tensor([0.5, -1.0, 2.0, 0.0], device=device)
    table = None
    if has_pages:
        (k, table), (v, _) = paged(k), paged(v)
    lengths = torch.tensor(LENGTHS, dtype=torch.int32, device=device)
    found = tegula.decode(q, k, v, lengths, table, return_lse=True, **options)
    if "sinks" in options:  # Of the empty sequence, whose plain formula has no keys at all.
        assert torch.allclose(found[1][2], options["sinks"][:, None].expand(4, queries))
        found = [torch.cat([x[:2], x[3:]]) for x in found]
        q, whole = (torch.cat([x[:2], x[3:]]) for x in (q,)), [torch.cat([x[:2], x[3:]]) for x in whole]
        return assert_right(found, [*q, *whole], [70, 1, 33], **options)
    assert_right(found, [q, *whole], LENGTHS, **options)


@pytest.mark.parametrize("keys_per_part", [0, 32])
def test_page_tables_without_gaps(device, keys_per_part):
    """As FlashInfer has them: kv_indptr, kv_indices, and the length of the last page."""
    q = numbers(len(LENGTHS), 4, 2, 24, device=device)
    whole, (k, v) = caches(device, torch.float32)
    (k, table), (v, _) = paged(k), paged(v)
    counts = [-(-length // PAGE) for length in LENGTHS]
    kv_indptr = torch.tensor([sum(counts[:n]) for n in range(len(counts) + 1)], dtype=torch.int32, device=device)
    kv_indices = torch.cat([row[:count] for row, count in zip(table, counts)])
    last_page_len = torch.tensor([length - (count - 1) * PAGE for length, count in zip(LENGTHS, counts)], device=device)
    lengths = ((kv_indptr[1:] - kv_indptr[:-1] - 1) * PAGE + last_page_len).int()
    found = tegula.decode(q, k, v, lengths, kv_indices, kv_indptr, keys_per_part=keys_per_part, return_lse=True)
    assert_right(found, [q, *whole], LENGTHS)
    last = tegula.decode(q, k, v, last_page_len.int(), kv_indices, kv_indptr, keys_per_part=keys_per_part,
                         lengths_count="last_page", return_lse=True)
    assert all(torch.equal(x, y) for x, y in zip(last, found))
    with pytest.raises(ValueError, match="page_table must have 1 dimension, because page_offsets are given"):
        tegula.decode(q, k, v, lengths, table, kv_indptr)
    with pytest.raises(ValueError, match="page_table must have 2 dimensions, because page_offsets are not given"):
        tegula.decode(q, k, v, lengths, kv_indices)


@pytest.mark.parametrize("page", [1, 5, 8])
def test_pages_of_any_size(device, page):
    """SGLang has pages of one key. flash_attn has heads after the keys of a page."""
    q, (whole, (k, v)) = numbers(len(LENGTHS), 4, 2, 24, device=device), caches(device, torch.float32)
    (k, table), (v, _) = paged(k, page=page), paged(v, page=page)
    lengths = torch.tensor(LENGTHS, dtype=torch.int32, device=device)
    assert_right(tegula.decode(q, k, v, lengths, table, return_lse=True), [q, *whole], LENGTHS)
    k, v = (x.transpose(1, 2).contiguous() for x in (k, v))
    o, lse = flash_attn.flash_attn_with_kvcache(q.transpose(1, 2), k, v, cache_seqlens=lengths, block_table=table, causal=True,
                                                return_softmax_lse=True)
    assert_right((o.transpose(1, 2), lse), [q, *whole], LENGTHS)


@pytest.mark.parametrize("count, less", [("before", 2), ("last_key", 1)])
def test_what_lengths_count(device, count, less):
    q, (whole, (k, v)) = numbers(len(LENGTHS), 4, 2, 24, device=device), caches(device, torch.float32)
    lengths = torch.tensor(LENGTHS, dtype=torch.int32, device=device) - less
    prepared = tegula.prepare_decode(q, k, v, lengths, lengths_count=count)
    found = tegula.decode(q, k, v, lengths, lengths_count=count, prepared=prepared, return_lse=True)
    assert_right(found, [q, *whole], LENGTHS)


def test_values_in_pages_of_their_own(device):
    """The pool of values is in another order, and has more pages."""
    q = numbers(len(LENGTHS), 4, 2, 24, device=device)
    whole, (k, v) = caches(device, torch.float32)
    (k, table), (v, table_v) = paged(k), paged(v, seed=5)
    lengths = torch.tensor(LENGTHS, dtype=torch.int32, device=device)
    v = torch.cat([v, torch.full_like(v[:3], math.nan)])
    assert_right(tegula.decode(q, k, v, lengths, table, page_table_v=table_v, return_lse=True), [q, *whole], LENGTHS)
    with pytest.raises(ValueError, match="page_table_v is given; it must have the shape of page_table"):
        tegula.decode(q, k, v, lengths, page_table_v=table_v)


@pytest.mark.parametrize("has_pages", [False, True], ids=["strided", "paged"])
@pytest.mark.parametrize("count", [0, 45, 80])
@pytest.mark.parametrize("options", [{}, {"causal": False}, {"window": (20, None)}, {"softcap": 2.0},
                                     {"keys_per_part": 256}], ids=str)
def test_prefix(device, options, count, has_pages):
    """All sequences begin with `count` keys."""
    q = numbers(len(LENGTHS), 4, 3, 24, device=device)
    whole, (k, v) = caches(device, torch.float32)
    prefix = [numbers(1, 2, 80, dim, device=device, seed=dim + 1) for dim in (24, 16)]
    hidden = [torch.where(torch.arange(80, device=device)[:, None] < count, x, math.nan) for x in prefix]
    arguments = dict(zip(("prefix_k", "prefix_v"), hidden))
    table = None
    if has_pages:  # The prefix is the last sequence of the pool.
        (k, table), (v, _) = (paged(torch.cat([own, x])) for own, x in zip((k, v), hidden))
        table, arguments = table[:-1], dict(prefix_page_table=table[-1:])
    lengths, length = (torch.tensor(x, dtype=torch.int32, device=device) for x in (LENGTHS, [count]))
    found = tegula.decode(q, k, v, lengths, table, prefix_lengths=length, return_lse=True, **arguments, **options)
    options.pop("keys_per_part", None)
    together = [torch.cat([x[:, :, :count].expand(len(LENGTHS), -1, -1, -1), own], 2) for x, own in zip(prefix, whole)]
    assert_right(found, [q, *together], [count + length for length in LENGTHS], **options)


def test_lengths_may_change_in_place(device):
    """On a GPU a captured call is replayed."""
    q = numbers(len(LENGTHS), 4, 1, 24, device=device, dtype=torch.bfloat16)
    whole, _ = caches(device, torch.bfloat16)
    lengths = torch.tensor(LENGTHS, dtype=torch.int32, device=device)

    def compute():
        return tegula.decode(q, *whole, lengths, return_lse=True)

    found = compute()
    if q.is_cuda:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = compute()
    for new in (LENGTHS, [5, 80, 16, 0]):
        lengths.copy_(torch.tensor(new))
        if q.is_cuda:
            graph.replay()
        else:
            found = compute()
        assert_right(found, [q, *whole], new)


@pytest.mark.parametrize("options", [{}, {"window": (20, None)}, {"keys_per_part": 256}, {"prefix": True}], ids=str)
@pytest.mark.parametrize("has_pages", [False, True], ids=["strided", "paged"])
def test_layers_share_what_is_prepared(device, options, has_pages):
    """On a GPU a captured step is replayed with other lengths."""
    options = dict(options)
    lengths, table = torch.tensor(LENGTHS, dtype=torch.int32, device=device), None
    shared = [numbers(1, 2, 40, 24, device=device, seed=seed) for seed in (5, 6)]
    layers = [[numbers(4, heads, length, 24, device=device, seed=seed + 10 * layer)
               for heads, length, seed in ((4, 2, 0), (2, 80, 1), (2, 80, 2))] for layer in range(2)]
    wholes = layers
    if has_pages:
        table = paged(layers[0][1])[1]
        layers = [[q, paged(k)[0], paged(v)[0]] for q, k, v in layers]
    if options.pop("prefix", False):
        options["prefix_lengths"] = torch.tensor([30], dtype=torch.int32, device=device)
        options |= dict(prefix_page_table=table[1:2]) if has_pages else dict(zip(("prefix_k", "prefix_v"), shared))

    def step():
        empty = torch.empty_like(layers[0][0])  # Of q only the shape counts.
        prepared = tegula.prepare_decode(empty, *layers[1][1:], lengths, table, **options)
        return [tegula.decode(*layer, lengths, table, prepared=prepared, return_lse=True, **options) for layer in layers]

    if lengths.is_cuda:
        step()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = step()
    for new in (LENGTHS, [5, 80, 16, 0]):
        lengths.copy_(torch.tensor(new))
        if lengths.is_cuda:
            graph.replay()
        else:
            results = step()
        for layer, whole, found in zip(layers, wholes, results):
            alone = tegula.decode(*layer, lengths, table, return_lse=True, **options)
            assert all(torch.equal(x, y) for x, y in zip(found, alone))
            if "prefix_lengths" not in options:
                assert_right(found, whole, new, **{name: x for name, x in options.items() if name == "window"})


def test_what_is_prepared_for_others_is_refused(device):
    q, (k, v) = numbers(4, 4, 1, 24, device=device), caches(device, torch.float32)[0]
    lengths = torch.tensor(LENGTHS, dtype=torch.int32, device=device)
    prepared = tegula.prepare_decode(q, k, v, lengths)
    with pytest.raises(RuntimeError, match="argument 'prepared': it has .* bytes; that of these sizes has"):
        tegula.decode(*(x.repeat(9, 1, 1, 1) for x in (q, k, v)), lengths.repeat(9), prepared=prepared)
    with pytest.raises(ValueError, match="prepared is torch.int32 on .*; it must be what tegula.prepare_decode returns on"):
        tegula.decode(q, k, v, lengths, prepared=lengths)


def test_compiled(device):
    q, (k, v) = numbers(4, 4, 1, 24, device=device), caches(device, torch.float32)[0]
    lengths = torch.tensor(LENGTHS, dtype=torch.int32, device=device)

    @torch.compile(backend="aot_eager", fullgraph=True)
    def step(q, layers, lengths):
        prepared = tegula.prepare_decode(q, *layers[0], lengths)
        return [tegula.decode(q, k_cache, v_cache, lengths, prepared=prepared) for k_cache, v_cache in layers]

    layers = [(k, v), (2 * k, 3 * v)]
    with torch.no_grad():
        for found, layer in zip(step(q, layers, lengths), layers):
            assert torch.equal(found, tegula.decode(q, *layer, lengths))


def test_opcheck(device):
    q, (k, v) = numbers(4, 4, 1, 24, device=device), caches(device, torch.float32)[0]
    lengths = torch.tensor(LENGTHS, dtype=torch.int32, device=device)
    torch.library.opcheck(torch.ops.tegula.decode.default, (q, k, v, lengths, 0.2, True))
    torch.library.opcheck(torch.ops.tegula.prepare_decode.default, (q, k, v, lengths, 0.2, True),
                          test_utils=("test_schema", "test_faketensor"))  # Some of its bytes have no meaning, and any value.
    prepared = tegula.prepare_decode(q, k, v, lengths, scale=0.2)
    torch.library.opcheck(torch.ops.tegula.decode.default, (q, k, v, lengths, 0.2, True), {"prepared": prepared})


@pytest.mark.parametrize("change, error, message", [
    (dict(lengths=torch.tensor(LENGTHS)), ValueError, "lengths is torch.int64 on cpu; it must be torch.int32 on"),
    (dict(q=torch.ones(4, 4, 1, 24, dtype=torch.float64)), NotImplementedError, "k is torch.float32, and q is torch.float64"),
    (dict(q=torch.ones(4, 3, 1, 24)), RuntimeError, "the heads of k must divide those of q"),
    (dict(q=torch.ones(4, 4, 1, 24, requires_grad=True)), NotImplementedError, "it has no gradients"),
    (dict(window=(None, -3)), RuntimeError, "window_right"),
    (dict(lengths_count="some"), ValueError, "lengths_count is 'some'; it must be one of all, before, last_key, last_page"),
    (dict(lengths_count="last_page"), RuntimeError, "they are those of last pages, but page_offsets is not set"),
    (dict(prefix_k=torch.ones(1, 2, 9, 24)), ValueError, "prefix_k is given, but prefix_lengths is not"),
    (dict(prefix_lengths=torch.ones(1, dtype=torch.int32)), ValueError, "prefix_lengths is given, but prefix_k is not"),
    (dict(prefix_lengths=torch.ones(1)), ValueError, "prefix_lengths is torch.float32 on cpu; it must be torch.int32 on cpu"),
    (dict(prefix_lengths=torch.ones(1, dtype=torch.int32), prefix_page_table=torch.ones(1, 1, dtype=torch.int32)), ValueError,
     "prefix_page_table is given, but the caches have no pages"),
], ids=str)
def test_errors(change, error, message):
    q, (k, v) = numbers(4, 4, 1, 24, device="cpu"), caches("cpu", torch.float32)[0]
    arguments = dict(q=q, k_cache=k, v_cache=v, lengths=torch.tensor(LENGTHS, dtype=torch.int32)) | change
    with pytest.raises(error, match=message):
        tegula.decode(**arguments)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("has_pages", [False, True], ids=["strided", "paged"])
@pytest.mark.parametrize("queries", [2, 5])
def test_flash_attn_appends_and_rotates(device, queries, has_pages, interleaved):
    new, dims = 2, (24, 24)
    before = [60, 0, 5, 14]
    q = numbers(4, queries, 4, 24, device=device, seed=1)
    k, v = (numbers(4, new, 2, 24, device=device, seed=seed) for seed in (2, 3))
    angles = numbers(80, 8, device=device, seed=4)
    cos, sin = angles.cos(), angles.sin()
    whole, _ = caches(device, torch.float32, dims=dims)
    cached, table = [x.clone().transpose(1, 2) for x in whole], None
    if has_pages:
        pools = [paged(x) for x in whole]
        cached, table = [pool.transpose(1, 2) for pool, _ in pools], pools[0][1]
    found = flash_attn.flash_attn_with_kvcache(
        q, *cached, k, v, rotary_cos=cos, rotary_sin=sin, rotary_interleaved=interleaved, causal=True, block_table=table,
        cache_seqlens=torch.tensor(before, dtype=torch.int32, device=device), return_softmax_lse=True)

    def turned(x, at):
        """Rotates one vector [heads, dim]: pairs as complex numbers."""
        pairs = x[:, :16].view(-1, 8, 2) if interleaved else torch.stack([x[:, :8], x[:, 8:16]], -1)
        product = torch.view_as_complex(pairs.double().contiguous()) * torch.polar(torch.ones(8, device=device).double(),
                                                                                   angles[at].double())
        pairs = torch.view_as_real(product)
        first = pairs.flatten(1) if interleaved else torch.cat([pairs[..., 0], pairs[..., 1]], -1)
        return torch.cat([first.to(x.dtype), x[:, 16:]], -1)

    rotated = q.clone()
    for n, at in enumerate(before):
        for i in range(queries):
            rotated[n, i] = turned(q[n, i], at + i)
        for i in range(new):
            whole[0][n, :, at + i], whole[1][n, :, at + i] = turned(k[n, i], at + i), v[n, i]
    assert_right((found[0].transpose(1, 2), found[1]), [rotated.transpose(1, 2), *whole], [at + new for at in before])


@pytest.mark.parametrize("longest", [80, 75])
def test_flash_attn_names_the_entries_of_a_cache(device, longest):
    q, (k, v) = numbers(2, 1, 4, 24, device=device), (x[:, :, :longest] for x in caches(device, torch.float32)[0])
    found = flash_attn.flash_attn_with_kvcache(q, k.transpose(1, 2), v.transpose(1, 2), cache_seqlens=9,
                                               cache_batch_idx=torch.tensor([3, 0], device=device), return_softmax_lse=True)
    assert_right((found[0].transpose(1, 2), found[1]), [q.transpose(1, 2), k[[3, 0]], v[[3, 0]]], [9, 9], causal=False)


def test_flash_attn_takes_slopes_of_each_entry(device):
    q, (k, v) = numbers(4, 1, 4, 24, device=device), caches(device, torch.float32)[0]
    slopes = torch.rand(4, 4, generator=torch.Generator().manual_seed(5)).to(device)
    found = flash_attn.flash_attn_with_kvcache(q, k.transpose(1, 2), v.transpose(1, 2), cache_seqlens=9, causal=True,
                                               alibi_slopes=slopes)
    for n in range(4):
        alone = flash_attn.flash_attn_with_kvcache(q[n:n + 1], k[n:n + 1].transpose(1, 2), v[n:n + 1].transpose(1, 2),
                                                   cache_seqlens=9, causal=True, alibi_slopes=slopes[n])
        assert torch.allclose(found[n:n + 1], alone, atol=1e-6)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_embedding(device, interleaved):
    x = numbers(2, 3, 5, 24, device=device).requires_grad_()
    angles, positions = numbers(9, 8, device=device, seed=1), torch.tensor([[3, 0, 8, 8, 1], [5, 4, 3, 2, 9]], device=device)
    found = tegula.rotary_embedding(x, angles.cos(), angles.sin(), positions.int(), interleaved=interleaved)

    def turned(x):
        factors = torch.polar(torch.ones_like(angles), angles)
        factors = torch.cat([factors, torch.zeros_like(factors[:1])])[positions][:, None]  # Position 9 has no angle.
        pairs = x[..., :16].unflatten(-1, (8, 2)) if interleaved else torch.stack([x[..., :8], x[..., 8:16]], -1)
        product = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * factors)
        first = product.flatten(-2) if interleaved else torch.cat([product[..., 0], product[..., 1]], -1)
        return torch.cat([first, x[..., 16:]], -1)

    exact, weights = turned(x), numbers(2, 3, 5, 24, device=device, seed=2)
    assert torch.allclose(found, exact, atol=1e-6)
    gradients = [torch.autograd.grad((y * weights).sum(), x)[0] for y in (found, exact)]
    assert torch.allclose(*gradients, atol=1e-6)


def test_latent_attention(device):
    """q [batch, 16, 1, 576] on keys of one head, whose first 512 columns are the values."""
    q, k = numbers(2, 16, 1, 576, device=device), numbers(2, 1, 40, 576, device=device, seed=1)
    lengths = torch.tensor([40, 3], dtype=torch.int32, device=device)
    found = tegula.decode(q, k, k[..., :512], lengths, scale=0.05, return_lse=True)
    assert_right(found, [q, k, k[..., :512]], [40, 3], scale=0.05)
    shared, apart = numbers(1, 1, 24, 576, device=device, seed=2), k[..., :512].clone()
    before = torch.tensor([24], dtype=torch.int32, device=device)
    results = [tegula.decode(q, k, v, lengths, scale=0.05, prefix_lengths=before, prefix_k=shared, prefix_v=prefix_v)
               for v in (k[..., :512], apart) for prefix_v in (shared[..., :512], shared[..., :512].clone())]
    for other in results[1:]:
        assert torch.allclose(results[0], other, atol=1e-5)


def test_begins(device):
    q, (k, v) = numbers(4, 4, 2, 24, device=device), caches(device, torch.float32)[0]
    begins = torch.tensor([60, 0, 3, 20], dtype=torch.int32, device=device)
    lengths = torch.tensor([70, 4, 12, 19], dtype=torch.int32, device=device)
    hidden = k.clone(), v.clone()
    for n, begin in enumerate(begins.tolist()):
        for x in hidden:
            x[n, :, :begin] = torch.nan
    found = tegula.decode(q, *hidden, lengths, begins=begins, return_lse=True)
    padded = flash_attn.flash_attn_with_kvcache(q.transpose(1, 2), *(x.transpose(1, 2) for x in hidden), cache_seqlens=lengths,
                                                cache_leftpad=begins, causal=True)
    assert torch.equal(padded.transpose(1, 2), found[0])
    for n, (begin, length) in enumerate(zip(begins.tolist(), lengths.tolist())):
        alone = [x[n:n + 1, :, begin:] for x in (k, v)]
        rest = torch.tensor([max(length - begin, 0)], dtype=torch.int32, device=device)
        expected = tegula.decode(q[n:n + 1], *alone, rest, return_lse=True)
        for x, y in zip(found, expected):
            assert torch.allclose(x[n:n + 1], y, atol=1e-5)


def test_parts_of_a_fixed_size_do_not_depend_on_the_batch(device):
    q, lengths = numbers(3, 4, 1, 24, device=device), torch.tensor([600, 513, 7], dtype=torch.int32, device=device)
    k, v = (numbers(3, 2, 600, 24, device=device, seed=seed) for seed in (1, 2))
    o = tegula.decode(q, k, v, lengths, keys_per_part=256)
    assert_right(tegula.decode(q, k, v, lengths, keys_per_part=256, return_lse=True), [q, k, v], lengths.tolist())
    for n in range(3):
        rows = slice(n, n + 1)
        assert torch.equal(tegula.decode(q[rows], k[rows], v[rows], lengths[rows], keys_per_part=256), o[rows])
