# SPDX-License-Identifier: MIT
"""Bad input gives one sentence that names the argument, its value and what is legal, and the exit code 2."""

import pathlib
import tempfile
import unittest

from command_line import CommandLineTest

SEE_ATTENTION = "; `tegula attention --help` lists what is legal"

# The end of a refusal of a number that f32 cannot hold.
NO_F32 = "is not a number from -3.4028235e+38 to 3.4028235e+38, such as 0.125"

# Arguments of `tegula attention`, and the answer.
ATTENTION = [
    ("--heads many", "--heads: 'many' is not a whole number from 0 to 2147483647" + SEE_ATTENTION),
    ("--batch -1", "--batch: '-1' is not a whole number from 0 to 2147483647" + SEE_ATTENTION),
    ("--seqlen-q 1e3", "--seqlen-q: '1e3' is not a whole number from 0 to 2147483647" + SEE_ATTENTION),
    ("--seqlen-k 2147483648", "--seqlen-k: '2147483648' is not a whole number from 0 to 2147483647" + SEE_ATTENTION),
    ("--head-dim 0", "--head-dim: '0' is not a whole number from 1 to 1024" + SEE_ATTENTION),
    ("--dtype f64", "--dtype: 'f64' is not one of f32, f16 or bf16" + SEE_ATTENTION),
    ("--causal yes", "--causal: 'yes' is not one of none, top_left or bottom_right" + SEE_ATTENTION),
    ("--algorithm flash3", "--algorithm: 'flash3' is not one of standard, flash1 or flash2" + SEE_ATTENTION),
    ("--target gpu", "--target: 'gpu' is not one of auto, cpu, cuda, simt or simt:sm_90a" + SEE_ATTENTION),
    ("--scale nan", f"--scale: 'nan' {NO_F32}" + SEE_ATTENTION),
    ("--scale inf", f"--scale: 'inf' {NO_F32}" + SEE_ATTENTION),
    ("--scale 1e39", f"--scale: '1e39' {NO_F32}" + SEE_ATTENTION),
    ("--scale -3.5e38", f"--scale: '-3.5e38' {NO_F32}" + SEE_ATTENTION),
    ("--scale 1e-46", f"--scale: '1e-46' {NO_F32}; 1e-45 is the nearest to 0" + SEE_ATTENTION),
    ("--seed -1", "--seed: '-1' is not a whole number from 0 to 9223372036854775807" + SEE_ATTENTION),
    ("--diagonal-offset 1073740801",
     "--diagonal-offset: '1073740801' is not a whole number from -1073740800 to 1073740800" + SEE_ATTENTION),
    ("--head-dim 4294967360", "--head-dim: '4294967360' is not a whole number from 1 to 1024" + SEE_ATTENTION),
    ("--kv-heads 3", "--kv-heads: '3' does not divide --heads 8"),
    ("--algorithm flash1 --backward", "--algorithm: 'flash1' has no backward pass; use flash2, or leave out --backward"),
    ("--algorithm standard --backward",
     "--algorithm: 'standard' has no backward pass; use flash2, or leave out --backward"),
    ("--row-gaps 1,2,3", "--row-gaps: 3 numbers; give one, or four for q, k, v and o"),
    ("--row-gaps 1,-2", "--row-gaps: '-2' is not a whole number from 0 to 65536" + SEE_ATTENTION),
    ("--heads", "--heads needs a value" + SEE_ATTENTION),
    ("--speed 3", "'--speed', '3' is no option of `tegula attention`" + SEE_ATTENTION),
    ("--cu-seqlens 0", "--cu-seqlens: one number is no sequence; give where each begins, and where the last one ends"),
    ("--cu-seqlens 1,3", "--cu-seqlens: '1' is where the first sequence begins; it must be 0"),
    ("--cu-seqlens 0,3,2", "--cu-seqlens: '2' comes after 3; the numbers must not decrease"),
    ("--cu-seqlens 0,x", "--cu-seqlens: 'x' is not a whole number from 0 to 1073741824" + SEE_ATTENTION),
    ("--cu-seqlens 0,3 --cu-seqlens-k 0,3,4", "--cu-seqlens-k: 3 numbers, but --cu-seqlens has 2"),
    ("--cu-seqlens-k 0,3", "--cu-seqlens-k requires --cu-seqlens" + SEE_ATTENTION),
    ("--cu-seqlens 0,3 --causal top_left", "--causal: 'top_left' with --cu-seqlens; legal are none and bottom_right"),
    ("--cu-seqlens 0,3 --seqlen-q 3", "--seqlen-q excludes --cu-seqlens" + SEE_ATTENTION),
    ("--page-size 16", "--page-size requires --cu-seqlens" + SEE_ATTENTION),
    ("--cu-seqlens 0,3 --page-size -1", "--page-size: '-1' is not a whole number from 0 to 1073741824" + SEE_ATTENTION),
    ("--cu-seqlens 0,3 --page-size 16 --backward", "--backward excludes --page-size" + SEE_ATTENTION),
    ("--cu-seqlens 0,3 --page-size 1073741824", "argument 'page_size': it is 1073741824; it must be 0, or from 1 to 1073740800"),
    ("--save /dev/null/folder", "--save: cannot create '/dev/null/folder': Not a directory"),
]

SEE_DECODE = "; `tegula decode --help` lists what is legal"

# Arguments of `tegula decode`, and the answer.
DECODE = [
    ("--batch 0", "--batch: '0' is not a whole number from 1 to 2147483647" + SEE_DECODE),
    ("--lengths 3,x", "--lengths: 'x' is neither lognormal nor a whole number from 0 to 1073741824" + SEE_DECODE),
    ("--lengths 3,lognormal", "--lengths: 'lognormal' stands for all lengths; give it alone" + SEE_DECODE),
    ("--lengths 1,2 --batch 3", "--batch: '3', but --lengths has 2; leave out --batch"),
    ("--kv-heads 3", "--kv-heads: '3' does not divide --heads 8"),
    ("--splits 0", "--splits: '0' is neither auto nor a whole number from 1 to 1048576" + SEE_DECODE),
    ("--causal top_left", "--causal: 'top_left' is not one of none or bottom_right" + SEE_DECODE),
    ("--variant documents",
     "--variant: 'documents' is not one of softcap, alibi, sliding_window, bias or mask" + SEE_DECODE),
    ("--latent --value-dim 65", "--value-dim: '65' columns of --latent keys with 64 columns"),
    ("--latent --prefix 5", "--prefix: leave it out, or leave out --latent"),
    ("--page-size -1", "--page-size: '-1' is not a whole number from 0 to 1073741824" + SEE_DECODE),
    ("--keys-per-part 100", "argument 'keys_per_part': it is 100; it must be 0 or a multiple of 256"),
]

# A program with a scalar of any type.
SCALAR_PROGRAM = """module attributes {tile.version = 1 : i64} {
  func.func @scalar(%a: TYPE {tile.name = "a"}) {
    return
  }
}
"""

# Arguments of `tegula`, and the answer.
OTHERS = [
    ("", "a command is missing; `tegula --help` lists what is legal"),
    ("bake", "'bake' is no command; `tegula --help` lists what is legal"),
    ("compile", "--emit is required; `tegula compile --help` lists what is legal"),
    ("compile --emit tile", "there is nothing to compile: name a PROGRAM or a --kernel"),
    ("compile - --kernel flash2_forward --emit tile", "--kernel: it takes the place of PROGRAM; give one of them"),
    ("compile --kernel flash9 --emit tile",
     "--kernel: 'flash9' is not one of standard_scores, standard_softmax, standard_output, flash1_forward, "
     "flash2_forward, flash2_forward_contain, flash2_backward_delta, flash2_backward_preprocess, flash2_backward, "
     "flash2_backward_postprocess, flash2_backward_sink, attention_scores, merge, merge_backward, block_states, "
     "tile_states_of_queries, tile_states_of_keys, visit_lists, visit_order, visit_ranks, "
     "strips_of_queries or strips_of_keys; `tegula compile --help` lists what is legal"),
    ("bench --head-dim 64,nine",
     "--head-dim: 'nine' is not a whole number from 8 to 256; `tegula bench --help` lists what is legal"),
    ("bench --passes sideways",
     "--passes: 'sideways' is not one of forward or backward; `tegula bench --help` lists what is legal"),
    ("bench --seconds -1",
     "--seconds: '-1' is not a number from 0 to 1000000, such as 0.125; `tegula bench --help` lists what is legal"),
    ("bench --seconds 1e300",
     "--seconds: '1e300' is not a number from 0 to 1000000, such as 0.125; `tegula bench --help` lists what is legal"),
    ("tune --budget inf",
     "--budget: 'inf' is not a number from 0 to 1000000, such as 0.125; `tegula tune --help` lists what is legal"),
    ("tune --arg q=f32[4]", "--arg requires PROGRAM; `tegula tune --help` lists what is legal"),
    ("tune --candidates 4294967297",
     "--candidates: '4294967297' is not a whole number from 1 to 100000; `tegula tune --help` lists what is legal"),
    ("simt copy.mlir --seed -1", "--seed: '-1' is not a whole number from 0 to 9223372036854775807; "
     "`tegula simt --help` lists what is legal"),
    ("simt copy.mlir --tolerance 0",
     "--tolerance: '0' is not a number from 1e-30 to 1000000, such as 0.125; `tegula simt --help` lists what is legal"),
    ("compile nowhere.mlir --emit tile", "PROGRAM: cannot read 'nowhere.mlir': No such file or directory"),
    ("compile - --emit ptx",
     "--emit: 'ptx' is no phase of the cpu target; its phases are tile, simplify, plan, loops, llvm, asm and object"),
    ("compile - --target cuda --emit asm",
     "--emit: 'asm' is no phase of the cuda target; its phases are tile, simplify, layouts, roles, shared, threads, nvvm, "
     "llvm, ptx, cubin, report and order"),
]


class BadInputTest(CommandLineTest):
    def check(self, arguments, answer):
        with self.subTest(arguments):
            result = self.run_tegula(*arguments.split(), code=2)
            self.assertEqual(result.stderr, f"tegula: {answer}\n")
            self.assertEqual(result.stdout, "")

    def test_attention(self):
        for arguments, answer in ATTENTION:
            self.check("attention " + arguments, answer)

    def test_decode(self):
        for arguments, answer in DECODE:
            self.check("decode " + arguments, answer)

    def test_others(self):
        for arguments, answer in OTHERS:
            self.check(arguments, answer)

    def test_a_scalar_of_a_program_is_a_number_of_its_type(self):
        program = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "program.mlir")
        for dtype, legal, wrong in [
                ("f32", "a number that f32 holds, such as 0.125", ["1e39", "1e-46", "many"]),
                ("i32", "a whole number from -2^31 to 2^31 - 1", ["2147483648", "1.5", "many"]),
                ("i64", "a whole number from -2^53 to 2^53", ["9007199254740993", "1e3", "many"])]:
            program.write_text(SCALAR_PROGRAM.replace("TYPE", dtype))
            for text in wrong:
                with self.subTest(dtype=dtype, text=text):
                    result = self.run_tegula("simt", program, "--arg", f"a={text}", "--grid", "1", code=2)
                    self.assertEqual(result.stderr, f"tegula: --arg: 'a={text}' needs {legal} after '=', because the "
                                     f"argument is {dtype}\n")

    def test_what_the_library_refuses_is_bad_input_too(self):
        result = self.run_tegula("attention", "--head-dim", "577", code=2)
        self.assertIn("head_dim", result.stderr)
        self.assertIn("577", result.stderr)

    def test_a_gpu_that_is_not_there_is_said_to_be_missing(self):
        nowhere = {"TEGULA_LIBCUDA": "/nowhere/libcuda.so"}
        result = self.run_tegula("attention", "--target", "cuda", code=2, environment=nowhere)
        self.assertIn("/nowhere/libcuda.so", result.stderr)
        self.assertIn("on cpu:", self.run_tegula("attention", "--seqlen-q", "8", environment=nowhere).stdout)

    def test_tensors_that_do_not_fit_are_refused_before_they_are_allocated(self):
        result = self.run_tegula("attention", "--batch", "1000000", "--seqlen-q", "1000000", code=1)
        self.assertRegex(result.stderr, r"^tegula: the tensors take [\d.]+ GiB, but only [\d.]+ GiB are available")


if __name__ == "__main__":
    unittest.main()
