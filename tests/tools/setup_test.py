# SPDX-License-Identifier: MIT
"""Tests tools/setup on a Debian made of stand-ins: dpkg-query, apt-get, sudo."""

import pathlib
import subprocess
import tempfile
import unittest

SETUP = pathlib.Path(__file__).parents[2] / "tools" / "setup"

DPKG_QUERY = """#!/bin/bash
[[ " $MISSING " == *" ${@: -1} "* ]] && { echo "no such package" >&2; exit 1; }
echo -n installed
"""
APT_GET = """#!/bin/bash
echo "$@" >>"$LOG"
[[ $1 != "$FAILING" ]]
"""
PYTHON = """#!/bin/bash
echo "$@" >>"$LOG"
[[ $2 != "$FAILING" ]] || exit 1
if [[ $2 == venv ]]; then
  mkdir -p "$3/bin"
  cp "$0" "$3/bin/python3"
  exit
fi
while (($#)) && [[ $1 != --target ]]; do shift; done
[[ $# -eq 0 ]] || mkdir -p "$2/nvidia/cu13/bin"
"""


class SetupTest(unittest.TestCase):
    def run_setup(self, *arguments, missing="", failing="", programs=(), pytorch=False):
        with tempfile.TemporaryDirectory() as folder:
            stand_ins = {"dpkg-query": DPKG_QUERY, "apt-get": APT_GET, "sudo": '#!/bin/bash\nexec "$@"\n', "python3": PYTHON}
            for name, text in {**stand_ins, **{program: "#!/bin/bash\n" for program in programs}}.items():
                path = pathlib.Path(folder, name)
                path.write_text(text)
                path.chmod(0o755)
            log = pathlib.Path(folder, "log")
            log.touch()
            environment = {"PATH": f"{folder}:/usr/bin:/bin", "CUDA_HOME": folder, "MISSING": missing, "FAILING": failing, "LOG": str(log),
                           "TEGULA_PREFIX": folder}
            pathlib.Path(folder, "bin").mkdir()
            if pytorch:
                for there in "python/lib/python3.11/site-packages/expecttest", "suites/flash_attn", "suites/pytorch", "suites/ggml":
                    pathlib.Path(folder, "lib/tegula", there).mkdir(parents=True)
            result = subprocess.run([SETUP, *arguments], env=environment, capture_output=True, text=True)
            return result, log.read_text().splitlines()

    def test_an_up_to_date_machine_needs_no_network(self):
        result, calls = self.run_setup()
        self.assertEqual((result.returncode, result.stdout, result.stderr, calls), (0, "", "", []))

    def test_only_what_is_missing_is_installed(self):
        result, calls = self.run_setup(missing="ninja-build libmlir-22-dev")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(calls), 2)
        self.assertTrue(calls[0].startswith("update"))
        self.assertTrue(calls[1].startswith("install"))
        self.assertTrue(calls[1].endswith(" ninja-build libmlir-22-dev"), calls[1])

    def test_a_failed_installation_says_which_packages(self):
        result, _ = self.run_setup(missing="clang-22", failing="install")
        self.assertEqual(result.returncode, 1)
        self.assertIn("could not install: clang-22", result.stderr)

    def test_without_a_network_it_says_so(self):
        result, calls = self.run_setup(missing="clang-22", failing="update")
        self.assertEqual((result.returncode, len(calls)), (1, 1))
        self.assertIn("is there a network?", result.stderr)

    def test_programs_of_cuda_that_are_there_need_no_network(self):
        result, calls = self.run_setup("--tests", programs=["ptxas", "nvdisasm"], pytorch=True)
        self.assertEqual((result.returncode, result.stderr, calls), (0, "", []))

    def test_pytorch_gets_an_environment(self):
        result, calls = self.run_setup("--tests", programs=["ptxas", "nvdisasm"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(calls[0], "^-m venv .*/lib/tegula/python$")
        self.assertRegex(calls[1], "^-m pip install .* torch==.* pytest==.* nanobind==.* transformers==.* onnx==.* jax==.* einops==")
        self.assertRegex(calls[2], "^-m pip download .* flash-attn==")
        self.assertIn("there is no source of flash-attn; its tests skip", result.stderr)  # This pip brings nothing.
        self.assertIn("there is no source of PyTorch; its tests skip", result.stderr)  # Nor does this apt-get.

    def test_without_pytorch_tests_skip(self):
        result, _ = self.run_setup("--tests", programs=["ptxas", "nvdisasm"], failing="venv")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("there is no PyTorch; the tests of the Python package skip", result.stderr)

    def test_without_a_disassembler_tests_skip(self):
        result, calls = self.run_setup("--tests", programs=["ptxas"], failing="pip", pytorch=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nvidia-cuda-nvdisasm", calls[-1])
        self.assertIn("there is no nvdisasm; the tests that need it skip, or fail in CI", result.stderr)


if __name__ == "__main__":
    unittest.main()
