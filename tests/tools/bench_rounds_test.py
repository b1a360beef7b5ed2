# SPDX-License-Identifier: MIT
"""Tests the parts of tools/bench-rounds that need no GPU: rounds, windows, files, and implementations that fail."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import random
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
        return {"nvml_clock_mhz": next(self.readings), "power_w": None}


class StandInGpu:
    """A GPU whose clock falls while it works, as at the power limit: a step takes its cycles divided by the clock."""

    def __init__(self, knows_clock=True):
        self.mhz, self.knows_clock, self.windows = 2000, knows_clock, []

    def run(self, steps):
        self.windows.append([step.__self__ for step in steps])
        return [self.take(step()) for step in steps]

    def take(self, mcycles):
        ms = mcycles * 1000 / self.mhz
        answer = ms, self.mhz if self.knows_clock else None
        self.mhz = max(1000, self.mhz - ms)
        return answer


class StandInWork:
    """A graph of launches, each of a number of cycles."""
    how = "graph"

    def __init__(self, output, mcycles, launches=1):
        self.output, self.mcycles, self.launches = output, mcycles, launches

    def outputs(self):
        return [self.output]

    def step(self):
        return self.mcycles * self.launches


def implementation(output, mcycles):
    def work(case):
        if output is None:
            raise RuntimeError("this build has no\nsuch pass")
        return StandInWork(output, mcycles)

    return types.SimpleNamespace(name="a name", forward=work, backward=work, has_variants=False)


def case_of(shape, label="none", pairs=None, fields=()):
    return types.SimpleNamespace(q=types.SimpleNamespace(shape=shape), label=label, pairs=pairs or shape[2]**2,
                                 variant=types.SimpleNamespace(fields=fields))


CASE = case_of((2, 4, 1024, 64), "causal", 1024**2 / 2)


def difference(outputs, reference):
    return abs(outputs[0] - reference[0]) / reference[0]


class RoundsTest(unittest.TestCase):
    def test_each_implementation_runs_once_a_lap_in_random_order(self):
        gpu_, works = StandInGpu(), {"a": StandInWork(None, 1), "b": StandInWork(None, 2), "c": StandInWork(None, 4)}
        rounds.window(works, 200, random.Random(0), gpu_.run)
        laps = [tuple(gpu_.windows[0][first:first + 3]) for first in range(0, 600, 3)]
        self.assertEqual({frozenset(lap) for lap in laps}, {frozenset(works.values())})
        self.assertEqual(len(set(laps)), 6)

    def test_a_time_is_that_of_one_launch(self):
        laps = rounds.window({"a": StandInWork(None, 0.5, launches=4)}, 1, random.Random(0), StandInGpu().run)
        self.assertEqual(laps, {"a": [(0.25, 2000)]})

    def test_a_window_warms_up_and_lasts_as_long_as_asked_for(self):
        gpu_ = StandInGpu()
        timed, _ = rounds.measure({"a": StandInWork(None, 2), "b": StandInWork(None, 2)}, 2, 0.1, gpu_.run, StandInMonitor())
        self.assertEqual([len(steps) for steps in gpu_.windows], [3 * 2, 130 * 2, 130 * 2, 130 * 2])
        self.assertEqual([len(window) for window in timed["a"].windows], [100, 100])

    def test_a_window_has_five_laps_at_least(self):
        timed, _ = rounds.measure({"a": StandInWork(None, 1000)}, 1, 0.1, StandInGpu().run, StandInMonitor())
        self.assertEqual(len(timed["a"].laps()), rounds.LEAST_LAPS)

    def test_the_first_window_does_not_count(self):
        timed, reading = rounds.measure({"a": StandInWork(None, 2)}, 3, 0.01, StandInGpu().run, StandInMonitor())
        self.assertEqual(len(timed["a"].samples_ms()), 3)
        self.assertEqual(reading, {"nvml_clock_mhz": 1200, "power_w": None})

    def test_a_clock_that_falls_favours_none(self):
        works = {"a": StandInWork(None, 2, launches=2), "b": StandInWork(None, 1.98, launches=2)}
        timed, _ = rounds.measure(works, 3, 0.1, StandInGpu().run, StandInMonitor())
        self.assertLess(min(mhz for _, mhz in timed["a"].laps()), 1850)
        ratios = rounds.ratios(timed["a"], timed["b"])
        self.assertAlmostEqual(ratios["time"][0], 2 / 1.98, delta=0.002)
        self.assertAlmostEqual(ratios["cycles"][0], 2 / 1.98, delta=1e-4)

    def test_without_counters_there_are_no_cycles(self):
        timed, _ = rounds.measure({"a": StandInWork(None, 2)}, 1, 0.01, StandInGpu(knows_clock=False).run, StandInMonitor())
        self.assertEqual([timed["a"].fields()[name] for name in ("mcycles", "sm_clock_mhz")], [None, None])
        self.assertEqual(list(rounds.ratios(timed["a"], timed["a"])), ["time"])

    def test_the_interval_contains_the_true_median(self):
        generator, misses = random.Random(1), 0
        for _ in range(400):
            _, low, high = rounds.median_and_interval([generator.gauss(1, 0.01) for _ in range(50)])
            misses += not low <= 1 <= high
        self.assertLess(misses, 400 * 0.08)
        self.assertEqual(rounds.median_and_interval([2]), (2, 2, 2))

    def test_without_nvml_clock_and_power_are_unknown(self):
        monitor = gpu.Monitor(gpu.NoNvml(), rounds.average)
        monitor.start()
        self.assertEqual(monitor.stop(), {"nvml_clock_mhz": None, "power_w": None})


class MeasureTest(unittest.TestCase):
    options = bench_rounds.parse_arguments(["--rounds", "3", "--seconds", "0.01"])

    def measure(self, direction="forward", case=CASE, **outputs):
        implementations = {name: implementation(output, index + 1) for index, (name, output) in enumerate(outputs.items())}
        implementations["tegula"].has_variants = True
        module = types.SimpleNamespace(difference=difference, timer=StandInGpu())
        return bench_rounds.measure(direction, case, implementations, self.options, module, StandInMonitor())

    def test_a_row(self):
        row = self.measure(tegula=1.001, cudnn=1.0)
        self.assertEqual([row[key] for key in ("pass", "head_dim", "mask", "seqlen", "batch", "heads")],
                         ["forward", 64, "causal", 1024, 2, 4])
        ours, other = row["results"]["tegula"], row["results"]["cudnn"]
        self.assertEqual(len(ours["samples_ms"]), 3)
        self.assertEqual((ours["difference"], other["difference"], ours["launch"]), (0.001, None, "graph"))
        self.assertEqual((ours["mcycles"], other["mcycles"]), (1, 2))
        self.assertEqual(row["ratios"]["cudnn"]["cycles"], [2, 2, 2])
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
    timer = StandInGpu()

    @staticmethod
    def everything(peers, others):
        made = {name: implementation(1.0, 1) for name in ["tegula", *peers] if name != "fa2"}
        made |= {name: implementation(1.0, float(file)) for name, file in others}
        return made, dict.fromkeys({"fa2"} & set(peers), "it is not here")

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
    def setUp(self):
        bench_rounds.import_implementations, kept = lambda: (StandInModule, None), bench_rounds.import_implementations
        self.addCleanup(setattr, bench_rounds, "import_implementations", kept)

    def run_main(self, *arguments):
        """Returns the exit code and both outputs."""
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()) as errors:
            code = bench_rounds.main(["--head-dim", "64", "--seconds", "0.01", "--rounds", "2", *arguments])
        return code, printed.getvalue(), errors.getvalue()

    def test_the_file_has_machine_commit_method_and_all_samples(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a_file.json")
            code, printed, errors = self.run_main("--json", str(path), "--seqlen", "512,1024", "--commit", "abc", "--causal",
                                                  "none", "bottom_right", "--peers", "cudnn,fa2,fa3")
            self.assertEqual([entry.name for entry in path.parent.iterdir()], ["a_file.json"])
            data = results.read(path)
        self.assertEqual(code, 0)
        self.assertEqual((data["name"], data["commit"], data["machine"]["pytorch"]), ("a_file", "abc", "2.11"))
        self.assertRegex(data["command"], "^tools/bench-rounds --head-dim 64 .* --json FILE .* --commit abc")
        self.assertEqual(data["method"]["text"], "Interleaved laps: 2 windows of 10 ms for each implementation. Launches are "
                         "recorded in CUDA graphs of about 1 ms: cudnn, fa3, tegula. PyTorch's forward passes do not write "
                         "the log-sum-exp; Tegula's and FlashAttention-3's do.")
        self.assertEqual([(row["pass"], row["seqlen"]) for row in data["rows"]],
                         [("forward", 512), ("backward", 512), ("forward", 1024), ("backward", 1024)])
        for row in data["rows"]:
            self.assertEqual({name: len(one["samples_ms"]) for name, one in row["results"].items()},
                             {"tegula": 2, "cudnn": 2, "fa3": 2})
        self.assertRegex(printed, r"a name .* 1\.\d\d\d \(.* to .*\) by time, 1\.000 \(1\.000 to 1\.000\) by cycles")
        self.assertEqual(errors, "bench-rounds: fa2 is left out: it is not here\n")

    def test_another_build_is_a_limit(self):
        cell = ["--seqlen", "1024", "--causal", "none", "--passes", "backward", "--limit", "1"]
        for cycles, code, count in ("0.98", 1, 1), ("0.995", 0, 0), ("1.2", 0, 0):
            with self.subTest(cycles):
                answer = self.run_main("--against", f"old={cycles}", *cell)
                self.assertEqual((answer[0], answer[2]), (code, ""))
                self.assertIn(f"\n{count} passes take at least 1.0 % more time than in another build\n", answer[1])
                self.assertEqual(answer[1].count("of old\n"), count)
        self.assertRegex(self.run_main("--against", "old=0.98", *cell)[1],
                         r"\nbackward D=64 none N=1024: 0\.9\d\d \(.* to .*\) by time, 0\.980 .* of old\n$")

    def test_a_build_has_a_name(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as errors:
            bench_rounds.parse_arguments(["--against", "lib/libtegula.so.2"])
        self.assertIn("'lib/libtegula.so.2' is not NAME=FILE", errors.getvalue())

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
