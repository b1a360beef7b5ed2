# SPDX-License-Identifier: MIT
"""Tests what `tegula attention` prints, checks and saves."""

import json
import math
import os
import tempfile
import unittest

from command_line import TARGET, CommandLineTest
from npy import read_npy

VARIANTS = ["softcap", "alibi", "sliding_window", "window_with_globals", "given_window", "prefix_lm",
            "documents", "key_intervals", "bias", "mask", "added_product"]
SMALL = "--batch 2 --heads 4 --kv-heads 2 --seqlen-q 17 --seqlen-k 33 --head-dim 16".split()


class JsonTest(CommandLineTest):
    def attention(self, *arguments):
        result = self.run_tegula("attention", "--json", "--target", TARGET, *arguments)
        self.assertEqual(result.stderr, "")
        return json.loads(result.stdout)

    def test_forward_has_these_keys_and_no_others(self):
        answer = self.attention(*SMALL)
        self.assertEqual(
            list(answer), ["target", "device", "dtype", "shape", "causal", "compile_ms", "compilations", "forward"])
        self.assertEqual(answer["shape"], {"batch": 2, "heads": 4, "kv_heads": 2, "seqlen_q": 17, "seqlen_k": 33,
                                           "head_dim": 16, "value_dim": 16, "row_gaps": [0, 0, 0, 0]})
        self.assertEqual([answer["target"], answer["dtype"], answer["causal"]], [TARGET, "f32", "none"])
        self.assertEqual(list(answer["forward"]), ["schedule", "ms", "tflops"])

    def test_check_adds_errors(self):
        answer = self.attention(*SMALL, "--check", "--backward", "--causal", "top_left", "--value-dim", "24")
        self.assertEqual(list(answer["forward"]), ["schedule", "ms", "tflops", "max_error", "error_ratio"])
        self.assertEqual(list(answer["backward"]),
                         ["schedule", "ms", "tflops", "dq_error_ratio", "dk_error_ratio", "dv_error_ratio"])
        self.assertLess(answer["forward"]["max_error"], 1e-5)
        for key in ("dq_error_ratio", "dk_error_ratio", "dv_error_ratio"):
            self.assertTrue(0 < answer["backward"][key] <= 2, answer)

    def test_reruns_of_the_deterministic_backward_pass_have_the_same_bits(self):
        answer = self.attention(*SMALL, "--variant", "bias", "--backward", "--deterministic", "--check", "--repeat", "3")
        self.assertTrue(answer["deterministic"])
        self.assertEqual(answer["reruns"], {"runs": 3, "different": {
            "o": 0, "lse": 0, "dq": 0, "dk": 0, "dv": 0, "dbias": 0}})
        self.assertEqual(self.attention(*SMALL, "--repeat", "1")["reruns"],
                         {"runs": 1, "different": {"o": 0, "lse": 0}})

    def test_sinks_have_a_gradient(self):
        answer = self.attention(*SMALL, "--sinks", "--backward", "--check", "--causal", "bottom_right", "--deterministic",
                                "--repeat", "2")
        self.assertTrue(answer["sinks"])
        self.assertTrue(0 < answer["backward"]["d_sinks_error_ratio"] <= 2, answer)
        self.assertEqual(answer["reruns"]["different"], {"o": 0, "lse": 0, "dq": 0, "dk": 0, "dv": 0, "d_sinks": 0})

    def test_each_call_moves_the_diagonal(self):
        for variant in "sliding_window", "window_with_globals", "given_window", "alibi":
            with self.subTest(variant):
                answer = self.attention(*SMALL, "--variant", variant, "--causal", "bottom_right", "--diagonal-offset", "-9",
                                        "--check", "--backward")
                self.assertEqual(answer["diagonal_offset"], -9)
        self.attention(*SMALL, "--variant", "prefix_lm", "--diagonal-offset", "7", "--check", "--backward")

    def test_without_check_backward_has_no_errors(self):
        self.assertEqual(list(self.attention(*SMALL, "--backward")["backward"]), ["schedule", "ms", "tflops"])

    def test_flops_are_halved_for_causal_and_multiplied_backward(self):
        flops = 2 * 2 * 4 * 17 * 33 * (16 + 16)
        answer = self.attention(*SMALL, "--backward", "--causal", "bottom_right")
        for phase, expected in ("forward", flops / 2), ("backward", 2.5 * flops / 2):
            measured = answer[phase]["tflops"] * answer[phase]["ms"] * 1e9
            self.assertAlmostEqual(measured / expected, 1, places=6)

    def test_every_dtype_algorithm_and_causal_alignment_passes_its_check(self):
        for dtype in "f32", "f16", "bf16":
            self.attention(*SMALL, "--check", "--dtype", dtype, "--backward", "--causal", "bottom_right")
        for algorithm in "standard", "flash1":
            self.attention(*SMALL, "--check", "--algorithm", algorithm, "--causal", "top_left")

    def test_every_variant_passes_its_check_forward_and_backward(self):
        for variant in VARIANTS:
            with self.subTest(variant):
                answer = self.attention(*SMALL, "--variant", variant, "--check", "--backward", "--seed", "3")
                self.assertEqual(answer["variant"], variant)
                self.assertEqual("dbias_error_ratio" in answer["backward"], variant == "bias")
        for algorithm in "standard", "flash1":
            self.attention(*SMALL, "--variant", "documents", "--check", "--algorithm", algorithm)
        self.attention(*SMALL, "--variant", "bias", "--check", "--dtype", "bf16", "--causal", "bottom_right")

    def test_rows_may_have_gaps(self):
        for gaps, all_gaps in [("3", [3, 3, 3, 3]), ("0,1,8,2", [0, 1, 8, 2])]:
            for backward in [[], ["--backward"]]:
                answer = self.attention("--row-gaps", gaps, "--check", *backward)
                self.assertEqual(answer["shape"]["row_gaps"], all_gaps)
                self.assertLessEqual(answer["forward"]["error_ratio"], 2)

    def test_one_sequence_length_is_the_other_too(self):
        shape = self.attention("--seqlen-k", "9", "--heads", "1")["shape"]
        self.assertEqual([shape["seqlen_q"], shape["seqlen_k"]], [9, 9])

    def test_packed_sequences_pass_their_check(self):
        heads = "--heads 4 --kv-heads 2 --head-dim 16 --check --backward".split()
        for arguments in ("--cu-seqlens 0,30,31,31,78", "--cu-seqlens 0,30,31,78 --cu-seqlens-k 0,9,100,111 --dtype bf16"):
            for causal in "none", "bottom_right":
                with self.subTest(arguments, causal=causal):
                    answer = self.attention(*heads, *arguments.split(), "--causal", causal)
                    self.assertEqual(answer["causal"], causal)
                    self.assertEqual(answer["shape"]["cu_seqlens"], [int(x) for x in arguments.split()[1].split(",")])
                    self.assertLessEqual(answer["forward"]["error_ratio"], 2)
                    for name in "dq", "dk", "dv":
                        self.assertLessEqual(answer["backward"][name + "_error_ratio"], 2)

    def test_keys_in_pages_pass_their_check(self):
        heads = "--heads 4 --kv-heads 2 --head-dim 16 --check".split()
        for lengths in "--cu-seqlens 0,30,31,31,78", "--cu-seqlens 0,30,31,78 --cu-seqlens-k 0,9,100,111 --dtype bf16":
            for page_size in 16, 7, 256:
                for causal in "none", "bottom_right":
                    with self.subTest(lengths, page_size=page_size, causal=causal):
                        answer = self.attention(*heads, *lengths.split(), "--causal", causal, "--page-size", str(page_size))
                        self.assertEqual(answer["shape"]["page_size"], page_size)
                        self.assertLessEqual(answer["forward"]["error_ratio"], 2)
        self.attention(*heads, "--cu-seqlens", "0,3,5", "--cu-seqlens-k", "0,0,0", "--page-size", "16")

    def test_flops_of_packed_sequences_are_those_of_scores_that_exist(self):
        packed = "--heads 4 --head-dim 16 --cu-seqlens 0,3,13 --cu-seqlens-k 0,5,9".split()
        for causal, scores in ("none", 3 * 5 + 10 * 4), ("bottom_right", 3 + 4 + 5 + 1 + 2 + 3 + 4):
            forward = self.attention(*packed, "--causal", causal)["forward"]
            self.assertAlmostEqual(forward["tflops"] * forward["ms"] * 1e9 / (4 * 4 * 16 * scores), 1, places=6)

    def test_sizes_of_zero_are_legal(self):
        for size in "--batch", "--heads", "--seqlen-q", "--seqlen-k":
            with self.subTest(size):
                self.attention("--seqlen-q", "5", "--seqlen-k", "5", size, "0", "--check", "--backward")


class SaveTest(CommandLineTest):
    def save(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            self.run_tegula("attention", *SMALL, "--target", TARGET, "--save", os.path.join(folder, "a", "b"), *arguments)
            files = os.listdir(os.path.join(folder, "a", "b"))
            return {name[:-4]: read_npy(os.path.join(folder, "a", "b", name)) for name in files}

    def test_forward_saves_five_arrays(self):
        arrays = self.save()
        self.assertEqual({name: shape for name, (shape, _) in arrays.items()},
                         {"q": (2, 4, 17, 16), "k": (2, 2, 33, 16), "v": (2, 2, 33, 16), "o": (2, 4, 17, 16),
                          "lse": (2, 4, 17)})

    def test_backward_saves_four_more(self):
        arrays = self.save("--backward")
        self.assertEqual({name: shape for name, (shape, _) in arrays.items() if name.startswith("d")},
                         {"do": (2, 4, 17, 16), "dq": (2, 4, 17, 16), "dk": (2, 2, 33, 16), "dv": (2, 2, 33, 16)})

    def test_inputs_are_what_the_kernel_saw(self):
        _, values = self.save("--dtype", "bf16")["q"]
        for value in values:  # bf16 has 8 significant bits.
            mantissa, _ = math.frexp(value)
            self.assertEqual(mantissa * 256, int(mantissa * 256))

    def test_the_seed_decides_the_inputs(self):
        self.assertEqual(self.save()["q"], self.save("--seed", "0")["q"])
        self.assertNotEqual(self.save()["q"], self.save("--seed", "1")["q"])

    def test_saved_output_is_attention_of_saved_inputs(self):
        arrays = {name: values for name, (_, values) in self.save("--scale", "0.5").items()}
        q, o = arrays["q"][-16:], arrays["o"][-16:]  # The last query of the last head, which reads the last KV head.
        k, v = arrays["k"][-33 * 16:], arrays["v"][-33 * 16:]
        scores = [0.5 * sum(a * b for a, b in zip(q, k[16 * j:])) for j in range(33)]
        weights = [math.exp(score - max(scores)) for score in scores]
        for column in range(16):
            expected = sum(w * x for w, x in zip(weights, v[column::16])) / sum(weights)
            self.assertAlmostEqual(o[column], expected, places=5)
        self.assertAlmostEqual(arrays["lse"][-1], max(scores) + math.log(sum(weights)), places=5)

    def test_a_scale_of_0_is_the_usual_one(self):
        usual, unset = self.save(), self.save("--scale", "0")
        for name in "o", "lse":
            self.assertEqual(max(abs(a - b) for a, b in zip(usual[name][1], unset[name][1])), 0)

    def test_a_variant_has_the_diagonal_of_the_causal_mask(self):
        sizes = "--heads 1 --kv-heads 1 --head-dim 16 --seqlen-q 3 --seqlen-k 1100 --variant sliding_window".split()
        for causal, expected in ("top_left", [1, 2, 3]), ("bottom_right", [1025, 1025, 1025]), ("none", [1, 2, 3]):
            # All scores are about 0, so that exp(lse) counts the keys that a query sees.
            _, lse = self.save(*sizes, "--scale", "1e-30", "--causal", causal)["lse"]
            self.assertEqual([round(math.exp(x)) for x in lse[:3]], expected)

    def test_the_diagonal_offset_moves_the_causal_mask_and_the_variant(self):
        sizes = "--heads 1 --kv-heads 1 --head-dim 16 --seqlen-q 3 --seqlen-k 1100 --scale 1e-30 --causal top_left".split()
        for variant, offset, expected in [([], 4, [5, 6, 7]), ([], -2, [0, 0, 1]),
                                          (["--variant", "sliding_window"], 1050, [1025, 1025, 1025])]:
            _, lse = self.save(*sizes, *variant, "--diagonal-offset", str(offset))["lse"]
            self.assertEqual([round(math.exp(x)) for x in lse[:3]], expected)

    def test_given_bounds_decide_the_output(self):
        arrays = {name: values for name, (_, values) in self.save(
            "--variant", "given_window", "--scale", "1e-30", "--seed", "2").items()}
        for batch in range(2):
            left, right = arrays["window_left"][batch], arrays["window_right"][batch]
            for query in range(17):
                seen = sum((left < 0 or key >= query - left) and (right < 0 or key <= query + right) for key in range(33))
                self.assertEqual(round(math.exp(arrays["lse"][batch * 4 * 17 + query])), seen)
        arrays = {name: values for name, (_, values) in self.save(
            "--variant", "key_intervals", "--scale", "1e-30", "--seed", "2").items()}
        for batch in range(2):
            for query in range(17):
                at = batch * 17 + query
                seen = arrays["interval_end"][at] - arrays["interval_begin"][at]
                self.assertEqual(round(math.exp(arrays["lse"][batch * 4 * 17 + query])), seen)

    def test_a_window_with_global_tokens_has_the_keys_of_both(self):
        _, lse = self.save(*"--heads 1 --kv-heads 1 --head-dim 16 --seqlen-q 1200 --seqlen-k 1200 --scale 1e-30".split(),
                           "--variant", "window_with_globals")["lse"]
        for query, keys in (0, 1200), (63, 1200), (64, 65), (1088, 1089), (1089, 1089), (1199, 1089):
            self.assertEqual(round(math.exp(lse[query])), keys, query)

    def test_the_seed_decides_a_variants_tensors_which_decide_the_output(self):
        first, again, other = (self.save("--variant", "documents", "--seed", seed) for seed in "113")
        self.assertEqual(first, again)
        self.assertNotEqual(first["key_begin"], other["key_begin"])
        self.assertEqual(first["key_begin"][0], (2, 17))
        self.assertEqual(first["q"], self.save("--seed", "1")["q"])
        self.assertNotEqual(first["o"], self.save("--seed", "1")["o"])

    def test_the_gradient_of_a_variants_tensor_is_saved_once(self):
        arrays = self.save("--variant", "bias", "--backward")
        self.assertEqual(arrays["bias"][0], (2, 4, 17, 33))
        self.assertEqual(arrays["dbias"][0], (2, 4, 17, 33))
        # The gradient is that of one run, although several were timed. A row's sum is 0 after any number of runs.
        self.assertEqual(arrays["dbias"], self.save("--variant", "bias", "--backward")["dbias"])

    def test_a_query_without_keys_gives_zero_and_minus_infinity(self):
        arrays = self.save("--seqlen-q", "40", "--causal", "bottom_right")
        self.assertEqual(arrays["lse"][1][:7], (-math.inf,) * 7)
        self.assertEqual(arrays["o"][1][: 7 * 16], (0.0,) * 7 * 16)


    def test_a_packed_query_sees_the_keys_of_its_sequence_up_to_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            for causal, expected in ("none", [4, 4, 4, 2]), ("bottom_right", [2, 3, 4, 2]):
                self.run_tegula("attention", "--target", TARGET, "--cu-seqlens", "0,3,4", "--cu-seqlens-k", "0,4,6", "--heads",
                                "1", "--head-dim", "16", "--scale", "1e-30", "--causal", causal, "--save", folder)
                _, lse = read_npy(os.path.join(folder, "lse.npy"))
                self.assertEqual([round(math.exp(x)) for x in lse], expected)


    def test_keys_in_pages_are_saved_in_the_order_of_sequences(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_tegula("attention", "--target", TARGET, "--cu-seqlens", "0,1,2,4", "--cu-seqlens-k", "0,1,2,3", "--heads",
                            "2", "--head-dim", "16", "--page-size", "16", "--save", folder)
            (_, o), (shape, v) = (read_npy(os.path.join(folder, name)) for name in ("o.npy", "v.npy"))
        self.assertEqual(shape, (1, 2, 3, 16))
        # A query that sees one key has its value.
        for head in range(2):
            self.assertEqual(o[64 * head : 64 * head + 32], v[48 * head : 48 * head + 32])
            self.assertEqual(o[64 * head + 48 : 64 * head + 64], v[48 * head + 32 : 48 * head + 48])


class TableTest(CommandLineTest):
    def test_names_packed_sequences(self):
        result = self.run_tegula("attention", "--target", TARGET, "--heads", "2", "--cu-seqlens", "0,3,13", "--cu-seqlens-k",
                                 "0,7,14", "--causal", "bottom_right")
        self.assertIn("(flash2, f32, causal: bottom_right) on", result.stdout)
        self.assertIn("\n2 heads, 2 sequences of 3 to 10 queries, 13 in all, 2 sequences of 7 keys, head dim 64\n", result.stdout)

    def test_names_pages(self):
        result = self.run_tegula("attention", "--target", TARGET, "--cu-seqlens", "0,3,13", "--page-size", "16")
        self.assertIn("causal: none, pages of 16 keys) on", result.stdout)

    def test_names_the_problem_the_times_and_the_errors(self):
        result = self.run_tegula("attention", *SMALL, "--target", TARGET, "--backward", "--check")
        self.assertEqual(result.stderr, "")
        self.assertIn("batch 2, 4 heads on 2, 17 queries, 33 keys, head dim 16", result.stdout)
        for name in "compile", "forward", "backward", "o", "lse", "dq", "dk", "dv":
            self.assertRegex(result.stdout, rf"(?m)^  {name} +[0-9.]")


if __name__ == "__main__":
    unittest.main()
