# SPDX-License-Identifier: MIT
"""Writes docs/masks.md from results/masks*.jsonl, which are lines that masks.py prints.

  python3 python/benchmarks/masks_page.py           writes the page
  python3 python/benchmarks/masks_page.py --check   exits with 1 if the page would change
"""

import json
import pathlib
import sys

from page_file import write_or_check

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parents[1] / "docs/masks.md"

HEAD = """# Block masks, sinks and dropout on a GPU

`python/benchmarks/masks.py` made these figures, and `python/benchmarks/masks_page.py` wrote this page from its folder `results`.
Before it times, the benchmark compares results with float64. The functions of a line take turns, and times are medians. A time
is that of calls one after another from Python, so short ones are those of the host.

"""

BLOCKS = """## Block masks

`share` is the part of all blocks of 128 x 128 that a mask visits. `cost` is the time over share times the time of attention
without a mask: 1 would be a mask that costs nothing. FlexAttention is PyTorch's, compiled, with the same BlockMask. In masks
with random blocks a quarter of the visited blocks are partial. [python.md](python.md#score-and-mask-functions)
describes the function.

"""

OPTIONS = """## Sinks and dropout

Causal. The percentages say how much longer a pass takes than without the option. FlashAttention-2 is PyTorch's.

"""


def load():
    """Returns the lines of each part, in the order of the files."""
    lines = [json.loads(line) for file in sorted((FOLDER / "results").glob("masks*.jsonl"))
             for line in file.read_text().splitlines()]
    return {part: [line for line in lines if line["part"] == part] for part in ("about", "check", "blocks", "options")}


def table(columns, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in (columns, ["---"] * len(columns), *rows)) + "\n"


def blocks_row(line):
    ms = line["ms"]
    ratio = f"{ms['flex'] / ms['tegula']:.2f}" if "flex" in ms else "-"
    return [line["mask"], f"{line['length']:,}", line["pass"], f"{line['share']:.3f}", f"{ms['plain']:.3f}", f"{ms['tegula']:.3f}",
            f"{line['cost']:.2f}", f"{ms['flex']:.3f}" if "flex" in ms else "-", ratio]


def longer(ms, name, base):
    return f"{100 * (ms[name] / ms[base] - 1):.1f} %" if name in ms and base in ms else "-"


def options_row(line):
    ms = line["ms"]
    return [str(line["dim"]), f"{line['batch']} x {line['length']:,}", line["pass"], f"{ms['plain']:.3f}",
            longer(ms, "sinks", "plain"), longer(ms, "dropout", "plain"), f"{ms['FlashAttention-2']:.3f}",
            longer(ms, "FlashAttention-2, dropout", "FlashAttention-2")]


def page():
    lines = load()
    about, checks = lines["about"][0], lines["check"]
    heads = {line["heads"] for line in lines["blocks"] + lines["options"]}
    return (HEAD + f"{about['device']}, driver {about['driver']}, PyTorch {about['torch']}, commit {about['commit']}; "
            f"{' and '.join(map(str, heads))} heads, bf16.\n\n" + BLOCKS +
            table(["mask", "tokens", "pass", "share", "no mask, ms", "mask, ms", "cost", "FlexAttention, ms",
                   "FlexAttention / Tegula"], map(blocks_row, lines["blocks"])) +
            f"\nComparisons with float64: {sum(check['right'] for check in checks)} of {len(checks)} right.\n\n" + OPTIONS +
            table(["head_dim", "batch x tokens", "pass", "plain, ms", "sinks", "dropout", "FlashAttention-2, ms",
                   "its dropout"], map(options_row, lines["options"])))


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
