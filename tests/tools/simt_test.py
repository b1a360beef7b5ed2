# SPDX-License-Identifier: MIT
"""`tegula attention --target simt`: orders of lanes, mutants, traffic."""

import json
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

    def test_barriers_that_are_left_out_are_found_out(self):
        result = self.run_tegula(*SMALL, "--json", "--mutate", "all", code=None)
        simt = json.loads(result.stdout)["simt"]
        self.assertEqual(simt["mutants_killed"] + len(simt["mutants_survived"]), simt["mutants_total"])
        survivors = [mutant for mutant in simt["mutants_survived"] if "bar.sync" in mutant]
        self.assertEqual(survivors, [])
        self.assertGreater(simt["mutants_killed"], 5)

    def test_shared_memory_is_read_without_bank_conflicts(self):
        for row in self.figures("--traffic")["simt"]["traffic"]:
            if row["instruction"].startswith("ldmatrix"):
                self.assertEqual(row["transactions"], row["ideal"], row)

    def test_orders_are_for_simt_only(self):
        result = self.run_tegula("attention", "--target", "cpu", "--schedules", "3", code=2)
        self.assertIn("--target simt", result.stderr)


if __name__ == "__main__":
    unittest.main()
