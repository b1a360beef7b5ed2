# SPDX-License-Identifier: MIT
"""Tables of docs/performance.md, as Markdown."""

import statistics

MISSING = "–"
LENGTHS = {2**power: f"{2**power // 1024}k" if power >= 10 else str(2**power) for power in range(6, 21)}


def markdown(header, rows, align=None):
    """Returns a table. `align` has an 'l' or an 'r' for each column; numbers go to the right."""
    align = align or "l" * len(header)
    rule = "|".join("---" if side == "l" else "---:" for side in align)
    return "\n".join(["| " + " | ".join(header) + " |", f"|{rule}|", *("| " + " | ".join(row) + " |" for row in rows)])


def number(value):
    """Returns a number with three digits or all of those before the point."""
    if value is None:
        return MISSING
    if abs(value) >= 99.95 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.{1 if abs(value) >= 9.995 else 2}f}"


def cell(value):
    """Returns what a file says, with the file's digits."""
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    return MISSING if value is None else value if isinstance(value, str) else f"{value:,}"


def flat(values):
    """Returns the numbers of cells that may be lists."""
    return [x for value in values if value is not None for x in (value if isinstance(value, list) else [value])]


def throughput(row, name):
    result = row["results"].get(name)
    return result["tflops"] if result else None


def unit_of(data):
    return data.get("unit", "TFLOP/s")


def scaled(tflops, unit):
    return tflops if tflops is None else tflops * {"TFLOP/s": 1, "GFLOP/s": 1000}[unit]


def ratio(row, peer, ours="tegula"):
    """Returns how many times faster Tegula is; None if one of the two was not measured."""
    mine, other = throughput(row, ours), throughput(row, peer)
    return mine / other if mine is not None and other else None


def groups_of(data, direction):
    """Returns {(head dimension, mask): {length: row}} of a pass, in the file's order."""
    groups = {}
    for row in data["rows"]:
        if row["pass"] == direction:
            groups.setdefault((row["head_dim"], row["mask"]), {})[row["seqlen"]] = row
    return groups


def directions_of(data):
    return [name for name in ("forward", "backward") if any(row["pass"] == name for row in data["rows"])]


def peers_of(data, rows):
    """Returns the implementations, other than Tegula, that some of the rows have a figure of."""
    return [name for name in data["implementations"]
            if name != "tegula" and any(throughput(row, name) is not None for row in rows)]


def attention(data, direction):
    """Returns the table of a pass: for each head dimension and mask what each implementation reaches, and the ratios."""
    groups = groups_of(data, direction)
    rows = [row for group in groups.values() for row in group.values()]
    names, unit = data["implementations"], unit_of(data)
    lengths = sorted({row["seqlen"] for row in rows})
    lines = []
    for (head_dim, mask), group in groups.items():
        label = [str(head_dim), mask]

        def line(name, value):
            lines.append([*label, name, *(value(group[length]) if length in group else MISSING for length in lengths)])
            label[:] = "", ""

        measured = peers_of(data, group.values())
        for name in names:
            if name == "tegula" or name in measured:
                line(names[name], lambda row: number(scaled(throughput(row, name), unit)))
        for peer in measured:
            line(f"Tegula / {names[peer]}",
                 lambda row: f"**{value:.2f}**" if (value := ratio(row, peer)) is not None else MISSING)
    return markdown(["D", "mask", unit, *(LENGTHS[length] for length in lengths)], lines, "lll" + "r" * len(lengths))


def plain(data):
    """Returns the table of a file of the kind 'table'."""
    rows = [[cell(value) for value in row] for row in data["rows"]]
    align = "".join("l" if any(isinstance(row[i], str) for row in data["rows"]) else "r" for i in range(len(data["columns"])))
    return markdown(data["columns"], rows, align)


def span(values, unit=""):
    """Returns the least value, the median and the largest as cells."""
    return [f"{value:.2f}" if not unit else f"{number(value)} {unit}"
            for value in (min(values), statistics.median(values), max(values))]


def lengths_text(rows):
    lengths = sorted({row["seqlen"] for row in rows})
    return " to ".join(LENGTHS[length] for length in dict.fromkeys((lengths[0], lengths[-1])))


def summary_of(data):
    """Returns the lines that a file adds to the summary."""
    if data["kind"] == "table":
        return [[one["what"], one.get("compared_with", ""),
                 *span(flat(row[data["columns"].index(column)] for row in data["rows"] for column in one["columns"]),
                       one.get("unit", ""))]
                for one in data.get("summary", [])]
    lines = []
    for direction in directions_of(data) if data.get("summary") else []:
        rows = [row for row in data["rows"] if row["pass"] == direction]
        for peer in data.get("summary_peers", peers_of(data, rows)):
            compared = [row for row in rows if ratio(row, peer) is not None]
            lines.append([f"{data['summary']}, {direction}, {lengths_text(compared)} keys", data["implementations"][peer],
                          *span([ratio(row, peer) for row in compared])])
    return lines


def summary(files):
    """Returns the table that README.md has too."""
    lines = [line for data in files for line in summary_of(data)]
    return markdown(["", "compared with", "lowest", "median", "highest"], lines, "llrrr")
