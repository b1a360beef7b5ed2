# SPDX-License-Identifier: MIT
"""Times ring attention on the GPUs of one host, next to one GPU's kernel and to PyTorch's context parallel attention.

  torchrun --nproc-per-node 2 python/benchmarks/ring.py --lengths 32768 131072 > ring.jsonl

First it compares o, dq, dk and dv with float64 and with one GPU's kernel, for random inputs and memory full of NaN.
Then all implementations of a configuration take turns in each round, in random order. Rank 0 prints a line of JSON for
each configuration. An implementation that fails has its message there instead of figures.

"hidden" is the share of the time of all exchanges that the ring does not wait for: 1 - (ring - ring that sends nothing)
/ exchanges without kernels.
"""

import argparse
import contextlib
import datetime
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
import traceback

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")  # NVLink multicast.
os.environ.setdefault("TORCH_NCCL_HIGH_PRIORITY", "1")
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

import torch
import torch.distributed as dist
from torch.nn import functional as F

import tegula
import tegula.ring

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
CHUNK_SCORES = 2**26  # The most scores of a chunk of the reference, per head.


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--lengths", type=int, nargs="+", default=[2**n for n in range(15, 21)],
                        help="tokens of all ranks")
    parser.add_argument("--masks", nargs="+", default=["causal", "full"], choices=["causal", "full"])
    parser.add_argument("--passes", nargs="+", default=["forward", "backward"], choices=["forward", "backward"])
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--kv-heads", type=int, help="default: --heads")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--dtype", default="bf16", choices=TYPES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--window-ms", type=float, default=60,
                        help="what a round spends on an implementation, at least one call")
    parser.add_argument("--most-seconds", type=float, default=30,
                        help="seconds after which a pass has no further round")
    parser.add_argument("--one-gpu-length", type=int, default=2**17, help="the most tokens of one GPU's kernel")
    parser.add_argument("--check-length", type=int, default=2**15, help="tokens of the comparison; 0: none")
    parser.add_argument("--peers", nargs="*", default=["cudnn"], choices=["cudnn", "flash"],
                        help="backends of PyTorch's")
    parser.add_argument("--rotate", default="allgather", choices=["allgather", "alltoall"],
                        help="how PyTorch's moves keys")
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds after which no configuration begins")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that a rank waits for others")
    options = parser.parse_args(arguments)
    options.kv_heads = options.kv_heads or options.heads
    return options


# The device.

class Device:
    """What the script does on a GPU or, to test the script, on a CPU."""

    def __init__(self, kind, ordinal):
        self.is_cuda = kind == "cuda"
        self.torch = torch.device("cuda", ordinal) if self.is_cuda else torch.device("cpu")
        if self.is_cuda:
            torch.cuda.set_device(self.torch)

    def synchronize(self):
        if self.is_cuda:
            torch.cuda.synchronize()

    def milliseconds(self, function, calls):
        """Returns the time of one call, between events of the stream, after all ranks have come here."""
        self.synchronize()
        dist.barrier()
        if not self.is_cuda:
            begin = time.perf_counter()
            for _ in range(calls):
                function()
            return 1000 * (time.perf_counter() - begin) / calls
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            function()
        end.record()
        self.synchronize()
        return begin.elapsed_time(end) / calls

    def poison(self):
        """Fills free memory with NaN, so that a result that nothing writes is seen."""
        if self.is_cuda:
            torch.cuda.empty_cache()
            count = int(torch.cuda.mem_get_info()[0] * 0.5) // 4
            torch.full((count,), math.nan, device=self.torch)

    def reset_peak(self):
        if self.is_cuda:
            torch.cuda.reset_peak_memory_stats()
            self.before = torch.cuda.memory_allocated()

    def peak_mib(self):
        """Returns the most memory since reset_peak(), without what was there before."""
        return round((torch.cuda.max_memory_allocated() - self.before) / 2**20) if self.is_cuda else None

    def describe(self):
        found = {"torch": torch.__version__, "world": dist.get_world_size(), "backend": dist.get_backend_config()}
        if not self.is_cuda:
            return {"device": "cpu", **found}
        return {"device": torch.cuda.get_device_name(), "driver": driver(),
                "cuda": torch.version.cuda, "nccl": ".".join(map(str, torch.cuda.nccl.version())), **found}


def driver():
    """Returns the version of the driver, or None."""
    try:
        found = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                               capture_output=True, text=True)
    except OSError:
        return None
    return found.stdout.split("\n")[0] or None


def largest(value):
    """Returns the largest of a number of all ranks."""
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, value)
    return max(found)


def first_error(error):
    """Returns the error of the first rank that has one, or None. All ranks call it."""
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, error)
    return next((f"rank {rank}: {text}" for rank, text in enumerate(found) if text), None)


def attempt(function):
    """Calls a function in all ranks, and returns its result and why it failed in some rank. A rank that fails alone
    while others wait for it ends the run after the time-out."""
    result, error = None, None
    try:
        result = function()
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"[:500]
        traceback.print_exc(file=sys.stderr)
    return result, first_error(error)


# Implementations.

def random_inputs(options, device, length, seed=0):
    """Returns q, k, v and d_o, [1, heads, length, dim]."""
    generator = torch.Generator(device.torch).manual_seed(seed)
    return [torch.randn(1, heads, length, options.dim, generator=generator, device=device.torch,
                        dtype=TYPES[options.dtype])
            for heads in (options.heads, options.kv_heads, options.kv_heads, options.heads)]


class NothingSent:
    """Takes the place of the ring's exchanges."""

    def __init__(self, *arguments):
        pass

    def wait(self):
        pass


@contextlib.contextmanager
def sending_nothing():
    """Lets each rank compute all steps on its own keys."""
    exchange, pairs = tegula.ring._Exchange, tegula.ring._pairs
    tegula.ring._Exchange, tegula.ring._pairs = NothingSent, lambda k, v: pairs(k, v)[:1] * 2
    try:
        yield
    finally:
        tegula.ring._Exchange, tegula.ring._pairs = exchange, pairs


@contextlib.contextmanager
def pytorch_context(options, device, mesh, length, causal, backend):
    """Makes scaled_dot_product_attention PyTorch's context parallel one. Its parts have the layout of ours."""
    from torch.distributed.tensor.experimental import _attention as experimental
    from torch.nn.attention import SDPBackend, sdpa_kernel
    experimental._cp_options.enable_load_balance = causal
    experimental.set_rotate_method(options.rotate)
    kernel = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}[backend]
    positions = torch.arange(length, device=device.torch)[None]  # Something to cut; q, k and v are parts already.
    parallel = experimental.context_parallel(mesh, buffers=[positions], buffer_seq_dims=[1])
    with sdpa_kernel(kernel), parallel:
        try:
            yield
        except Exception as error:  # PyTorch's context does not end if it sees an exception.
            failed = error
        else:
            return
    raise failed


class Work:
    """An implementation of one configuration."""

    def __init__(self, tensors, causal, length, attention, context=contextlib.nullcontext, gpus=None):
        *leaves, self.d_o = tensors
        self.leaves = [x.detach().requires_grad_() for x in leaves]
        self.length, self.causal, self.attention, self.context, self.gpus = length, causal, attention, context, gpus

    def forward(self):
        with torch.no_grad():
            self.attention(*self.leaves)

    def backward(self):
        torch.autograd.grad(self.o, self.leaves, self.d_o, retain_graph=True)

    def prepare(self, which):
        """Runs everything once. Returns the function that is timed."""
        with self.context():
            if which == "forward":
                self.forward()
                return self.forward
            self.o = self.attention(*self.leaves)
            self.backward()
            return self.backward

    def forget(self):
        self.o = None

    def tflops(self, which, ms):
        _, heads, _, dim = self.leaves[0].shape
        pairs = self.length**2 / (2 if self.causal else 1)
        return round(4 * pairs * heads * dim * (1 if which == "forward" else 2.5) / self.gpus / ms / 1e9, 1)


def works_of(options, device, mesh, length, causal):
    """Returns the implementations by their names."""
    world = dist.get_world_size()
    parts = random_inputs(options, device, length // world, seed=dist.get_rank())
    one_length = min(length, options.one_gpu_length)

    def ring(q, k, v):
        return tegula.ring_attention(q, k, v, causal=causal)

    works = {
        "ring": Work(parts, causal, length, ring, gpus=world),
        "ring that sends nothing": Work(parts, causal, length, ring, sending_nothing, world),
        "one GPU": Work(random_inputs(options, device, one_length), causal, one_length,
                        lambda q, k, v: tegula.attention(q, k, v, causal=causal)[0], gpus=1),
    }
    is_grouped = options.heads != options.kv_heads
    for backend in options.peers:
        works[f"PyTorch, {backend}"] = Work(
            parts, causal, length,
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=is_grouped),
            lambda backend=backend: pytorch_context(options, device, mesh, length, causal, backend), world)
    return works


def exchanges(work, which):
    """Returns a function that makes the exchanges of a pass without its kernels."""
    _, k, v = (x.detach() for x in work.leaves)
    ring = tegula.ring._Ring(dist.group.WORLD, "zigzag", k.shape[2], None, 0 if work.causal else None, 1.0)
    pairs, gradients = (tegula.ring._pairs(k, v) for _ in range(2))

    def function():
        for step in range(ring.steps + 1 if which == "backward" else ring.steps - 1):
            messages = ring.next_keys(pairs, step)
            if step > 1:
                messages.append(ring.gradients_of(*(pair.buffer for pair in gradients), step - 1))
            if messages:
                ring.exchange(messages).wait()

    return function


def measure(options, device, works, which):
    """Returns the figures of a pass for each implementation, or why it failed."""
    results, timed = {}, {}
    for name, work in works.items():
        device.reset_peak()
        function, error = attempt(lambda: work.prepare(which))
        if error:
            results[name] = {"error": error}
            work.forget()
        else:
            results[name] = {"memory_mib": largest(device.peak_mib() or 0)}
            timed[name] = function, work.context
    if dist.get_world_size() > 1 and "ring" in timed:
        function, error = attempt(lambda: exchanges(works["ring"], which))
        timed |= {} if error else {"exchanges": (function, contextlib.nullcontext)}
    samples, calls = {name: [] for name in timed}, {}
    order, begin = random.Random(0), time.monotonic()
    for turn in range(options.rounds + 1):  # The first one warms up and finds the number of calls.
        if turn > 1 and largest(time.monotonic() - begin) > options.most_seconds:
            break
        for name in order.sample(sorted(timed), len(timed)):
            function, context = timed[name]

            def sample():
                with context():
                    return device.milliseconds(function, calls.get(name, 1))

            ms, error = attempt(sample)
            if error:
                results[name] = {"error": error}
                del timed[name]
                continue
            ms = largest(ms)
            if turn == 0:
                calls[name] = max(1, math.ceil(options.window_ms / ms))
            else:
                samples[name].append(round(ms, 5))
    for name in timed:
        ms = statistics.median(samples[name])
        results.setdefault(name, {}).update(ms=ms, samples_ms=samples[name])
        if name in works and name != "ring that sends nothing":
            results[name] |= {"length": works[name].length, "tflops_per_gpu": works[name].tflops(which, ms)}
    for work in works.values():
        work.forget()
    return results


def compared(results):
    """Returns what follows from the figures."""
    found, ms = {}, {name: result["ms"] for name, result in results.items() if "ms" in result}
    speed = {name: result["tflops_per_gpu"] for name, result in results.items() if "tflops_per_gpu" in result}
    for name in speed:
        if name != "ring" and "ring" in speed and speed[name]:
            found[f"ring / {name}"] = round(speed["ring"] / speed[name], 4)
    if {"ring", "ring that sends nothing", "exchanges"} <= ms.keys():
        found["hidden"] = round(1 - (ms["ring"] - ms["ring that sends nothing"]) / ms["exchanges"], 3)
    return found


# The comparison with float64.

def plain(q, k, v, d_o, causal, dtype):
    """Returns o, dq, dk and dv by the plain formula in a type, some rows at a time."""
    groups, (_, _, length, dim) = q.shape[1] // k.shape[1], q.shape
    rows = max(1, CHUNK_SCORES // length // q.shape[1] * 8)
    q, k, v, d_o = (x[0].to(dtype) for x in (q, k, v, d_o))
    k, v = (x.repeat_interleave(groups, 0) for x in (k, v))
    o, dq = torch.empty_like(d_o), torch.empty_like(q)
    dk, dv = (torch.zeros_like(x, dtype=torch.promote_types(dtype, torch.float32)) for x in (k, v))
    for begin in range(0, length, rows):
        end = min(begin + rows, length)
        seen = end if causal else length
        s = q[:, begin:end] @ k[:, :seen].transpose(1, 2) / math.sqrt(dim)
        if causal:
            s.masked_fill_(torch.ones(end - begin, seen, dtype=torch.bool, device=s.device).triu(begin + 1), -math.inf)
        p = torch.softmax(s, -1)
        o[:, begin:end] = p @ v[:, :seen]
        dv[:, :seen] += p.transpose(1, 2) @ d_o[:, begin:end]
        dp = d_o[:, begin:end] @ v[:, :seen].transpose(1, 2)
        ds = p.mul_(dp - (d_o[:, begin:end] * o[:, begin:end]).sum(-1, keepdim=True)) / math.sqrt(dim)
        dq[:, begin:end] = ds @ k[:, :seen]
        dk[:, :seen] += ds.transpose(1, 2) @ q[:, begin:end]
    dk, dv = (x.view(-1, groups, length, x.shape[-1]).sum(1).to(dtype) for x in (dk, dv))
    return {name: x[None] for name, x in zip(("o", "dq", "dk", "dv"), (o, dq, dk, dv))}


def check(options, device, causal):
    """Returns the largest errors of the ring, of one GPU's kernel and of the plain formula. The ring is right with at
    most twice the error of the formula, or twice the rounding of the result."""
    tensors = random_inputs(options, device, options.check_length)
    for x in tensors:
        dist.broadcast(x, 0)
    expected = plain(*tensors, causal, torch.float64)
    formula = plain(*tensors, causal, TYPES[options.dtype])

    def results(tensors, attention):
        device.poison()
        *leaves, d_o = tensors
        leaves = [x.clone().requires_grad_() for x in leaves]
        o = attention(*leaves)
        return dict(zip(("o", "dq", "dk", "dv"), (o.detach(), *torch.autograd.grad(o, leaves, d_o))))

    ours = results([tegula.ring_shard(x) for x in tensors],
                   lambda q, k, v: tegula.ring_attention(q, k, v, causal=causal))
    one = results(tensors, lambda q, k, v: tegula.attention(q, k, v, causal=causal)[0])
    if device.is_cuda:
        torch.cuda.empty_cache()
    found, right = {}, True
    for name, whole in expected.items():
        error = largest(error_of(ours[name], tegula.ring_shard(whole)))
        error_of_formula = error_of(formula[name], whole)
        rounding = torch.finfo(TYPES[options.dtype]).eps / 2 * whole.abs().max().item()
        right &= error <= 2 * max(error_of_formula, rounding)
        found[name] = {"ring": error, "one_gpu": error_of(one[name], whole), "formula": error_of_formula}
    return {"right": right, "errors": found}


def error_of(found, expected):
    """Returns the largest error, infinity if there is a NaN."""
    error = (found.double() - expected).abs().max().item()
    return math.inf if math.isnan(error) else error


def main(arguments):
    options = options_of(arguments)
    begin = time.monotonic()
    device = Device(options.device, int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("cpu:gloo,cuda:nccl" if device.is_cuda else "gloo",
                            timeout=datetime.timedelta(seconds=options.timeout))
    mesh, _ = attempt(lambda: dist.init_device_mesh(options.device, (dist.get_world_size(),)))
    machine = device.describe()

    def write(line):
        if dist.get_rank() == 0:
            print(json.dumps(line | {"seconds": round(time.monotonic() - begin, 1), **machine}), flush=True)

    problem = {"heads": options.heads, "kv_heads": options.kv_heads, "dim": options.dim, "dtype": options.dtype}
    is_right = True
    for mask in options.masks if options.check_length else []:
        found, error = attempt(lambda: check(options, device, mask == "causal"))
        is_right &= error is None and found["right"]
        write({"check": mask, "length": options.check_length, **problem, **(found or {"right": False}), "error": error})
    for length in options.lengths:
        for mask in options.masks:
            if largest(time.monotonic() - begin) > options.budget:
                write({"left out": mask, "length": length, **problem})
                continue
            works, error = attempt(lambda: works_of(options, device, mesh, length, mask == "causal"))
            for which in options.passes if error is None else []:
                results = measure(options, device, works, which)
                write({"pass": which, "mask": mask, "length": length, **problem, "results": results,
                       **compared(results)})
            if error:
                write({"mask": mask, "length": length, **problem, "error": error})
            works = None
    dist.destroy_process_group()
    return 0 if is_right else 1


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # If Python ended by itself, some runs were aborted then: "terminate called without an active exception".
