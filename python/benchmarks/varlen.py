# SPDX-License-Identifier: MIT
"""Times attention of sequences that lie one after another, forward and backward, next to equally long ones, to PyTorch's
varlen_attn, which is FlashAttention-2, and to FlashAttention-3 if its packages are there: flash_attn_interface for the forward
pass, and the library of dew-flash-attn-cu13 in a folder of Python's path for both passes.

  python3 python/benchmarks/varlen.py > varlen.jsonl
  python3 python/benchmarks/varlen.py --page-sizes 16 64 256 > varlen_pages.jsonl

First results are compared with float64. Lengths are log-normal. All implementations take turns in each round, in random order.
The host enqueues calls before the device begins, so that times are those of the device.
FLOPs count the scores that exist. Each line of output is JSON. With page sizes, keys and values also lie in pages in a random
order, for the forward pass; FlashAttention-3 reads them by flash_attn_with_kvcache.
"""

import argparse
import json
import math
import pathlib
import random
import statistics
import sys

import numpy
import torch
from torch.nn.attention import varlen

import gpu
import tegula

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from performance import flash3_xla  # noqa: E402

CASES = {  # Tokens, logarithm of the typical length, its deviation, longest, heads, heads of k and v, columns, causal.
    "16k": (16384, math.log(600), 1.0, 8192, 16, 16, 128, True),
    "16k, full": (16384, math.log(600), 1.0, 8192, 16, 16, 128, False),
    "16k, 64 columns": (16384, math.log(600), 1.0, 8192, 32, 32, 64, True),
    "64k": (65536, math.log(1500), 1.2, 32768, 16, 16, 128, True),
    "64k, grouped heads": (65536, math.log(1500), 1.2, 32768, 32, 8, 128, True),
}
CALLS = 5  # Between two events.
AHEAD = 4_000_000  # Cycles for which the device waits, so that the calls are enqueued before the first one runs.


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--page-sizes", nargs="+", type=int, default=[])
    return parser.parse_args(arguments)


def lengths_of(total, mean, deviation, longest):
    """Returns log-normal lengths that sum up to `total`, the same ones in each run."""
    generator, lengths = numpy.random.RandomState(1234), []
    while sum(lengths) < total:
        lengths.append(int(min(longest, max(1, round(generator.lognormal(mean, deviation))))))
    lengths[-1] -= sum(lengths) - total
    return [length for length in lengths if length]


def numbers(*sizes):
    return torch.randn(*sizes, device="cuda", dtype=torch.bfloat16)


class Packed:
    """Tensors of sequences that lie one after another."""

    def __init__(self, lengths, heads, kv_heads, dim):
        self.lengths, total = lengths, sum(lengths)
        self.offsets = torch.tensor([0, *numpy.cumsum(lengths)], dtype=torch.int32, device="cuda")
        self.leaves = [numbers(total, n, dim).requires_grad_() for n in (heads, kv_heads, kv_heads)]
        self.d_o = numbers(total, heads, dim)

    def arguments(self):
        longest = max(self.lengths)
        return *self.leaves, self.offsets, self.offsets, longest, longest

    def pages(self, page_size):
        """Returns pools of keys and of values [pages, page_size, kv_heads, dim], and their table. Other rows are NaN."""
        counts = [-(-length // page_size) for length in self.lengths]
        order = torch.randperm(sum(counts), device="cuda")
        table = torch.full((len(counts), max(counts)), -1, dtype=torch.int32, device="cuda")
        pools = [x.new_full((len(order), page_size, *x.shape[1:]), math.nan) for x in self.leaves[1:]]
        for row, numbers, begin, length in zip(table, order.split(counts), self.offsets.tolist(), self.lengths):
            row[:len(numbers)] = numbers
            for x, pool in zip(self.leaves[1:], pools):
                rows = torch.full((len(numbers) * page_size, *x.shape[1:]), math.nan, device="cuda", dtype=x.dtype)
                rows[:length] = x[begin:begin + length].detach()
                pool[numbers] = rows.view(-1, page_size, *x.shape[1:])
        return *pools, table


def formula(q, k, v, d_o, causal):
    """Returns o, dq, dk and dv of one sequence [length, heads, dim] in the type of q."""
    q, k, v = (x.detach().transpose(0, 1).requires_grad_() for x in (q, k, v))
    s = q @ k.repeat_interleave(q.shape[0] // k.shape[0], 0).transpose(1, 2) / math.sqrt(q.shape[-1])
    if causal:
        s = s.masked_fill(torch.ones(s.shape[1:], dtype=torch.bool, device="cuda").triu(1), -math.inf)
    o = torch.softmax(s, -1) @ v.repeat_interleave(q.shape[0] // v.shape[0], 0)
    return [x.transpose(0, 1) for x in (o.detach(), *torch.autograd.grad(o, (q, k, v), d_o.transpose(0, 1)))]


def check(causal):
    """Returns true if no error exceeds twice that of the plain formula in bf16."""
    packed = Packed([300, 1, 517, 129, 64], 4, 2, 128)
    o = tegula.varlen_attn(*packed.arguments(), window_size=(-1, 0 if causal else -1))
    found = [o.detach(), *torch.autograd.grad(o, packed.leaves, packed.d_o)]
    begin, worst = 0, torch.zeros(4, 3, dtype=torch.float64)  # Errors, those of the formula, and the largest numbers.
    for length in packed.lengths:
        rows = slice(begin, begin + length)
        tensors = [x[rows] for x in (*packed.leaves, packed.d_o)]
        exact, plain = (formula(*(x.to(dtype) for x in tensors), causal) for dtype in (torch.float64, torch.bfloat16))
        for n, (x, y, z) in enumerate(zip(found, exact, plain)):
            numbers = [(x[rows].double() - y).abs().max(), (z.double() - y).abs().max(), y.abs().max()]
            worst[n] = torch.maximum(worst[n], torch.tensor([number.item() for number in numbers], dtype=torch.float64))
        begin += length
    return bool((worst[:, 0] <= 2 * torch.maximum(worst[:, 1], 2**-8 * worst[:, 2])).all())


def check_pages(page_size):
    """Returns true if results on pages are near those of packed keys."""
    packed = Packed([300, 1, 517, 129, 64], 4, 2, 128)
    with torch.no_grad():
        o = tegula.varlen_attn(*packed.arguments(), window_size=(-1, 0))
    found = paged_passes(packed, page_size, True)["tegula"]()
    return bool(torch.allclose(found.float(), o.float(), atol=2e-2))


def paged_passes(packed, page_size, causal):
    """Returns functions of forward passes on pages."""
    q = packed.leaves[0].detach()
    k, v, table = packed.pages(page_size)
    lengths, longest = packed.offsets.diff(), max(packed.lengths)
    passes = {"tegula": lambda: tegula.varlen_attn(q, k, v, packed.offsets, None, longest, longest, block_table=table,
                                                   seqused_k=lengths, window_size=(-1, 0 if causal else -1))}
    try:
        from flash_attn_interface import flash_attn_with_kvcache
    except ImportError:
        return passes
    present = table.clamp(min=0)
    passes["FlashAttention-3"] = lambda: flash_attn_with_kvcache(q, k, v, cache_seqlens=lengths, page_table=present,
                                                                 cu_seqlens_q=packed.offsets, max_seqlen_q=longest, causal=causal)
    return passes


def implementations(case, page_sizes):
    """Yields names, functions of the forward and of the backward pass, and FLOPs of the forward pass."""
    total, mean, deviation, longest, heads, kv_heads, dim, causal = CASES[case]
    packed = Packed(lengths_of(total, mean, deviation, longest), heads, kv_heads, dim)
    window = (-1, 0 if causal else -1)

    def passes(attention, leaves, d_o, lengths):
        with torch.no_grad():
            attention(*leaves)
        o = attention(*leaves)

        def forward():
            with torch.no_grad():
                attention(*leaves)

        flops = 4 * dim * heads * sum(length**2 for length in lengths) // (2 if causal else 1)
        return forward, lambda: torch.autograd.grad(o, leaves, d_o, retain_graph=True), flops

    rest = packed.arguments()[3:]
    yield "tegula", *passes(lambda *x: tegula.varlen_attn(*x, *rest, window_size=window), packed.leaves, packed.d_o,
                            packed.lengths)
    count = len(packed.lengths)
    length = total // count
    equal = [numbers(count, n, length, dim).requires_grad_() for n in (heads, kv_heads, kv_heads)]
    yield "equal lengths", *passes(lambda *x: tegula.attention(*x, causal=causal)[0], equal, numbers(count, heads, length, dim),
                                   [length] * count)
    if heads == kv_heads:
        yield "FlashAttention-2", *passes(lambda *x: varlen.varlen_attn(*x, *rest, window_size=window), packed.leaves, packed.d_o,
                                          packed.lengths)
    for page_size in page_sizes:
        for name, forward in paged_passes(packed, page_size, causal).items():
            yield f"{name}, pages of {page_size}", forward, None, None
    flash3 = flash3_passes(packed, causal)
    if any(flash3):
        yield "FlashAttention-3", *flash3, None


def flash3_passes(packed, causal):
    """Returns functions of FlashAttention-3's forward and backward pass, or None for a pass that no package has."""
    q, k, v = (x.detach() for x in packed.leaves)
    try:
        forward, backward = flash3_xla.Library().packed(q, k, v, packed.d_o, packed.offsets, max(packed.lengths), causal)
        backward()
    except (ImportError, OSError, RuntimeError) as error:
        print(f"FlashAttention-3 has no backward pass: {error}", file=sys.stderr)
        forward = backward = None
    try:
        from flash_attn_interface import flash_attn_varlen_func
    except ImportError:
        return forward, backward
    arguments = q, k, v, *packed.arguments()[3:]
    flash_attn_varlen_func(*arguments, causal=causal)
    return lambda: flash_attn_varlen_func(*arguments, causal=causal), backward


def milliseconds(function):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(AHEAD)
    begin.record()
    for _ in range(CALLS):
        function()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / CALLS


def measure(case, rounds, page_sizes):
    """Yields a line for each pass; with pages only for the forward pass."""
    found = {name: rest for name, *rest in implementations(case, page_sizes)}
    flops_of_packed = found["tegula"][2]
    for number, which in enumerate(("forward",) if page_sizes else ("forward", "backward")):
        functions = {name: rest[number] for name, rest in found.items() if rest[number] is not None}
        samples = {name: [] for name in functions}
        for n in range(rounds + 1):  # The first one warms up.
            for name in random.sample(list(functions), len(functions)):
                samples[name].append(milliseconds(functions[name]))
        ms = {name: statistics.median(values[1:]) for name, values in samples.items()}
        work = {name: (found[name][2] or flops_of_packed) * (1 if which == "forward" else 2.5) for name in ms}
        yield {"part": "varlen", "case": case, "pass": which, "ms": {name: round(value, 4) for name, value in ms.items()},
               "tflops": {name: round(work[name] / value / 1e9, 1) for name, value in ms.items()}}


def main(arguments):
    options = options_of(arguments)
    torch.manual_seed(0)
    print(json.dumps(gpu.about()), flush=True)
    for causal in (True, False):
        print(json.dumps({"part": "check", "causal": causal, "right": check(causal)}), flush=True)
    for page_size in options.page_sizes:
        print(json.dumps({"part": "check", "page_size": page_size, "right": check_pages(page_size)}), flush=True)
    for case in options.cases:
        for line in measure(case, options.rounds, options.page_sizes):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
