# SPDX-License-Identifier: MIT
"""tegula-schedule-rows, which turns kernels/schedules.json into C++ while the library is built, refuses wrong rows.
TEGULA_SCHEDULE_ROWS names it."""

import copy
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

FILE = pathlib.Path(__file__).parents[2] / "kernels" / "schedules.json"


def change(row, path, value):
    for key in path[:-1]:
        row = row[key]
    row[path[-1]] = value


class ScheduleRowsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.input, self.output = pathlib.Path(folder.name, "schedules.json"), pathlib.Path(folder.name, "rows.inc")

    def generate(self, text, code):
        self.input.write_text(text)
        result = subprocess.run([os.environ["TEGULA_SCHEDULE_ROWS"], self.input, self.output], capture_output=True, text=True)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(self.output.exists(), code == 0)
        return result.stderr.removeprefix(f"{self.input}: ").strip()

    def test_what_ships_becomes_a_line_for_each_row(self):
        text = FILE.read_text()
        self.generate(text, 0)
        lines = self.output.read_text().splitlines()
        self.assertEqual(len(lines), 1 + len(json.loads(text)["rows"]))
        self.assertIn('.target = "cuda:sm_90a", .program = "flash2_forward", .problems = {.max_head_dim = 64', lines[1])

    def test_the_error_names_the_row_and_what_is_legal(self):
        first, second = json.loads(FILE.read_text())["rows"][:2]
        second["provenance"] = {"chosen": second["provenance"]["chosen"], "not_timed": "This row is a test's."}
        for path, value, expected in [
            (["share_kib"], 4, "the row has the unknown key 'share_kib'; legal are problems, schedule, example, provenance, target"),
            (["target"], "hopper", "'target' is 'hopper'; it must be cpu, cuda, or cuda: and an architecture such as sm_90a"),
            (["shared_kib"], 0, "'shared_kib' is 0; it must be a whole number from 1 on"),
            (["shared_kib"], "41", "'shared_kib' is \"41\"; it must be a whole number from 1 on"),
            (["problems", "max_dim"], 4, "'problems' has the unknown key 'max_dim'; legal are max_head_dim, element_bytes, dtype"),
            (["problems", "ranges"], False, "'ranges' is false; it must be true, or left out if the row does not depend on it"),
            (["problems", "dtype"], "f8", "'dtype' is 'f8'; it must be f32, f16 or bf16"),
            (["problems"], {}, "'problems' has no key 'max_head_dim'"),
            (["schedule"], "block_m=64 block_n=64 role=load", "schedule: 'role=load' is not name=value with a name of block_m"),
            (["schedule"], "block_m=64 block_n=64 roles=store", "schedule: 'roles=store' needs none or load after '='"),
            (["schedule"], "block_n=64 block_m=64", "schedule: the words must be in this order: 'block_m=64 block_n=64'"),
            (["schedule"], "block_m=64", "schedule: 'block_m=64' must give block_m and block_n"),
            (["example", "mask"], "causal", "'example' has the unknown key 'mask'"),
            (["provenance", "not_timed"], "", "'not_timed' is \"\"; it must be a text that is not empty"),
            (["provenance"], dict(second["provenance"], timed={}), "'provenance' must have either 'timed', or 'not_timed' with the reason"),
            (["provenance", "by"], "me", "'provenance' has the unknown key 'by'"),
        ]:
            with self.subTest(path=path, value=value):
                wrong = copy.deepcopy(second)
                change(wrong, path, value)
                error = self.generate(json.dumps({"rows": [first, wrong]}), 1)
                self.assertTrue(error.startswith(f"row 2: {expected}"), error)

    def test_a_file_that_is_no_table_is_refused(self):
        self.assertIn("parse error at line 1", self.generate("{", 1))
        self.assertEqual(self.generate('{"rows": []}', 1), "'rows' must be a list of rows")
        self.assertEqual(self.generate('{"row": []}', 1), "the file has no key 'rows'")


if __name__ == "__main__":
    unittest.main()
