# SPDX-License-Identifier: MIT
"""The implementations of attention that tools/bench-rounds times, through PyTorch. Each has a name and the functions
forward(case) and backward(case), which return a `Work`."""

import dataclasses
import functools
import math
import pathlib
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "host" / "python"))
import libtegula as tegula  # noqa: E402
from libtegula_torch import DTYPES, context, stream_of, view  # noqa: E402
from performance import flash3_xla, results, timer, variants  # noqa: E402

GRAPH_MS = 1  # A graph holds as many launches as take about this long.
MOST_LAUNCHES = 50


@dataclasses.dataclass
class Case:
    """Tensors of [batch, heads, seqlen, head_dim]."""
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    d_o: torch.Tensor
    causal: bool
    variant: variants.Variant
    label: str  # The name of the mask and the variant in files of results.
    pairs: float  # Those of a query and a key of a head that have a score, as the papers count them.

    def copies(self):
        """Returns copies of q, k and v that gradients are computed for."""
        return [tensor.clone().requires_grad_() for tensor in (self.q, self.k, self.v)]

    def transposed_copies(self):
        """Returns copies as [batch, seqlen, heads, head_dim], which FlashAttention's own interface takes."""
        return [tensor.transpose(1, 2).contiguous() for tensor in (self.q, self.k, self.v, self.d_o)]


class Work:
    """One implementation's launch, repeated. The launches are recorded in a CUDA graph, so that the time of the host does
    not count. If that fails they are enqueued one by one."""

    def __init__(self, launch, restore=lambda tensor: tensor):
        self.launch, self.restore = launch, restore
        for _ in range(3):
            self.results = launch()
        torch.cuda.synchronize()
        self.graph, self.launches, self.how = None, 1, "stream"
        ms = min(ms for ms, _ in timer.run([self.step] * 3))
        try:
            self.record(max(1, min(MOST_LAUNCHES, math.ceil(GRAPH_MS / ms))))
        except RuntimeError as error:
            print(f"bench-rounds: no CUDA graph ({str(error)[:100]})", file=sys.stderr)
            torch.cuda.synchronize()

    def record(self, launches):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=torch.cuda.current_stream(), capture_error_mode="relaxed"):
            for _ in range(launches):
                results = self.launch()
        self.graph, self.launches, self.results, self.how = graph, launches, results, "graph"

    def step(self):
        if self.graph:
            self.graph.replay()
        else:
            self.results = self.launch()

    def outputs(self):
        """Returns what a launch writes into tensors that hold NaN before it."""
        for tensor in self.results:
            tensor.detach().fill_(math.nan)
        self.step()
        torch.cuda.synchronize()
        return [self.restore(tensor).float() for tensor in self.results]


def views(tensors):
    """Returns an array of C and its length."""
    return (tegula.Tensor * len(tensors))(*map(view, tensors)), len(tensors)


class Tegula:
    has_variants = True

    def __init__(self, name="Tegula", library=tegula.library):
        self.name, self.library = name, library

    def context(self, case):
        return context(case.q.device, self.library, cached=False)  # So that no build takes the kernels of another one.

    @staticmethod
    def problem(case, backward):
        length = case.q.shape[-2]
        causal = tegula.CAUSAL_BOTTOM_RIGHT if case.causal else tegula.CAUSAL_NONE
        return tegula.Problem(dtype=DTYPES[case.q.dtype], head_dim=case.q.shape[-1], seqlen_q=length,
                              seqlen_k=length, causal=causal, backward=backward, **case.variant.fields)

    @staticmethod
    def arguments(case, names, tensors):
        """Returns the fields that the arguments of both passes have."""
        variant_tensors, count = views(case.variant.tensors)
        return dict(zip(names.split(), map(view, tensors))) | {
            "scale": case.q.shape[-1]**-0.5, "stream": stream_of(case.q), "variant_tensors": variant_tensors,
            "variant_tensor_count": count}

    def launch_forward(self, case, o, lse, backward):
        args = tegula.ForwardArgs(**self.arguments(case, "q k v o lse", (case.q, case.k, case.v, o, lse)))
        self.context(case).forward(self.problem(case, backward), args)

    def forward(self, case):
        o, lse = torch.empty_like(case.q), torch.empty(case.q.shape[:-1], device=case.q.device)

        def launch():
            self.launch_forward(case, o, lse, backward=0)
            return [o]

        return Work(launch)

    def backward(self, case):
        o, lse = torch.empty_like(case.q), torch.empty(case.q.shape[:-1], device=case.q.device)
        gradients = [torch.empty_like(tensor) for tensor in (case.q, case.k, case.v)]
        self.launch_forward(case, o, lse, backward=1)
        variant_gradients, count = views(case.variant.gradients)
        problem = self.problem(case, backward=1)

        def launch():
            fields = self.arguments(case, "q k v o lse d_o dq dk dv", (case.q, case.k, case.v, o, lse, case.d_o, *gradients))
            args = tegula.BackwardArgs(**fields, variant_gradients=variant_gradients, variant_gradient_count=count)
            self.context(case).backward(problem, args)
            return gradients

        work = Work(launch)
        work.inputs = o, lse  # The views do not keep their memory.
        return work


class FlexAttention:
    """PyTorch's FlexAttention, compiled. The blocks that a mask hides are found before time is measured."""
    name = "FlexAttention"
    has_variants = True

    def __init__(self):
        from torch.nn.attention import flex_attention
        self.module = flex_attention

    def attention(self, case):
        """Returns a function of q, k and v."""
        length, blocks = case.q.shape[-2], None
        if case.variant.mask_mod:
            blocks = self.module.create_block_mask(case.variant.mask_mod, None, None, length, length, device=case.q.device)
        torch._dynamo.reset()
        attention = torch.compile(self.module.flex_attention, dynamic=False)
        return functools.partial(attention, score_mod=case.variant.score_mod, block_mask=blocks)

    def forward(self, case):
        attention = self.attention(case)

        def launch():
            with torch.no_grad():
                return [attention(case.q, case.k, case.v)]

        return Work(launch)

    def backward(self, case):
        leaves = case.copies()
        o = self.attention(case)(*leaves)
        wanted = [*leaves, *case.variant.leaves]
        return Work(lambda: torch.autograd.grad(o, wanted, case.d_o, retain_graph=True)[:3])


class Sdpa:
    """PyTorch's scaled_dot_product_attention with one of its back ends."""
    has_variants = False

    def __init__(self, name, backend):
        self.name, self.backend = name, backend

    def attention(self, q, k, v, causal):
        with sdpa_kernel(self.backend):
            return scaled_dot_product_attention(q, k, v, is_causal=causal)

    def forward(self, case):
        return Work(lambda: [self.attention(case.q, case.k, case.v, case.causal)])

    def backward(self, case):
        leaves = case.copies()
        o = self.attention(*leaves, case.causal)
        return Work(lambda: torch.autograd.grad(o, leaves, case.d_o, retain_graph=True))


def heads_first(tensor):
    return tensor.transpose(1, 2)


class FlashAttention3:
    """FlashAttention-3's own PyTorch interface. Some builds have no backward pass."""
    name = "FlashAttention-3"

    def __init__(self):
        import flash_attn_interface
        self.interface = flash_attn_interface

    def attention(self, q, k, v, causal):
        o = self.interface.flash_attn_func(q, k, v, causal=causal)
        return o[0] if isinstance(o, tuple) else o

    def forward(self, case):
        q, k, v, _ = case.transposed_copies()
        return Work(lambda: [self.attention(q, k, v, case.causal)], heads_first)

    def backward(self, case):
        *leaves, d_o = case.transposed_copies()
        o = self.attention(*[leaf.requires_grad_() for leaf in leaves], case.causal)
        return Work(lambda: torch.autograd.grad(o, leaves, d_o, retain_graph=True), heads_first)


class FlashAttention3Xla:
    """FlashAttention-3 of the package dew-flash-attn-cu13. It has a backward pass."""
    name = "FlashAttention-3"

    def __init__(self):
        self.library = flash3_xla.Library()

    def forward_launch(self, case, q, k, v):
        """Returns a function that launches the forward pass, o and the log-sum-exp."""
        batch, length, heads, _ = q.shape
        o, lse, *_ = results = [torch.empty_like(q)] + [
            torch.empty(shape, device=q.device) for shape in ((batch, heads, length), (1, 1, 1, 1), (1, 1, 1))]
        return self.library.launch("fwd", [q, k, v], results, case.causal), o, lse

    def forward(self, case):
        q, k, v, _ = case.transposed_copies()
        launch, o, _ = self.forward_launch(case, q, k, v)
        return Work(lambda: launch() or [o], heads_first)

    def backward(self, case):
        q, k, v, d_o = case.transposed_copies()
        batch, length, heads, _ = q.shape
        forward, o, lse = self.forward_launch(case, q, k, v)
        forward()
        scratch = [torch.empty(heads * (batch * length + 128 * (batch + 1)), device=q.device) for _ in range(2)]
        gradients = [torch.empty_like(tensor) for tensor in (q, k, v)]
        launch = self.library.launch("bwd", [d_o, q, k, v, o, lse], [*gradients, *scratch], case.causal)
        return Work(lambda: launch() or gradients, heads_first)


class FirstThatWorks:
    """Several ways to one implementation: each pass takes the first that runs it."""
    has_variants = False

    def __init__(self, name, ways):
        self.name, self.ways, self.absent = name, [], []
        for way in ways:
            self.attempt(way.__name__, lambda: self.ways.append(way()), self.absent)
        if not self.ways:
            raise ImportError("; ".join(self.absent))

    def attempt(self, name, work, reasons):
        try:
            return work()
        except Exception as error:  # Whatever a foreign package raises.
            reasons.append(f"{name}: {str(error)[:120]}")

    def first(self, direction, case):
        reasons = list(self.absent)
        for way in self.ways:
            if work := self.attempt(type(way).__name__, lambda: getattr(way, direction)(case), reasons):
                return work
        raise RuntimeError("; ".join(reasons))

    forward = functools.partialmethod(first, "forward")
    backward = functools.partialmethod(first, "backward")


def is_possible(variant, causal):
    return not (causal and variant in variants.WITH_A_DIAGONAL)


def make_case(head_dim, causal, seqlen, dtype, tokens, hidden, variant="none", device="cuda"):
    """Returns random tensors with a mask, and the variant of that name unless it is none."""
    shape = max(1, tokens // seqlen), max(1, hidden // head_dim), seqlen, head_dim
    q, k, v, d_o = (torch.randn(shape, device=device, dtype=getattr(torch, dtype)) for _ in range(4))
    if variant == "none":
        return Case(q, k, v, d_o, causal, variants.plain(causal), "causal" if causal else "none",
                    results.pairs_of(seqlen, causal))
    made = variants.make(variant, q, causal)
    label = variant.replace("_", " ") + (", causal" if causal else "")
    return Case(q, k, v, d_o, causal, made, label, variants.count_pairs(made.mask_mod, seqlen, device))


def difference(results, reference):
    """Returns the largest difference of a tensor from its reference, relative to the reference's length."""
    return max(((a - b).norm() / b.norm()).item() for a, b in zip(results, reference, strict=True))


def versions():
    major, rest = divmod(torch.backends.cudnn.version(), 10000)
    return {"pytorch": torch.__version__, "cuda": torch.version.cuda, "cudnn": f"{major}.{rest // 100}.{rest % 100}"}


MAKERS = {"tegula": Tegula, "flex": FlexAttention,
          "cudnn": lambda: Sdpa("cuDNN", SDPBackend.CUDNN_ATTENTION),
          "fa2": lambda: Sdpa("FlashAttention-2", SDPBackend.FLASH_ATTENTION),
          "fa3": lambda: FirstThatWorks("FlashAttention-3", [FlashAttention3, FlashAttention3Xla])}


def everything(peers, others=()):
    """Returns the implementations by the names that files of results use, and why others cannot be imported. `others` has
    (name, file) of further builds of Tegula."""
    makers = {name: MAKERS[name] for name in ["tegula", *peers]}
    makers |= {name: functools.partial(Tegula, f"Tegula, {name}", tegula.Library(file)) for name, file in others}
    implementations, absent = {}, {}
    for name, make in makers.items():
        try:
            implementations[name] = make()
        except ImportError as error:
            absent[name] = str(error)
    return implementations, absent
