# SPDX-License-Identifier: MIT
"""A pytest plugin for flash-attn's test_flash_attn.py, whose source tree is TEGULA_SUITE_SOURCE. Its helpers come from there.

Tests of what `tegula.flash_attn` has no kernels for are left out: their hundreds of thousands of cases take minutes to collect.
"""

import os

import suite
from tegula import flash_attn

LEFT_OUT = ("varlen", "kvcache", "splitkv")

flash_attn.install()
flash_attn.__path__ = [os.path.join(os.environ["TEGULA_SUITE_SOURCE"], "flash_attn")]
flash_attn._get_block_size_n = lambda *_: 1 << 30  # Rows of s_dmask are relative to one maximum.
for name in ("flash_attn_func", "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func"):
    setattr(flash_attn, name, suite.counts(getattr(flash_attn, name)))


def pytest_pycollect_makeitem(name):
    return [] if any(part in name for part in LEFT_OUT) else None
