# SPDX-License-Identifier: MIT
"""The kernels of users that tools/bench-own-kernels measures, and what they must reach. Needs no PyTorch."""

import dataclasses


def blocks(size, block):
    return -(-size // block)


@dataclasses.dataclass(frozen=True)
class Program:
    """A program that tegula-own-kernels writes: its parameters in order, and its grid for sizes by name."""
    parameters: tuple
    grid: object


PROGRAMS = {
    "row_softmax": Program(("x", "y"), lambda rows, **_: (rows, 1, 1)),
    "layer_norm": Program(("x", "weight", "bias", "y", "epsilon"), lambda rows, **_: (rows, 1, 1)),
    "sink_attention": Program(("q", "k", "v", "sink", "o", "scale"),
                              lambda batch, heads, seqlen, **_: (blocks(seqlen, 128), heads, batch)),
    "sigmoid_forward": Program(("q", "k", "v", "o", "scale", "shift"),
                               lambda batch, heads, seqlen, **_: (blocks(seqlen, 128), heads, batch)),
    "sigmoid_backward": Program(("q", "k", "v", "do", "dq_acc", "dk", "dv", "scale", "shift"),
                                lambda batch, heads, seqlen, **_: (blocks(seqlen, 128), heads, batch)),
    "sigmoid_finish": Program(("dq_acc", "dq", "scale"),
                              lambda batch, heads, seqlen, **_: (blocks(seqlen, 64), heads, batch)),
}


@dataclasses.dataclass(frozen=True)
class Goal:
    """Our speed as a multiple of the fastest of `others`: at least `factor`."""
    others: tuple
    factor: float


GOALS = {
    "sink_attention": Goal(("shipped",), 0.9),
    "sigmoid_forward": Goal(("triton", "compiled"), 1.5),
    "sigmoid_backward": Goal(("compiled",), 1.5),
    "row_softmax": Goal(("copy",), 0.8),
    "layer_norm": Goal(("copy",), 0.8),
}


def judge(name, ms):
    """Returns what `ms`, the median time of each implementation, says about a goal. There is no verdict without our time
    or that of another one."""
    goal = GOALS[name]
    others = [ms[other] for other in goal.others if ms.get(other)]
    if not ms.get("tegula") or not others:
        return {"factor": None, "goal": goal.factor, "reached": None}
    factor = round(min(others) / ms["tegula"], 3)
    return {"factor": factor, "goal": goal.factor, "reached": factor >= goal.factor}
