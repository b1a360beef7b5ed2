# SPDX-License-Identifier: MIT
"""The counterpart of tests/support/missing_tool.h for tests in Python."""

import os
import sys
import unittest


def missing_tool(tool):
    """Skips the running test or subtest, because there is no `tool`. In CI (CI=true), fails it."""
    if os.environ.get("CI") == "true":
        raise AssertionError(f"there is no {tool}, which CI must have; tools/setup --tests installs it")
    print(f"Skipped: there is no {tool}", file=sys.stderr)  # unittest counts skips, but does not say why.
    raise unittest.SkipTest(f"there is no {tool}")
