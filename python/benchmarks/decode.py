# SPDX-License-Identifier: MIT
"""Times decoding next to PyTorch's attention with cuDNN and with FlashAttention-2.

  python3 python/benchmarks/decode.py > decode.jsonl

First results are compared with float64, on caches that are NaN after the last key of each sequence. Then CUDA graphs of calls
take turns in each round, in random order. GB/s are bytes of keys and values over time. Each line of output is JSON.
"""

import argparse
import json
import math
import random
import statistics
import sys

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import gpu
import tegula

HEADS, KV_HEADS, DIM = 32, 8, 128
LATENT, LATENT_VALUES = 576, 512  # Columns of multi-head latent attention, whose values are a part of its keys.
SHAPES = [(1, 131072), (16, 16384), (64, 4096), (64, 512), (64, 128)]
PAGES = (1, 8, 16, 32, 64, 128, 256)
CALLS = 8  # In a graph.


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ["shapes", "prepared", "pages", "ragged", "queries", "latent", "prefix"]
    parser.add_argument("--parts", nargs="+", default=parts, choices=parts)
    parser.add_argument("--rounds", type=int, default=9)
    return parser.parse_args(arguments)


def numbers(*sizes):
    return torch.randn(*sizes, device="cuda", dtype=torch.bfloat16)


def paged(x, page):
    """Returns pages [pages, heads, page, dim] in a random order, and their table. Pools of equal sizes have one order."""
    batch, heads, length, dim = x.shape
    count = batch * length // page
    order = torch.randperm(count, generator=torch.Generator().manual_seed(page)).cuda()
    pool = torch.empty(count, heads, page, dim, device="cuda", dtype=x.dtype)
    pool[order] = x.view(batch, heads, length // page, page, dim).transpose(1, 2).reshape(count, heads, page, dim)
    return pool, order.int().view(batch, -1)


# Comparison with float64.

def formula(q, k, v, length):
    """Returns attention of the last queries of one sequence, in the type of q."""
    k, v = (x[:, :length].repeat_interleave(q.shape[0] // x.shape[0], 0) for x in (k, v))
    queries = q.shape[1]
    seen = torch.arange(length, device="cuda") <= length - queries + torch.arange(queries, device="cuda")[:, None]
    s = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(~seen, -math.inf)
    return torch.softmax(s, -1).nan_to_num(0) @ v


def within(found, q, k, v, length):
    """Returns true if no error of one sequence exceeds twice that of the plain formula in bf16."""
    exact = formula(q.double(), k.double(), v.double(), length)
    errors = [(x.double() - exact).abs().max() for x in (found, formula(q, k, v, length))]
    return bool(errors[0] <= 2 * errors[1])


def check_prefix():
    """Returns true if sequences after a prefix have the results of sequences with all keys."""
    lengths, before = [512, 1, 300, 0], 1000
    q, own = numbers(len(lengths), HEADS, 1, DIM), [numbers(len(lengths), KV_HEADS, 512, DIM) for _ in range(2)]
    prefix = [numbers(1, KV_HEADS, 1024, DIM) for _ in range(2)]
    for x in prefix:
        x[:, :, before:] = math.nan
    o = tegula.decode(q, *own, torch.tensor(lengths, dtype=torch.int32, device="cuda"), prefix_k=prefix[0], prefix_v=prefix[1],
                      prefix_lengths=torch.tensor([before], dtype=torch.int32, device="cuda"))
    return all(within(o[n], q[n], *(torch.cat([x[0, :, :before], y[n]], 1) for x, y in zip(prefix, own)), before + length)
               for n, length in enumerate(lengths))


def check(queries, page, repeat=1, latent=False):
    """Returns true if the results are right. `repeat` makes the batch so much larger."""
    lengths = [1024, 1, 517, 0, 300] * repeat
    q = numbers(len(lengths), HEADS, queries, LATENT if latent else DIM)
    k, v = (numbers(len(lengths), 1 if latent else KV_HEADS, 1024, q.shape[-1]) for _ in range(2))
    for n, length in enumerate(lengths):
        k[n, :, length:] = v[n, :, length:] = math.nan
    v = k[..., :LATENT_VALUES] if latent else v
    (k_cache, table), (v_cache, _) = (paged(x, page) if page else (x, None) for x in (k, v))
    o = tegula.decode(q, k_cache, v_cache, torch.tensor(lengths, dtype=torch.int32, device="cuda"), table)
    right = bool((o[3] == 0).all())  # The sequence without keys.
    for n, length in enumerate(lengths):
        right &= length == 0 or within(o[n], q[n], k[n], v[n], length)
    return right


# Timing.

def graph_of(function):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            function()
    return graph


def microseconds(graph):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(3):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1000 / 3 / CALLS


def medians(functions, rounds):
    graphs = {name: graph_of(function) for name, function in functions.items()}
    samples = {name: [] for name in graphs}
    for n in range(rounds + 1):
        for name in random.sample(list(graphs), len(graphs)):
            samples[name].append(microseconds(graphs[name]))
    return {name: statistics.median(found[1:]) for name, found in samples.items()}


def sdpa(backend, q, k, v):
    def function():
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    return function


def lines(options):
    """Yields the name, the functions, the bytes of keys and values and perhaps the FLOPs of each line."""

    def case(batch, length, queries=1, page=0, lengths=None, peers=False, prepare=False):
        q, k, v = numbers(batch, HEADS, queries, DIM), *(numbers(batch, KV_HEADS, length, DIM) for _ in range(2))
        given = torch.full((batch,), length, dtype=torch.int32) if lengths is None else lengths
        size = 2 * 2 * int(given.sum()) * KV_HEADS * DIM
        functions = {}
        if peers:
            functions = {"cuDNN": sdpa(SDPBackend.CUDNN_ATTENTION, q, k, v),
                         "FlashAttention-2": sdpa(SDPBackend.FLASH_ATTENTION, q, k, v)}
        (k, table), (v, _) = (paged(x, page) if page else (x, None) for x in (k, v))
        given = given.cuda()
        prepared = tegula.prepare_decode(q, k, v, given, table) if prepare else None
        functions["tegula"] = lambda: tegula.decode(q, k, v, given, table, prepared=prepared)
        return functions, size

    if "shapes" in options.parts:
        for batch, length in SHAPES:
            yield f"{batch} x {length:,}", *case(batch, length, peers=True)
    if "prepared" in options.parts:  # As all layers of a model but the first.
        for batch, length in SHAPES[:3]:
            yield f"{batch} x {length:,}, prepared", *case(batch, length, prepare=True)
    if "pages" in options.parts:
        for page in PAGES:
            yield f"64 x 4,096, pages of {page}", *case(64, 4096, page=page)
    if "ragged" in options.parts:
        lengths = torch.exp(torch.randn(64, generator=torch.Generator().manual_seed(1)))
        lengths = (lengths / lengths.mean() * 4096).clamp(1, 32768).int()
        yield "64 x log-normal, 4,096 on average", *case(64, 32768, lengths=lengths)
    if "latent" in options.parts:
        for heads, prepare in ((16, False), (16, True), (128, False)):
            for length in (4096, 16384):
                q, k = numbers(64, heads, 1, LATENT), numbers(64, 1, length, LATENT)
                v, given = k[..., :LATENT_VALUES], torch.full((64,), length, dtype=torch.int32, device="cuda")
                prepared = tegula.prepare_decode(q, k, v, given) if prepare else None
                yield (f"64 x {length:,}, latent, {heads} heads" + (", prepared" if prepare else ""),
                       {"tegula": lambda: tegula.decode(q, k, v, given, prepared=prepared)}, 2 * k.numel(),
                       2 * 64 * heads * length * (LATENT + LATENT_VALUES))
    if "prefix" in options.parts:
        batch, before, own = 64, 8192, 512
        functions, size = case(batch, before + own)
        yield f"64 x {before + own:,}", functions, size
        del functions
        q, *caches = numbers(batch, HEADS, 1, DIM), *(numbers(batch, KV_HEADS, own, DIM) for _ in range(2))
        prefix_k, prefix_v = (numbers(1, KV_HEADS, before, DIM) for _ in range(2))
        given, shared = (torch.full((n,), length, dtype=torch.int32, device="cuda") for n, length in ((batch, own), (1, before)))
        yield (f"64 x {own}, after a prefix of {before:,}",
               {"tegula": lambda: tegula.decode(q, *caches, given, prefix_lengths=shared, prefix_k=prefix_k, prefix_v=prefix_v)},
               2 * 2 * (batch * own + before) * KV_HEADS * DIM)
    if "queries" in options.parts:
        for queries in (2, 4, 8, 16):
            yield f"16 x 16,384, {queries} queries", *case(16, 16384, queries=queries)


def main(arguments):
    options = options_of(arguments)
    torch.manual_seed(0)
    print(json.dumps(gpu.about()), flush=True)
    with torch.no_grad():
        for queries in (1, 3):
            for page in (0, 16, 64):
                print(json.dumps({"part": "check", "queries": queries, "page": page, "right": check(queries, page)}), flush=True)
        for what in (dict(repeat=8), dict(latent=True)):
            print(json.dumps({"part": "check", **what, "right": check(1, 0, **what)}), flush=True)
        print(json.dumps({"part": "check", "prefix": True, "right": check_prefix()}), flush=True)
        for name, functions, size, *flops in lines(options):
            us = medians(functions, options.rounds)
            line = {"part": "decode", "case": name, "us": {key: round(value, 2) for key, value in us.items()},
                    "gb_per_s": {key: round(size / value / 1000) for key, value in us.items()}}
            if flops:
                line["tflops"] = round(flops[0] / us["tegula"] / 1e6)
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
