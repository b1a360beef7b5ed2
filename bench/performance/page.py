# SPDX-License-Identifier: MIT
"""docs/performance.md and its drawings, from files of measurements."""

import re
import textwrap

from performance import plot, results, tables

HEAD = """# Performance

<!-- tools/performance-page writes this page from bench/results/*.json. Change those files, not the page. -->

This page compares Tegula's attention with other implementations on the same machine. A ratio above 1 means that Tegula is
faster. The files in [bench/results](../bench/results) hold all figures, with machine, commit, date and method.

## Summary

The summary has the lowest, the median and the highest figure of each comparison, over all cells of its table below. "sm_80 code
path" is the code of GPUs without TMA and wgmma, run on an H100.

{summary}

## Method

`tools/bench-rounds` times all implementations in one process, in interleaved laps. In each lap every implementation runs once: a
CUDA graph of about 1 ms, or one launch if that takes longer. Each lap has a random order. At the power limit of an H100, the
clock of the moment differs by up to 15 % between windows of 100 ms. In a lap, all implementations meet the same clock. Alone, a
kernel that draws more power would meet a lower one.

Laps without a pause make a window. A figure is the median of its windows, and a window's figure is the median of its laps.

| | |
|---|---|
| problem | 16k tokens a batch and a hidden size of 2048, unless a section differs: 4k keys and D=64 are batch 4 and 32 heads |
| other implementations | cuDNN, FlashAttention-2 and FlexAttention are those of PyTorch; FlashAttention-3 is a package of its own |
| window | 100 ms for each implementation by default, after 30 ms that are not timed |
| SM cycles | time multiplied by the clock of the SMs, whose cycle counters are read before and after each graph |
| check | before it is timed, each implementation writes into tensors that hold NaN; the results must agree with each other |
| operations, forward | `4 B H N^2 D` for batch B, H heads, N keys and head dimension D; half of that with a causal mask |
| operations, backward | 2.5 times as many, as in the FlashAttention papers |
| backward time | includes the programs before and after the main one |
| interval | the files have the ratio of each cell by time and by cycles, with an interval that contains the true one in about 95 of 100 cases |

The last table of each section says how its figures were measured. Some sections were measured in other ways.

This command measures on a GPU and writes the main file, `h100_attention.json`. The library may come from another machine, for
example from `tools/bundle`:

```sh
LIBTEGULA=build/lib/libtegula.so.2 tools/bench-rounds --fa3 DIR --json bench/results/h100_attention.json
```

`--fa3` names the directory that FlashAttention-3 is imported from. Without it, there is no figure of FlashAttention-3. If its
PyTorch interface has no backward pass, the package dew-flash-attn-cu13 gives one through JAX. The command needs PyTorch with
CUDA. Afterwards `tools/performance-page` writes this page, its plots and the summary in README.md. It needs Python only.
"""

TAIL = """## Other measurements

| command | what it measures |
|---|---|
| `tegula bench --json bench.json --html bench.html` | attention over a grid of problems, checked first; the machine's limits; memory traffic |
| `tegula bench --ladder` | each step from the textbook formula to the fastest schedule |
| `tegula bench --variants softcap,alibi,bias` | the cost of masks and score modifications, compared with plain attention over the same number of tiles |
| `tegula bench --decode` | decoding from caches of several forms, compared with a copy in memory ([decode.md](decode.md)) |
| `tegula bench --varlen` | sequences of log-normal lengths, compared with equal lengths ([varlen.md](varlen.md)) |
| `tools/bench-rounds --variants softcap,alibi --peers flex` | masks and score modifications beside FlexAttention, in laps |
| `tools/bench-rounds --against old=FILE --limit 1` | this build of the library beside another one, kernel by kernel ([how](developing.md#did-a-change-make-a-kernel-slower)) |
| `tools/bench-peers --json peers.json` | FlashAttention-2, cuDNN and Triton, one after the other instead of in laps |
| `tools/bench-own-kernels --out DIR` | kernels written as users would, without a schedule, against their goals |
| `tegula bench --add peers.json` | the same table and plot with figures of `tools/bench-peers` in it |
| `tegula-bench-cpu` | attention on this machine's cores, compared with OpenBLAS's matrix product; memory |
| `tegula-bench-compile` | C++ to PTX or, with `--emit ""`, to machine code, in a warm process |
| `tegula-bench-launch` | a launch, compared with the driver's own call |
| `tegula-bench-host` | a host's first launch in a new process, and looking up a plan |
| `python3 python/benchmarks/call.py` | a small call of the Python package on the host, compared with PyTorch's own function |

`build/bin` has `tegula` and the `tegula-bench-*` programs. For a GPU machine without LLVM, `tools/bundle` packs everything into
one file, and `tools/bundle-run` runs the tests and the benchmarks there.
"""

BEGIN, END = "<!-- begin: summary of docs/performance.md -->\n", "<!-- end: summary -->"


LABELS = {"gpu": "{}", "cpu": "{}", "host": "{}", "compiler": "{}", "driver": "driver {}", "power_limit_w": "power limit {:.0f} W",
          "max_sm_clock_mhz": "SM clock at most {} MHz", "pytorch": "PyTorch {}", "cuda": "CUDA {}", "cudnn": "cuDNN {}",
          "llvm": "LLVM {}"}


def prose(text):
    return textwrap.fill(text, 125, break_long_words=False, break_on_hyphens=False)


def spread(rows, field, unit):
    """Returns the range of a reading over all results, or nothing."""
    values = [result[field] for row in rows for result in row["results"].values() if result and result.get(field)]
    return [f"{min(values):.0f} to {max(values):.0f} {unit}"] if values else []


def at_equal_clocks(rows):
    """Returns how much larger Tegula's ratios are by cycles than by time, or nothing if no cycles are known."""
    results_of = [row["results"] for row in rows if (row["results"].get("tegula") or {}).get("mcycles")]
    factors = [one["mcycles"] / one["ms"] * results["tegula"]["ms"] / results["tegula"]["mcycles"]
               for results in results_of for name, one in results.items() if name != "tegula" and one and one.get("mcycles")]
    return [("ratios by SM cycles", f"{min(factors):.2f} to {max(factors):.2f} times those by time")] if factors else []


def origin(data):
    """Returns a table that says where the figures of a file come from."""
    rows = [("machine", ", ".join(LABELS[key].format(value) for key, value in data["machine"].items() if value is not None)),
            ("commit", (data["commit"] or "not recorded") + (f", {data['date']}" if data["date"] else ""))]
    if data["kind"] == "attention":
        readings = spread(data["rows"], "sm_clock_mhz", "MHz") + spread(data["rows"], "power_w", "W")
        if readings:
            rows.append(("SM clock and power", ", ".join(readings)))
        rows += at_equal_clocks(data["rows"])
    rows.append(("method", data["method"]["text"]))
    rows.append(("data", f"[{data['name']}.json](../bench/results/{data['name']}.json)"))
    return tables.markdown(["how it was measured", ""], rows, "ll")


def drawing_name(data, direction):
    return f"performance-{data['name'].replace('_', '-')}-{direction}.svg"


def section(data):
    parts = [f"## {data['title']}"]
    if data.get("about"):
        parts.append(prose(data["about"]))
    if data["kind"] == "table":
        parts.append(tables.plain(data))
    for direction in tables.directions_of(data) if data["kind"] == "attention" else []:
        parts.append(f"### {direction.capitalize()}, {tables.unit_of(data)}")
        parts.append(tables.attention(data, direction))
        if data.get("plot"):
            parts.append(f"![{data['title']}, {direction}]({drawing_name(data, direction)})")
    return "\n\n".join([*parts, origin(data)]) + "\n"


def page(files):
    return "\n".join([HEAD.format(summary=tables.summary(files)), *map(section, files), TAIL])


def drawings(files):
    """Returns {name: text} of all drawings."""
    return {drawing_name(data, direction): plot.draw(data, direction)
            for data in files if data["kind"] == "attention" and data.get("plot")
            for direction in tables.directions_of(data)}


def with_summary(readme, files):
    """Returns README.md with the summary between its two comments."""
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if len(pattern.findall(readme)) != 1:
        raise ValueError(f"README.md must have the lines {BEGIN.strip()!r} and {END.strip()!r} once")
    return pattern.sub(lambda _: BEGIN + tables.summary(files) + "\n" + END, readme)


def outputs(root):
    """Returns {path: text} of all that is generated, and the drawings in docs/ that nothing makes any more."""
    files = results.read_all(root / "bench" / "results")
    texts = {root / "docs" / "performance.md": page(files)}
    texts |= {root / "docs" / name: text for name, text in drawings(files).items()}
    stale = [path for path in sorted((root / "docs").glob("performance-*.svg")) if path not in texts]
    texts[root / "README.md"] = with_summary((root / "README.md").read_text(), files)
    return texts, stale
