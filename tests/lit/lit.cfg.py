# SPDX-License-Identifier: MIT
# Runs the .mlir and .ll tests, which lie next to the code that they test. This command runs one test, or a folder:
#   /usr/lib/llvm-22/bin/lit -v build/tests/lit/simplify/tests/guard-division.mlir
import os

import lit.formats

config.name = "tegula"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ll", ".mlir"]
config.environment["PATH"] = os.pathsep.join([config.tegula_bin, config.llvm_bin, os.environ["PATH"]])
config.environment["FILECHECK_OPTS"] = "--dump-input-filter=error"
