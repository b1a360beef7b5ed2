# SPDX-License-Identifier: MIT
"""tools/ship-schedules against a stand-in for `tegula`, and with the real one on the cores of this machine."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "ship-schedules"
FILE = ROOT / "kernels" / "schedules.json"
# The rows before it are for variants that the tuner does not have.
FIRST_TIMED = next(number for number, row in enumerate(json.loads(FILE.read_text())["rows"], 1)
                   if "probability" not in row["problems"])

# Appends its arguments to calls.jsonl, and answers as `tegula tune --json` does. FOUND is what a search finds. A
# schedule that contains BROKEN is wrong.
STAND_IN = """#!{python}
import json, os, pathlib, sys
arguments = sys.argv[1:]
folder = pathlib.Path(__file__).parent
with open(folder / "calls.jsonl", "a") as log:
    log.write(json.dumps([arguments, os.environ["TEGULA_CACHE_DIR"]]) + "\\n")
if "--head-dim" in arguments and arguments[arguments.index("--head-dim") + 1] == os.environ.get("FAILING_HEAD_DIM"):
    sys.exit("tegula: the GPU is lost")
given = [value for name, value in zip(arguments, arguments[1:]) if name == "--schedule"]
schedules = given or [os.environ["FOUND"]]
candidates = [{{"schedule": text, "state": "finalist", "ms": 2.0 + 0.5 * n, "clock_mhz": 1600.4, "watts": 650.6,
               "shared_bytes": 40 * 1024 + 1}} for n, text in enumerate(schedules)]
for candidate in candidates:
    if os.environ.get("BROKEN", "nothing") in candidate["schedule"]:
        candidate.update(state="wrong", why="o has 9")
        del candidate["ms"]
figures = {{"arch": "sm_90a", "device": "a GPU", "driver": "CUDA 13.0", "best": 0, "candidates": candidates}}
pathlib.Path(arguments[arguments.index("--json") + 1]).write_text(json.dumps(figures))
"""


def load_script():
    loader = importlib.machinery.SourceFileLoader("ship_schedules", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


ship = load_script()


class TableTest(unittest.TestCase):
    """The table that ships."""
    rows = json.loads(FILE.read_text())["rows"]

    def test_the_file_has_the_form_in_which_the_script_writes_it(self):
        self.assertEqual(ship.text_of({"rows": self.rows}), FILE.read_text())

    def test_each_row_is_the_first_that_fits_its_example(self):
        for number, row in enumerate(self.rows, 1):
            with self.subTest(number):
                first = ship.rows_for(self.rows, row, *ship.machine_of(row))[0]
                self.assertEqual(self.rows.index(first) + 1, number)

    def test_a_row_is_compared_with_the_schedule_that_its_example_would_have_without_it(self):
        for number, row in enumerate(self.rows, 1):
            with self.subTest(number):
                baseline = ship.baseline_of(self.rows, row)
                self.assertNotEqual(baseline, row["schedule"])
                without = [other for other in self.rows if other["schedule"] != row["schedule"]]
                fitting = [other for other in without
                           if ship.fits(other, row["example"], ship.program_of(row), *ship.machine_of(row))
                           and self.rows.index(other) > number - 1]
                self.assertEqual(baseline, fitting[0]["schedule"] if fitting else None)

    def test_provenance_is_complete(self):
        for number, row in enumerate(self.rows, 1):
            with self.subTest(number):
                chosen = row["provenance"]["chosen"]
                self.assertRegex(chosen["commit"], "^[0-9a-f]{7,}$")
                self.assertRegex(chosen["date"], r"^\d{4}-\d\d-\d\d$")

    def test_a_hopper_gpu_measures_its_rows_and_those_of_other_gpus(self):
        options = ship.parse_arguments(["--measure", "--arch", "sm_90a"])
        left_out = {number: reason for number, row in enumerate(self.rows, 1)
                    if (reason := ship.why_not(self.rows, row, options))}
        self.assertEqual(set(left_out.values()), {"it is for cpu", "the tuner does not know flash1_forward",
                                                  "the tuner does not know flash2_forward_contain",
                                                  "the tuner does not know flash2_backward_delta",
                                                  "the tuner has no variant that modifies probabilities"})
        of_hopper = [number for number in left_out if self.rows[number - 1].get("target") == "cuda:sm_90a"]
        self.assertTrue(all("probability" in self.rows[number - 1]["problems"] for number in of_hopper), of_hopper)
        options.measure = False
        plain = next(row for row in self.rows if row.get("target") == "cuda" and row["program"] == "flash2_forward")
        self.assertRegex(ship.why_not(self.rows, plain, options), r"^this GPU uses row \d+ for its example$")
        options.arch = "sm_86"
        self.assertIsNone(ship.why_not(self.rows, plain, options))
        self.assertEqual(ship.why_not(self.rows, self.rows[0], options), "it is for cuda:sm_90a")


class ScriptTest(unittest.TestCase):
    """Runs the script on a copy of the table."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tegula, self.file = self.folder / "tegula", self.folder / "schedules.json"
        self.tegula.write_text(STAND_IN.format(python=sys.executable))
        self.tegula.chmod(0o755)
        self.file.write_text(FILE.read_text())
        self.before = self.rows()

    def number_of(self, **example):
        """Returns the number of the first row for Hopper whose example has these conditions and no others."""
        sizes = {"dtype", "batch", "heads"}
        return next(number for number, row in enumerate(self.before, 1) if row.get("target") == "cuda:sm_90a"
                    and {key: value for key, value in row["example"].items() if key not in sizes} == example)

    def number_of_short_causal(self):
        return self.number_of(head_dim=64, causal="bottom_right", seqlen=512)

    def number_of_documents(self, head_dim):
        return self.number_of(head_dim=head_dim, variant="documents", seqlen=16384)

    def rows(self):
        return json.loads(self.file.read_text())["rows"]

    def calls(self):
        return [json.loads(line)[0] for line in (self.folder / "calls.jsonl").read_text().splitlines()]

    def run_script(self, *arguments, code=0, tegula=None, **environment):
        command = [sys.executable, "-B", SCRIPT, "--file", self.file, "--tegula", tegula or self.tegula, "--commit", "1a2b3c4",
                   "--arch", "sm_90a", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
        self.assertEqual(result.returncode, code, result.stderr)
        return result


class StandInTest(ScriptTest):
    def test_measure_writes_provenance_and_nothing_else(self):
        log = self.folder / "log"
        number = self.number_of_short_causal()
        output = self.run_script("--measure", "--rows", str(number), "--log", log, "--rounds", "7", "--seconds",
                                 "0.05").stdout
        rows, row = self.rows(), self.before[number - 1]
        after = rows[number - 1]
        self.assertEqual([row for row in rows if row not in self.before], [after])
        self.assertEqual({key: after[key] for key in row if key != "provenance"},
                         {key: row[key] for key in row if key != "provenance"})
        provenance = after["provenance"]
        self.assertEqual(provenance["chosen"], row["provenance"]["chosen"])
        timed = provenance["timed"]
        date = timed.pop("date")
        self.assertRegex(date, r"^\d{4}-\d\d-\d\d$")
        figures = {"sm_clock_mhz": 1600, "power_w": 651}
        flops = 4 * 512**2 * 64 * 32 * 32 / 2
        self.assertIn(timed.pop("driver"), [ship.gpu.open_nvml().machine()["driver"], "CUDA 13.0"])
        self.assertEqual(timed, {
            "device": "a GPU", "commit": "1a2b3c4", "source": "tools/ship-schedules", "ms": 2.0,
            "tflops": float(f"{flops / 2.0 * 1e-9:.4g}"), **figures,
            "compared_with": {"schedule": self.before[number]["schedule"], "ms": 2.5,
                              "tflops": float(f"{flops / 2.5 * 1e-9:.4g}"), **figures}})
        self.assertEqual(self.calls(), [["tune", "--target", "cuda", "--dtype", "bf16", "--head-dim", "64", "--batch", "32",
                                         "--heads", "32", "--seqlen-q", "512", "--causal", "bottom_right",
                                         "--schedule", row["schedule"], "--schedule", self.before[number]["schedule"],
                                         "--rounds", "7", "--seconds", "0.05", "--json", self.calls()[0][-1]]])
        self.assertRegex(output, rf"row  {number} flash2_forward bf16 D=64 N=512 causal: .* TFLOP/s, 2 ms, 1600 MHz, 651 W; "
                                 r"1\.25 times")
        self.assertEqual(json.loads(log.read_text())["row"], number)

    def test_a_search_writes_the_winner(self):
        found = "block_m=64 block_n=96 num_warps=4 num_stages=2 roles=load"
        number = self.number_of_documents(64)
        self.run_script("--rows", str(number), FOUND=found)
        search, timing = self.calls()
        self.assertEqual(search[search.index("--again"):][:5], ["--again", "--budget", "60", "--candidates", "192"])
        self.assertEqual(search[search.index("--variant") + 1], "documents")
        self.assertEqual(timing[timing.index("--schedule") + 1], found)
        row = self.rows()[number - 1]
        self.assertEqual((row["schedule"], row["shared_kib"]), (found, 41))
        self.assertEqual(row["provenance"]["chosen"]["commit"], "1a2b3c4")
        self.assertNotIn("not_timed", row["provenance"])
        self.assertNotIn("tflops", row["provenance"]["timed"])  # Hidden scores would count.

    def test_a_search_that_finds_the_row_again_keeps_its_origin(self):
        number = self.number_of_documents(64)
        row = self.before[number - 1]
        self.run_script("--rows", str(number), FOUND=row["schedule"])
        self.assertEqual(self.rows()[number - 1]["provenance"]["chosen"], row["provenance"]["chosen"])

    def test_a_row_of_all_gpus_gets_no_producer(self):
        number = next(n for n, row in enumerate(self.before, 1) if row.get("program") == "flash2_backward"
                      and ship.why_not(self.before, row, ship.parse_arguments(["--arch", "sm_90a"])) is None)
        result = self.run_script("--rows", str(number), code=1, FOUND="block_m=64 block_n=64 roles=load")
        self.assertIn("its winner needs a row for cuda:sm_90a: block_m=64", result.stderr)
        self.assertEqual(self.rows(), self.before)

    def test_a_row_that_fails_does_not_stop_the_others(self):
        first, failing = self.number_of_documents(64), self.number_of_documents(128)
        last = self.number_of(head_dim=256, seqlen=1024)
        result = self.run_script("--measure", "--rows", f"{first},{failing},{last}", code=1, FAILING_HEAD_DIM="128")
        self.assertIn(f"row {failing} flash2_forward bf16 D=128 N=16384 documents: tegula: the GPU is lost", result.stderr)
        self.assertIn(f"ship-schedules: not timed: {failing}\n", result.stderr)
        changed = [number for number, (a, b) in enumerate(zip(self.before, self.rows()), 1) if a != b]
        self.assertEqual(changed, [first, last])

    def test_a_schedule_that_is_wrong_is_not_written(self):
        result = self.run_script("--measure", "--rows", str(self.number_of_short_causal()), code=1, BROKEN="lhs_in_registers")
        self.assertIn("is wrong: o has 9", result.stderr)
        self.assertEqual(self.rows(), self.before)

    def test_a_row_whose_comparison_fails_is_compared_with_nothing(self):
        number = self.number_of_short_causal()
        result = self.run_script("--measure", "--rows", str(number), BROKEN="heads_in_l2=8")
        self.assertIn("it is compared with nothing: block_m=64", result.stderr)
        self.assertNotIn("compared_with", self.rows()[number - 1]["provenance"]["timed"])

    def test_the_limit_names_the_rows_that_are_left(self):
        result = self.run_script("--measure", "--rows", f"{FIRST_TIMED}-{FIRST_TIMED + 1}", "--limit", "0", code=1)
        self.assertIn(f"ship-schedules: not timed: {FIRST_TIMED},{FIRST_TIMED + 1}\n", result.stderr)

    def test_users_tunings_stay_as_they_are(self):
        self.run_script("--measure", "--rows", str(FIRST_TIMED), TEGULA_CACHE_DIR="/nowhere")
        self.assertNotIn("/nowhere", (self.folder / "calls.jsonl").read_text())

    def test_bad_input(self):
        self.assertIn("--rows: there is no row 1000", self.run_script("--rows", "1000", code=2).stderr)
        self.assertEqual(len(self.run_script("--list").stdout.splitlines()), len(self.before))

    def test_without_git_the_commit_must_be_given(self):
        copied = self.folder / "checkout"
        for name in "tools/ship-schedules", "bench/performance/gpu.py", "bench/performance/results.py", "kernels/schedules.json":
            target = copied / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text((ROOT / name).read_text())
        command = [sys.executable, "-B", copied / "tools/ship-schedules", "--tegula", self.tegula, "--arch", "sm_90a",
                   "--measure", "--rows", str(FIRST_TIMED)]
        environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(self.folder)}
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual((result.returncode, result.stderr),
                         (2, "ship-schedules: this checkout has no commit; --commit names that of tegula\n"))
        subprocess.run([*command, "--commit", "1a2b3c4"], check=True, capture_output=True, env=environment)
        self.assertIn("1a2b3c4", (copied / "kernels/schedules.json").read_text())


class CoresTest(ScriptTest):
    """The real command line, for rows of the cpu with small examples."""

    def setUp(self):
        super().setUp()
        data = json.loads(self.file.read_text())
        self.numbers = [number for number, row in enumerate(data["rows"], 1) if row.get("target", "cpu") == "cpu"]
        for number in self.numbers:
            data["rows"][number - 1]["example"].update(heads=1, seqlen=128)
        self.file.write_text(ship.text_of(data))

    def test_rows_of_the_cpu(self):
        rows = ",".join(map(str, self.numbers))
        for mode in ["--measure"], ["--budget", "5", "--candidates", "3"]:
            with self.subTest(mode):
                self.run_script("--target", "cpu", "--rows", rows, "--rounds", "2", "--seconds", "0.01", *mode,
                                tegula=os.environ["TEGULA"])
                timed = [self.rows()[number - 1]["provenance"]["timed"] for number in self.numbers]
                for figures in timed:
                    self.assertGreater(figures["tflops"], 0)
                    self.assertNotIn("sm_clock_mhz", figures)
                if "--measure" in mode:
                    self.assertEqual(["compared_with" in figures for figures in timed], [True, False])


if __name__ == "__main__":
    unittest.main()
