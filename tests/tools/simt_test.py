# SPDX-License-Identifier: MIT
"""Tests `tegula attention --target simt`: orders of lanes, mutants, traffic."""

import itertools
import json
import pathlib
import unittest

from command_line import CommandLineTest

SMALL = ["attention", "--target", "simt", "--heads", "1", "--seqlen-q", "70", "--seqlen-k", "200", "--dtype", "bf16"]

KERNELS = pathlib.Path(__file__).parents[2] / "kernels"


def lines_with(text, file="flash2_forward.cpp"):
    lines = (KERNELS / file).read_text().splitlines()
    return {f"{file}:{number}" for number, line in enumerate(lines, 1) if text in line}


class Simt(CommandLineTest):
    def figures(self, *options, code=0):
        return json.loads(self.run_tegula(*SMALL, "--json", *options, code=code).stdout)

    def test_every_scheduler_finds_nothing_and_gives_the_same_bits(self):
        for scheduler in ["uniform", "priority", "eager", "lazy", "laggard", "runaway"]:
            with self.subTest(scheduler):
                report = self.figures("--schedules", "5", "--scheduler", scheduler, "--check")
                simt = report["simt"]
                self.assertEqual(simt["schedules"], 5)
                self.assertEqual(simt["findings"], [])
                self.assertEqual(simt["different_results"], 0)
                self.assertLessEqual(report["forward"]["error_ratio"], 2)

    def test_the_backward_pass(self):
        report = self.figures("--backward", "--causal", "bottom_right", "--check")
        self.assertEqual(report["simt"]["findings"], [])
        self.assertLessEqual(report["backward"]["dk_error_ratio"], 2)

    def test_mutants_of_one_kernel(self):
        # tests/simt/mutants says which survive.
        report = self.figures("--variant", "softcap", "--mutate", "flash2_forward", "--check", code=None)
        self.assertLessEqual(report["forward"]["error_ratio"], 2)
        simt = report["simt"]
        self.assertEqual(simt["mutants_killed"] + len(simt["mutants_survived"]), simt["mutants_total"])
        self.assertGreaterEqual(simt["mutants_killed"], 10)
        self.assertEqual(simt["findings"], [])

    def test_mutants_of_paths_that_the_shape_does_not_take_are_found_out(self):
        # Some barriers matter only where rows do not start at multiples of 16 bytes.
        simt = self.figures("--backward", "--head-dim", "64", "--mutate", "flash2_backward_preprocess")["simt"]
        self.assertGreaterEqual(simt["mutants_total"], 10)
        self.assertEqual(simt["mutants_killed"], simt["mutants_total"])
        self.assertEqual(simt["mutants_unreached"], [])

    def test_mutants_have_names(self):
        result = self.run_tegula(*SMALL, "--mutate", "flash2_forward:99999", code=None)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("there is no mutant 'flash2_forward:99999'; legal are all, kernels, and names such as", result.stderr)

    def test_shared_memory_is_accessed_without_bank_conflicts(self):
        rows = self.figures("--traffic", "--backward")["simt"]["traffic"]
        self.assertTrue(any(row["instruction"].startswith("ldmatrix") for row in rows))
        for row in rows:
            if row["memory"] == "shared":
                self.assertEqual(row["transactions"], row["ideal"], row)

    def test_schedules_with_roles_access_memory_without_waste(self):
        # Outside the loop, lanes read their work index and operands that stay in registers, and store the result. In
        # the loop, TMA writes tiles and wgmma reads them, under a swizzle.
        for dtype, dim, causal in itertools.product(["bf16", "f16"], ["64", "128"], ["none", "bottom_right"]):
            with self.subTest(f"{dtype} {dim} {causal}"):
                report = json.loads(self.run_tegula(
                    "attention", "--target", "simt:sm_90a", "--untuned", "--heads", "1", "--seqlen-q", "200",
                    "--seqlen-k", "300", "--dtype", dtype, "--head-dim", dim, "--causal", causal, "--traffic",
                    "--json").stdout)
                schedule = report["forward"]["schedule"]
                self.assertIn("roles=load", schedule)
                held = lines_with("loaded.push_back(", "operands.cpp") if "lhs_in_registers=true" in schedule else set()
                dynamic = lines_with("dynamicRange(", "scores.cpp") if "tile_scheduler=dynamic_persistent" in schedule else set()
                rows = report["simt"]["traffic"]
                self.assertEqual({row["location"].split("/")[-1] for row in rows}, lines_with(".store(") | held | dynamic)
                for row in rows:
                    self.assertEqual(row["transactions"], row["ideal"], row)

    def test_tma_makes_all_loads_and_additions_of_the_backward_pass_at_any_length(self):
        # Rows of statistics begin at multiples of 16 bytes and end with a block, because the workspace has room.
        # Tiles of dQ that end inside a panel have boxes that end with the tensor.
        cases = [("257", "64"), ("258", "128", "--causal", "top_left"), ("257", "128", "--variant", "softcap"),
                 ("70", "192", "--value-dim", "128"), *(("70", dim) for dim in ["72", "80", "96", "112", "160", "192"])]
        for length, dim, *options in cases:
            with self.subTest(f"{length} {dim} {options}"):
                rows = json.loads(self.run_tegula(
                    "attention", "--target", "simt:sm_90a", "--untuned", "--heads", "2", "--seqlen-q", length, "--dtype", "bf16",
                    "--head-dim", dim, *options, "--backward", "--traffic", "--json").stdout)["simt"]["traffic"]
                lanes = {row["location"].split("/")[-1] for row in rows
                         if row["kernel"] == "flash2_backward" and row["memory"] == "global"}
                self.assertEqual(lanes, lines_with("at(batch, kv_head)).store(", "flash2_backward.cpp"))

    def test_a_producer_that_moves_elements_has_no_bank_conflicts(self):
        rows = json.loads(self.run_tegula(
            "attention", "--target", "simt:sm_90a", "--untuned", "--heads", "1", "--seqlen-q", "70", "--seqlen-k", "200",
            "--dtype", "bf16", "--row-gaps", "3", "--traffic", "--json").stdout)["simt"]["traffic"]
        shared = [row for row in rows if row["memory"] == "shared"]
        self.assertGreaterEqual(len(shared), 5)
        for row in shared:
            self.assertEqual(row["transactions"], row["ideal"], row)

    def test_orders_are_for_simt_only(self):
        result = self.run_tegula("attention", "--target", "cpu", "--schedules", "3", code=2)
        self.assertIn("--target simt", result.stderr)


if __name__ == "__main__":
    unittest.main()
