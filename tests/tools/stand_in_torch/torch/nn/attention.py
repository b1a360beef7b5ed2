# SPDX-License-Identifier: MIT
import contextlib
from types import SimpleNamespace

SDPBackend = SimpleNamespace(CUDNN_ATTENTION=0, FLASH_ATTENTION=1)


def sdpa_kernel(backend):
    return contextlib.nullcontext()
