# SPDX-License-Identifier: MIT
"""`tegula attention --target simt`: orders of lanes, mutants, traffic."""

import json
import re
import unittest

from command_line import CommandLineTest

SMALL = ["attention", "--target", "simt", "--heads", "1", "--seqlen-q", "70", "--seqlen-k", "200", "--dtype", "bf16"]


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
        self.assertIn("there is no mutant 'flash2_forward:99999'; legal are all, and names such as", result.stderr)

    def test_shared_memory_is_read_without_bank_conflicts(self):
        for row in self.figures("--traffic")["simt"]["traffic"]:
            if row["instruction"].startswith("ldmatrix"):
                self.assertEqual(row["transactions"], row["ideal"], row)

    def test_orders_are_for_simt_only(self):
        result = self.run_tegula("attention", "--target", "cpu", "--schedules", "3", code=2)
        self.assertIn("--target simt", result.stderr)


if __name__ == "__main__":
    unittest.main()
