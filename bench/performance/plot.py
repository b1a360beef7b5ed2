# SPDX-License-Identifier: MIT
"""A drawing of one pass: a panel for each head dimension and mask, a line for each implementation. It is text, and the
same data give the same text."""

import math

from performance.tables import LENGTHS, groups_of, peers_of, throughput

COLORS = ["#c0392b", "#2471a3", "#7d8a2e", "#8e44ad", "#555555"]
WIDTH, HEIGHT, LEFT, TOP, GAP_X, GAP_Y, LEGEND = 220, 150, 48, 46, 26, 48, 26


def element(name, content="", **attributes):
    text = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
    return f"<{name}{text}>{content}</{name}>"


def text(x, y, content, **attributes):
    return element("text", content, x=f"{x:.1f}", y=f"{y:.1f}", **attributes)


class Panel:
    def __init__(self, x, y, lengths, highest):
        self.x, self.y, self.lengths, self.highest = x, y, lengths, highest

    def point(self, length, value):
        first, last = math.log2(self.lengths[0]), math.log2(self.lengths[-1])
        across = (math.log2(length) - first) / (last - first or 1)
        return self.x + across * WIDTH, self.y + HEIGHT * (1 - value / self.highest)

    def axes(self, title, step):
        yield text(self.x, self.y - 8, title, font_weight="bold")
        for value in range(0, self.highest + 1, step):
            _, y = self.point(self.lengths[0], value)
            yield element("line", x1=self.x, x2=self.x + WIDTH, y1=f"{y:.1f}", y2=f"{y:.1f}", stroke="#ddd")
            yield text(self.x - 6, y + 4, value, text_anchor="end")
        for length in self.lengths:
            yield text(self.point(length, 0)[0], self.y + HEIGHT + 16, LENGTHS[length], text_anchor="middle")

    def line(self, group, name, color):
        points = [self.point(length, value) for length, row in sorted(group.items())
                  if (value := throughput(row, name)) is not None]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield element("polyline", points=path, fill="none", stroke=color, stroke_width=2)
        for x, y in points:
            yield element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=2.5, fill=color)


def draw(data, direction):
    groups = groups_of(data, direction)
    rows = [row for group in groups.values() for row in group.values()]
    names = ["tegula", *peers_of(data, rows)]
    lengths = sorted({row["seqlen"] for row in rows})
    step = 200
    highest = step * math.ceil(max(throughput(row, name) or 0 for row in rows for name in names) / step)
    dims, masks = (list(dict.fromkeys(key[i] for key in groups)) for i in range(2))
    parts = []
    for (head_dim, mask), group in groups.items():
        panel = Panel(LEFT + dims.index(head_dim) * (WIDTH + LEFT + GAP_X), TOP + LEGEND + masks.index(mask) * (HEIGHT + GAP_Y),
                      lengths, highest)
        parts += panel.axes(f"D = {head_dim}, {'causal' if mask == 'causal' else 'no mask'}", step)
        for name, color in zip(names, COLORS):
            parts += panel.line(group, name, color)
    parts.append(text(LEFT, 18, f"{data['title']}: {direction}, TFLOP/s by sequence length", font_weight="bold"))
    for index, (name, color) in enumerate(zip(names, COLORS)):
        x = LEFT + 150 * index
        parts.append(element("line", x1=x, x2=x + 20, y1=34, y2=34, stroke=color, stroke_width=3))
        parts.append(text(x + 26, 38, data["implementations"][name]))
    width = LEFT + len(dims) * (WIDTH + LEFT + GAP_X) - GAP_X
    height = TOP + LEGEND + len(masks) * (HEIGHT + GAP_Y)
    background = element("rect", width=width, height=height, fill="white")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="sans-serif" font-size="12">\n' + "\n".join([background, *parts]) + "\n</svg>\n")
