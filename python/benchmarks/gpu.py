# SPDX-License-Identifier: MIT
"""What benchmarks on a GPU say about the machine."""

import subprocess

import torch


def about():
    """Returns the line about the GPU and its software."""
    state = subprocess.run(["nvidia-smi", "--query-gpu=driver_version,clocks.max.sm,power.limit", "--format=csv,noheader"],
                           capture_output=True, text=True).stdout.strip().split("\n")[0].split(", ")
    return {"part": "about", "device": torch.cuda.get_device_name(), "driver": state[0], "clock": state[1], "power": state[2],
            "torch": torch.__version__, "cudnn": torch.backends.cudnn.version()}
