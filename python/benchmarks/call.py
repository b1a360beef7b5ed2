# SPDX-License-Identifier: MIT
"""Prints what small calls cost on the host, in microseconds: Tegula's functions next to PyTorch's own.

The functions alternate in every round, so that the machine's frequency and other load meet all of them alike. On a GPU, a burst
of calls is shorter than the launch queue, and the time to empty the queue does not count. On a CPU, the kernels' own time does
count."""

import argparse
import statistics
import time

import torch

import tegula
from tegula import _operators


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", choices=["float32", "float16", "bfloat16"])
    parser.add_argument("--shape", type=int, nargs=4, default=[1, 1, 16, 16], help="batch, heads, length, dim")
    parser.add_argument("--burst", type=int, default=100, help="calls between two synchronisations")
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args()
    options.dtype = getattr(torch, options.dtype or ("bfloat16" if options.device == "cuda" else "float32"))
    return options


CALLS = {
    "PyTorch's scaled_dot_product_attention": torch.nn.functional.scaled_dot_product_attention,
    "operator attention_forward": lambda q, k, v: _operators.forward(q, k, v, 0.25, False),
    "tegula.attention": lambda q, k, v: tegula.attention(q, k, v),
    "tegula.scaled_dot_product_attention": lambda q, k, v: tegula.scaled_dot_product_attention(q, k, v),
}
# Not cuDNN's kernels.
BACKENDS = [torch.nn.attention.SDPBackend.FLASH_ATTENTION, torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION]


def burst(function, q, k, v, count, synchronize):
    """Returns how many microseconds one of `count` calls takes."""
    begin = time.perf_counter_ns()
    for _ in range(count):
        function(q, k, v)
    end = time.perf_counter_ns()
    synchronize()
    return (end - begin) / count / 1000


def measure(options, wants_gradient):
    """Prints a row for each function."""
    q, k, v = (torch.randn(options.shape, device=options.device, dtype=options.dtype, requires_grad=wants_gradient)
               for _ in range(3))
    synchronize = torch.cuda.synchronize if options.device == "cuda" else lambda: None
    times = {name: [] for name in CALLS}
    for round in range(-20, options.rounds):  # The first rounds compile kernels and warm up.
        for name, function in CALLS.items():
            time_of_call = burst(function, q, k, v, options.burst, synchronize)
            if round >= 0:
                times[name].append(time_of_call)
    for name, values in times.items():
        print(f"{name:40} {'gradient' if wants_gradient else '-':10} {min(values):6.2f} {statistics.median(values):7.2f}")


def main():
    options = arguments()
    torch.set_num_threads(1)
    print(f"{'function':40} {'wants':10} {'least':>6} {'median':>7}")
    with torch.nn.attention.sdpa_kernel(BACKENDS):
        for wants_gradient in (False, True):
            measure(options, wants_gradient)


if __name__ == "__main__":
    main()
