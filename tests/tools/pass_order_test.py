# SPDX-License-Identifier: MIT
"""Tests tools/check-pass-order on small pipelines, each with one mistake. The ctest pass-order runs it on compiler/cuda."""

import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check-pass-order"

DECLARED = '''def AssignLayouts : OrderedPass<"assign-layouts", "::mlir::ModuleOp"> {
  let description = [{
    An example with { braces }.
  }];
  let gives = ["sm.layout", "sm.convert"];
}

def AllocateShared : OrderedPass<"allocate-shared"> {
  let needs = ["sm.layout"];
  let gives = ["sm.write"];
  let ends = ["sm.convert"];
}

def PlanShared : OrderedPass<"plan-shared"> {
  let needs = ["sm.write"];
}
'''
PROGRAM = "module attributes {tile.version = 1 : i64} {\n}\n"


class PassOrderTest(unittest.TestCase):
    def check(self, pipeline, stages=()):
        """Runs the script on passes in this order. `stages` are the passes of tegula-opt, each with a program after it."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for phase in "schedule", "layouts", "roles", "shared":
                (folder / phase).mkdir()
                (folder / phase / "Passes.td").write_text(DECLARED)
                calls = "".join(f"  passes.addPass(create{step}());\n" for step in pipeline) if phase == "layouts" else ""
                (folder / phase / "Pipeline.cpp").write_text(calls)
            (folder / "program.mlir").write_text(PROGRAM)
            dumps = "".join(f"// -----// IR Dump After Name ({flag}) //----- //\n{text}\n" for flag, text in stages)
            (folder / "dumps").write_text(dumps)
            (folder / "opt").write_text(f"#!/bin/sh\ncat >/dev/null\ncat {folder}/dumps >&2\n")
            (folder / "opt").chmod(0o755)
            programs = ["--opt", str(folder / "opt"), str(folder / "program.mlir")] if stages else []
            result = subprocess.run([SCRIPT, "--folder", str(folder), *programs], capture_output=True, text=True)
            return result.returncode, result.stdout + result.stderr

    def test_the_declared_order_is_right(self):
        self.assertEqual(self.check(["AssignLayouts", "AllocateShared", "PlanShared"]),
                         (0, "3 passes, each comes after what it needs\n"))

    def test_a_pass_before_what_it_needs(self):
        self.assertEqual(self.check(["AssignLayouts", "PlanShared", "AllocateShared"]),
                         (1, "plan-shared needs sm.write, which no pass before it gives; put it after allocate-shared\n"))
        self.assertEqual(self.check(["AllocateShared"]),
                         (1, "allocate-shared needs sm.layout, which no pass before it gives; put it after one that does\n"))

    def test_a_pass_after_the_end_of_what_it_needs(self):
        declared = DECLARED + 'def Read : OrderedPass<"read"> {\n  let needs = ["sm.convert"];\n}\n'
        with unittest.mock.patch(f"{__name__}.DECLARED", declared):
            self.assertEqual(self.check(["AssignLayouts", "AllocateShared", "Read"]),
                             (1, "read needs sm.convert, of which allocate-shared leaves none; put it before allocate-shared\n"))

    def test_declarations_that_a_program_contradicts(self):
        pipeline = ["AssignLayouts", "AllocateShared"]
        layouts, shared = ("assign-layouts", "sm.convert sm.layout"), ("allocate-shared", "sm.layout sm.write")
        self.assertEqual(self.check(pipeline, [("cse", "tile.dot"), layouts, shared])[0], 0)
        for stages, name in [([layouts, ("allocate-shared", "sm.convert")], "allocate-shared leaves sm.convert"),
                             ([("assign-layouts", "sm.write")], "assign-layouts leaves sm.write")]:
            problem = f"program.mlir: {name} in a program, which its declaration and those before it do not say\n"
            self.assertEqual(self.check(pipeline, stages), (1, 2 * problem))  # With roles and without.


if __name__ == "__main__":
    unittest.main()
