# SPDX-License-Identifier: MIT
"""Times steps of PyTorch's current stream: by events, and between them by the cycle counters of the SMs."""

import ctypes
import functools
import math
import sys

import torch

SLOTS = 256  # At least the number of SMs.

# Each block writes the counters of its SM to a place of this SM: cycles, and nanoseconds.
PTX = b"""
.version 7.8
.target sm_80
.address_size 64
.visible .entry stamp(.param .u64 stamps)
{
  .reg .pred %few;
  .reg .b32 %sm;
  .reg .b64 %at, %offset, %cycles, %ns;
  ld.param.u64 %at, [stamps];
  cvta.to.global.u64 %at, %at;
  mov.u32 %sm, %smid;
  mul.wide.u32 %offset, %sm, 16;
  add.u64 %at, %at, %offset;
  setp.lt.u32 %few, %sm, 256;
  mov.u64 %cycles, %clock64;
  mov.u64 %ns, %globaltimer;
  @%few st.global.v2.u64 [%at], {%cycles, %ns};
  ret;
}
"""


class Counters:
    """Reads the counters of all SMs where it stands in the stream."""

    def __init__(self):
        self.driver, module, self.function = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
        torch.cuda.current_stream().synchronize()  # Makes PyTorch's context the current one.
        self.call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.call("cuModuleGetFunction", ctypes.byref(self.function), module, b"stamp")
        self.blocks = torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count

    def call(self, name, *arguments):
        if status := getattr(self.driver, name)(*arguments):
            raise OSError(f"{name} returned {status}")

    def stamp(self, stamps):
        """Writes to a tensor of int64 [SLOTS, 2]."""
        address = ctypes.c_uint64(stamps.data_ptr())
        self.call("cuLaunchKernel", self.function, *[ctypes.c_uint(size) for size in (self.blocks, 1, 1, 32, 1, 1, 0)],
                  ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
                  (ctypes.c_void_p * 1)(ctypes.addressof(address)), None)


def clocks(stamps):
    """Returns the clock in MHz between stamps that follow each other: the median over the SMs that both have, or None."""
    taken = stamps[1:] - stamps[:-1]
    both = (stamps[1:, :, 0] != 0) & (stamps[:-1, :, 0] != 0) & (taken[:, :, 1] > 0)
    mhz = torch.where(both, taken[:, :, 0].double() * 1000 / taken[:, :, 1].clamp(min=1), torch.nan)
    return [None if math.isnan(each) else each for each in mhz.nanmedian(dim=1).values.tolist()]


@functools.lru_cache(maxsize=None)
def counters():
    try:
        return Counters()
    except OSError as error:
        print(f"bench: the cycle counters cannot be read ({error}); figures have no clock", file=sys.stderr)
        return None


def run(steps):
    """Enqueues all steps, and waits for them. Returns ms of each, and MHz or None."""
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in steps]
    stamps, reads = torch.zeros(len(steps) + 1, SLOTS, 2, dtype=torch.int64, device="cuda"), counters()
    for index, (step, (begin, end)) in enumerate(zip(steps, events)):
        if reads:
            reads.stamp(stamps[index])
        begin.record()
        step()
        end.record()
    if reads:
        reads.stamp(stamps[len(steps)])
    torch.cuda.synchronize()
    ms = [begin.elapsed_time(end) for begin, end in events]
    return list(zip(ms, clocks(stamps) if reads else [None] * len(steps)))
