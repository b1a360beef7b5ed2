# SPDX-License-Identifier: MIT
"""Tests what `tegula tune` prints, saves and remembers, and which programs use it."""

import glob
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

from command_line import TARGET, CommandLineTest

SMALL = f"--target {TARGET} --heads 2 --seqlen-q 100 --seqlen-k 120 --head-dim 16".split()


def load(name):
    with open(name) as file:
        return json.load(file)


class TuneTest(CommandLineTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.environment = {"TEGULA_CACHE_DIR": folder.name}
        self.folder = folder.name

    def tune(self, *arguments, code=0):
        return self.run_tegula("tune", *SMALL, "--candidates", "4", *arguments, code=code, environment=self.environment)

    def records(self):
        return [load(name) for name in glob.glob(os.path.join(self.folder, "schedules", "*"))]

    def test_the_second_run_measures_nothing(self):
        first = self.tune().stdout
        self.assertRegex(first, r"(?m)^ +\d+\.\d+ +1\.000 .* block_m=\d+ block_n=\d+")
        self.assertIn("<- chosen", first)
        begin = time.monotonic()
        second = self.tune().stdout
        self.assertLess(time.monotonic() - begin, 2)
        self.assertIn("known from an earlier tuning", second)
        rows = [line for line in first.splitlines() if "block_m" in line]
        self.assertEqual(rows, [line for line in second.splitlines() if "block_m" in line])
        self.assertNotIn("known", self.tune("--again").stdout)

    def test_of_two_at_once_one_measures(self):
        command = [os.environ["TEGULA"], "tune", *SMALL, "--candidates", "4"]
        both = [subprocess.Popen(command, env=os.environ | self.environment, text=True, stdout=subprocess.PIPE)
                for _ in range(2)]
        tables = [process.communicate()[0] for process in both]
        self.assertEqual(sorted("known from an earlier tuning" in table for table in tables), [False, True])

    def test_the_record_says_what_was_measured_where(self):
        self.tune("--causal", "bottom_right")
        (record,) = self.records()
        self.assertEqual(record["task"]["causal"], "bottom_right")
        self.assertEqual(record["task"]["shape"]["seqlen_k"], 120)
        self.assertTrue(record["complete"] and record["device"] and record["compiler"])
        best = record["candidates"][record["best"]]
        self.assertEqual(best["state"], "finalist")
        self.assertEqual(best["ms"], record["ms"])
        self.assertLessEqual(best["error_ratio"], 2)
        self.assertEqual(best["ms"], min(c["ms"] for c in record["candidates"] if c["state"] == "finalist"))

    def tuned(self, *arguments):
        """Returns two schedules: one that the edited record names as the tuning's choice, and the one without tuning."""
        self.tune(*arguments)
        (name,) = glob.glob(os.path.join(self.folder, "schedules", "*"))
        record = load(name)
        record["best"] = next(n for n, c in enumerate(record["candidates"]) if n and "ms" in c)
        record["schedule"] = record["candidates"][record["best"]]["schedule"]
        with open(name, "w") as file:
            json.dump(record, file)
        return [record["candidates"][n]["schedule"] for n in (record["best"], 0)]

    def test_hosts_use_the_result(self):
        def schedule(environment, *lengths):
            return subprocess.run([os.environ["TEGULA_PRINT_SCHEDULES"], *lengths], env=os.environ | environment,
                                  text=True, check=True, capture_output=True).stdout.strip()

        tuned, untuned = self.tuned()
        self.assertEqual(schedule(self.environment, "100", "120"), tuned)
        self.assertEqual(schedule(self.environment), untuned, "4096 queries and keys")
        self.assertEqual(schedule({"TEGULA_CACHE_DIR": self.folder + "/other"}, "100", "120"), untuned)

    def test_attention_uses_the_result(self):
        tuned, untuned = self.tuned()

        def schedule(*arguments):
            result = self.run_tegula("attention", *SMALL, "--json", "--check", *arguments, environment=self.environment)
            return json.loads(result.stdout)["forward"]["schedule"]

        self.assertEqual(schedule(), tuned)
        self.assertEqual(schedule("--seqlen-q", "200"), tuned)
        self.assertEqual(schedule("--untuned"), untuned)
        self.assertEqual(schedule("--causal", "top_left"), untuned)
        self.assertEqual(schedule("--seqlen-q", "300"), untuned)
        self.assertEqual(schedule("--variant", "softcap"), untuned)

    def test_variants_are_tuned_each_on_its_own(self):
        tuned, untuned = self.tuned("--variant", "softcap")

        def schedule(*arguments):
            result = self.run_tegula("attention", *SMALL, "--json", "--check", *arguments, environment=self.environment)
            return json.loads(result.stdout)["forward"]["schedule"]

        self.assertEqual(schedule("--variant", "softcap"), tuned)
        self.assertEqual(schedule(), untuned)
        self.assertEqual(schedule("--variant", "alibi"), untuned)
        again = self.tune("--variant", "softcap").stdout
        self.assertIn("flash2 f32 16 16 none score softcap", again)
        self.assertIn("known from an earlier tuning", again)
        self.assertNotIn("known", self.tune("--variant", "alibi").stdout)
        self.assertEqual(sorted(record["task"]["variant"] for record in self.records()), ["alibi", "softcap"])

    def test_every_variant_can_be_tuned_forward_and_backward(self):
        for variant in "softcap", "alibi", "sliding_window", "prefix_lm", "documents", "bias":
            for backward in [], ["--backward"]:
                with self.subTest(variant=variant, backward=backward):
                    self.tune("--variant", variant, *backward)
        self.assertEqual(len(self.records()), 12)
        for record in self.records():
            self.assertLessEqual(record["candidates"][record["best"]]["error_ratio"], 2)

    def test_the_landscape_and_the_figures_go_to_files(self):
        drawing, figures = os.path.join(self.folder, "t.svg"), os.path.join(self.folder, "t.json")
        self.tune("--backward", "--svg", drawing, "--json", figures)
        report = load(figures)
        self.assertEqual(report["task"]["program"], "flash2_backward")
        cells = xml.etree.ElementTree.parse(drawing).getroot().findall(".//{http://www.w3.org/2000/svg}title")
        self.assertEqual(len(cells), len(report["candidates"]))

    def test_exhaustive_compares_with_everything(self):
        table = self.tune("--exhaustive").stdout
        self.assertRegex(table, r"exhaustive: \d\d timed to the end; best .* chosen .* % slower")

    def test_schedules_that_are_given_are_compared_and_not_kept(self):
        schedules = ["block_m=32 block_n=32", "block_m=64 block_n=64"]
        figures = os.path.join(self.folder, "t.json")
        table = self.tune("--schedule", schedules[0], "--schedule", schedules[1], "--rounds", "3", "--seconds", "0.01",
                          "--json", figures).stdout
        self.assertIn("<- fastest", table)
        candidates = load(figures)["candidates"]
        self.assertEqual([c["schedule"] for c in candidates], schedules)
        self.assertEqual([(c["state"], c["samples"]) for c in candidates], 2 * [("finalist", 3)])
        self.assertEqual(self.records(), [])
        self.assertIn("--schedule: schedule: 'block=3' is not name=value", self.tune("--schedule", "block=3", code=2).stderr)
        self.assertIn("excludes", self.tune("--schedule", schedules[0], "--exhaustive", code=2).stderr)

    def test_ctrl_c_keeps_what_was_measured(self):
        big = f"--target {TARGET} --heads 8 --seqlen-q 2048 --head-dim 64 --budget 600".split()
        process = subprocess.Popen([os.environ["TEGULA"], "tune", *big], env=os.environ | self.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        time.sleep(3)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        if process.returncode == 0:  # Something had been timed.
            self.assertIn("stopped early", output)
            self.assertEqual([record["complete"] for record in self.records()], [False])
        else:
            self.assertEqual(process.returncode, 1, errors)
            self.assertEqual(errors, "tegula: no schedule was timed\n")
            self.assertEqual(self.records(), [])

    def test_a_gpu_that_computes_nothing_has_no_schedule(self):
        driver = {"TEGULA_LIBCUDA": os.environ["TEGULA_STAND_IN_CUDA"], "TEGULA_PTXAS": ""}
        result = self.run_tegula("tune", "--target", "cuda", "--dtype", "bf16", "--seqlen-q", "64", "--candidates", "3",
                                 code=1, environment=self.environment | driver)
        self.assertIn("Stand-in GPU 0, CUDA", result.stdout)
        self.assertEqual(len(re.findall("(?m)^wrong .* o has nan, lse has nan$", result.stdout)), 3, result.stdout)
        self.assertEqual(result.stderr, "tegula: no schedule was timed\n")
        self.assertEqual(self.records(), [])

    def test_bad_input(self):
        result = self.run_tegula("tune", "--target", "simt", code=2)
        self.assertIn("--target: 'simt' is not one of auto, cpu or cuda", result.stderr)
        self.assertIn("--candidates: '0' is not a whole number", self.tune("--candidates", "0", code=2).stderr)
        self.assertIn("must be 1 or more", self.tune("--seqlen-q", "0", code=2).stderr)
        self.assertEqual(re.findall("Traceback|internal", result.stderr), [])


if __name__ == "__main__":
    unittest.main()
