# SPDX-License-Identifier: MIT
"""`tegula attention --target simt`: orders of lanes, mutants, traffic."""

import itertools
import json
import pathlib
import re
import unittest

from command_line import CommandLineTest

SMALL = ["attention", "--target", "simt", "--heads", "1", "--seqlen-q", "70", "--seqlen-k", "200", "--dtype", "bf16"]

FORWARD = pathlib.Path(__file__).parents[2] / "kernels" / "flash2_forward.cpp"
# Where it stores its results.
STORES = [f"{FORWARD.name}:{number}" for number, line in enumerate(FORWARD.read_text().splitlines(), 1)
          if ".store(" in line]


class Simt(CommandLineTest):
    def figures(self, *options, code=0):
        return json.loads(self.run_tegula(*SMALL, "--json", *options, code=code).stdout)

    def test_every_scheduler_finds_nothing_and_gives_the_same_bits(self):
        for scheduler in ["uniform", "priority", "eager", "lazy"]:
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

    def survivors(self, *options):
        """Mutants that no schedule shows: those whose instruction is reached, and the others."""
        shape = ["attention", "--target", "simt", "--heads", "1", "--dtype", "bf16", "--json", "--mutate", "all"]
        simt = json.loads(self.run_tegula(*shape, *options, code=None).stdout)["simt"]
        self.assertEqual(simt["findings"], [])
        self.assertEqual(simt["mutants_killed"] + len(simt["mutants_survived"]), simt["mutants_total"])
        self.assertGreater(simt["mutants_killed"], 10)
        return simt["mutants_survived"], simt["mutants_unreached"]

    def test_every_order_of_flash2_is_needed(self):
        # Some blocks have nothing to loop over. The wait behind a pipelined loop is then for what came before, and
        # could be weaker, or later, because the newest groups are empty. Groups of copies in front of a pipelined loop
        # are waited for together with the loop's first group.
        explained = re.compile(r"\w+:\d+(:(weaken|delay) \(cp.async.wait_group| \(cp.async.commit_group) at ")
        for kernel, options in {
            "flash2_forward:": ["--causal", "bottom_right", "--seqlen-q", "300", "--seqlen-k", "70"],
            "flash2_backward:": ["--causal", "top_left", "--seqlen-q", "70", "--seqlen-k", "300", "--backward"],
        }.items():
            with self.subTest(kernel):
                survivors = [mutant for mutant in self.survivors(*options)[0] if mutant.startswith(kernel)]
                self.assertLessEqual(len(survivors), 4)
                for mutant in survivors:
                    self.assertRegex(mutant, explained)

    def not_needed_with_roles(self, schedule):
        """Mutants that are shown neither where TMA moves tiles, nor where elements are moved, of all tensors or of q."""
        shape = ["--target", "simt:sm_90a", "--seqlen-q", "100", "--seqlen-k", "330", "--schedule",
                 "block_m=64 block_n=64 num_warps=4 num_stages=2 num_roles=2 " + schedule]
        launches = [self.survivors(*shape, "--row-gaps", gaps) for gaps in ["0", "3", "3,0,0,0"]]
        return set.intersection(*(set(survived + unreached) for survived, unreached in launches))

    # The lane that hands over q hands over keys next, for which every product waits too.
    RELAXED = r"\w+:\d+:weaken \(mbarrier.arrive at "

    def test_every_order_between_roles_is_needed(self):
        remaining = self.not_needed_with_roles("")
        self.assertEqual(len(remaining), 1, remaining)
        self.assertRegex(remaining.pop(), self.RELAXED)

    def test_every_order_between_products_that_overlap_is_needed(self):
        # The assembler wants a fence for each product, also where nothing happens between two. Keys are released before
        # values, which the producer waits for first.
        remaining = self.not_needed_with_roles("num_products=2")
        self.assertEqual(len(remaining), 3, remaining)
        for mutant in remaining:
            self.assertRegex(mutant, self.RELAXED + r"|\w+:\d+ \(wgmma.fence at ")

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
        # Lanes store the result only: in the loop TMA writes tiles and wgmma reads them, both under a swizzle.
        for dtype, dim, causal in itertools.product(["bf16", "f16"], ["64", "128"], ["none", "bottom_right"]):
            with self.subTest(f"{dtype} {dim} {causal}"):
                report = json.loads(self.run_tegula(
                    "attention", "--target", "simt:sm_90a", "--untuned", "--heads", "1", "--seqlen-q", "200",
                    "--seqlen-k", "300", "--dtype", dtype, "--head-dim", dim, "--causal", causal, "--traffic",
                    "--json").stdout)
                self.assertIn("num_roles=2", report["forward"]["schedule"])
                rows = report["simt"]["traffic"]
                self.assertEqual({row["place"].split("/")[-1] for row in rows}, set(STORES))
                for row in rows:
                    self.assertEqual(row["transactions"], row["ideal"], row)

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
