# SPDX-License-Identifier: MIT
"""Tests that --help explains every option and shows legal examples."""

import re
import shlex
import unittest

from command_line import CommandLineTest

ATTENTION_OPTIONS = """--algorithm --target --batch --heads --kv-heads --seqlen-q --seqlen-k --head-dim --value-dim
    --dtype --causal --scale --backward --seed --check --save --json --untuned --no-cache --cu-seqlens --cu-seqlens-k
    --page-size""".split()

DECODE_OPTIONS = """--batch --heads --kv-heads --seqlen-q --seqlen-k --lengths --head-dim --value-dim --dtype --causal --sinks
    --variant --latent --page-size --keys-per-part --splits --prefix --scale --seed --target --schedule --no-cache --check
    --check-finite --repeat --json""".split()

TUNE_OPTIONS = """--target --batch --heads --kv-heads --seqlen-q --seqlen-k --head-dim --value-dim --dtype --causal --scale
    --variant --seed --backward --budget --candidates --no-cache --again --exhaustive
    --schedule --rounds --seconds --json --html --arg --size --grid --tolerance""".split()

SIMT_OPTIONS = """--arg --size --grid --tolerance --row-gaps --arch --schedule --schedules --scheduler --mutate --traffic
    --seed""".split()

COMPARE_OPTIONS = "--arg --size --grid --tolerance --row-gaps --target --schedule --seed".split()

BENCH_OPTIONS = """--decode --varlen --head-dim --seqlen --causal --passes --algorithms --dtype --tokens --hidden --target --seconds --no-check
    --add --json --html --untuned --no-cache --arg --size --grid --tolerance""".split()


class HelpTest(CommandLineTest):
    def test_top_level_names_the_commands(self):
        text = self.run_tegula("--help").stdout
        for command in "attention", "bench", "cache", "compare", "compile", "decode", "devices", "simt", "tune":
            self.assertRegex(text, rf"\n  {command} +\w+")

    def test_bench_explains_every_option(self):
        text = self.run_tegula("bench", "--help").stdout
        for option in BENCH_OPTIONS:
            self.assertRegex(text, rf"\n  {option}( [A-Z]+)?( \.\.\.)? +[A-Z0-9]\w*", option)

    def test_attention_explains_every_option(self):
        text = self.run_tegula("attention", "--help").stdout
        for option in ATTENTION_OPTIONS:
            self.assertRegex(text, rf"\n  {option}( [A-Z]+)?( \.\.\.)? +[A-Z0-9]\w*", option)

    def test_decode_explains_every_option(self):
        text = self.run_tegula("decode", "--help").stdout
        for option in DECODE_OPTIONS:
            self.assertRegex(text, rf"\n  {option}( [A-Z]+)?( \.\.\.)? +[A-Z0-9]\w*", option)

    def test_tune_explains_every_option(self):
        text = self.run_tegula("tune", "--help").stdout
        for option in TUNE_OPTIONS:
            self.assertRegex(text, rf"\n  {option}( [A-Z]+)? +[A-Z0-9]\w*", option)

    def test_simt_and_compare_explain_every_option(self):
        for command, options in ("simt", SIMT_OPTIONS), ("compare", COMPARE_OPTIONS):
            text = self.run_tegula(command, "--help").stdout
            for option in options:
                self.assertRegex(text, rf"\n  {option}( [A-Z]+)? +[A-Za-z0-9]\w*", option)

    def test_examples_are_legal(self):
        for command in "attention", "decode":
            text = self.run_tegula(command, "--help").stdout
            examples = re.findall(rf"\n  tegula ({command} .*?)(?:   .*)?(?=\n)", text)
            self.assertGreaterEqual(len(examples), 3)
            for example in examples:
                self.run_tegula(*shlex.split(example), "--help")

    def test_compile_explains_every_phase(self):
        text = self.run_tegula("compile", "--help").stdout
        for phase in "tile simplify plan loops llvm asm object layouts shared threads nvvm ptx cubin report".split():
            self.assertRegex(text, rf"\n  {phase} +\w+")


if __name__ == "__main__":
    unittest.main()
