# SPDX-License-Identifier: MIT
"""Writes docs/varlen.md from results/varlen*.jsonl, which are lines that varlen.py prints, with the commit in the first one.

  python3 python/benchmarks/varlen_page.py           writes the page
  python3 python/benchmarks/varlen_page.py --check   exits with 1 if the page would change
"""

import json
import pathlib
import sys

from page_file import write_or_check

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parents[1] / "docs/varlen.md"
OTHERS = ("equal lengths", "FlashAttention-2", "FlashAttention-3")

HEAD = """# Sequences of any lengths

`python/benchmarks/varlen.py` made these figures, and `python/benchmarks/varlen_page.py` wrote this page from its folder
`results`. [python.md](python.md) describes `tegula.varlen_attn`. Before it times, the benchmark compares results with float64.
Calls come from Python, which enqueues them before the device begins. Lengths are log-normal: a few are long, most are short.
FLOPs count the scores that exist. The equal lengths are as many sequences with as many tokens, through `tegula.attention`.
FlashAttention-2 is PyTorch's `varlen_attn`. FlashAttention-3 is that of its own package forward, and that of a package for XLA
backward.
On the command line [`--cu-seqlens`](kernels.md#ready-made-variants) times any other lengths, and with `--page-size` also pages.
`tegula bench --varlen` times similar lengths without Python, beside equal ones.

"""


def load():
    """Returns the lines of each part."""
    lines = [json.loads(line) for file in sorted((FOLDER / "results").glob("varlen*.jsonl"))
             for line in file.read_text().splitlines()]
    return {part: [line for line in lines if line["part"] == part] for part in ("about", "check", "varlen")}


def in_pages(line):
    return any(", pages of " in name for name in line["ms"])


def row(line):
    speed = line["tflops"]
    others = [f"{speed[name]:.0f}" if name in speed else "-" for name in OTHERS]
    return [line["case"], line["pass"], f"{line['ms']['tegula']:.3f}", f"{speed['tegula']:.0f}", *others]


def pages_rows(line):
    """Yields a row for keys and values without pages, and one for each size of pages."""
    for name, speed in line["tflops"].items():
        tegula, _, pages = name.partition(", ")
        if tegula == "tegula":
            yield [line["case"], pages or "none", f"{line['ms'][name]:.3f}", f"{speed:.0f}",
                   f"{line['tflops'][name.replace('tegula', 'FlashAttention-3')]:.0f}"]


def table_of(columns, rows):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (columns, ["---"] * len(columns), *rows))


def page():
    lines = load()
    about, checks = lines["about"][0], lines["check"]
    table = table_of(["tokens", "pass", "ms", "TFLOP/s", *(f"{name}, TFLOP/s" for name in OTHERS)],
                     (row(line) for line in lines["varlen"] if not in_pages(line)))
    pages = table_of(["tokens", "pages", "ms", "TFLOP/s", "FlashAttention-3, TFLOP/s"],
                     (cells for line in lines["varlen"] if in_pages(line) for cells in pages_rows(line)))
    return (HEAD + f"{about['device']}, driver {about['driver']}, PyTorch {about['torch']}, commit {about['commit']}.\n"
            "Causal, 16 heads of 128 columns, bf16, if a line says nothing else.\n\n" + table +
            "\n\nThe forward pass with keys and values in pages (`--page-sizes`), of the same build in another run:\n\n" + pages +
            f"\n\nComparisons with float64: {sum(check['right'] for check in checks)} of {len(checks)} right.\n")


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
