# SPDX-License-Identifier: MIT
"""Tests that commands find the kernels on disk that an earlier run compiled: the compiler need not even start."""

import json
import os
import pathlib
import shutil
import tempfile
import unittest

from command_line import TARGET, CommandLineTest

SMALL = "--heads 1 --seqlen-q 20 --head-dim 16".split()
ATTENTION = ["attention", "--target", TARGET, *SMALL, "--json"]
BENCH = f"bench --target {TARGET} --head-dim 16 --seqlen 16 --tokens 32 --hidden 16 --seconds 0".split()
TUNE = ["tune", "--target", TARGET, *SMALL, "--candidates", "3", "--again"]


class CachedKernelsTest(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.compiler = cls.folder / "tegula-cc"
        shutil.copy(pathlib.Path(os.environ["TEGULA"]).with_name("tegula-cc"), cls.compiler)

    def setUp(self):
        self.start_over()

    def start_over(self):
        """Removes all kept kernels, and makes the compiler work."""
        self.compiler.chmod(0o755)
        shutil.rmtree(self.folder / "cache", ignore_errors=True)

    def run_here(self, *arguments, code=0):
        return self.run_tegula(*arguments, code=code, environment={
            "TEGULA_CACHE_DIR": str(self.folder / "cache"), "TEGULA_CC": str(self.compiler)})

    def break_compiler(self):
        """Makes the compiler impossible to start. Its file can still be read, which identifies it."""
        self.compiler.chmod(0o644)

    def assert_compiles(self, *arguments):
        """Expects that a command needs the compiler, which must be broken."""
        errors = self.run_here(*arguments, code=None)
        self.assertNotEqual(errors.returncode, 0, errors.stdout)
        self.assertIn(f"'{self.compiler}' cannot be started", errors.stderr)

    def kernels(self):
        folder = self.folder / "cache" / "kernels"
        return sorted(os.listdir(folder)) if folder.exists() else []

    def test_the_second_run_starts_no_compiler(self):
        for command in ATTENTION, [*ATTENTION, "--backward", "--variant", "alibi", "--check"], BENCH, \
                [*BENCH, "--variants", "softcap"], [*BENCH, "--ladder", "--causal", "none"]:
            with self.subTest(command):
                self.start_over()
                self.run_here(*command)
                kept = self.kernels()
                self.assertNotEqual(kept, [])
                self.break_compiler()
                self.run_here(*command)
                self.assertEqual(self.kernels(), kept)

    def test_attention_says_how_many_kernels_it_compiled(self):
        def compilations(*options):
            return json.loads(self.run_here(*ATTENTION, "--backward", *options).stdout)["compilations"]

        self.assertEqual([compilations(), compilations(), compilations("--no-cache")], [4, 0, 4])

    def test_no_cache_compiles_and_keeps_nothing(self):
        for command in ATTENTION, BENCH, TUNE:
            self.run_here(*command, "--no-cache")
        self.assertEqual(self.kernels(), [])
        for command in ATTENTION, BENCH:
            self.run_here(*command)
        self.break_compiler()
        for command in ATTENTION, BENCH:
            self.assert_compiles(*command, "--no-cache")

    def test_a_second_tuning_compiles_no_candidate(self):
        self.run_here(*TUNE)
        self.break_compiler()
        self.assertNotIn("refused", self.run_here(*TUNE).stdout)
        self.assertIn("cannot be started", self.run_here(*TUNE, "--no-cache", code=1).stdout)

    def test_attention_finds_what_a_tuning_compiled(self):
        self.run_here(*TUNE)
        self.assertEqual(json.loads(self.run_here(*ATTENTION).stdout)["compilations"], 0)

    def test_what_simt_finds_is_named_by_lines_so_it_compiles(self):
        simt = ["attention", "--target", "simt", "--dtype", "bf16", *SMALL]
        self.run_here(*simt)
        self.assertEqual(self.kernels(), [])
        self.break_compiler()
        self.assert_compiles(*simt)

    def test_compile_shows_what_the_compiler_makes(self):
        kernel = "compile --kernel flash2_forward --head-dim 16 --emit asm".split()
        self.run_here(*ATTENTION)
        kept = self.kernels()
        self.run_here(*kernel)
        self.assertEqual(self.kernels(), kept)
        self.break_compiler()
        self.assert_compiles(*kernel)


if __name__ == "__main__":
    unittest.main()
