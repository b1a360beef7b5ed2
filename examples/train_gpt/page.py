# SPDX-License-Identifier: MIT
"""Writes docs/training.md and docs/training-losses.svg from results/*.jsonl, which are lines that train_gpt.py prints.

  python3 examples/train_gpt/page.py           writes both; needs matplotlib
  python3 examples/train_gpt/page.py --check   exits with 1 if the page would change
"""

import io
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
DOCS = FOLDER.parents[1] / "docs"
NAMES = {"tegula": "Tegula", "cudnn": "cuDNN", "flash": "FlashAttention-2"}

HEAD = """# Training GPT-2

[examples/train_gpt](../examples/train_gpt/train_gpt.py) made these figures, and `examples/train_gpt/page.py` wrote this page from
`examples/train_gpt/results`. Three models train side by side with equal weights and data; they differ in attention only. cuDNN
and FlashAttention-2 are backends of PyTorch's `scaled_dot_product_attention`. Tokens per second are medians of whole training
steps in bfloat16 with `torch.compile`.

"""


def load():
    """Returns the runs as {(device, size, context): {attention: run}}."""
    runs = {}
    for file in sorted((FOLDER / "results").glob("*.jsonl")):
        for line in file.read_text().splitlines():
            run = json.loads(line)
            runs.setdefault((run["device"], run["size"], run["context"]), {})[run["attention"]] = run
    return dict(sorted(runs.items()))


def apart(one, other):
    """Returns the largest difference of two runs' losses."""
    return max(abs(x - y) for x, y in zip(one["losses"], other["losses"]))


def page(runs):
    lines = [f"| GPU | model | context | {' | '.join(f'{name}, tokens/s' for name in NAMES.values())} | Tegula / cuDNN |",
             "|---|---|---|---|---|---|---|"]
    for (device, size, context), by_name in runs.items():
        speeds = [by_name[name]["tokens_per_second"] for name in NAMES]
        lines.append(f"| {device} | {size} | {context} | {' | '.join(f'{speed:,}' for speed in speeds)} | "
                     f"{speeds[0] / speeds[1]:.3f} |")
    longest = max(runs.values(), key=lambda by_name: len(by_name["tegula"]["losses"]))
    steps = len(longest["tegula"]["losses"])
    tegula, cudnn, flash = (longest[name] for name in NAMES)
    return HEAD + "\n".join(lines) + f"""

![Losses of three models](training-losses.svg)

The curves are those of {steps} steps with a context of {longest["tegula"]["context"]}. Tegula's losses are up to
{apart(tegula, cudnn):.3f} nats from cuDNN's, and FlashAttention-2's up to {apart(flash, cudnn):.3f}.
""", longest


def draw(longest):
    import matplotlib
    matplotlib.rcParams.update({"svg.hashsalt": "tegula", "svg.fonttype": "none"})
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for (name, label), style in zip(NAMES.items(), ("-", "--", ":")):
        axes.plot(longest[name]["losses"], style, label=label, linewidth=1.2)
    axes.set(xlabel="step", ylabel="loss (nats per byte)", ylim=(0, 8))
    axes.legend()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    (DOCS / "training-losses.svg").write_text("".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()))


def main():
    text, longest = page(load())
    file = DOCS / "training.md"
    if "--check" in sys.argv[1:]:
        return file.read_text() != text
    file.write_text(text)
    draw(longest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
