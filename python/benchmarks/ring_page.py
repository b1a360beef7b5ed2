# SPDX-License-Identifier: MIT
"""Writes docs/ring.md from results/ring*.jsonl, which are lines that ring.py prints, and from results/nccl_ring*.jsonl, which are
lines that examples/ring_nccl prints with --json, and the device, the driver and the version of NCCL.

  python3 python/benchmarks/ring_page.py           writes the page
  python3 python/benchmarks/ring_page.py --check   exits with 1 if the page would change
"""

import json
import pathlib
import sys

from page_file import write_or_check

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parents[1] / "docs/ring.md"
PEER = "PyTorch, cudnn"

HEAD = """# Ring attention on several GPUs

`python/benchmarks/ring.py` made these figures, and `python/benchmarks/ring_page.py` wrote this page from its folder `results`.
[python.md](python.md#ring-attention) describes the function. Before it times, the benchmark compares the ring with float64.
Launches of all columns alternate, and times are medians. FLOPs count a causal mask as half. `one GPU` is the kernel on one
GPU, of at most the tokens that the table names. PyTorch has its context parallel attention with cuDNN. The last
column is the share of the exchanges' time that kernels hide.

"""

COLUMNS = ["GPUs", "tokens", "pass", "ring, ms", "ring, TFLOP/s per GPU", "one GPU, TFLOP/s", "ring / one GPU",
           "PyTorch, TFLOP/s per GPU", "ring / PyTorch", "memory, MiB per GPU", "hidden"]


HEAD_OF_CPP = """
## In C++

[examples/ring_nccl](../examples/ring_nccl/ring_nccl.cpp) is a host without Python. `--json` prints these figures, each line in a
run of its own. No share is given if the exchanges take less than a twentieth of the pass, because clocks differ by as much.

"""

COLUMNS_OF_CPP = ["GPUs", "tokens", "mask", "pass", "ring, ms", "ring, TFLOP/s per GPU", "one GPU, TFLOP/s", "ring / one GPU",
                  "memory, MiB per GPU", "hidden"]


def load():
    """Returns the timed lines and the checks, in the order of the files."""
    lines = [json.loads(line) for file in sorted((FOLDER / "results").glob("ring*.jsonl"))
             for line in file.read_text().splitlines()]
    return [line for line in lines if "pass" in line], [line for line in lines if "check" in line]


def number(result, key, digits):
    """Returns a figure of a result as text; a result may be the text of an error."""
    return f"{result[key]:,.{digits}f}" if isinstance(result, dict) and key in result else "-"


def ratio(one, other):
    have = all(isinstance(x, dict) and "tflops_per_gpu" in x for x in (one, other))
    return f"{one['tflops_per_gpu'] / other['tflops_per_gpu']:.3f}" if have else "-"


def row(line):
    ring, one, peer = (line["results"].get(name) for name in ("ring", "one GPU", PEER))
    hidden = line.get("hidden")
    return [str(line["world"]), f"{line['length']:,}", line["pass"], number(ring, "ms", 2), number(ring, "tflops_per_gpu", 0),
            f"{number(one, 'tflops_per_gpu', 0)} ({number(one, 'length', 0)} tokens)", ratio(ring, one),
            number(peer, "tflops_per_gpu", 0), ratio(ring, peer), number(ring, "memory_mib", 0),
            "-" if hidden is None else f"{max(0.0, min(1.0, hidden)):.2f}"]


def row_of_cpp(line):
    hidden = 1 - (line["ms"] - line["kernels_ms"]) / line["exchanges_ms"]
    has_hidden = line["exchanges_ms"] > line["ms"] / 20
    return [str(line["gpus"]), f"{line['tokens']:,}", line["mask"], line["pass"], f"{line['ms']:,.2f}",
            f"{line['tflops_per_gpu']:.0f}", f"{line['one_gpu_tflops']:.0f} ({line['one_gpu_tokens']:,} tokens)",
            f"{line['tflops_per_gpu'] / line['one_gpu_tflops']:.3f}", f"{line['bytes_per_gpu'] / 2**20:,.0f}",
            f"{max(0.0, min(1.0, hidden)):.2f}" if has_hidden else "-"]


def table(columns, rows):
    return ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns), *("| " + " | ".join(cells) + " |" for cells in rows)]


def part_in_cpp():
    lines = [json.loads(line) for file in sorted((FOLDER / "results").glob("nccl_ring*.jsonl"))
             for line in file.read_text().splitlines()]
    about = lines[0]
    machine = f"{about['device']}, driver {about['driver']}, NCCL {about['nccl']}; 8 heads of 128, bf16."
    return HEAD_OF_CPP + "\n".join([machine, "", *table(COLUMNS_OF_CPP, map(row_of_cpp, lines))]) + "\n"


def page():
    timed, checks = load()
    about = timed[0]
    lines = [f"{about['device']}, driver {about['driver']}, CUDA {about['cuda']}, NCCL {about['nccl']}, PyTorch {about['torch']}; "
             f"{about['heads']} heads of {about['dim']}, {about['dtype']}, causal.", "", *table(COLUMNS, map(row, timed))]
    right = sum(check["right"] for check in checks)
    lines += ["", f"Comparisons with float64: {right} of {len(checks)} right."]
    return HEAD + "\n".join(lines) + "\n" + part_in_cpp()


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
