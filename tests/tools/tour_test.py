# SPDX-License-Identifier: MIT
"""Tests that the compiler prints each line of each excerpt in docs/tour.md, except for the names of values."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from missing_tool import missing_tool

ROOT = pathlib.Path(__file__).parents[2]
TOUR = (ROOT / "docs" / "tour.md").read_text()
TEGULA = os.environ["TEGULA"]


def normal(line):
    """Returns the line without names of values and registers, and without space."""
    return re.sub(r"\s+", "", re.sub(r"%[\w#:$]+", "%", line))


def excerpts():
    """Yields the command and the lines of each excerpt."""
    for command, lines in re.findall(r"```sh\n(tegula .*?)\n```\n```\w*\n(.*?)```", TOUR, re.DOTALL):
        yield command, [line for line in lines.splitlines() if line.strip() not in ("", "...")]


def variables():
    return "\n".join(re.findall(r'^(?:kernel|schedule)=".*"$', TOUR, re.MULTILINE))


class TourTest(unittest.TestCase):
    def output_of(self, command):
        with tempfile.TemporaryDirectory() as folder:
            tegula = f'tegula() {{ {shlex.quote(TEGULA)} "$@"; }}'
            script = "\n".join(["set -e", tegula, variables(), command])
            result = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_each_excerpt_is_what_its_command_prints(self):
        self.assertGreaterEqual(len(list(excerpts())), 8)
        has_assembler = "ptxas" in self.output_of('tegula compile $kernel --schedule "$schedule" --emit report')
        for command, lines in excerpts():
            with self.subTest(command):
                if not has_assembler and ("report" in command or "cubin" in command):
                    missing_tool("ptxas")
                if "nvdisasm" in command and not shutil.which("nvdisasm"):
                    missing_tool("nvdisasm")
                rest = iter(map(normal, self.output_of(command).splitlines()))
                for line in lines:
                    self.assertTrue(any(normal(line) in printed for printed in rest), f"is not printed there: {line}")

    def test_the_program_is_the_kernel(self):
        kernel = normal((ROOT / "kernels" / "flash2_forward.cpp").read_text())
        for line in re.search(r"```cpp\n(.*?)```", TOUR, re.DOTALL).group(1).splitlines():
            self.assertIn(normal(line), kernel)


if __name__ == "__main__":
    unittest.main()
