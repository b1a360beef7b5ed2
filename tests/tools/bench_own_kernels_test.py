# SPDX-License-Identifier: MIT
"""Tests tools/bench-own-kernels without a GPU: its goals, what it does with wrong results, and on the cpu that its programs
take the arguments that it passes."""

import ctypes
import importlib.machinery
import importlib.util
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path += [str(ROOT / "bench"), str(ROOT / "host" / "python")]
sys.dont_write_bytecode = True

from performance import goals  # noqa: E402


def load_tool():
    loader = importlib.machinery.SourceFileLoader("bench_own_kernels", str(ROOT / "tools" / "bench-own-kernels"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class GoalsTest(unittest.TestCase):
    def test_the_fastest_peer_counts(self):
        self.assertEqual(goals.judge("sigmoid_forward", {"tegula": 1.0, "triton": 1.6, "compiled": 3.0}),
                         {"factor": 1.6, "goal": 1.5, "reached": True})
        self.assertFalse(goals.judge("row_softmax", {"tegula": 1.0, "copy": 0.79})["reached"])

    def test_without_a_time_there_is_no_verdict(self):
        for ms in {}, {"tegula": 1.0}, {"triton": 1.0}:
            self.assertIsNone(goals.judge("sigmoid_forward", ms)["reached"])


class Work:
    """A launch that takes 1 ms and gives a number."""
    how, launches, step = "stream", 1, None

    def __init__(self, run):
        self.result = run()

    def outputs(self):
        return [self.result]


class Monitor:
    def start(self):
        pass

    def stop(self):
        return {"nvml_clock_mhz": 1700, "power_w": None}


def module_with(runs):
    """Stands in for performance/own_kernels.py with functions instead of kernels; the right result is 1."""
    problem = types.SimpleNamespace(reference=lambda: [1.0], implementations=lambda programs: runs)
    timer = types.SimpleNamespace(run=lambda steps: [(1.0, 1650)] * len(steps))
    return types.SimpleNamespace(Work=Work, timer=timer, make=lambda name, small: problem)


class MeasureTest(unittest.TestCase):
    def setUp(self):
        self.tool = load_tool()
        self.tool.distance = lambda torch, outputs, reference: abs(outputs[0] - reference[0])
        self.options = types.SimpleNamespace(rounds=3, seconds=0.01)

    def measure(self, **runs):
        return self.tool.measure(None, module_with(runs), None, "sigmoid_forward", self.options, Monitor())

    def test_right_results_are_timed(self):
        row = self.measure(tegula=lambda: 1.0, triton=lambda: 1.001)
        self.assertEqual((row["factor"], row["reached"]), (1.0, False))
        self.assertEqual(row["results"]["tegula"]["samples_ms"], [1.0] * 3)
        self.assertEqual([row["results"]["triton"][clock] for clock in ("sm_clock_mhz", "nvml_clock_mhz")], [1650, 1700])

    def test_wrong_results_are_not_timed(self):
        for wrong in 1.1, float("nan"):
            row = self.measure(tegula=lambda: wrong, triton=lambda: 1.0)
            self.assertEqual(list(row["results"]), ["triton"])
            self.assertIsNone(row["reached"])

    def test_a_peer_that_fails_is_named(self):
        def fails():
            raise RuntimeError("no such\nkernel")

        row = self.measure(tegula=lambda: 1.0, triton=fails)
        self.assertEqual(row["difference"]["triton"], "no such kernel")
        self.assertIsNone(row["reached"])


class ProgramsTest(unittest.TestCase):
    """On the cpu, with memory of Python's own: integers as bf16."""

    @classmethod
    def setUpClass(cls):
        import libtegula
        cls.tegula, cls.folder = libtegula, tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        subprocess.run([os.environ["TEGULA_OWN_KERNELS"], cls.folder.name], check=True)
        cls.context = libtegula.Context(libtegula.ContextOptions())

    def kernel(self, name):
        return self.tegula.Kernel(self.context, pathlib.Path(self.folder.name, f"{name}.mlir").read_text())

    def matrix(self, words, rows, columns):
        shape, strides = ((rows, columns), (columns, 1)) if rows else ((columns,), (1,))
        return self.tegula.Tensor(ctypes.addressof(words), self.tegula.BF16, len(shape), shape, strides)

    def test_parameters_are_those_that_are_passed(self):
        self.assertEqual(sorted(file.stem for file in pathlib.Path(self.folder.name).iterdir()), sorted(goals.PROGRAMS))
        for name, program in goals.PROGRAMS.items():
            with self.subTest(name):
                self.assertEqual(tuple(self.kernel(name).parameters()), program.parameters)

    def test_layer_norm_of_rows(self):
        rows, columns = 3, 300
        one = 0x3f80  # 1 as bf16
        x = (ctypes.c_uint16 * (rows * columns))(*[random.choice((0, one)) for _ in range(rows * columns)])
        weight, bias = (ctypes.c_uint16 * columns)(*[one] * columns), (ctypes.c_uint16 * columns)()
        y = (ctypes.c_uint16 * (rows * columns))()
        self.kernel("layer_norm").launch(goals.PROGRAMS["layer_norm"].grid(rows=rows), [
            self.matrix(x, rows, columns), self.matrix(weight, 0, columns), self.matrix(bias, 0, columns),
            self.matrix(y, rows, columns), 0.0])
        for row in range(rows):
            bits = [x[row * columns + i] == one for i in range(columns)]
            mean = sum(bits) / columns
            for i, bit in enumerate(bits):
                word = (ctypes.c_uint32 * 1)(y[row * columns + i] << 16)
                expected = (bit - mean) / (mean * (1 - mean))**0.5
                self.assertAlmostEqual(ctypes.cast(word, ctypes.POINTER(ctypes.c_float))[0], expected, delta=0.01)


if __name__ == "__main__":
    unittest.main()
