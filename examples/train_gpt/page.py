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
SIZES = ["small", "medium"]
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
    return dict(sorted(runs.items(), key=lambda item: (item[0][0], SIZES.index(item[0][1]), item[0][2])))


def longest_runs(runs):
    """Returns the runs of each size that have the most steps, as (size, context, {attention: run})."""
    found = {}
    for (_, size, context), by_name in runs.items():
        if size not in found or len(by_name["tegula"]["losses"]) > len(found[size][1]["tegula"]["losses"]):
            found[size] = context, by_name
    return [(size, *run) for size, run in found.items()]


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
    text = HEAD + "\n".join(lines) + "\n\n![Losses of the models](training-losses.svg)\n"
    for size, context, by_name in longest_runs(runs):
        tegula, cudnn, flash = (by_name[name] for name in NAMES)
        text += (f"\n{size}: {len(tegula['losses'])} steps with a context of {context}. Tegula's losses are up to "
                 f"{apart(tegula, cudnn):.3f} nats\nfrom cuDNN's, and FlashAttention-2's up to {apart(flash, cudnn):.3f}.\n")
    return text


def draw(longest):
    import matplotlib
    matplotlib.rcParams.update({"svg.hashsalt": "tegula", "svg.fonttype": "none"})
    from matplotlib import pyplot
    figure, all_axes = pyplot.subplots(1, len(longest), figsize=(5 * len(longest), 4), sharey=True, squeeze=False)
    for axes, (size, _, by_name) in zip(all_axes[0], longest):
        for (name, label), style in zip(NAMES.items(), ("-", "--", ":")):
            axes.plot(by_name[name]["losses"], style, label=label, linewidth=1.2)
        axes.set(title=size, xlabel="step", ylim=(0, 8))
    axes.legend()
    all_axes[0][0].set_ylabel("loss (nats per byte)")
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    (DOCS / "training-losses.svg").write_text("".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()))


def main():
    runs = load()
    text = page(runs)
    file = DOCS / "training.md"
    if "--check" in sys.argv[1:]:
        return file.read_text() != text
    file.write_text(text)
    draw(longest_runs(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
