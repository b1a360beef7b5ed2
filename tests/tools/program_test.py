# SPDX-License-Identifier: MIT
"""Tests the commands on a program of the user's: tune, bench, simt and compare."""

import glob
import json
import os
import pathlib
import tempfile
import unittest

from command_line import CommandLineTest

# x + 1, in tiles of some size.
ADD_ONE = """module attributes {{tile.version = 1 : i64}} {{
  func.func @add_one(%x: !tile.view<1xf32> {{tile.name = "x"}}, %y: !tile.view<1xf32> {{tile.name = "y", tile.written}},
                     %one: f32 {{tile.name = "one"}}) {{
    %id = tile.program_id 0 loc("add_one.cpp":3:0)
    %size = arith.constant {tile} : index loc("add_one.cpp":3:0)
    %first = arith.muli %id, %size : index loc("add_one.cpp":3:0)
    %a = tile.load %x[%first] : !tile.view<1xf32> -> tensor<{tile}xf32> loc("add_one.cpp":4:0)
    %b = tile.broadcast %one : f32 -> tensor<{tile}xf32> loc("add_one.cpp":4:0)
    %c = arith.addf %a, %b : tensor<{tile}xf32> loc("add_one.cpp":4:0)
    tile.store %c, %y[%first] : tensor<{tile}xf32>, !tile.view<1xf32> loc("add_one.cpp":4:0)
    return loc("add_one.cpp":5:0)
  }}
}}
"""
ARGUMENTS = "--arg x=f32[1000] --arg y=f32[x.0] --arg one=1 --grid ceildiv(x.0,{tile})".split()


def arguments(tile):
    return [word.format(tile=tile) for word in ARGUMENTS]


class ProgramTest(CommandLineTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {"TEGULA_CACHE_DIR": str(self.folder / "cache")}
        for tile in (64, 256):
            (self.folder / f"{tile}.mlir").write_text(ADD_ONE.format(tile=tile))

    def tegula(self, command, *arguments, code=0):
        return self.run_tegula(command, *arguments, code=code, environment=self.environment)

    def program(self, tile):
        return str(self.folder / f"{tile}.mlir")

    def test_tune_compares_programs_and_remembers(self):
        command = ["tune", self.program(64), self.program(256), "--target", "cpu", "--arg", "x=f32[1000]", "--arg",
                   "y=f32[1000]", "--arg", "one=1", "--grid", "ceildiv(x.0,64)", "--grid", "ceildiv(x.0,256)"]
        first = self.tegula(*command).stdout
        self.assertIn("add_one, x.0=1000 y.0=1000", first)
        self.assertRegex(first, r"program=[01].*<- chosen")
        self.assertIn("known from an earlier tuning", self.tegula(*command).stdout)
        (record,) = glob.glob(str(self.folder / "cache" / "schedules" / "*.json"))
        record = json.loads(pathlib.Path(record).read_text())
        self.assertEqual(record["class"]["kernel"], "add_one")
        self.assertEqual(record["class"]["sizes"], {"x.0": 1000, "y.0": 1000})

    def test_a_gpu_gets_the_usual_schedules(self):
        driver = {"TEGULA_LIBCUDA": os.environ["TEGULA_STAND_IN_CUDA"], "TEGULA_PTXAS": ""}
        result = self.run_tegula("tune", self.program(64), "--target", "cuda", "--candidates", "3", *arguments(64), code=1,
                                 environment=self.environment | driver)
        self.assertIn("Stand-in GPU 0, CUDA", result.stdout)
        self.assertRegex(result.stdout, r"\nwrong +\(the compiler's choice\): 'y' is 0 instead of")
        self.assertRegex(result.stdout, r"\nwrong +num_warps=[48] num_stages=\d roles=\w+")
        self.assertIn("25 schedules: 22 unlikely, 3 wrong", result.stdout)

    def test_bench_times_a_program(self):
        output = self.tegula("bench", self.program(256), "--target", "cpu", "--seconds", "0.01", *arguments(256)).stdout
        self.assertRegex(output, r"finalist .*<- fastest")

    def test_simt_finds_nothing_in_a_right_program(self):
        output = self.tegula("simt", self.program(64), *arguments(64), "--schedules", "3").stdout
        self.assertIn("Under 3 orders of lanes: 0 errors, 0 results that differ", output)
        self.assertRegex(output, r"\n  y .* ok\n")

    def test_compare_runs_two_schedules(self):
        output = self.tegula("compare", self.program(64), *arguments(64), "--target", "simt", "--schedule",
                             "num_warps=1", "--schedule", "num_warps=2").stdout
        self.assertRegex(output, r"\n  y +0 +0 +0 +ok\n")

    def test_a_wrong_program_is_found(self):
        path = self.folder / "wrong.mlir"
        path.write_text(ADD_ONE.format(tile=256).replace("arith.addf %a, %b", "arith.addf %a, %a"))
        output = self.tegula("tune", self.program(64), str(path), "--target", "cpu", *arguments(64)[:-1],
                             "ceildiv(x.0,64)", "--grid", "ceildiv(x.0,256)").stdout
        self.assertRegex(output, r"\nwrong +program=1: 'y' is .* instead of")

    def test_bad_input_says_what_is_legal(self):
        cases = {
            "--arg: the program needs y=f32[SIZES], of rank 1": ["--arg", "x=f32[8]", "--arg", "one=1", "--grid", "1"],
            "--arg: 'z=1' is no parameter of the program; it has x, y, one": [*arguments(64), "--arg", "z=1"],
            "--arg: 'x=bf16[8]' is not of the form f32[4,128]": ["--arg", "x=bf16[8]", "--grid", "1"],
            "--arg: 'x=f32[8,8]' has 2 sizes; the tensor has rank 1": ["--arg", "x=f32[8,8]", "--grid", "1"],
            "--grid: there are 0 for 1 programs; give one, or one for each": arguments(64)[:-2],
            "--grid: 'm' cannot be computed: the size 'm' is not known": [*arguments(64)[:-1], "m"],
            "--size: 'm' is not a name and a whole number, such as m=4096": [*arguments(64), "--size", "m"],
        }
        for message, words in cases.items():
            with self.subTest(message):
                self.assertIn(message, self.tegula("simt", self.program(64), *words, code=2).stderr)


if __name__ == "__main__":
    unittest.main()
