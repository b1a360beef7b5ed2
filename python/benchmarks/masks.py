# SPDX-License-Identifier: MIT
"""Times block masks next to FlexAttention, and sinks and dropout next to plain attention and to FlashAttention-2.

  python3 python/benchmarks/masks.py > masks.jsonl

Block masks have random blocks of 128 x 128, of which a quarter are partial, or are those of well-known masks. First the results
are compared with float64. Then all functions of a line take turns in each round, in random order. Each line of output is JSON.

"cost" of a block mask is time / (share * time of plain attention), where share is the part of all blocks that are visited.
"""

import argparse
import functools
import json
import math
import random
import statistics
import subprocess
import sys

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

import tegula

BLOCK = 128
SHARES = (1.0, 0.5, 0.25, 0.1)
WINDOW_MS = 40  # What a round spends on a function, at least one call.


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=["shares", "masks", "options"], choices=["shares", "masks", "options"])
    parser.add_argument("--lengths", type=int, nargs="+", default=[16384, 4096])
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--dims", type=int, nargs="+", default=[128, 64], help="head_dim of sinks and dropout (default 128 64)")
    parser.add_argument("--rounds", type=int, default=9)
    return parser.parse_args(arguments)


# Block masks.

def triangle(b, h, q, kv):
    return (q & BLOCK - 1) >= (kv & BLOCK - 1)


def random_blocks(length, share):
    """Returns a BlockMask with this share of the blocks; a quarter of them have the mask `triangle`."""
    rows = length // BLOCK
    visited = round(share * rows * rows)
    states = torch.zeros(rows * rows, dtype=torch.int32)
    places = torch.randperm(rows * rows, generator=torch.Generator().manual_seed(rows))
    states[places[:visited]] = 2
    states[places[:visited // 4]] = 1
    lists = []
    for state in (1, 2):
        chosen = (states.view(1, 1, rows, rows) == state).int().cuda()
        lists += [chosen.sum(-1, dtype=torch.int32), chosen.argsort(dim=-1, descending=True, stable=True).int()]
    return BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=BLOCK, mask_mod=triangle, seq_lengths=(length, length))


def known_masks(length):
    """Returns the masks by their names."""
    ends = torch.randperm(length - 1, generator=torch.Generator().manual_seed(7))[:15] + 1
    document = torch.bucketize(torch.arange(length), ends.sort().values, right=True).int().cuda()
    return {
        "causal": lambda b, h, q, kv: q >= kv,
        "causal documents": lambda b, h, q, kv: (document[q] == document[kv]) & (q >= kv),
        "causal window of 1024": lambda b, h, q, kv: (q >= kv) & (q - kv <= 1024),
        "prefix of a quarter": lambda b, h, q, kv: (kv < length // 4) | (q >= kv),
    }


def share_of(block_mask):
    counts = block_mask.kv_num_blocks.sum().item() + block_mask.full_kv_num_blocks.sum().item()
    return counts / block_mask.kv_indices.shape[-1] / block_mask.kv_num_blocks.numel()


def dense(block_mask, length):
    """Returns where scores exist, [length, length]."""
    at = torch.arange(length, device="cuda")
    blocks = torch.zeros(2, length // BLOCK, length // BLOCK, device="cuda")
    for state, counts, indices in ((0, block_mask.kv_num_blocks, block_mask.kv_indices),
                                   (1, block_mask.full_kv_num_blocks, block_mask.full_kv_indices)):
        listed = torch.arange(indices.shape[-1], device="cuda") < counts[0, 0, :, None]
        blocks[state].scatter_add_(1, indices[0, 0].long(), listed.float())
    partial, full = (blocks > 0).repeat_interleave(BLOCK, 1).repeat_interleave(BLOCK, 2)
    return full | partial & block_mask.mask_mod(0, 0, at[:, None], at[None])


def check(block_mask, length):
    """Returns true if no error exceeds twice that of the plain formula in bf16."""
    tensors = inputs(1, 2, length, 128)
    seen = dense(block_mask, length)

    def formula(q, k, v):
        s = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(~seen, -math.inf)
        lse = torch.logsumexp(s, -1, keepdim=True).nan_to_num(neginf=0)  # A row without keys gives 0.
        return torch.exp(s - lse) @ v

    def results(attention, tensors):
        *leaves, d_o = (x.clone().requires_grad_() for x in tensors)
        o = attention(*leaves)
        return [x.double() for x in (o.detach(), *torch.autograd.grad(o, leaves, d_o))]

    exact = results(formula, [x.double() for x in tensors])
    plain = results(formula, tensors)
    ours = results(lambda q, k, v: tegula.flex_attention(q, k, v, None, block_mask), tensors)
    return all((x - e).abs().max() <= 2 * (p - e).abs().max() for x, p, e in zip(ours, plain, exact))


# Timing.

def inputs(batch, heads, length, dim):
    return [torch.randn(batch, heads, length, dim, device="cuda", dtype=torch.bfloat16) for _ in range(4)]


class Work:
    """A function of q, k and v, forward or backward."""

    def __init__(self, tensors, attention, which):
        *leaves, self.d_o = tensors
        self.leaves = [x.detach().requires_grad_() for x in leaves]
        self.attention, self.which = attention, which
        if which == "backward":
            self.o = attention(*self.leaves)

    def __call__(self):
        if self.which == "backward":
            torch.autograd.grad(self.o, self.leaves, self.d_o, retain_graph=True)
        else:
            with torch.no_grad():
                self.attention(*self.leaves)


def milliseconds(function, calls):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(calls):
        function()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / calls


def medians(functions, rounds):
    """Returns the median time of each function in ms. They take turns."""
    calls = {}
    for name, function in functions.items():
        function()
        calls[name] = max(1, math.ceil(WINDOW_MS / milliseconds(function, 2)))
    samples, order = {name: [] for name in functions}, random.Random(0)
    for _ in range(rounds):
        for name in order.sample(sorted(functions), len(functions)):
            samples[name].append(milliseconds(functions[name], calls[name]))
    return {name: round(statistics.median(values), 4) for name, values in samples.items()}


def measure(attentions, tensors, which, rounds):
    """Returns the times of attention functions, and why some have none."""
    works, errors = {}, {}
    for name, attention in attentions.items():
        try:
            works[name] = Work(tensors, attention, which)
            works[name]()
        except Exception as error:
            works.pop(name, None)
            errors[name] = f"{type(error).__name__}: {error}"[:300]
            print(name, errors[name], file=sys.stderr)
    return {"ms": medians(works, rounds), **({"errors": errors} if errors else {})}


def emit(**line):
    print(json.dumps(line), flush=True)


@functools.lru_cache(maxsize=1)
def compiled_for(mask_mod, length):
    """Returns FlexAttention, which is compiled once for all block masks with this mask and length."""
    torch._dynamo.reset()
    return torch.compile(flex_attention, dynamic=False)


def blocks_line(options, name, block_mask, length):
    """Prints the figures of one block mask."""
    compiled = compiled_for(block_mask.mask_mod, length)
    attentions = {
        "tegula": lambda q, k, v: tegula.flex_attention(q, k, v, None, block_mask),
        "plain": lambda q, k, v: tegula.attention(q, k, v)[0],
        "flex": lambda q, k, v: compiled(q, k, v, block_mask=block_mask),
    }
    tensors = inputs(1, options.heads, length, 128)
    share = share_of(block_mask)
    for which in ("forward", "backward"):
        found = measure(attentions, tensors, which, options.rounds)
        cost = round(found["ms"]["tegula"] / share / found["ms"]["plain"], 4)
        emit(part="blocks", mask=name, length=length, heads=options.heads, dim=128, share=round(share, 4), cost=cost,
             **{"pass": which}, **found)


def options_lines(options, length, dim):
    """Prints the figures of sinks and dropout."""
    batch = max(1, 16384 // length)
    sinks = torch.randn(options.heads, device="cuda")

    def flash(dropout_p):
        def attention(q, k, v):
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_p, is_causal=True)
        return attention

    attentions = {
        "plain": lambda q, k, v: tegula.attention(q, k, v, causal=True)[0],
        "sinks": lambda q, k, v: tegula.attention(q, k, v, causal=True, sinks=sinks)[0],
        "dropout": lambda q, k, v: tegula.attention(q, k, v, causal=True, dropout_p=0.1)[0],
        "FlashAttention-2": flash(0.0),
        "FlashAttention-2, dropout": flash(0.1),
    }
    tensors = inputs(batch, options.heads, length, dim)
    for which in ("forward", "backward"):
        emit(part="options", length=length, batch=batch, heads=options.heads, dim=dim, **{"pass": which},
             **measure(attentions, tensors, which, options.rounds))


def about():
    def query(fields):
        return subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"], capture_output=True,
                              text=True).stdout.splitlines()[0]
    return {"device": torch.cuda.get_device_name(), "driver": query("driver_version"), "torch": torch.__version__,
            "clocks": query("clocks.sm,clocks.max.sm,power.draw")}


def main(arguments):
    options = options_of(arguments)
    emit(part="about", **about())
    for length in options.lengths:
        masks = {}
        if "shares" in options.parts:
            masks |= {f"random, {share}": random_blocks(length, share) for share in SHARES}
        if "masks" in options.parts:
            masks |= {name: create_block_mask(mask, None, None, length, length, device="cuda")
                      for name, mask in known_masks(length).items()}
        for name, block_mask in masks.items():
            if length <= 4096:
                emit(part="check", mask=name, length=length, right=bool(check(block_mask, length)))
            blocks_line(options, name, block_mask, length)
        if "options" in options.parts:
            for dim in options.dims:
                options_lines(options, length, dim)
    emit(part="about", **about())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
