# SPDX-License-Identifier: MIT
"""Runs the command line under test; TEGULA names it."""

import os
import subprocess
import unittest


class CommandLineTest(unittest.TestCase):
    maxDiff = None

    def run_tegula(self, *arguments, code=0, text=True, stdin=None):
        result = subprocess.run([os.environ["TEGULA"], *arguments], capture_output=True, text=text, input=stdin)
        self.assertEqual(result.returncode, code, result.stderr)
        return result
