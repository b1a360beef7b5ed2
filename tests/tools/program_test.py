# SPDX-License-Identifier: MIT
"""Tests the commands on a program of the user's: tune, bench, simt and compare."""

import glob
import json
import os
import pathlib
import tempfile
import unittest

from command_line import CommandLineTest, Page

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


# The sums of columns, in tiles of 64.
COLUMN_SUMS = """module attributes {tile.version = 1 : i64} {
  func.func @column_sums(%x: !tile.view<2xf32> {tile.name = "x"}, %y: !tile.view<1xf32> {tile.name = "y", tile.written}) {
    %zero = arith.constant 0 : index loc("sums.cpp":2:0)
    %id = tile.program_id 0 loc("sums.cpp":3:0)
    %size = arith.constant 64 : index loc("sums.cpp":3:0)
    %first = arith.muli %id, %size : index loc("sums.cpp":3:0)
    %rows = tile.dim %x 0 : !tile.view<2xf32> loc("sums.cpp":4:0)
    %none = arith.constant dense<0.0> : tensor<64xf32> loc("sums.cpp":4:0)
    %sum = scf.for %row = %zero to %rows step %size iter_args(%old = %none) -> (tensor<64xf32>) {
      %tile = tile.load %x[%row, %first] : !tile.view<2xf32> -> tensor<64x64xf32> loc("sums.cpp":5:0)
      %part = tile.reduce add %tile axis 0 : tensor<64x64xf32> -> tensor<64xf32> loc("sums.cpp":6:0)
      %new = arith.addf %old, %part : tensor<64xf32> loc("sums.cpp":6:0)
      scf.yield %new : tensor<64xf32> loc("sums.cpp":6:0)
    } loc("sums.cpp":5:0)
    tile.store %sum, %y[%first] : tensor<64xf32>, !tile.view<1xf32> loc("sums.cpp":7:0)
    return loc("sums.cpp":8:0)
  } loc("sums.cpp":8:0)
} loc("sums.cpp":8:0)
"""

# The sums of rows, or of columns if `columns` is not 0.
EITHER_SUMS = """module attributes {tile.version = 1 : i64} {
  func.func @sums(%x: !tile.view<2xf32> {tile.name = "x"}, %y: !tile.view<1xf32> {tile.name = "y", tile.written},
                  %columns: i32 {tile.name = "columns"}) {
    %zero = arith.constant 0 : index loc("sums.cpp":2:0)
    %none = arith.constant 0 : i32 loc("sums.cpp":2:0)
    %tile = tile.load %x[%zero, %zero] : !tile.view<2xf32> -> tensor<64x64xf32> loc("sums.cpp":3:0)
    %wanted = arith.cmpi ne, %columns, %none : i32 loc("sums.cpp":4:0)
    scf.if %wanted {
      %sums = tile.reduce add %tile axis 0 : tensor<64x64xf32> -> tensor<64xf32> loc("sums.cpp":5:0)
      tile.store %sums, %y[%zero] : tensor<64xf32>, !tile.view<1xf32> loc("sums.cpp":6:0)
    } else {
      %sums = tile.reduce add %tile axis 1 : tensor<64x64xf32> -> tensor<64xf32> loc("sums.cpp":8:0)
      tile.store %sums, %y[%zero] : tensor<64xf32>, !tile.view<1xf32> loc("sums.cpp":9:0)
    } loc("sums.cpp":4:0)
    return loc("sums.cpp":10:0)
  } loc("sums.cpp":10:0)
} loc("sums.cpp":10:0)
"""

FLASH_FORWARD = str(pathlib.Path(__file__).parents[1] / "dsl" / "golden" / "flash_forward.mlir")
FLASH_ARGUMENTS = [word for name in "qkvo" for word in ("--arg", f"{name}=bf16[2,n,64]")] + \
    "--arg lse=f32[2,n] --arg scale=0.125 --size n=100 --grid ceildiv(n,64),q.0".split()


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
        self.assertRegex(first, r"(64|256)\.mlir.*<- chosen")
        self.assertNotIn("program=", first)
        self.assertIn("known from an earlier tuning", self.tegula(*command).stdout)
        for record in self.records():
            self.assertEqual(record["class"]["kernel"], "add_one")
            self.assertEqual(record["class"]["sizes"], {"x.0": 1000, "y.0": 1000})

    def records(self):
        return [json.loads(pathlib.Path(file).read_text())
                for file in glob.glob(str(self.folder / "cache" / "schedules" / "*.json"))]

    def test_programs_are_known_by_their_texts(self):
        page, figures = str(self.folder / "p.html"), str(self.folder / "p.json")

        def tune(*tiles):
            grids = [word for tile in tiles for word in ("--grid", f"ceildiv(x.0,{tile})")]
            output = self.tegula("tune", *map(self.program, tiles), "--target", "cpu", "--html", page, "--json", figures,
                                 *ARGUMENTS[:-2], *grids).stdout
            return output, json.loads(pathlib.Path(figures).read_text())

        _, first = tune(64, 256)
        self.assertIn(first["program"], ("64.mlir", "256.mlir"))
        self.assertEqual({candidate["program"] for candidate in first["candidates"]}, {"64.mlir", "256.mlir"})
        self.assertEqual([len(program["digest"]) for program in first["programs"]], [32, 32])
        self.assertEqual(Page(page).axes, [None, "program"])
        self.assertEqual(set(Page(page).panels[""]), {("64.mlir", None), ("256.mlir", None)})

        output, swapped = tune(256, 64)
        self.assertIn("known from an earlier tuning", output)
        self.assertEqual(swapped["program"], first["program"])
        # A host that has only the fastest one finds it, too.
        winner, loser = (64, 256) if first["program"] == "64.mlir" else (256, 64)
        self.assertIn("known from an earlier tuning", tune(winner)[0])
        self.assertNotIn("known from an earlier tuning", tune(loser)[0])
        self.assertEqual(len(self.records()), 3)

    def test_files_of_one_name_have_their_directories_in_tables(self):
        for tile in (64, 256):
            (self.folder / str(tile)).mkdir()
            (self.folder / str(tile) / "add.mlir").write_text(ADD_ONE.format(tile=tile))
        files = [str(self.folder / str(tile) / "add.mlir") for tile in (64, 256)]
        output = self.tegula("tune", *files, "--target", "cpu", *ARGUMENTS[:-2], "--grid", "ceildiv(x.0,64)", "--grid",
                             "ceildiv(x.0,256)").stdout
        for file in files:
            self.assertIn(file, output)

    def test_the_same_program_twice_is_refused(self):
        (self.folder / "copy.mlir").write_text(ADD_ONE.format(tile=64).replace("add_one.cpp", "other.cpp"))
        result = self.tegula("tune", self.program(64), str(self.folder / "copy.mlir"), "--target", "cpu", *arguments(64),
                             code=2)
        self.assertIn("copy.mlir' is the same program as '64.mlir'", result.stderr)

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

    def test_rows_may_have_gaps(self):
        for gaps in "3", "x=3,y=1", "y=0":
            with self.subTest(gaps):
                output = self.tegula("simt", self.program(64), *arguments(64), "--row-gaps", gaps).stdout
                self.assertRegex(output, r"\n  y +0 +0 +0 +ok\n")
                output = self.tegula("compare", self.program(64), *arguments(64), "--target", "simt", "--schedule",
                                     "num_warps=1", "--row-gaps", gaps).stdout
                self.assertRegex(output, r"\n  y +0 +0 +0 +ok\n")

    def mutants(self, text, *arguments, code):
        path = self.folder / "sums.mlir"
        path.write_text(text)
        return self.tegula("simt", str(path), *arguments, "--mutate", "all", code=code)

    def test_all_mutants_of_a_kernel_are_found_out(self):
        output = self.mutants(COLUMN_SUMS, "--arg", "x=f32[200,64]", "--arg", "y=f32[x.1]", "--grid", "ceildiv(x.1,64)",
                              code=0).stdout
        self.assertRegex(output, r"Of (\d+) mutants \1 were found out, and 0 were not reached\n")

    def test_mutants_of_paths_that_no_launch_takes_are_not_reached(self):
        sizes = ["--arg", "x=f32[64,64]", "--arg", "y=f32[64]", "--grid", "1"]
        result = self.mutants(EITHER_SUMS, *sizes, "--arg", "columns=0", code=4)
        self.assertRegex(result.stdout, r"Of 10 mutants 6 were found out, and 4 were not reached\n")
        self.assertEqual(result.stdout.count("  not reached: sums:"), 4)
        self.assertNotIn("survived", result.stdout)
        self.assertIn("Give sizes or scalars that lead to its lines:\n  x.0=64 x.1=64 y.0=64\n", result.stdout)
        self.assertRegex(result.stderr, r"none of \d+ launches came to 4 mutants, such as sums:\d+ \(bar.sync at sums.cpp:5\)")

    def test_a_kernel_with_a_race_has_no_mutants(self):
        # Both instances write all of y.
        output = self.mutants(EITHER_SUMS, "--arg", "x=f32[64,64]", "--arg", "y=f32[64]", "--grid", "2", "--arg", "columns=0",
                              code=1).stdout
        self.assertIn("race on tensor 'y'", output)
        self.assertNotIn("mutants", output)

    def test_mutants_of_a_kernel_that_no_launch_shows_survive(self):
        # The last wait is needed only if no query has a key, which a causal mask does not let happen.
        result = self.tegula("simt", FLASH_FORWARD, *FLASH_ARGUMENTS, "--arch", "sm_80", "--mutate", "all", code=1)
        self.assertIn("  survived: flash_forward:", result.stdout)
        self.assertIn(", and 0 were not reached", result.stdout)

    def test_other_paths_of_a_kernel_are_tried(self):
        # With TMA, these sizes do not come to the fallback copies.
        output = self.tegula("simt", FLASH_FORWARD, *FLASH_ARGUMENTS, "--mutate", "all", code=1).stdout
        self.assertIn(", and 0 were not reached", output)
        self.assertRegex(output, r"\n  \d+ of them first with .*row_gaps=3\n")
        self.assertRegex(output, r"\n  \d+ of them first with n=408\n")
        # The producer copies a tile of q once, and two MMAs start together: docs/testing.md explains such survivors.
        self.assertEqual([line.split("(")[1] for line in output.splitlines() if line.startswith("  survived")],
                         ["bar.warp.sync at dsl/programs.cpp:16)", "wgmma.fence at dsl/programs.cpp:22)"])

    def test_compare_runs_two_schedules(self):
        output = self.tegula("compare", self.program(64), *arguments(64), "--target", "simt", "--schedule",
                             "num_warps=1", "--schedule", "num_warps=2").stdout
        self.assertRegex(output, r"\n  y +0 +0 +0 +ok\n")

    def test_a_wrong_program_is_found(self):
        path = self.folder / "wrong.mlir"
        path.write_text(ADD_ONE.format(tile=256).replace("arith.addf %a, %b", "arith.addf %a, %a"))
        output = self.tegula("tune", self.program(64), str(path), "--target", "cpu", *arguments(64)[:-1],
                             "ceildiv(x.0,64)", "--grid", "ceildiv(x.0,256)").stdout
        self.assertRegex(output, r"\nwrong +wrong\.mlir: 'y' is .* instead of")

    def test_bad_input_says_what_is_legal(self):
        cases = {
            "--arg: the program needs y=f32[SIZES], of rank 1": ["--arg", "x=f32[8]", "--arg", "one=1", "--grid", "1"],
            "--arg: 'z=1' is no parameter of the program; it has x, y, one": [*arguments(64), "--arg", "z=1"],
            "--arg: 'x=bf16[8]' is not of the form f32[4,128]": ["--arg", "x=bf16[8]", "--grid", "1"],
            "--arg: 'x=f32[8,8]' has 2 sizes; the tensor has rank 1": ["--arg", "x=f32[8,8]", "--grid", "1"],
            "--grid: there are 0 for 1 programs; give one, or one for each": arguments(64)[:-2],
            "--grid: 'm' cannot be computed: the size 'm' is not known": [*arguments(64)[:-1], "m"],
            "--row-gaps: 'z=3' names no tensor of the program; it has x, y": [*arguments(64), "--row-gaps", "x=1,z=3"],
            "--row-gaps: 'one=3' names no tensor": [*arguments(64), "--row-gaps", "one=3"],
            "--row-gaps: 'x=-1' is not a number from 0 to 65536, or a tensor and a number, such as x=3":
                [*arguments(64), "--row-gaps", "x=-1"],
            "--size: 'm' is not a name and a whole number, such as m=4096": [*arguments(64), "--size", "m"],
        }
        for message, words in cases.items():
            with self.subTest(message):
                self.assertIn(message, self.tegula("simt", self.program(64), *words, code=2).stderr)


if __name__ == "__main__":
    unittest.main()
