# SPDX-License-Identifier: MIT
"""Runs examples/ring_nccl, which is built in the current directory, with ranks on the cpu."""

import json
import subprocess
import unittest

SMALL = "--target cpu --tokens 120 --heads 4 --kv-heads 2 --head-dim 16".split()


def run(*arguments):
    return subprocess.run(["./ring_nccl", *arguments], capture_output=True, text=True, timeout=300)


class RingTest(unittest.TestCase):
    def refused(self, code, message, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertIn(message, result.stderr)

    def test_results_are_those_of_double_precision(self):
        for ranks in "1", "2", "3", "4":
            for mask in ["--causal"], []:
                for heads in [], ["--kv-heads", "1", "--batch", "2"]:
                    with self.subTest(ranks=ranks, mask=mask, heads=heads):
                        result = run(*SMALL, *heads, *mask, "--gpus", ranks, "--check", "--repeat", "0")
                        self.assertEqual(result.returncode, 0, result.stderr)
                        found = [line.split()[0] for line in result.stderr.splitlines() if line.endswith(": right")]
                        self.assertEqual(found, ["o", "lse", "dq", "dk", "dv"])

    def test_figures(self):
        result = run(*SMALL, "--gpus", "2", "--causal", "--repeat", "2", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([line["pass"] for line in lines], ["forward", "backward"])
        for line in lines:
            self.assertEqual([line[name] for name in ("gpus", "tokens", "mask", "one_gpu_tokens")], [2, 120, "causal", 120])
            self.assertTrue(all(line[name] > 0 for name in ("ms", "kernels_ms", "exchanges_ms", "bytes_per_gpu",
                                                            "one_gpu_ms")), line)

    def test_bad_options(self):
        self.refused(2, "--tokens is 120; it must divide by 14, because each rank holds two chunks", *SMALL, "--causal",
                     "--gpus", "7")
        self.refused(2, "--tokens is 120; it must divide by 7, because each rank holds a chunk", *SMALL, "--gpus", "7")
        self.refused(2, "--heads is 4; it must divide by --kv-heads, which is 3", *SMALL, "--kv-heads", "3")
        self.refused(2, "--head-dim is 20; legal are multiples of 8", *SMALL, "--head-dim", "20")
        self.refused(2, "--gpus is '2x'; legal is 1 to 64", *SMALL, "--gpus", "2x")
        self.refused(2, "--gpus needs a value", *SMALL, "--gpus")
        self.refused(2, "there is no option --ranks", *SMALL, "--ranks", "2")

    def test_a_rank_that_does_not_advance_ends_all(self):
        self.refused(1, "no rank has advanced for 1 s; rank 0: ", "--target", "cpu", "--tokens", "131072", "--heads", "1",
                     "--causal", "--timeout", "1")


if __name__ == "__main__":
    unittest.main()
