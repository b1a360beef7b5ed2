# SPDX-License-Identifier: MIT
"""tools/bench-peers on a machine that has nothing to measure."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "tools" / "bench-peers"


class BenchPeersTest(unittest.TestCase):
    def test_without_pytorch_it_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "torch.py").write_text("raise ImportError\n")
            result = subprocess.run([sys.executable, SCRIPT], env={"PYTHONPATH": folder}, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertEqual(result.stderr, "bench-peers: there is no PyTorch; nothing to measure\n")


if __name__ == "__main__":
    unittest.main()
