# SPDX-License-Identifier: MIT
"""Runs the gallery that was built in the working directory. It prints and draws what docs/gallery.md has, except for error
ratios, which differ between machines. To renew the pictures:

  variant_gallery --all --svg docs/gallery"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

import docs_blocks as rules

PAGE = (ROOT / "docs" / "gallery.md").read_text()
PICTURES = pathlib.Path("pictures")
RUN = subprocess.run(["./variant_gallery", "--all", "--svg", PICTURES], capture_output=True, text=True,
                     env=os.environ | {"TEGULA_LIBCUDA": "none"})


def without_ratios(text):
    return re.sub(r"\d+\.\d+(?= +right)", "N", text)


class GalleryPageTest(unittest.TestCase):
    def test_all_variants_are_right(self):
        self.assertEqual((RUN.returncode, RUN.stderr), (0, ""))

    def test_the_gallery_prints_what_the_page_says(self):
        table = next(block.text for block in rules.blocks_of(PAGE) if block.language == "text")
        self.assertIsNone(rules.first_missing(without_ratios(table), without_ratios(RUN.stdout)))
        self.assertEqual(len(table.splitlines()), len(RUN.stdout.splitlines()))

    def test_the_page_shows_each_picture_once(self):
        names = sorted(picture.stem for picture in PICTURES.glob("*.svg"))
        self.assertEqual(sorted(re.findall(r"^!\[.*\]\(gallery/(\w+)\.svg\)$", PAGE, re.MULTILINE)), names)
        self.assertEqual(sorted(re.findall(r"^\| \[(\w+)\]\(#", PAGE, re.MULTILINE)), names)

    def test_pictures_are_those_of_the_page(self):
        for picture in PICTURES.glob("*.svg"):
            with self.subTest(picture.stem):
                self.assertEqual(picture.read_text(), (ROOT / "docs" / "gallery" / picture.name).read_text())

    def test_wrong_options_are_refused(self):
        for options, message in (([], "name a variant, or --all"), (["--colour"], "there is no option '--colour'"),
                                 (["t6"], "there is no variant 't6', only dilated_window, "),
                                 (["--all", "--target"], "--target needs a value"),
                                 (["--all", "--target", "tpu"], "'tpu' is no target; there are cpu, cuda"),
                                 (["--all", "--length", "100"], "--length: it is 100; it must be a power of two from 512 on")):
            with self.subTest(options):
                run = subprocess.run(["./variant_gallery", *options], capture_output=True, text=True)
                self.assertEqual(run.returncode, 1)
                self.assertIn(message, run.stderr)


if __name__ == "__main__":
    unittest.main()
