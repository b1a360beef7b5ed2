# SPDX-License-Identifier: MIT
"""Tests the parts of tools/bench-rounds that need no GPU: rounds, windows, files, and implementations that fail."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from performance import gpu, results, rounds  # noqa: E402


def load_script(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(ROOT / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


bench_rounds = load_script("bench-rounds")


class StandInMonitor:
    def __init__(self):
        self.readings = iter(range(1000, 2000, 100))

    def start(self):
        pass

    def stop(self):
        return {"sm_clock_mhz": next(self.readings), "power_w": None}


class StandInWork:
    """A launch that takes longer each time."""
    how = "graph"

    def __init__(self, output, ms):
        self.output, self.ms, self.counts = output, ms, []

    def outputs(self):
        return [self.output]

    def run(self, count):
        self.counts.append(count)
        return [self.ms + i / 1000 for i in range(count)]


def implementation(output, ms):
    def work(case):
        if output is None:
            raise RuntimeError("this build has no\nsuch pass")
        return StandInWork(output, ms)

    return types.SimpleNamespace(name="a name", forward=work, backward=work, has_variants=False)


def case_of(shape, label="none", pairs=None, fields=()):
    return types.SimpleNamespace(q=types.SimpleNamespace(shape=shape), label=label, pairs=pairs or shape[2]**2,
                                 variant=types.SimpleNamespace(fields=fields))


CASE = case_of((2, 4, 1024, 64), "causal", 1024**2 / 2)


def difference(outputs, reference):
    return abs(outputs[0] - reference[0]) / reference[0]


class RoundsTest(unittest.TestCase):
    def test_every_other_round_is_reversed(self):
        self.assertEqual(list(rounds.order(["a", "b", "c"], 2)),
                         [(0, "a"), (0, "b"), (0, "c"), (1, "c"), (1, "b"), (1, "a"), (2, "a"), (2, "b"), (2, "c")])

    def test_a_window_warms_up_and_lasts_as_long_as_asked_for(self):
        work = StandInWork(None, 2)
        self.assertAlmostEqual(rounds.window(work.run, 0.1), 2.0245, places=6)
        self.assertEqual(work.counts, [5, 15, 50])

    def test_a_window_has_five_launches_at_least(self):
        work = StandInWork(None, 100)
        rounds.window(work.run, 0.1)
        self.assertEqual(work.counts[-1], 5)

    def test_round_0_does_not_count(self):
        (samples, reading), = rounds.measure({"a": StandInWork(None, 2).run}, 3, 0.01, StandInMonitor()).values()
        self.assertEqual(len(samples), 3)
        self.assertEqual(reading, {"sm_clock_mhz": 1200, "power_w": None})

    def test_without_nvml_clock_and_power_are_unknown(self):
        monitor = gpu.Monitor(gpu.NoNvml(), rounds.average)
        monitor.start()
        self.assertEqual(monitor.stop(), {"sm_clock_mhz": None, "power_w": None})


class MeasureTest(unittest.TestCase):
    options = bench_rounds.parse_arguments(["--rounds", "3", "--seconds", "0.01"])

    def measure(self, direction="forward", case=CASE, **outputs):
        implementations = {name: implementation(output, ms=index + 1) for index, (name, output) in enumerate(outputs.items())}
        implementations["tegula"].has_variants = True
        return bench_rounds.measure(direction, case, implementations, self.options, difference, StandInMonitor())

    def test_a_row(self):
        row = self.measure(tegula=1.001, cudnn=1.0)
        self.assertEqual([row[key] for key in ("pass", "head_dim", "mask", "seqlen", "batch", "heads")],
                         ["forward", 64, "causal", 1024, 2, 4])
        ours, other = row["results"]["tegula"], row["results"]["cudnn"]
        self.assertEqual(len(ours["samples_ms"]), 3)
        self.assertEqual((ours["difference"], other["difference"], ours["launch"]), (0.001, None, "graph"))
        self.assertAlmostEqual(ours["tflops"], 4 * 1024**2 * 64 * 4 * 2 / 2 / ours["ms"] * 1e-9, delta=0.05)

    def test_operations_are_those_of_the_papers(self):
        self.assertEqual([results.pairs_of(1024, causal) for causal in (False, True)], [1024**2, 1024**2 / 2])
        forward = results.flops_of("forward", 2, 4, 1024**2, 64, 64)
        self.assertEqual(forward, 4 * 1024**2 * 64 * 4 * 2)
        self.assertEqual(results.flops_of("backward", 2, 4, 1024**2, 64, 64), forward * 2.5)

    def test_a_result_that_is_wrong_or_nan_is_not_timed(self):
        for wrong in 1.02, float("nan"):
            result = self.measure(tegula=wrong, cudnn=1.0)["results"]
            self.assertIsNone(result["tegula"]["tflops"])
            self.assertRegex(result["tegula"]["error"], r"the result differs by (2\.00e-02|nan); the bound is 0.01")
            self.assertIsNotNone(result["cudnn"]["tflops"])

    def test_what_fails_does_not_stop_the_others(self):
        result = self.measure("backward", tegula=1.0, cudnn=1.0, fa3=None)["results"]
        self.assertEqual(result["fa3"], {"tflops": None, "error": "this build has no such pass"})
        self.assertIsNotNone(result["tegula"]["tflops"])

    def test_an_implementation_without_variants_is_not_timed_on_one(self):
        row = self.measure(case=case_of((2, 4, 1024, 64), "softcap", fields={"variants": 2}), tegula=1.0, cudnn=1.0)
        self.assertEqual(row["mask"], "softcap")
        self.assertEqual(row["results"]["cudnn"], {"tflops": None, "error": "has no such variant"})

    def test_times_of_both_passes_are_added(self):
        rows = [self.measure(direction, tegula=1.0, cudnn=1.0) for direction in ("forward", "backward")]
        for row, ours, other in (rows[0], 1, 3), (rows[1], 3, 5):
            row["results"]["tegula"]["ms"], row["results"]["cudnn"]["ms"] = ours, other
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            bench_rounds.show_sum(rows, {"cudnn": "cuDNN"})
            rows[0]["results"]["cudnn"] = {"tflops": None, "error": "it has none"}
            bench_rounds.show_sum(rows, {"cudnn": "cuDNN"})
        self.assertEqual(printed.getvalue(), "together D=64 causal N=1024  Tegula / cuDNN 2.00\n")

    def test_without_a_peer_nothing_says_that_the_result_is_right(self):
        result = self.measure(tegula=1.0, cudnn=None)["results"]
        self.assertEqual(result["tegula"]["error"], "no other implementation ran: there is nothing to compare the result with")


class StandInModule:
    """A stand-in for implementations.py, which needs PyTorch."""
    difference = staticmethod(difference)

    @staticmethod
    def everything(peers):
        return {name: implementation(1.0, 1) for name in ["tegula", *peers] if name != "fa2"}, {"fa2": "it is not here"}

    @staticmethod
    def versions():
        return {"pytorch": "2.11"}

    @staticmethod
    def is_possible(variant, causal):
        return not causal

    @staticmethod
    def make_case(head_dim, causal, seqlen, dtype, tokens, hidden, variant):
        return case_of((tokens // seqlen, hidden // head_dim, seqlen, head_dim), variant)


class FileTest(unittest.TestCase):
    def test_the_file_has_machine_commit_method_and_all_samples(self):
        bench_rounds.import_implementations, kept = lambda: (StandInModule, None), bench_rounds.import_implementations
        self.addCleanup(setattr, bench_rounds, "import_implementations", kept)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a_file.json")
            with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()) as errors:
                code = bench_rounds.main(["--json", str(path), "--head-dim", "64", "--seqlen", "512,1024", "--seconds", "0.01",
                                          "--rounds", "2", "--commit", "abc", "--causal", "none",
                                          "bottom_right", "--peers", "cudnn,fa2,fa3"])
            self.assertEqual([entry.name for entry in path.parent.iterdir()], ["a_file.json"])
            data = results.read(path)
        self.assertEqual(code, 0)
        self.assertEqual((data["name"], data["commit"], data["machine"]["pytorch"]), ("a_file", "abc", "2.11"))
        self.assertRegex(data["command"], "^tools/bench-rounds --json FILE --head-dim 64 .* --commit abc")
        self.assertEqual(data["method"]["text"], "Interleaved rounds: 2 windows of 10 ms each. Launches are recorded in a CUDA "
                         "graph: cudnn, fa3, tegula. PyTorch's forward passes do not write the log-sum-exp; Tegula's and "
                         "FlashAttention-3's do.")
        self.assertEqual([(row["pass"], row["seqlen"]) for row in data["rows"]],
                         [("forward", 512), ("backward", 512), ("forward", 1024), ("backward", 1024)])
        for row in data["rows"]:
            self.assertEqual({name: len(one["samples_ms"]) for name, one in row["results"].items()},
                             {"tegula": 2, "cudnn": 2, "fa3": 2})
        self.assertIn("Tegula / a name 1.00", printed.getvalue())
        self.assertEqual(errors.getvalue(), "bench-rounds: fa2 is left out: it is not here\n")

    def test_a_file_without_a_field_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "bad.json")
            for text, message in [('{"kind": "chart"}', "bad.json: 'kind' is 'chart'; it must be one of attention, table"),
                                  ('{"kind": "table"}', "bad.json: 'title' is missing; write null if it is not known")]:
                path.write_text(text)
                with self.assertRaisesRegex(ValueError, message):
                    results.read(path)
            fields = dict.fromkeys(results.COMMON) | {"kind": "table", "columns": ["a", "b"], "rows": [[1]]}
            path.write_text(json.dumps(fields))
            with self.assertRaisesRegex(ValueError, r"bad.json: a row has 1 cells, but there are 2 columns: \[1\]"):
                results.read(path)


if __name__ == "__main__":
    unittest.main()
