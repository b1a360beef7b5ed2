# SPDX-License-Identifier: MIT
"""Tests that all pages and sources obey the rules of docs_rules.py."""

import os
import pathlib
import re
import subprocess
import unittest

import docs_rules as rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Programs, besides those of the repository, that pages may call.
OUTSIDE_COMMANDS = ["build/first_kernel", "build/variant_gallery", "cmake", "cp", "cpack", "ctest", "git", "ninja", "nvdisasm", "python3", "tar"]
OUTSIDE_COMMANDS += [f"build/{path.stem}" for path in ROOT.glob("examples/lessons/lesson*.cpp")]
# Files whose strings are the words that the rules look for.
EXEMPT = ["tests/tools/docs_rules.py", "tests/tools/docs_rules_test.py"]
SKIPPED = re.compile(r"\.(?!ci$).*|build.*|bundle|shared|__pycache__")


def files_of_repository():
    result = []
    for folder, folders, names in os.walk(ROOT):
        inside = pathlib.Path(folder) != ROOT
        folders[:] = [name for name in folders if not (SKIPPED.fullmatch(name) and (not inside or name == "__pycache__"))]
        result += [str((pathlib.Path(folder) / name).relative_to(ROOT)) for name in names]
    return sorted(result)


def text_of(file):
    return (ROOT / file).read_text(errors="replace")


FILES = files_of_repository()
PAGES = [file for file in FILES if file == "README.md" or re.fullmatch(r"docs/.*\.md|(?:bench|examples)/.*README\.md", file)]
SOURCES = [file for file in FILES if re.search(r"\.(?:c|cpp|h|hpp|td|py|cmake)$|CMakeLists\.txt$", file)
           or "." not in file.rpartition("/")[2] and os.access(ROOT / file, os.X_OK)]


def repository():
    cmake = [text_of(file) for file in FILES if file.endswith(("CMakeLists.txt", ".cmake"))]
    return rules.Repository(
        files=FILES, programs=[name for text in cmake for name in rules.programs_of(text)],
        subcommands=re.findall(r'add_subcommand\("(\w+)"', text_of("tools/tegula/main.cpp")),
        outside_commands=OUTSIDE_COMMANDS)


REPOSITORY = repository()
IR_NAMES = set().union(*(rules.names_of_ir(text_of(file)) for file in SOURCES if file.startswith("compiler/")))
ERROR_CODES = re.findall(r"^  (\w+) = \d+,", text_of("base/include/tegula/status.h"), re.MULTILINE)


def reader_from(page):
    """Returns the function that rules.broken_links asks for the text of a link's target."""
    def read(target):
        path = (ROOT / page).parent / target if target else ROOT / page
        return path.read_text() if path.is_file() and path.suffix == ".md" else "" if path.exists() else None
    return read


RULES = {
    "links": (PAGES, lambda name, text: rules.broken_links(text, reader_from(name))),
    "commands": (PAGES, lambda name, text: rules.unknown_commands(text, REPOSITORY)),
    "paths": (PAGES, lambda name, text: rules.missing_paths(text, REPOSITORY)),
    "long_lines": (PAGES, lambda name, text: rules.long_lines(text)),
    "crowded_paragraphs": (PAGES, lambda name, text: rules.crowded_paragraphs(text)),
    "ir_names": (PAGES, lambda name, text: rules.unknown_ir_names(text, IR_NAMES)),
    "statuses": (PAGES, lambda name, text: rules.misspelt_statuses(text, ERROR_CODES)),
    "conflict_markers": (FILES, lambda name, text: rules.conflict_markers(text)),
    "long_td_lines": (SOURCES, rules.long_td_lines),
    "weak_beginnings": (SOURCES, rules.weak_beginnings),
    "torn_rulers": (SOURCES, rules.torn_rulers),
    "banned_words": (PAGES + SOURCES, rules.banned_words),
}


def findings(rule):
    files, check = RULES[rule]
    return [f"{file}:{number}: {sentence}" for file in files if file not in EXEMPT
            for number, sentence in check(file, text_of(file))]


class DocsTest(unittest.TestCase):
    maxDiff = None

    def test_pages_and_sources_are_found(self):
        for page in "README.md", "docs/glossary.md", "docs/developing.md":
            self.assertIn(page, PAGES)
        for source in "base/status.cpp", "tools/dev", "compiler/sm/SmOps.td", "tests/CMakeLists.txt":
            self.assertIn(source, SOURCES)
        self.assertIn("tegula", REPOSITORY.programs)
        self.assertIn("attention", REPOSITORY.subcommands)
        self.assertLessEqual({"tile.dot", "tile.program_id", "tile.view", "tile.steps", "sm.wgmma", "sm.layout"}, IR_NAMES)
        self.assertLessEqual({"internal", "compile_failed"}, set(ERROR_CODES))

    def test_every_tracked_file_is_found(self):
        git = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
        if git.returncode != 0:
            self.skipTest("this is no checkout")
        self.assertEqual([file for file in git.stdout.splitlines() if file not in FILES and (ROOT / file).is_file()], [])

    def test_names_in_the_glossary_occur_in_the_files_that_it_lists(self):
        rows = re.findall(r"^\| ([^|]*) \|.*\| `([^|`]*)` \|$", text_of("docs/glossary.md"), re.MULTILINE)
        self.assertGreaterEqual(len(rows), 50)
        names = [(name, file) for words, file in rows for name in re.findall(r"`([\w.]+)`", words)]
        for name, file in names:
            last = name.rpartition(".")[2]  # SmOps.td defines sm.producer_load as "producer_load".
            with self.subTest(name):
                self.assertTrue(re.search(rf"(?<![a-zA-Z]){last}(?![a-z])", text_of(file)), f"is not in {file}")

    def test_each_rule_holds(self):
        for rule in RULES:
            with self.subTest(rule):
                self.assertEqual("\n".join(findings(rule)), "")


if __name__ == "__main__":
    unittest.main()
