# SPDX-License-Identifier: MIT
"""Tests that the tree in README.md is on the disk, and that its C++ is part of examples that are built and run."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


class ReadmeTest(unittest.TestCase):
    def test_every_folder_of_the_tree_exists_and_is_listed(self):
        (tree,) = re.findall(r"## Layout.*?```\w*\n(.*?)```", README, re.DOTALL)
        listed = re.findall(r"^(\S+)/ ", tree, re.MULTILINE)
        for folder in listed:
            self.assertTrue((ROOT / folder).is_dir(), f"{folder}/ is in README.md, but not on the disk")
        top = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith((".", "build", "bundle"))}
        self.assertEqual(top - {folder.split("/")[0] for folder in listed}, set())

    def test_cpp_is_copied_from_examples(self):
        blocks = re.findall(r"```cpp\n(.*?)```", README, re.DOTALL)
        sources = [path.read_text() for path in (ROOT / "examples").rglob("*.cpp")]
        self.assertGreaterEqual(len(blocks), 2)
        for block in blocks:
            self.assertTrue(any(block in source for source in sources), f"not in any example:\n{block}")

    def test_links_lead_somewhere(self):
        prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#]+)\)", prose):
            self.assertTrue((ROOT / target).exists(), target)


if __name__ == "__main__":
    unittest.main()
