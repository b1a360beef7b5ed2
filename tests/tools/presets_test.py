# SPDX-License-Identifier: MIT
"""Tests that the preset `dev` stays the same when a build tree is configured again. Compilers that are named without
their folder make CMake delete its cache, and with it the build type."""

import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]


class PresetsTest(unittest.TestCase):
    def test_configuring_again_keeps_the_cache(self):
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                result = subprocess.run(["cmake", "--preset", "dev", "-B", folder], cwd=ROOT, capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn("require your cache to be deleted", result.stdout + result.stderr)
                cache = pathlib.Path(folder, "CMakeCache.txt").read_text()
                self.assertIn("\nCMAKE_BUILD_TYPE:STRING=Debug\n", cache)
                self.assertIn("/clang++-22\n", cache)


if __name__ == "__main__":
    unittest.main()
