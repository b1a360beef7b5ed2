# SPDX-License-Identifier: MIT
"""Tests tools/bench-peers, bench-rounds and bench-own-kernels on a machine that has nothing to measure."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).parents[2] / "tools"


class BenchPeersTest(unittest.TestCase):
    def test_without_pytorch_they_say_so(self):
        for script in "bench-peers", "bench-rounds", "bench-own-kernels":
            with self.subTest(script), tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "torch.py").write_text("raise ImportError\n")
                result = subprocess.run([sys.executable, TOOLS / script], env={"PYTHONPATH": folder},
                                        capture_output=True, text=True)
                self.assertEqual((result.returncode, result.stdout), (3, ""))
                self.assertEqual(result.stderr, f"{script}: there is no PyTorch; nothing to measure\n")


if __name__ == "__main__":
    unittest.main()
