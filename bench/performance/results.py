# SPDX-License-Identifier: MIT
"""Files of measurements. bench/results/README.md says what they hold."""

import json
import os
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "results"
KINDS = {"attention": ["implementations", "problem", "rows"], "table": ["columns", "rows"]}
COMMON = ["kind", "title", "order", "date", "commit", "command", "machine", "method"]


def pairs_of(seqlen, causal):
    """Returns how many pairs of a query and a key of a head have a score. The FlashAttention papers count half of all for
    a causal mask."""
    return seqlen**2 / (2 if causal else 1)


def flops_of(direction, batch, heads, pairs, head_dim, value_dim):
    """Returns the operations of a problem with `pairs` of a query and a key in each head, as the papers count them."""
    forward = 2 * batch * heads * pairs * (head_dim + value_dim)
    return forward * (2.5 if direction == "backward" else 1)


def result_of(launches, flops, **more):
    """Returns one implementation's entry in a row."""
    return {"tflops": round(flops / launches.ms() * 1e-9, 1)} | launches.fields() | more


def check(name, data):
    """Raises ValueError if a field is missing or the numbers of columns differ."""
    kind = data.get("kind")
    if kind not in KINDS:
        raise ValueError(f"{name}: 'kind' is {kind!r}; it must be one of {', '.join(KINDS)}")
    for field in COMMON + KINDS[kind]:
        if field not in data:
            raise ValueError(f"{name}: '{field}' is missing; write null if it is not known")
    for row in data["rows"]:
        if kind == "table" and len(row) != len(data["columns"]):
            raise ValueError(f"{name}: a row has {len(row)} cells, but there are {len(data['columns'])} columns: {row}")
        if kind == "attention" and row["results"].keys() - data["implementations"].keys():
            raise ValueError(f"{name}: a row has results of an implementation that 'implementations' does not list: {row}")


def read(path):
    """Returns what a file holds, with its name without the extension."""
    data = json.loads(pathlib.Path(path).read_text())
    check(pathlib.Path(path).name, data)
    return data | {"name": pathlib.Path(path).stem}


def read_all(folder=FOLDER):
    """Returns all files of a folder in the order of the page."""
    return sorted(map(read, sorted(pathlib.Path(folder).glob("*.json"))), key=lambda data: (data["order"], data["name"]))


def text_of(data):
    """Returns the text of a file: a field a line, and a row a line."""
    fields = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in data.items() if key not in ("name", "rows")]
    rows = ",\n".join("    " + json.dumps(row) for row in data["rows"])
    return "{\n" + ",\n".join(fields) + ',\n  "rows": [\n' + rows + "\n  ]\n}\n"


def write(path, data):
    """Replaces a file as a whole, so that a run which is stopped leaves the rows it has measured."""
    partial = pathlib.Path(f"{path}.partial")
    partial.write_text(text_of(data))
    os.replace(partial, path)
