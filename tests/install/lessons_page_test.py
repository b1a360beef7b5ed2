# SPDX-License-Identifier: MIT
"""Runs the lessons that were built in the working directory. They print what docs/first_hour.md says, except for what
depends on the machine. They run on the cpu, as on the page."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

import docs_blocks as rules

BLOCKS = rules.blocks_of((ROOT / "docs" / "first_hour.md").read_text())
LESSONS = sorted((path.stem for path in (ROOT / "examples" / "lessons").glob("lesson*.cpp")),
                 key=lambda lesson: int(re.search(r"\d+", lesson)[0]))
WITHOUT_GPU = os.environ | {"TEGULA_LIBCUDA": "none"}


def outputs():
    """Yields (lesson, text) for each command of the page that runs a lesson, with the block after it."""
    for block, after in zip(BLOCKS, BLOCKS[1:]):
        match = re.fullmatch(r"build/(lesson\w+)\n", block.text)
        if match:
            yield match[1], after.text


def without_numbers(text):
    """Removes times, errors, sizes, tiles and keys, which differ between machines, and what the order of lanes decides."""
    varying = [r"\d+\.\d+(?:e[+-]\d+)?", r"(?<=block_[mn]=)\d+", r"\d+(?= bytes)", r"(?<=^key )[0-9a-f]+",
               r"(?<=lanes: )\d+", r"(?<=(?:byte|warp|lane) )\d+", r"(?<=findings: )[1-9]\d*"]
    return re.sub("|".join(varying), "N", text, flags=re.MULTILINE)


class LessonsPageTest(unittest.TestCase):
    def test_the_page_has_each_lesson(self):
        self.assertEqual([lesson for lesson, _ in outputs()], LESSONS)

    def test_lessons_print_what_the_page_says(self):
        for lesson, text in outputs():
            with self.subTest(lesson):
                printed = subprocess.run([pathlib.Path.cwd() / lesson], capture_output=True, text=True, env=WITHOUT_GPU).stdout
                printed = printed.replace("source/", "lessons/")  # build_example.cmake renames the folder.
                self.assertIsNone(rules.first_missing(without_numbers(text), without_numbers(printed)))


if __name__ == "__main__":
    unittest.main()
