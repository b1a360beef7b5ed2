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

from command_line import TARGET, CommandLineTest, Page

SMALL = f"--target {TARGET} --heads 2 --seqlen-q 100 --seqlen-k 120 --head-dim 16".split()


def load(name):
    with open(name) as file:
        return json.load(file)


class TuneTest(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        cls.kernels = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kernels.cleanup)

    def setUp(self):
        """Makes a store of schedules for each test. Compiled kernels are shared."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.symlink(self.kernels.name, os.path.join(folder.name, "kernels"))
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
        # No other test has compiled these kernels, so both processes are at work for a while.
        command = [os.environ["TEGULA"], "tune", *SMALL, "--value-dim", "24", "--candidates", "4"]
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
        for variant in ("softcap", "alibi", "sliding_window", "window_with_globals", "given_window", "prefix_lm", "documents",
                        "key_intervals", "bias", "mask", "added_product"):
            for backward in [], ["--backward"]:
                with self.subTest(variant=variant, backward=backward):
                    self.tune("--variant", variant, *backward, "--candidates", "2")
        self.assertEqual(len(self.records()), 22)
        for record in self.records():
            self.assertLessEqual(record["candidates"][record["best"]]["error_ratio"], 2)

    def test_a_diagonal_offset_belongs_to_the_task(self):
        self.tune("--causal", "top_left", "--diagonal-offset", "30")
        self.assertEqual([record["task"]["diagonal_offset"] for record in self.records()], [30])
        self.tune("--again", "--causal", "top_left")
        self.assertIn(None, [record["task"]["diagonal_offset"] for record in self.records()])

    def test_problems_whose_kernels_list_tiles_can_be_tuned(self):
        for arguments in (["--block-mask", "computed"], ["--block-mask", "computed", "--backward"],
                          ["--variant", "window_with_globals", "--deterministic", "--backward"]):
            with self.subTest(arguments):
                self.tune("--causal", "top_left", *arguments, "--candidates", "2")

    def test_given_blocks_belong_to_the_task(self):
        # The sequences are longer than those of the check, whose lists have fewer rows and blocks.
        lists = {"BLOCK_SIZE": [64, 32], "kv_num_blocks": [[10 * [2]]], "kv_indices": [[10 * [[19, 3]]]]}
        path = os.path.join(self.folder, "blocks.json")
        with open(path, "w") as file:
            json.dump(lists, file)
        for arguments in [], ["--backward"]:
            self.tune("--seqlen-q", "640", "--seqlen-k", "640", "--blocks", path, *arguments, "--candidates", "2")
        for record in self.records():
            self.assertEqual(record["task"]["block_mask"], "given")
            self.assertEqual(record["task"]["blocks"]["kv_indices"], lists["kv_indices"])
            self.assertLessEqual(record["candidates"][record["best"]]["error_ratio"], 2)

    def test_the_landscape_and_the_figures_go_to_files(self):
        drawing, figures = os.path.join(self.folder, "t.html"), os.path.join(self.folder, "t.json")
        self.tune("--backward", "--html", drawing, "--json", figures)
        report = load(figures)
        self.assertEqual(report["task"]["program"], "flash2_backward")
        page = Page(drawing)
        self.assertEqual(sum(map(len, page.panels.values())), len(report["candidates"]))
        self.assertRegex(page.title, r"^flash2_backward \(.*\), batch=1 heads=2 .* seqlen_k=120$")
        self.assertEqual(page.axes, ["block_n", "block_m"])
        self.assertRegex(" ".join(page.scale[:2]), r"^milliseconds of a launch, median: \S+ ms or more$")

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

    def test_a_store_that_is_not_writable_is_reported_first_and_loses_nothing(self):
        there = os.path.join(self.folder, "file")
        with open(there, "w"):
            pass
        drawing, figures = os.path.join(self.folder, "t.html"), os.path.join(self.folder, "t.json")
        result = self.run_tegula("tune", *SMALL, "--candidates", "4", "--html", drawing, "--json", figures, code=3,
                                 environment={"TEGULA_CACHE_DIR": there})
        warning, error = result.stderr.splitlines()
        reason = f"results cannot be written to '{there}/schedules'"
        self.assertIn(f"tegula: warning: the result will be shown, but not kept: {reason}", warning)
        self.assertIn(f"tegula: {reason}", error)
        self.assertIn("<- chosen", result.stdout)
        self.assertIn("ms", load(figures))
        self.assertTrue(Page(drawing).panels)

    def test_a_file_that_cannot_be_written_is_refused_before_measuring(self):
        for option in "--json", "--html":
            result = self.tune(option, "/dev/null/there", code=2)
            self.assertIn(f"{option}: cannot write '/dev/null/there': Not a directory", result.stderr)
            self.assertEqual(result.stdout, "")

    def interrupted(self, seconds, *arguments):
        """Presses Ctrl-C after some seconds. Returns the exit code, stdout and stderr of a tuning."""
        process = subprocess.Popen([os.environ["TEGULA"], "tune", *arguments], env=os.environ | self.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        time.sleep(seconds)
        if process.poll() is not None:  # The machine is faster than the test.
            return process.returncode, *process.communicate()
        os.killpg(process.pid, signal.SIGINT)
        begin = time.monotonic()
        self.assertEqual(process.stderr.readline(), "tegula: stopping; a second Ctrl-C ends at once\n")
        self.assertLess(time.monotonic() - begin, 0.5, "it says at once that it has seen it")
        output, errors = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, 2, f"one second is promised; {seconds} s after the start")
        return process.returncode, output, errors

    def test_ctrl_c_keeps_what_was_measured(self):
        big = f"--target {TARGET} --heads 8 --seqlen-q 2048 --head-dim 64 --budget 600".split()
        for seconds in 0.5, 1, 3, 6:  # Compiling, checking, filling inputs, timing.
            code, output, errors = self.interrupted(seconds, *big, "--again")
            with self.subTest(seconds=seconds, code=code):
                if code == 0:  # Something had been timed.
                    self.assertIn("stopped early", output)
                    self.assertEqual([record["complete"] for record in self.records()], [False])
                else:
                    self.assertEqual(code, 1, errors)
                    self.assertRegex(errors, "^tegula: ((stopped; )?no schedule was timed|the compilation was stopped)\n$")

    def test_ctrl_c_replaces_no_complete_result(self):
        self.tune("--candidates", "1")
        for _ in range(4):
            before = self.records()
            self.assertTrue(before[0]["complete"])
            # Candidates are compiled in the first runs only, so that a later run comes to timing.
            code, output, _ = self.interrupted(4, *SMALL, "--candidates", "64", "--again")
            if "stopped early" in output and code == 0:
                self.assertEqual(self.records(), before)
                self.assertIn("the result that is kept already is better, and stays", output)
                return

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
