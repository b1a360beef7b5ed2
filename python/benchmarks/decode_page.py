# SPDX-License-Identifier: MIT
"""Writes docs/decode.md from results/decode*.jsonl, which are lines that decode.py prints, with the commit in the first one.

  python3 python/benchmarks/decode_page.py           writes the page
  python3 python/benchmarks/decode_page.py --check   exits with 1 if the page would change
"""

import json
import pathlib
import sys

from page_file import write_or_check

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parents[1] / "docs/decode.md"
PEERS = ("cuDNN", "FlashAttention-2")

HEAD = """# Decoding on a GPU

`python/benchmarks/decode.py` made these figures, and `python/benchmarks/decode_page.py` wrote this page from its folder
`results`. [python.md](python.md#decoding) describes the function. Before it times, the benchmark compares results with float64.
Times are those of a call in a CUDA graph. GB/s count the bytes of keys and values. cuDNN and FlashAttention-2 are those of
PyTorch, which have neither pages nor lengths here. [`tegula decode`](kernels.md#decoding) times any other problem,
and `tegula bench --decode` the same ones without Python, beside a copy in memory.

"""


def load():
    """Returns the lines of each part."""
    lines = [json.loads(line) for file in sorted((FOLDER / "results").glob("decode*.jsonl"))
             for line in file.read_text().splitlines()]
    return {part: [line for line in lines if line["part"] == part] for part in ("about", "check", "decode")}


def row(line):
    us, speed = line["us"], line["gb_per_s"]
    peers = [f"{speed[name]:,}" if name in speed else "-" for name in PEERS]
    return [line["case"], f"{us['tegula']:.1f}", f"{speed['tegula']:,}", *peers,
            f"{speed['tegula'] / speed['cuDNN']:.2f}" if "cuDNN" in speed else "-", line.get("tflops", "-")]


def page():
    lines = load()
    about, checks = lines["about"][0], lines["check"]
    columns = ["sequences x keys", "us", "GB/s", *(f"{name}, GB/s" for name in PEERS), "Tegula / cuDNN", "TFLOP/s"]
    table = ["| " + " | ".join(map(str, cells)) + " |" for cells in (columns, ["---"] * len(columns), *map(row, lines["decode"]))]
    return (HEAD + f"{about['device']}, driver {about['driver']}, PyTorch {about['torch']}, cuDNN {about['cudnn']}, commit "
            f"{about['commit']}, {len(lines['about'])} runs.\n32 query heads, 8 heads of k and v, 128 columns, bf16, one query if a line gives no number.\n\n"
            "Lines with the word prepared leave out how the batch is cut, which the layers of a model have in common\n"
            "([python.md](python.md#decoding)). Latent lines have one head of k with 576 columns, of which 512 are v. The keys\n"
            "of a prefix are read once for all sequences, and count once."
            "\n\n" + "\n".join(table) +
            f"\n\nComparisons with float64: {sum(check['right'] for check in checks)} of {len(checks)} right.\n")


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
