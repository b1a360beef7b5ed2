# SPDX-License-Identifier: MIT
"""Tests `tegula attention --blocks`: which scores exist, and what it says about mistakes in the file."""

import copy
import importlib.util
import json
import math
import os
import pathlib
import tempfile
import types
import unittest

from command_line import TARGET, CommandLineTest
from npy import read_npy

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "block_mask"
QUERIES, KEYS, BLOCK_Q, BLOCK_K = 40, 70, 16, 32
SMALL = f"--batch 2 --heads 4 --kv-heads 2 --seqlen-q {QUERIES} --seqlen-k {KEYS} --head-dim 16 --target {TARGET}".split()
# Entries after a count say nothing.
LISTS = {"BLOCK_SIZE": [BLOCK_Q, BLOCK_K],
         "kv_num_blocks": [[[1, 0, 2]]], "kv_indices": [[[[2, 0, 0], [9, 9, 9], [0, 1, 7]]]],
         "full_kv_num_blocks": [[[1, 1, 0]]], "full_kv_indices": [[[[0], [1], [5]]]]}
TRANSPOSED = {"q_num_blocks": [[[1, 1, 1]]], "q_indices": [[[[2], [2], [0]]]],
              "full_q_num_blocks": [[[1, 1, 0]]], "full_q_indices": [[[[0, 1], [1, 0], [0, 0]]]]}


def with_lists(**lists):
    """Returns LISTS with other entries. None leaves one out."""
    merged = copy.deepcopy(LISTS) | lists
    return {name: value for name, value in merged.items() if value is not None}


class BlocksTest(CommandLineTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = os.path.join(self.folder, "blocks.json")

    def attention(self, lists, *arguments, code=0):
        text = lists if isinstance(lists, str) else json.dumps(lists)
        pathlib.Path(self.file).write_text(text)
        return self.run_tegula("attention", *SMALL, "--blocks", self.file, *arguments, code=code)

    def seen(self, lists, *arguments):
        """Returns the number of keys that each query sees, by batch entry, head and query."""
        self.attention(lists, "--scale", "1e-30", "--save", self.folder, *arguments)
        _, lse = read_npy(os.path.join(self.folder, "lse.npy"))
        counts = [round(math.exp(x)) for x in lse]
        return [[counts[(batch * 4 + head) * QUERIES:][:QUERIES] for head in range(4)] for batch in range(2)]

    def test_queries_see_the_keys_of_listed_blocks(self):
        expected = 16 * [32 + 6] + 16 * [32] + 8 * [64]
        self.assertEqual(self.seen(LISTS), 2 * [4 * [expected]])
        self.assertEqual(self.seen(with_lists(full_kv_num_blocks=None, full_kv_indices=None))[1][3],
                         16 * [6] + 16 * [0] + 8 * [64])
        self.assertEqual(self.seen(LISTS | TRANSPOSED)[0][0], expected)
        self.assertEqual(self.seen(with_lists(full_kv_num_blocks=None, full_kv_indices=None), "--causal", "top_left")[0][0],
                         16 * [0] + 16 * [0] + list(range(33, 41)))

    def test_batch_entries_and_heads_may_have_lists_of_their_own(self):
        counts = [[[head + batch if row == 0 else 0 for row in range(3)] for head in range(4)] for batch in range(2)]
        lists = {"BLOCK_SIZE": 20, "kv_num_blocks": [[row[:2] for row in entry] for entry in counts],
                 "kv_indices": 2 * [4 * [2 * [[3, 2, 1, 0]]]]}
        seen = self.seen(lists)
        for batch in range(2):
            for head in range(4):
                keys = sum([10, 20, 20, 20][:head + batch])
                self.assertEqual(seen[batch][head], 20 * [keys] + 20 * [0])

    def test_results_are_right_forward_and_backward(self):
        for arguments in [], ["--causal", "bottom_right"], ["--variant", "mask"], ["--variant", "window_with_globals"], \
                ["--deterministic", "--sinks", "--dropout", "0.25"], ["--variant", "bias", "--dtype", "bf16"]:
            with self.subTest(arguments):
                answer = json.loads(self.attention(LISTS, *arguments, "--check", "--backward", "--json").stdout)
                self.assertEqual(answer["block_mask"], "given")
                self.assertLessEqual(answer["backward"]["dk_error_ratio"], 2)

    def test_full_blocks_have_no_mask(self):
        seen = self.seen(LISTS, "--variant", "mask")[0][0]
        self.assertTrue(all(32 <= keys < 38 for keys in seen[:16]), seen)
        self.assertEqual(seen[16:32], 16 * [32])
        self.assertTrue(all(16 < keys < 48 for keys in seen[32:]), seen)

    def test_the_message_names_what_is_wrong_in_the_file(self):
        mistakes = [
            ("kv", "it is not JSON"),
            ([1], "it is an array; it must be an object with 'kv_num_blocks' and 'kv_indices'"),
            (with_lists(kv_index=1), "'kv_index' is not one of BLOCK_SIZE, kv_num_blocks, kv_indices, full_kv_num_blocks, "
             "full_kv_indices, q_num_blocks, q_indices, full_q_num_blocks, full_q_indices"),
            (with_lists(kv_indices=None), "'kv_indices' is missing"),
            (with_lists(full_kv_indices=None), "'full_kv_indices' is missing; 'full_kv_num_blocks' needs it"),
            (with_lists(BLOCK_SIZE=[16]),
             "'BLOCK_SIZE' has 1 entries; it must have 2, the queries and the keys of a block"),
            (with_lists(BLOCK_SIZE=[16, 0]),
             "'BLOCK_SIZE[1]' is 0; it must be a whole number from 1 to 1073740800"),
            (with_lists(kv_num_blocks=3), "'kv_num_blocks' is 3; it must be an array"),
            (with_lists(kv_num_blocks=3 * [[[1, 0, 2]]]),
             "'kv_num_blocks' has 3 entries; it must have 1, or 2, one for each batch entry"),
            (with_lists(kv_num_blocks=[2 * [[1, 0, 2]]]),
             "'kv_num_blocks[0]' has 2 entries; it must have 1, or 4, one for each head"),
            (with_lists(kv_num_blocks=[[[1, 0]]]),
             "'kv_num_blocks[0][0]' has 2 entries; it must have 3, one for each row of blocks"),
            (with_lists(kv_indices=2 * LISTS["kv_indices"]),
             "'kv_indices' has 2 entries; it must have 1, as 'kv_num_blocks' has"),
            (with_lists(kv_num_blocks=[[[1, 0, 4]]]), "'kv_num_blocks[0][0][2]' is 4; it must be a whole number from 0 to 3, "
             "the length of 'kv_indices[0][0][2]'"),
            (with_lists(kv_num_blocks=[[[1, 0.5, 2]]]), "'kv_num_blocks[0][0][1]' is 0.5; it must be a whole number from 0 "
             "to 3, the length of 'kv_indices[0][0][1]'"),
            (with_lists(kv_indices=[[[[3, 0, 0], [9], [0, 1, 7]]]]), "'kv_indices[0][0][0][0]' is 3; it must be a whole "
             "number from 0 to 2, because there are 3 blocks"),
            (with_lists(kv_indices=[[[["2"], [9], [0, 1, 7]]]]), "'kv_indices[0][0][0][0]' is \"2\"; it must be a whole "
             "number from 0 to 2, because there are 3 blocks"),
            (with_lists(full_kv_indices=[[[[2], [1], [5]]]]),
             "'full_kv_indices[0][0][0][0]' is 2, which this row lists already; a block must be listed once"),
            (LISTS | TRANSPOSED | {"q_indices": [[[[2], [1], [0]]]]},
             "'q_indices[0][0][1]' lists other blocks than the transposed 'kv_indices'; leave out 'q_num_blocks' and "
             "'q_indices', which are not needed"),
        ]
        for lists, message in mistakes:
            with self.subTest(message):
                self.assertEqual(self.attention(lists, code=2).stderr, f"tegula: --blocks: '{self.file}': {message}\n")

    def test_options_that_contradict_each_other(self):
        self.assertEqual(self.attention(LISTS, "--block-mask", "computed", code=2).stderr,
                         "tegula: --blocks: it gives the blocks, but --block-mask is 'computed'; leave out one\n")
        self.assertEqual(self.run_tegula("attention", "--block-mask", "given", code=2).stderr,
                         "tegula: --block-mask: 'given' needs the file of --blocks\n")
        self.assertEqual(self.run_tegula("attention", "--blocks", "/nowhere", code=2).stderr,
                         "tegula: --blocks: cannot read '/nowhere': No such file or directory\n")

    def test_the_example_writes_what_the_command_reads(self):
        spec = importlib.util.spec_from_file_location("write_blocks", EXAMPLE / "write_blocks.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        tensor = lambda numbers: types.SimpleNamespace(tolist=lambda: numbers)
        mask = types.SimpleNamespace(**{name: tensor(value) for name, value in LISTS.items()})
        mask.BLOCK_SIZE, mask.full_kv_num_blocks, mask.full_kv_indices = (BLOCK_Q, BLOCK_K), None, None
        module.write_blocks(mask, self.file)
        written = json.loads(pathlib.Path(self.file).read_text())
        self.assertEqual(self.seen(written)[1][3], 16 * [6] + 16 * [0] + 8 * [64])


if __name__ == "__main__":
    unittest.main()
