# SPDX-License-Identifier: MIT
"""Trains GPT-2 on the bytes of Python's standard library, once for each of several implementations of attention.

The models begin with equal weights and see equal data. Their steps alternate, so that all meet the same clock of the GPU. Prints
a line of JSON for each model: its losses, its tokens per second (median of the steps), and the most memory that a step takes
besides parameters and the optimizer's state.
"""

import argparse
import json
import pathlib
import statistics
import sys
import sysconfig
import time

import torch
from torch.nn import functional as F

import gpt
import tegula

WARM_UP = 5  # Steps that compile, and that the speed leaves out.


def use(attention):
    """Makes scaled_dot_product_attention use the backend of this name, if it is one."""
    for backend in ("flash", "mem_efficient", "math", "cudnn"):
        getattr(torch.backends.cuda, f"enable_{backend}_sdp")(attention in (backend, "tegula"))


def text():
    """Returns the source files of Python's standard library as a tensor of bytes."""
    folder = pathlib.Path(sysconfig.get_path("stdlib"))
    files = sorted(path for path in folder.rglob("*.py") if "site-packages" not in path.parts)
    return torch.frombuffer(bytearray(b"".join(path.read_bytes() for path in files)), dtype=torch.uint8)


def batches(data, options):
    """Yields tokens and the tokens that follow them, the same ones for each implementation of attention."""
    random = torch.Generator().manual_seed(options.seed)
    while True:
        starts = torch.randint(len(data) - options.context, (options.batch,), generator=random)
        rows = torch.stack([data[start:start + options.context + 1] for start in starts]).long().to(options.device)
        yield rows[:, :-1], rows[:, 1:].contiguous()


class Training:
    """A model, its optimizer and what was measured."""

    def __init__(self, attention, options):
        torch.manual_seed(options.seed)
        self.attention, self.options = attention, options
        function = tegula.scaled_dot_product_attention if attention == "tegula" else F.scaled_dot_product_attention
        self.model = gpt.Gpt(gpt.Config(context=options.context, **gpt.SIZES[options.size]), function).to(options.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), betas=(0.9, 0.95), weight_decay=0.1)
        self.compiled = torch.compile(self.model)
        self.losses, self.seconds, self.bytes = [], [], []

    def step(self, tokens, targets):
        use(self.attention)
        rate = self.options.learning_rate * min(1, (len(self.losses) + 1) / 20)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        is_cuda = self.options.device == "cuda"
        before = torch.cuda.memory_allocated() if is_cuda else 0
        if is_cuda:
            torch.cuda.reset_peak_memory_stats()
        begin = time.perf_counter()
        with torch.autocast(self.options.device, torch.bfloat16):
            loss = self.compiled(tokens, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.losses.append(round(loss.item(), 5))  # Waits for the device.
        self.seconds.append(time.perf_counter() - begin)
        self.bytes.append(torch.cuda.max_memory_allocated() - before if is_cuda else 0)

    def result(self):
        options = self.options
        return {"attention": self.attention, "size": options.size, "context": options.context, "batch": options.batch,
                "parameters": sum(x.numel() for x in self.model.parameters()), "seed": options.seed,
                "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu", "torch": torch.__version__,
                "tokens_per_second": round(options.batch * options.context / statistics.median(self.seconds[WARM_UP:])),
                "step_memory_gb": round(max(self.bytes[WARM_UP:]) / 1e9, 2), "losses": self.losses}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attention", nargs="+", choices=["tegula", "flash", "cudnn"], default=["tegula"],
                        help="Tegula, or backends of PyTorch's scaled_dot_product_attention (default tegula)")
    parser.add_argument("--size", choices=gpt.SIZES, default="small", help="the model (default small: 124M parameters)")
    parser.add_argument("--context", type=int, default=1024, metavar="N", help="tokens of a row (default 1024)")
    parser.add_argument("--batch", type=int, default=16, metavar="N", help="rows of a step (default 16)")
    parser.add_argument("--steps", type=int, default=300, metavar="N", help="steps, more than 5 (default 300)")
    parser.add_argument("--learning-rate", type=float, default=6e-4, metavar="X",
                        help="after a warm-up of 20 steps (default 6e-4)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="for weights and data (default 1)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="default: cuda if there is one")
    options = parser.parse_args()
    if options.steps <= WARM_UP:
        parser.error(f"--steps is {options.steps}; it must be more than {WARM_UP}")
    torch.set_float32_matmul_precision("high")
    trainings = [Training(attention, options) for attention in options.attention]
    for _, (tokens, targets) in zip(range(options.steps), batches(text(), options)):
        for training in trainings:
            training.step(tokens, targets)
    for training in trainings:
        print(json.dumps(training.result()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
