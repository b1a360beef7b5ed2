# SPDX-License-Identifier: MIT
"""Tests what `tegula decode` prints and checks."""

import json
import unittest

from command_line import TARGET, CommandLineTest

SMALL = "--heads 4 --kv-heads 2 --head-dim 16 --lengths 33,1,0,20".split()


class DecodeTest(CommandLineTest):
    def decode(self, *arguments):
        result = self.run_tegula("decode", "--json", "--target", TARGET, *arguments)
        self.assertEqual(result.stderr, "")
        return json.loads(result.stdout)

    def check(self, *arguments):
        answer = self.decode(*SMALL, "--check", *arguments)
        self.assertLessEqual(answer["decode"]["o_error_ratio"], 2)
        self.assertLessEqual(answer["decode"]["lse_error_ratio"], 2)
        return answer

    def test_has_these_keys_and_no_others(self):
        answer = self.decode(*SMALL)
        self.assertEqual(list(answer),
                         ["target", "device", "dtype", "shape", "causal", "compile_ms", "compilations", "decode"])
        self.assertEqual(answer["shape"], {"batch": 4, "heads": 4, "kv_heads": 2, "seqlen_q": 1, "lengths": [33, 1, 0, 20],
                                           "head_dim": 16, "value_dim": 16, "page_size": 0})
        self.assertEqual([answer["target"], answer["dtype"], answer["causal"]], [TARGET, "f32", "bottom_right"])
        self.assertEqual(list(answer["decode"]), ["schedule", "ms", "gb_per_s", "copy_gb_per_s"])
        self.assertGreater(answer["decode"]["copy_gb_per_s"], 0)

    def test_every_dtype_and_mask_passes_its_check(self):
        for dtype in "f32", "f16", "bf16":
            self.check("--dtype", dtype)
        self.check("--causal", "none", "--seqlen-q", "3")
        self.assertTrue(self.check("--sinks", "--seqlen-q", "3", "--value-dim", "24")["sinks"])

    def test_pages_and_parts_pass_their_check(self):
        for arguments in "--page-size 1", "--page-size 16", "--page-size 16 --keys-per-part 16", "--keys-per-part 256", "--splits 7":
            with self.subTest(arguments):
                self.check(*arguments.split(), "--seqlen-q", "2")

    def test_every_variant_passes_its_check(self):
        for variant in "softcap", "alibi", "sliding_window", "bias", "mask":
            with self.subTest(variant):
                answer = self.check("--variant", variant, "--seqlen-q", "2", "--page-size", "16")
                self.assertEqual(answer["variant"], variant)

    def test_a_prefix_passes_its_check(self):
        for arguments in "--prefix 0", "--prefix 70 --seqlen-q 2", "--prefix 70 --page-size 16 --variant mask":
            with self.subTest(arguments):
                self.assertEqual(self.check(*arguments.split())["prefix"], int(arguments.split()[1]))

    def test_values_may_be_columns_of_the_keys(self):
        self.assertTrue(self.check("--latent", "--head-dim", "24", "--value-dim", "16", "--page-size", "16")["latent"])

    def test_lengths_and_tables_of_other_libraries_pass_their_check(self):
        for arguments in "--page-size 16 --page-table-v", "--page-size 16 --page-table-v --lengths-count before":
            with self.subTest(arguments):
                self.assertTrue(self.check("--seqlen-q", "2", *arguments.split())["page_table_v"])
        self.assertEqual(self.check("--lengths-count", "last_key")["lengths_count"], "last_key")

    def test_prepared_runs_pass_their_check(self):
        for arguments in "", "--page-size 16 --splits 7", "--prefix 70", "--keys-per-part 256":
            with self.subTest(arguments):
                self.assertTrue(self.check("--prepared", "--repeat", "1", *arguments.split())["prepared"])

    def test_bytes_are_those_of_keys_and_values_that_are_seen(self):
        for lengths, arguments, bytes_of_row, keys in [
                ("33,1,0,20", "", 4 * 32, 54), ("33,1,0,20", "--value-dim 8", 4 * 24, 54), ("33,20", "--latent", 4 * 16, 53),
                ("33,20", "--dtype bf16", 2 * 32, 53), ("1100,3", "--variant sliding_window", 4 * 32, 1028),
                ("33,20", "--prefix 100", 4 * 32, 153), ("1100,3", "--prefix 5000 --variant sliding_window", 4 * 32, 2050)]:
            figures = self.decode("--heads", "4", "--kv-heads", "2", "--head-dim", "16", "--lengths", lengths,
                                  *arguments.split())["decode"]
            self.assertAlmostEqual(figures["gb_per_s"] * figures["ms"] * 1e6 / (2 * keys * bytes_of_row), 1, places=6)

    def test_the_seed_decides_lengths_with_a_mean(self):
        def lengths(seed):
            return self.decode("--heads", "1", "--batch", "50", "--lengths", "lognormal", "--seqlen-k", "100", "--seed", seed)[
                "shape"]["lengths"]
        self.assertEqual(lengths("1"), lengths("1"))
        self.assertNotEqual(lengths("1"), lengths("2"))
        self.assertAlmostEqual(sum(lengths("1")) / 50, 100, delta=5)
        self.assertGreater(max(lengths("1")), 200)

    def test_without_lengths_all_sequences_have_as_many_keys(self):
        self.assertEqual(self.decode("--batch", "3", "--seqlen-k", "5", "--heads", "1")["shape"]["lengths"], [5, 5, 5])

    def test_reruns_have_the_same_bits(self):
        answer = self.decode(*SMALL, "--repeat", "3")
        self.assertEqual(answer["reruns"], {"runs": 3, "different": {"o": 0, "lse": 0}})

    def test_the_table_names_the_problem_the_time_and_the_errors(self):
        result = self.run_tegula("decode", *SMALL, "--target", TARGET, "--check", "--page-size", "16")
        self.assertEqual(result.stderr, "")
        self.assertIn("causal: bottom_right, pages of 16 keys) on", result.stdout)
        self.assertIn("4 sequences of 0 to 33 keys, 54 in all, 4 heads on 2, 1 queries, head dim 16", result.stdout)
        for name in "compile", "decode", "copy", "o", "lse":
            self.assertRegex(result.stdout, rf"(?m)^  {name} +[0-9.]")


if __name__ == "__main__":
    unittest.main()
