# SPDX-License-Identifier: MIT
"""Tests what `tegula bench` prints and saves."""

import json
import os
import re
import tempfile
import unittest

from command_line import TARGET, CommandLineTest, Page

SMALL = "--head-dim 16,32 --seqlen 16,48 --tokens 96 --hidden 64 --seconds 0".split()


class BenchTest(CommandLineTest):
    def bench(self, *arguments):
        """Returns the table, the JSON and the page."""
        with tempfile.TemporaryDirectory() as folder:
            data, drawing = os.path.join(folder, "b.json"), os.path.join(folder, "b.html")
            result = self.run_tegula("bench", "--target", TARGET, *SMALL, "--json", data, "--html", drawing, *arguments)
            self.assertEqual(result.stderr, "")
            with open(data) as file:
                report = json.load(file)
            return result.stdout, report, Page(drawing)

    def test_every_problem_of_the_grid_in_both_passes(self):
        table, report, page = self.bench()
        cells = {(row["pass"], row["head_dim"], row["causal"], row["seqlen"]) for row in report["rows"]}
        self.assertEqual(len(cells), 2 * 2 * 2 * 2)
        self.assertEqual(len(report["rows"]), len(cells))
        self.assertEqual(page.axes, ["queries and keys", "implementation"])
        self.assertEqual(page.scale[:2], ["TFLOP/s, more is better:", "0"])
        self.assertEqual(sum(map(len, page.panels.values())), len(cells))
        self.assertEqual(set(page.panels["forward, D=16, full"]), {("flash2", "16"), ("flash2", "48")})
        for row in report["rows"]:
            self.assertEqual([row["batch"], row["heads"]], [96 // row["seqlen"], 64 // row["head_dim"]])
            flops = 4 * row["seqlen"] ** 2 * 96 // row["seqlen"] * 64 / (1 if row["causal"] == "none" else 2)
            flops *= 1 if row["pass"] == "forward" else 2.5
            self.assertAlmostEqual(row["tflops"] * row["ms"] * 1e9 / flops, 1, places=6)
            self.assertGreater(row["gigabytes"], 0)
            self.assertIn(f"\n{row['pass']:<8} {row['head_dim']:>4} {row['causal']:<14} {row['seqlen']:>6}", table)
        self.assertEqual([limit["unit"] for limit in report["limits"]][-2:], ["TFLOP/s", "GB/s"])

    def test_the_options_choose_what_runs(self):
        _, report, _ = self.bench("--algorithms", "standard,flash1", "--causal", "top_left", "--passes", "forward",
                                  "--dtype", "bf16", "--no-check")
        self.assertEqual(report["dtype"], "bf16")
        self.assertEqual({row["algorithm"] for row in report["rows"]}, {"standard", "flash1"})
        self.assertEqual({row["causal"] for row in report["rows"]}, {"top_left"})
        self.assertEqual({row["pass"] for row in report["rows"]}, {"forward"})

    def test_counted_bytes_are_those_of_the_papers(self):
        _, report, _ = self.bench("--algorithms", "standard,flash2", "--causal", "none", "--passes", "forward",
                                  "--dtype", "bf16", "--schedule", "block_m=16 block_n=16")
        moved = {row["algorithm"]: row["gigabytes"] * 1e9 for row in report["rows"]
                 if (row["head_dim"], row["seqlen"]) == (32, 48)}
        head = 2 * 32 * 48  # Bytes of q, k, v or o.
        matrix = 4 * 48 * 48
        problems = 2 * 2  # Batch and heads.
        self.assertAlmostEqual(moved["flash2"], problems * (2 * head + 4 * 48 + 3 * 2 * head))
        self.assertAlmostEqual(moved["standard"], problems * (2 * head + 2 * 3 * head + 6 * matrix + 4 * 48))

    def test_figures_from_elsewhere_are_shown_beside(self):
        rows = [{"pass": "forward", "algorithm": algorithm, "head_dim": 16, "causal": "none", "batch": 6, "heads": 4,
                 "seqlen": 16, "ms": 1, "tflops": tflops} for algorithm, tflops in [("other", 123.4), ("third", 567.8)]]
        with tempfile.TemporaryDirectory() as folder:
            options = []
            for row in rows:
                options += ["--add", os.path.join(folder, row["algorithm"])]
                with open(options[-1], "w") as file:
                    json.dump({"device": "", "dtype": "f32", "tokens": 96, "hidden": 64, "limits": [], "rows": [row]},
                              file)
            table, report, _ = self.bench("--passes", "forward", *options)
        self.assertEqual(report["rows"][-2:], rows)
        self.assertRegex(table, r"(?m)^  other +123\.4 +-$")
        self.assertRegex(table, r"(?m)^  third +567\.8 +-$")

    def test_variants_are_shown_beside_as_many_blocks_of_plain_attention(self):
        flex = {"pass": "forward", "algorithm": "flex-attention", "head_dim": 16, "causal": "none", "batch": 6, "heads": 4,
                "seqlen": 16, "variant": "alibi", "ms": 1e6, "tflops": 1}
        with tempfile.TemporaryDirectory() as folder:
            peers = os.path.join(folder, "peers")
            with open(peers, "w") as file:
                json.dump({"device": "", "dtype": "f32", "tokens": 96, "hidden": 64, "limits": [], "rows": [flex]}, file)
            variants = ["softcap", "alibi", "sliding_window", "window_with_globals", "prefix_lm", "documents", "bias"]
            table, report, _ = self.bench("--variants", ",".join(variants), "--add", peers)
        self.assertEqual(report["rows"][-1], flex)
        cells = {(row["variant"], row["algorithm"], row["head_dim"], row["seqlen"]) for row in report["rows"][:-1]}
        self.assertEqual(cells, {(variant, algorithm, dim, length) for variant in variants for dim in (16, 32)
                                 for algorithm in ("flash2", "flash2 unmodified") for length in (16, 48)})
        scores = {"sliding_window": 48 * 49 / 2, "prefix_lm": 48 * 24 + 24 * 25 / 2}
        for row in report["rows"]:
            if (row["algorithm"], row["head_dim"], row["seqlen"]) == ("flash2", 32, 48):
                flops = 4 * 32 * 2 * 2 * scores.get(row["variant"], 48 * 48)
                self.assertAlmostEqual(row["tflops"] * row["ms"] * 1e9 / flops, 1, places=6)
        self.assertEqual(len(re.findall(r"(?m)^forward, D=\d+, \w+ +\d+ .* %", table)), 7 * 4)
        self.assertRegex(table, r"(?m)^forward, D=16, alibi +16 .* % +1000000\.000 +\d+\.\d\d$")

    def test_the_ladder_is_markdown(self):
        table, report, _ = self.bench("--ladder", "--causal", "none")
        steps = list(dict.fromkeys(row["algorithm"] for row in report["rows"]))
        self.assertEqual(steps[0], "standard: S and P in memory")
        self.assertGreaterEqual(len(steps), 3)
        self.assertIn("\n| forward, D=16, full | 16 | 48 |\n|---|---|---|\n| standard: S and P in memory | ", table)
        self.assertEqual(table.count("\n| "), 2 * (1 + len(steps)))

    def serving(self, option):
        """Returns the table and the JSON of --decode or --varlen."""
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "b.json")
            result = self.run_tegula("bench", "--target", TARGET, option, "--seconds", "0", "--json", data)
            self.assertEqual(result.stderr, "")
            with open(data) as file:
                return result.stdout, json.load(file)

    def test_decoding_is_shown_beside_a_copy(self):
        table, report = self.serving("--decode")
        self.assertEqual([report["unit"], report["compared"], len(report["rows"])], ["GB/s", "copy", 25])
        self.assertEqual(len({row["compared"] for row in report["rows"]}), 1)
        names = [row["problem"] for row in report["rows"]]
        for part in "prepared", "pages of 16", "pages of 256", "log-normal", "latent, 16 heads", "prefix of 256", "16 queries":
            self.assertTrue(any(part in name for name in names), part)
        for row in report["rows"]:
            self.assertEqual(row["pass"], "decode")
            self.assertAlmostEqual(row["part"], row["speed"] / row["compared"])
            self.assertRegex(table, rf"(?m)^{re.escape(row['problem'])} +decode +[\d.]+ +[\d.]+ +[\d.]+ +\d+\.\d\d$")

    def test_log_normal_lengths_are_shown_beside_equal_ones(self):
        table, report = self.serving("--varlen")
        self.assertEqual([report["unit"], report["compared"]], ["TFLOP/s", "equal lengths"])
        self.assertEqual([row["pass"] for row in report["rows"]], ["forward", "backward"] * 5 + ["forward"] * 2)
        self.assertEqual([row["problem"].split(", ")[1] for row in report["rows"][-2:]], ["pages of 16", "pages of 64"])
        for row in report["rows"]:
            self.assertGreater(row["part"], 0)
            self.assertRegex(table, rf"(?m)^{re.escape(row['problem'])} +{row['pass']} +[\d.]+ +[\d.]+ +[\d.]+ +\d+\.\d\d$")

    def test_serving_problems_are_not_those_of_the_grid(self):
        for arguments, answer in [("--decode --varlen", "--decode excludes --varlen"),
                                  ("--decode --head-dim 64", "--head-dim excludes --decode"),
                                  ("--varlen --html x", "--varlen excludes --html")]:
            result = self.run_tegula("bench", *arguments.split(), code=2)
            self.assertIn(answer, result.stderr)

    def test_a_ladder_has_no_variants(self):
        result = self.run_tegula("bench", "--target", TARGET, "--ladder", "--variants", "bias", code=2)
        self.assertIn("--variants excludes --ladder", result.stderr)

    def test_a_file_that_cannot_be_written_is_refused_before_measuring(self):
        for option in "--json", "--html":
            result = self.run_tegula("bench", "--target", TARGET, option, "/dev/null/there", code=2)
            self.assertIn(f"{option}: cannot write '/dev/null/there': Not a directory", result.stderr)
            self.assertEqual(result.stdout, "")

    def test_a_file_that_is_no_benchmark_is_refused(self):
        result = self.run_tegula("bench", "--target", TARGET, *SMALL, "--no-check", "--add", __file__, code=2)
        self.assertIn(f"--add: '{__file__}' is no benchmark", result.stderr)


if __name__ == "__main__":
    unittest.main()
