# SPDX-License-Identifier: MIT
"""A pytest plugin for flash-attn's test_flash_attn.py, whose source tree is TEGULA_SUITE_SOURCE. Its helpers come from there.

Without a GPU, tensors that a test asks for on a GPU are made on the CPU, which says that it has little memory: the file then
skips its longest sequences. Tests of caches are left out there.
"""

import os
import types

import pytest
import suite
import torch
from tegula import flash_attn

LEFT_OUT = () if torch.cuda.is_available() else ("kvcache",)  # Its rotary kernels need a GPU.

flash_attn.install()
flash_attn.__path__ = [os.path.join(os.environ["TEGULA_SUITE_SOURCE"], "flash_attn")]
flash_attn._get_block_size_n = lambda *_: 1 << 30  # Rows of s_dmask are relative to one maximum.
for name in flash_attn.__all__[1:]:
    setattr(flash_attn, name, suite.counts(getattr(flash_attn, name)))

if not torch.cuda.is_available():
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(total_memory=2**34)


class OnCpu(torch.overrides.TorchFunctionMode):
    """Makes tensors on the CPU that are asked for on a GPU."""

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = options or {}
        return function(*arguments, **options | ({"device": "cpu"} if options.get("device") == "cuda" else {}))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call():
    if torch.cuda.is_available():
        yield
    else:
        with OnCpu():
            yield


def pytest_pycollect_makeitem(name):
    return [] if any(part in name for part in LEFT_OUT) else None
