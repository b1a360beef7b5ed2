# SPDX-License-Identifier: MIT
"""Tests `tegula cache` on a folder that the example of a C host has filled, and bundles on the command line."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from command_line import CommandLineTest


class CacheTest(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.filled = pathlib.Path(cls.temporary.name)
        subprocess.run([os.environ["EMBED_C"]], check=True, capture_output=True,
                       env=os.environ | {"TEGULA_CACHE_DIR": str(cls.filled)})

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def cache(self, *arguments, code=0):
        return self.run_tegula("cache", *arguments, code=code, environment={"TEGULA_CACHE_DIR": str(self.filled)})

    def test_list_names_the_kernels(self):
        text = self.cache("list").stdout
        for kernel in "flash2_forward", "flash2_backward_preprocess", "flash2_backward", "flash2_backward_postprocess":
            self.assertRegex(text, rf"(?m)^[0-9a-f]{{12}} +[0-9.]+ KiB +0 min  {kernel} +cpu +block_m=\d+ block_n=\d+$")
        self.assertRegex(text, r"\n5 kernels, [0-9.]+ MiB in .*/kernels\n$")

    def test_show_has_the_program(self):
        key = re.search(r"(?m)^([0-9a-f]{12}).*flash2_forward", self.cache("list").stdout)[1]
        text = self.cache("show", key).stdout
        self.assertRegex(text, r"(?m)^made by +compiler [0-9a-f]+, processor ")
        self.assertIn("func.func @flash2_forward(", text)
        self.assertIn("no key in", self.cache("show", "xyz", code=2).stderr)
        self.assertIn("several keys begin with ''", self.cache("show", "", code=2).stderr)

    def test_verify_removes_what_is_damaged(self):
        self.assertEqual(self.cache("verify").stdout, "removed 0 damaged files, 0.0 MiB\n")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "0123").write_text("garbage")
            self.assertRegex(self.cache("list", "--directory", folder).stdout, r"(?m)^0123 +damaged: ")
            self.assertEqual(self.cache("verify", "--directory", folder).stdout, "removed 1 damaged files, 0.0 MiB\n")
            self.assertEqual(os.listdir(folder), [])

    def test_prune_and_clear(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in (self.filled / "kernels").iterdir():
                pathlib.Path(folder, path.name).write_bytes(path.read_bytes())
            self.assertIn("removed 0 files", self.cache("prune", "--limit", "100", "--directory", folder).stdout)
            self.assertIn("removed 5 files", self.cache("clear", "--directory", folder).stdout)
            self.assertEqual(os.listdir(folder), [])

    def test_a_cache_that_was_never_used_is_empty(self):
        self.assertIn("\n0 kernels, 0.0 MiB", self.cache("list", "--directory", "/nowhere").stdout)
        self.assertIn("removed 0 files", self.cache("clear", "--directory", "/nowhere").stdout)

    def test_a_folder_that_others_may_write_to_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            self.assertIn("nobody else may write to", self.cache("list", "--directory", folder, code=2).stderr)


class BundleTest(CommandLineTest):
    KERNEL = "compile --kernel flash2_forward --dtype bf16 --head-dim 16 --schedule".split() + ["block_m=16 block_n=16"]

    def test_a_kernel_and_a_manifest(self):
        with tempfile.TemporaryDirectory() as folder:
            for target in (), ("--target", "cuda", "--arch", "sm_80"), ("--target", "cuda", "--arch", "sm_90"):
                self.assertEqual(self.run_tegula(*self.KERNEL, *target, "--bundle", folder).stdout, "")
            names = sorted(os.listdir(folder))
            self.assertEqual(len(names), 4)
            self.assertEqual(names[-1], "manifest.txt")
            manifest = pathlib.Path(folder, "manifest.txt").read_text()
            for name in names[:-1]:
                self.assertRegex(name, r"^flash2_forward-[0-9a-f]{8}\.(so|cubin|ptx)$")
                self.assertIn(name, manifest)

    def test_the_place_of_a_phase(self):
        self.assertEqual(self.run_tegula(*self.KERNEL, "--bundle", "x", "--emit", "tile", code=2).stderr,
                         "tegula: --bundle: it takes the place of --emit and --output\n")


if __name__ == "__main__":
    unittest.main()
