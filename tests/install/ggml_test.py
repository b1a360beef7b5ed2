#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds ggml and integrations/ggml, and runs ggml's own tests of attention on it.

  ggml_test.py --source GGML --prefix PREFIX --work FOLDER [--params REGEX] [--least N]

GGML is a source tree of ggml, and PREFIX has Tegula installed. ggml's test-backend-ops compares each result with that of ggml's
CPU backend. Prints how many cases passed, and how many Tegula does not support, by the types of keys. Exits with 1 if one failed,
or if fewer than N passed.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Tests and the reference need no speed, and build in half the time.
GGML_OPTIONS = ["-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DCMAKE_C_FLAGS_RELEASE=-O1", "-DGGML_NATIVE=OFF", "-DGGML_OPENMP=OFF",
                "-DGGML_LLAMAFILE=OFF", "-DGGML_CPU_REPACK=OFF", "-DGGML_BUILD_TESTS=ON", "-DGGML_BUILD_EXAMPLES=OFF"]
CASE = re.compile(r"FLASH_ATTN_EXT\(.*type_K=(\w+),.*\): (OK|not supported|FAIL|.*)$")


def build(source, work, target, *options):
    """Configures and builds a target of a CMake project."""
    for command in (["cmake", "-G", "Ninja", "-S", source, "-B", work, "-DCMAKE_BUILD_TYPE=Release", *options],
                    ["cmake", "--build", work, "--target", target]):
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            sys.exit(f"{' '.join(map(str, command))}:\n{result.stdout[-4000:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, required=True, metavar="GGML")
    parser.add_argument("--prefix", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--params", default="", metavar="REGEX", help="run the cases whose parameters match (default: all)")
    parser.add_argument("--least", type=int, default=1, metavar="N")
    options = parser.parse_args()
    if not (options.source / "src/ggml-backend-impl.h").exists():
        print(f"Skipped: there is no source of ggml in {options.source}")
        return 0
    ggml, plugin = options.work / "ggml", options.work / "plugin"
    build(options.source, ggml, "test-backend-ops", *GGML_OPTIONS)
    build(ROOT / "integrations/ggml", plugin, "all", f"-DCMAKE_PREFIX_PATH={options.prefix.resolve()}",
          f"-DGGML_SOURCE_DIR={options.source.resolve()}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    result = subprocess.run([ggml / "bin/test-backend-ops", "test", "-b", "Tegula", "-o", "FLASH_ATTN_EXT", "-p", options.params],
                            env={**os.environ, "GGML_BACKEND_PATH": str((plugin / "libggml-tegula.so").resolve())},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout).splitlines()
    outcomes = collections.Counter(match.groups() for match in map(CASE.search, lines) if match)
    for (keys, outcome), count in sorted(outcomes.items()):
        print(f"{keys} {outcome}: {count}")
    passed = sum(count for (_, outcome), count in outcomes.items() if outcome == "OK")
    if result.returncode or passed < options.least:
        print("\n".join(line for line in lines if not line.endswith((": OK", "not supported [Tegula]")))[-4000:])
    return result.returncode or passed < options.least


if __name__ == "__main__":
    sys.exit(main())
