# SPDX-License-Identifier: MIT
"""Runs tools/bench-rounds without a GPU: with a stand-in for PyTorch, one for CUDA's driver, and two files of the library."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
CELL = "--head-dim 64 --seqlen 512 --tokens 512 --hidden 64 --rounds 2 --seconds 0.002".split()


class DryRunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        stand_in = ROOT / "tests" / "tools" / "stand_in_torch"
        self.environment = os.environ | {"PYTHONPATH": str(stand_in), "TEGULA_LIBCUDA": os.environ["TEGULA_STAND_IN_CUDA"],
                                         "PYTHONDONTWRITEBYTECODE": "1"}

    def run_rounds(self, *arguments):
        file = self.folder / "out.json"
        result = subprocess.run([sys.executable, ROOT / "tools" / "bench-rounds", *CELL, "--json", file, *arguments],
                                env=self.environment, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result, json.loads(file.read_text())["rows"]

    def test_every_implementation_has_a_time(self):
        _, rows = self.run_rounds("--peers", "cudnn,fa2")
        self.assertEqual([(row["pass"], row["mask"]) for row in rows],
                         [(direction, mask) for mask in ("none", "causal") for direction in ("forward", "backward")])
        for row in rows:
            self.assertEqual({name: result["launch"] for name, result in row["results"].items()},
                             dict.fromkeys(["tegula", "cudnn", "fa2"], "graph"))
            self.assertEqual(sorted(row["ratios"]), ["cudnn", "fa2"])

    def test_two_files_of_the_library_run_in_one_process(self):
        library = pathlib.Path(os.environ["LIBTEGULA"])
        old = self.folder / "old" / library.name
        old.parent.mkdir()
        shutil.copy(library.resolve(), old)
        self.environment["TEGULA_CC"] = os.environ["TEGULA_CC"]  # The copy has no compiler beside it.
        result, rows = self.run_rounds("--against", f"old={old}", "--causal", "none", "--limit", "1000")
        self.assertEqual([sorted(row["results"]) for row in rows], [["old", "tegula"]] * 2)
        self.assertIn("\n0 passes take at least 1000.0 % more time than in another build\n", result.stdout)


if __name__ == "__main__":
    unittest.main()
