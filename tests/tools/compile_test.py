# SPDX-License-Identifier: MIT
"""Tests `tegula compile`: every phase of a program, to standard output or a file."""

import os
import re
import subprocess
import tempfile
import unittest

from command_line import CommandLineTest
from missing_tool import missing_tool

PROGRAM = """
module attributes {tile.version = 1 : i64} {
  func.func @scale_rows(%x: !tile.view<2xf32> {tile.name = "x", tile.written}, %scale: f32 {tile.name = "scale"}) {
    %block = tile.program_id 0
    %rows = arith.constant 4 : index
    %row = arith.muli %block, %rows : index
    %column = arith.constant 0 : index
    %tile = tile.load %x[%row, %column] : !tile.view<2xf32> -> tensor<4x8xf32>
    %factor = tile.broadcast %scale : f32 -> tensor<4x8xf32>
    %scaled = arith.mulf %tile, %factor : tensor<4x8xf32>
    tile.store %scaled, %x[%row, %column] : tensor<4x8xf32>, !tile.view<2xf32>
    return
  }
}
"""

KERNELS = """standard_scores standard_softmax standard_output flash1_forward flash2_forward flash2_backward_preprocess
    flash2_backward flash2_backward_postprocess""".split()

# A piece of text that the output of each phase has.
MARKS = {
    "tile": "tile.load",
    "simplify": "tile.load",
    "plan": "tile.load",
    "loops": "memref",
    "llvm": "define void @scale_rows",
    "asm": ".globl\tscale_rows",
}

CUDA_KERNEL = "--kernel flash2_forward --target cuda --arch sm_90 --dtype bf16 --head-dim 16 --schedule".split()
CUDA_KERNEL.append("block_m=16 block_n=16 num_warps=1")

CUDA_MARKS = {
    "tile": "tile.softmax",
    "simplify": "math.exp2",
    "layouts": "sm.mma",
    "roles": "sm.load_shared",
    "shared": "sm.barrier",
    "threads": "func.func @flash2_forward",
    "nvvm": "llvm.func @flash2_forward",
    "llvm": "define ptx_kernel void @flash2_forward",
    "ptx": r"\.target sm_90",
    "report": r"(?m)^threads +32$",
    "order": "no loop has an order of MMAs: only consumers have one",
}


class CompileTest(CommandLineTest):
    def test_the_diagonal_offset_is_a_tensor_of_the_program(self):
        for options, given in ([], False), (["--diagonal-offset", "5"], True), (["--diagonal-offset", "0"], True):
            text = self.run_tegula("compile", *CUDA_KERNEL, "--causal", "top_left", *options, "--emit", "tile").stdout
            self.assertEqual('tile.name = "diagonal_offset"' in text, given)

    def test_a_variant_modifies_a_kernel(self):
        plain, softcap = (self.run_tegula("compile", *CUDA_KERNEL, *options, "--emit", "tile").stdout
                          for options in ([], ["--variant", "softcap"]))
        self.assertNotIn("math.tanh", plain)
        self.assertIn("math.tanh", softcap)
        result = self.run_tegula("compile", "-", "--variant", "softcap", "--emit", "tile", stdin=PROGRAM, code=2)
        self.assertIn("--variant: it modifies a --kernel", result.stderr)

    def test_a_variant_of_the_users_own_is_text(self):
        text = ("variant 1\ntensor table f32[heads]\nscore = score + tanh(table[head])\nmask = key <= query\n"
                "probability = sin(probability)\n")
        options = [*CUDA_KERNEL, "--emit", "tile", "--variant-text"]
        found = self.run_tegula("compile", *options, "-", "--variant", "softcap", stdin=text).stdout
        for mark in ("math.tanh", "math.sin", 'tile.name = "table"', "arith.cmpi sle"):
            self.assertIn(mark, found)
        result = self.run_tegula("compile", *options, "-", stdin="variant 1\nmask = qeury > 2\n", code=2)
        self.assertIn("variant text, line 2, column 8: 'qeury' is not defined", result.stderr)
        result = self.run_tegula("compile", *options, "/nowhere", code=2)
        self.assertIn("--variant-text: ", result.stderr)
        result = self.run_tegula("compile", "-", "--variant-text", "x", "--emit", "tile", stdin=PROGRAM, code=2)
        self.assertIn("--variant-text: it modifies a --kernel", result.stderr)

    def test_the_gradient_of_lse_is_an_argument_of_the_kernel_that_takes_it(self):
        options = "--kernel flash2_backward_preprocess --head-dim 16 --emit tile".split()
        without, taken = (self.run_tegula("compile", *options, *more).stdout for more in ([], ["--lse-gradient"]))
        self.assertNotIn('"d_lse"', without)
        self.assertIn('"d_lse"', taken)
        result = self.run_tegula("compile", "-", "--lse-gradient", "--emit", "tile", stdin=PROGRAM, code=2)
        self.assertIn("--lse-gradient: it modifies a --kernel", result.stderr)

    def test_every_phase_from_standard_input(self):
        for phase, mark in MARKS.items():
            with self.subTest(phase):
                result = self.run_tegula("compile", "-", "--target", "cpu", "--emit", phase, stdin=PROGRAM)
                self.assertIn(mark, result.stdout)
                self.assertEqual(result.stderr, "")

    def test_every_kernel_of_attention_by_its_name(self):
        for kernel in KERNELS:
            with self.subTest(kernel):
                text = self.run_tegula("compile", "--kernel", kernel, "--dtype", "bf16", "--head-dim", "16",
                                       "--schedule", "block_m=16 block_n=8", "--emit", "tile").stdout
                self.assertIn(f"func.func @{kernel}(", text)
                self.assertRegex(text, "tensor<16x(8|16)x")

    def test_every_phase_of_the_cuda_target(self):
        for phase, mark in CUDA_MARKS.items():
            with self.subTest(phase):
                result = self.run_tegula("compile", *CUDA_KERNEL, "--emit", phase)
                self.assertRegex(result.stdout, mark)
                self.assertEqual(result.stderr, "")

    def test_what_a_schedule_asks_for_in_vain_is_a_remark(self):
        result = self.run_tegula("compile", "--kernel", "flash2_forward", "--target", "cuda", "--arch", "sm_90a", "--dtype", "f32",
                                 "--schedule", "block_m=64 block_n=32 num_warps=4 roles=load", "--emit", "ptx")
        remark = r"(?m)^tegula: remark: kernels/\S+:\d+: "
        self.assertRegex(result.stderr, remark + r"roles=load has no effect: no loop loads .*; all warps copy$")
        self.assertRegex(result.stderr, remark + r"is not computed by tensor cores: f32 is multiplied exactly; cast .*Precision::tf32$")
        self.assertIn(".version", result.stdout)

    def test_a_refusal_is_a_line_and_no_dump(self):
        result = self.run_tegula("compile", "--kernel", "flash2_forward", "--target", "cuda", "--arch", "sm_90a", "--dtype", "bf16",
                                 "--schedule", "block_m=256 block_n=16 num_warps=16 roles=load instances_per_sm=4", "--emit", "ptx",
                                 code=1)
        self.assertRegex(result.stderr, r"error: num_warps of 16 and instances_per_sm of 4 leave a thread 16 registers; .*\n$")
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_a_cubin_is_an_elf_file(self):
        if "ptxas" not in self.run_tegula("compile", *CUDA_KERNEL, "--emit", "report").stdout:
            missing_tool("ptxas")
        result = self.run_tegula("compile", *CUDA_KERNEL, "--emit", "cubin", text=False)
        self.assertIn(b"\x7fELF", result.stdout[:100])

    def test_a_cubin_is_ptx_without_an_assembler(self):
        result = self.run_tegula("compile", *CUDA_KERNEL, "--emit", "cubin", environment={"TEGULA_PTXAS": ""})
        self.assertIn(".version", result.stdout[:100])

    def test_an_object_is_an_elf_file(self):
        with tempfile.TemporaryDirectory() as folder:
            program, output = os.path.join(folder, "p.mlir"), os.path.join(folder, "p.so")
            with open(program, "w") as file:
                file.write(PROGRAM)
            result = self.run_tegula("compile", program, "--emit", "object", "-o", output)
            self.assertEqual(result.stdout, "")
            with open(output, "rb") as file:
                self.assertEqual(file.read(4), b"\x7fELF")

    def test_a_refused_program_is_a_failure_with_the_compilers_words(self):
        for program in "func.func @f( {", PROGRAM.replace("8xf32> -> tensor<4x8", "8xf32> -> tensor<4x9", 1) + "garbage":
            result = self.run_tegula("compile", "-", "--emit", "tile", stdin=program, code=1)
            self.assertEqual(result.stdout, "")
            self.assertIn("error: ", result.stderr)

    def test_a_compiler_that_crashes_is_an_error_with_a_reproducer(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.run_tegula("compile", "-", "--emit", "tile", stdin="abort", code=1, environment={
                "TEGULA_CC": os.environ["TEGULA_STAND_IN_CC"], "XDG_CACHE_HOME": folder})
            self.assertEqual(result.stdout, "")
            self.assertIn("tegula: the compiler was killed by signal 6 (SIGABRT)", result.stderr)
            reproducer = re.search("tegula-opt --replay (.*)", result.stderr)[1]
            with open(reproducer) as file:
                self.assertIn("abort", file.read())

    def test_without_a_worker_there_is_no_compiler(self):
        result = self.run_tegula("compile", "-", "--emit", "asm", stdin=PROGRAM, code=2, environment={"TEGULA_CC": ""})
        self.assertEqual((result.stdout, result.stderr), ("", "tegula: there is no compiler: $TEGULA_CC is set but empty\n"))

    def test_a_worker_that_is_not_there_is_named(self):
        result = self.run_tegula("compile", "-", "--emit", "tile", stdin=PROGRAM, code=2,
                                 environment={"TEGULA_CC": "/nowhere/tegula-cc"})
        self.assertIn("'/nowhere/tegula-cc' cannot be started", result.stderr)

    def test_a_dash_is_standard_output(self):
        plain = self.run_tegula("compile", "-", "--emit", "tile", stdin=PROGRAM)
        self.assertIn(MARKS["tile"], plain.stdout)
        self.assertEqual(self.run_tegula("compile", "-", "--emit", "tile", "-o", "-", stdin=PROGRAM).stdout, plain.stdout)

    def test_output_that_cannot_be_written_names_the_option(self):
        result = self.run_tegula("compile", "-", "--emit", "tile", "-o", "/dev/null/x", stdin=PROGRAM, code=2)
        self.assertEqual(result.stderr, "tegula: --output: cannot write '/dev/null/x': Not a directory\n")

    def test_a_limit_on_the_size_of_files_is_an_error_that_names_the_option(self):
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "out")
            result = subprocess.run(["prlimit", "--fsize=100", os.environ["TEGULA"], "compile", "-", "--emit", "tile",
                                     "-o", output], input=PROGRAM, capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stderr),
                             (1, f"tegula: --output: cannot write '{output}': File too large\n"))
            with open(os.path.join(folder, "full"), "w+") as full:  # Messages have no room either.
                full.write("x" * 200)
                full.flush()
                command = ["prlimit", "--fsize=100", os.environ["TEGULA"], *"compile - --emit tile -o".split(), output]
                self.assertEqual(subprocess.run(command, input=PROGRAM, text=True, stderr=full).returncode, 1)


if __name__ == "__main__":
    unittest.main()
