# SPDX-License-Identifier: MIT
"""Tests tools/check-pass-names on small folders, each with one mistake. The ctest pass-names runs it on compiler/."""

import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check-pass-names"

HELP = """General options:

  Compiler passes to run
    Passes:
      --canonicalize                   -   Canonicalize operations
        --max-iterations=<long>        - Max. iterations
    =none                              -   none
      --cse                            -   Eliminate common sub-expressions
      --split-loops                    -   splits loops
        --how-often=<int>              - An option of the pass
    Pass Pipelines:
      --cuda-layouts                   -   which thread holds which element
"""


def one_pass(where):
    """Returns the files of a folder with the pass split-loops."""
    return {f"{where}/Passes.td": 'def SplitLoops : Pass<"split-loops", "::mlir::ModuleOp"> {\n}\n',
            f"{where}/SplitLoops.cpp": "#define GEN_PASS_DEF_SPLITLOOPS\n",
            f"{where}/tests/split-loops.mlir": "// RUN: tegula-opt %s --split-loops | FileCheck %s\n"}


class PassNamesTest(unittest.TestCase):
    def check(self, files, opt_help=None):
        """Runs the script on a folder with these files, and on a tegula-opt with this help. Returns rc and text."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file, text in files.items():
                (folder / "compiler" / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / "compiler" / file).write_text(text)
            words = [SCRIPT, folder / "compiler"]
            if opt_help is not None:
                opt = folder / "opt"
                opt.write_text(f"#!/bin/sh\ncat <<'END'\n{opt_help}END\n")
                opt.chmod(0o755)
                words += ["--opt", opt]
            run = subprocess.run(words, capture_output=True, text=True)
            self.assertEqual(run.stderr, "")
            return run.returncode, run.stdout

    def test_passes_are_found_in_every_folder(self):
        for where in "simplify", "cuda/roles", "a/b/c":
            self.assertEqual(self.check(one_pass(where)), (0, "1 passes, all names match\n"), where)

    def test_each_mistake_is_found_in_a_deep_folder(self):
        def changed(file, text):
            return one_pass("cuda/roles") | {f"cuda/roles/{file}": text}

        def without(file):
            return {name: text for name, text in one_pass("cuda/roles").items() if not name.endswith(file)}

        td = "cuda/roles/Passes.td: pass SplitLoops"
        for files, problem in [
                (without("SplitLoops.cpp"), f"{td} needs SplitLoops.cpp"),
                (without("split-loops.mlir"), f"{td} needs tests/split-loops.mlir"),
                (changed("Passes.td", 'def SplitLoops\n    : Pass<"split"> {\n}\n'),
                 f"{td} has the flag split; expected split-loops\n"
                 f"{td}: no RUN line of tests/split-loops.mlir has --split"),
                (changed("tests/split-loops.mlir", "// RUN: tegula-opt %s --split-loops-twice\n"),
                 f"{td}: no RUN line of tests/split-loops.mlir has --split-loops"),
                (changed("Other.cpp", "#define GEN_PASS_DEF_OTHER\n"),
                 "cuda/roles/Other.cpp defines a pass, but no Passes.td next to it declares one of this name"),
                (changed("deeper/SplitLoops.cpp", "#define GEN_PASS_DEF_SPLITLOOPS\n"),
                 "cuda/roles/deeper/SplitLoops.cpp defines a pass, but no Passes.td next to it declares one of this name")]:
            self.assertEqual(self.check(files), (1, problem + "\n"))

    def test_passes_of_tegula_opt_are_those_that_are_declared(self):
        self.assertEqual(self.check(one_pass("cuda/roles"), HELP), (0, "1 passes, all names match\n"))
        self.assertEqual(self.check(one_pass("cuda/roles"), HELP.replace("split-loops", "join-loops")),
                         (1, "pass split-loops is declared, but tegula-opt does not know it\n"
                             "pass join-loops of tegula-opt is not declared in a Passes.td\n"))
        self.assertEqual(self.check({"README": ""}, HELP)[1], "pass split-loops of tegula-opt is not declared in a Passes.td\n")
        self.assertEqual(self.check(one_pass("cuda/roles"), "")[0], 1, "help that cannot be read is no help")


if __name__ == "__main__":
    unittest.main()
