# SPDX-License-Identifier: MIT
"""Tests that tools/run-tests counts skips with their reasons, and that a test whose tool is missing fails in CI."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]

# Tests as CMake leaves them to ctest.
TESTS = r"""
add_test(passes "true")
add_test(discovered "printf" "a.cpp:3: Skipped\nset TARGET=cuda\n\n[  SKIPPED ] A.B (0 ms)\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.B\n")
set_tests_properties(discovered PROPERTIES SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
add_test(program "printf" "a.cpp:3: Skipped\nset TARGET=cuda\n\n[  SKIPPED ] G.A (0 ms)\nb.cpp:4: Skipped\nneeds\n64 GiB\n\n[  SKIPPED ] G.B (0 ms)\n")
add_test(script "sh" "-c" "echo PyTorch is not installed; exit 77")
set_tests_properties(script PROPERTIES SKIP_RETURN_CODE 77)
"""


class ReportTest(unittest.TestCase):
    def run_tests(self, tests):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "CTestTestfile.cmake").write_text(tests)
            return subprocess.run([ROOT / "tools" / "run-tests", folder, "--no-tests=error"], capture_output=True, text=True)

    def test_the_last_lines_say_which_tests_skipped_and_why(self):
        result = self.run_tests(TESTS)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("100% tests passed, 0 tests failed out of 4\n", result.stdout)
        self.assertTrue(result.stdout.endswith("""
4 skipped:
  2: A.B, G.A (set TARGET=cuda)
  1: G.B (needs 64 GiB)
  1: script (PyTorch is not installed)
"""), result.stdout)

    def test_of_many_names_some_are_printed(self):
        lines = r"a.cpp:3: Skipped\nno GPU\n\n[  SKIPPED ] A.{} (0 ms)\n"
        result = self.run_tests(f'add_test(program "printf" "{"".join(map(lines.format, range(6)))}")')
        self.assertTrue(result.stdout.endswith("\n6 skipped:\n  6: A.0, A.1, A.2, A.3 and 2 more (no GPU)\n"), result.stdout)

    def test_none(self):
        self.assertTrue(self.run_tests('add_test(passes "true")').stdout.endswith("\n\n0 skipped\n"))

    def test_a_failure_is_the_exit_code(self):
        result = self.run_tests('add_test(fails "false")')
        self.assertNotEqual(result.returncode, 0)
        self.assertTrue(result.stdout.endswith("\n\n0 skipped\n"), result.stdout)
        self.assertNotEqual(self.run_tests("").returncode, 0)


class MissingToolTest(unittest.TestCase):
    """Without its tool, a test skips on a developer's machine and fails in CI."""

    def check(self, tool, *command, environment):
        for ci, code, text in ("", 0, f"there is no {tool}\n"), ("true", 1, f"there is no {tool}, which CI must have"):
            result = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment | {"CI": ci})
            self.assertEqual(result.returncode != 0, code != 0, result.stdout + result.stderr)
            self.assertIn(text, result.stdout + result.stderr)

    def test_in_cpp(self):
        for tool, program, name in (
                ("ptxas", "TEGULA_COMPILE_TEST", "CompileCuda.TheAssemblerReports:CompileCuda.EveryArchAssembles"),
                ("ptxas", "TEGULA_SCHEDULES_TEST", "*NotSpill*sm_80"),
                ("ptxas", "TEGULA_ASSEMBLED_TEST", "*Mutated.*D64_bf16*documents*:*SpillNothing/D64_f16"),
                ("nvdisasm", "TEGULA_ASSEMBLED_TEST", "*Assembled.*D64_bf16*documents*:*Mutated.*D64_bf16*documents*")):
            with self.subTest(f"{program} {name}"):
                self.check(tool, os.environ[program], f"--gtest_filter={name}", environment={f"TEGULA_{tool.upper()}": ""})

    def test_in_python(self):
        for script in "compile_test.py", "docs_blocks_test.py", "tour_test.py":
            with self.subTest(script):
                self.check("ptxas", sys.executable, "-B", ROOT / "tests" / "tools" / script, "-k", "cubin", "-k", "excerpt",
                           "-k", "have_their_tools", environment={"TEGULA_PTXAS": ""})

    def test_in_cmake(self):
        self.check("OpenBLAS", "cmake", "-Dtool=OpenBLAS", "-P", ROOT / "tests" / "support" / "missing_tool.cmake",
                   environment={})

    def test_one_helper_decides(self):
        for path in (ROOT / "tests").rglob("*.cpp"):
            for skip in re.findall(r"GTEST_SKIP\(\).*", path.read_text()):
                self.assertNotRegex(skip, "ptxas|nvdisasm|assembler", f"{path.name} must call missingTool()")


if __name__ == "__main__":
    unittest.main()
