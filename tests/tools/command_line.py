# SPDX-License-Identifier: MIT
"""Runs the command line under test. $TEGULA names it, and $TEGULA_TEST_TARGET names the target to test (default: cpu)."""

import atexit
import os
import subprocess
import tempfile
import unittest


TARGET = os.environ.get("TEGULA_TEST_TARGET", "cpu")

# The user's tunings and kernels neither change the tests nor are changed by them.
_cache = tempfile.TemporaryDirectory()
atexit.register(_cache.cleanup)
os.environ.pop("TEGULA_CACHE_DIR", None)
os.environ["XDG_CACHE_HOME"] = _cache.name


class CommandLineTest(unittest.TestCase):
    maxDiff = None

    def run_tegula(self, *arguments, code=0, text=True, stdin=None, environment={}):
        result = subprocess.run([os.environ["TEGULA"], *arguments], capture_output=True, text=text, input=stdin,
                                env=os.environ | environment)
        if code is not None:
            self.assertEqual(result.returncode, code, result.stderr)
        return result
