# SPDX-License-Identifier: MIT
"""Inputs, references in double precision and implementations of the kernels in goals.py, through PyTorch."""

import functools
import math
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python"))
import libtegula as tegula  # noqa: E402
from libtegula_torch import context, stream_of, view  # noqa: E402
from performance import goals, timer  # noqa: E402, F401
from performance.implementations import Work  # noqa: E402, F401

DIM, EPSILON = 128, 1e-5
SCALE = DIM**-0.5


class Programs:
    """The programs of a folder, compiled without a schedule."""

    def __init__(self, folder, device):
        self.folder, self.context = pathlib.Path(folder), context(device)

    @functools.lru_cache(maxsize=None)
    def kernel(self, name):
        return tegula.Kernel(self.context, (self.folder / f"{name}.mlir").read_text())

    def launch(self, name, values, **sizes):
        """`values` has a tensor or a float for each parameter."""
        arguments = [values[parameter] for parameter in goals.PROGRAMS[name].parameters]
        tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
        self.kernel(name).launch(goals.PROGRAMS[name].grid(**sizes),
                                 [view(value) if isinstance(value, torch.Tensor) else value for value in arguments],
                                 stream_of(tensors[0]))


def random(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda").to(dtype)


class Rows:
    """A kernel on the rows of a matrix."""

    def __init__(self, name, rows, columns):
        self.name, self.sizes = name, {"rows": rows}
        self.x = random(rows, columns)
        self.values = {"x": self.x, "y": torch.empty_like(self.x)}
        if name == "layer_norm":
            self.values |= {"weight": random(columns), "bias": random(columns), "epsilon": EPSILON}

    def formula(self, x, weight, bias):
        if self.name == "row_softmax":
            return torch.softmax(x, -1)
        return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, EPSILON)

    def reference(self):
        double = [self.values.get(name) for name in ("x", "weight", "bias")]
        return [self.formula(*[each.double() if each is not None else None for each in double])]

    def implementations(self, programs):
        y, copy = self.values["y"], torch.empty_like(self.x)
        inputs = [self.values.get(name) for name in ("x", "weight", "bias")]
        compiled = torch.compile(self.formula, dynamic=False)

        def ours():
            programs.launch(self.name, self.values, **self.sizes)
            return [y]

        return {"tegula": ours, "compiled": lambda: [compiled(*inputs)], "copy": lambda: [copy.copy_(self.x)]}


class Attention:
    """A kernel of attention of [batch, heads, seqlen, DIM]."""

    def __init__(self, name, batch, heads, seqlen):
        self.name, self.sizes = name, {"batch": batch, "heads": heads, "seqlen": seqlen}
        q, k, v, d_o = (random(batch, heads, seqlen, DIM) for _ in range(4))
        self.inputs, self.d_o, self.shift = (q, k, v), d_o, -math.log(seqlen)
        self.sink = random(heads, dtype=torch.float32)
        self.values = {"q": q, "k": k, "v": v, "do": d_o, "sink": self.sink, "scale": SCALE, "shift": self.shift,
                       "o": torch.empty_like(q)}
        self.gradients = [torch.empty_like(each) for each in self.inputs]
        self.values |= dict(zip(("dq", "dk", "dv"), self.gradients))
        if name == "sigmoid_backward":
            self.values["dq_acc"] = torch.empty(q.shape, device="cuda")

    def sink_attention(self, q, k, v):
        scores = q @ k.transpose(-1, -2) * SCALE
        sinks = self.sink.to(q.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
        return torch.softmax(torch.cat([scores, sinks], -1), -1)[..., :-1] @ v

    def sigmoid(self, q, k, v):
        return torch.sigmoid(q @ k.transpose(-1, -2) * SCALE + self.shift) @ v

    def reference(self):
        inputs = [each.double().requires_grad_() for each in self.inputs]
        o = (self.sink_attention if self.name == "sink_attention" else self.sigmoid)(*inputs)
        return list(torch.autograd.grad(o, inputs, self.d_o.double())) if self.name == "sigmoid_backward" else [o.detach()]

    def ours(self, programs):
        if self.name != "sigmoid_backward":
            programs.launch(self.name, self.values, **self.sizes)
            return [self.values["o"]]
        self.values["dq_acc"].zero_()
        programs.launch("sigmoid_backward", self.values, **self.sizes)
        programs.launch("sigmoid_finish", self.values, **self.sizes)
        return self.gradients

    def implementations(self, programs):
        runs = {"tegula": lambda: self.ours(programs)}
        if self.name == "sink_attention":
            runs["shipped"] = self.shipped()
        else:
            runs["compiled"] = self.compiled()
        if self.name == "sigmoid_forward":
            runs["triton"] = self.triton()
        return runs

    def shipped(self):
        q, k, v = self.inputs
        o, lse = torch.empty_like(q), torch.empty(q.shape[:-1], device="cuda")
        length = self.sizes["seqlen"]
        problem = tegula.Problem(dtype=tegula.BF16, head_dim=DIM, seqlen_q=length, seqlen_k=length)

        def run():
            args = tegula.ForwardArgs(scale=SCALE, stream=stream_of(q), q=view(q), k=view(k), v=view(v), o=view(o),
                                      lse=view(lse))
            context(q.device).forward(problem, args)
            return [o]

        return run

    def compiled(self):
        compiled = torch.compile(self.sigmoid, dynamic=False)  # The check and the timing have other shapes.
        if self.name == "sigmoid_forward":
            return lambda: [compiled(*self.inputs)]
        leaves = [each.clone().requires_grad_() for each in self.inputs]
        kept = []

        def backward():
            if not kept:
                kept.append(compiled(*leaves))
            return torch.autograd.grad(kept[0], leaves, self.d_o, retain_graph=True)

        return backward

    def triton(self):
        def run():
            from performance.triton_sigmoid import forward
            return [forward(*self.inputs, SCALE, self.shift)]

        return run


def make(name, small):
    """Returns the problem of a goal with fresh random inputs: a small one of odd sizes, for the check, or the timed one."""
    if name in ("row_softmax", "layer_norm"):
        return Rows(name, 1001 if small else 32768, 4096 - 96 * small)
    return Attention(name, *((2, 3, 777) if small else (4, 16, 4096)))
