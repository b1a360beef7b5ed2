# SPDX-License-Identifier: MIT
"""A pytest plugin for PyTorch's test_transformers.py. Tegula computes what may go to flash attention."""

import suite
from tegula import sdpa

sdpa._compute = suite.counts(sdpa._compute)
_patched = sdpa.patched()  # Is active as long as it exists.
_patched.__enter__()
