# SPDX-License-Identifier: MIT
"""Folders include only what they may. MAY_INCLUDE has the order of the folders, docs/design.md the same for readers."""

import itertools
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Each folder with the folders that it may include besides itself; they all stand above it.
MAY_INCLUDE = {
    "base": [],
    "dsl": ["base"],
    "compiler": ["base"],
    "runtime": ["base"],
    "plan": ["base", "dsl", "runtime"],
    "kernels": ["base", "dsl", "runtime", "plan"],
    "workload/oracle": ["base"],
    "workload": ["base", "runtime", "plan", "kernels", "workload/oracle"],
    "tuner": ["base", "runtime", "plan", "kernels", "workload"],
    "host": ["base", "runtime", "plan", "kernels", "tuner"],
    "python": ["base", "dsl", "host"],
    "bench": ["base", "dsl", "runtime", "plan", "kernels", "compiler/client", "workload", "host"],
    "tools": ["base", "runtime", "plan", "kernels", "compiler", "workload", "tuner", "bench"],
}
MAY_INCLUDE["tests"] = list(MAY_INCLUDE)
MAY_INCLUDE["examples"] = ["base", "dsl", "runtime", "plan", "kernels", "workload/include", "tuner", "host"]
MAY_INCLUDE["integrations"] = ["base", "host"]
OUTSIDE = ["examples", "integrations"]  # Projects of their own, which see what is installed.

# A folder that has headers in include/ keeps its other headers for itself and for its tests.
PUBLIC = {folder: f"{folder}/include/tegula/" for folder in ("base", "dsl", "runtime", "plan", "kernels", "tuner", "host")}
TESTS = {folder: [f"tests/{folder}"] for folder in PUBLIC}
TESTS["runtime"] += ["tests/cache", "tests/simt", "tests/worker"]
TESTS["kernels"] += ["tests/differential", "tests/simt"]
# What is not installed.
INTERNAL = "include/tegula/internal/"


def files_of_repository():
    """Returns the files that git tracks, or all if this is no checkout."""
    git = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if git.returncode == 0:
        return [file for file in git.stdout.splitlines() if (ROOT / file).is_file()]
    folders = {folder.split("/")[0] for folder in MAY_INCLUDE}
    return [str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]


FILES = files_of_repository()
HEADERS = [file for file in FILES if re.search(r"\.(?:h|hpp)$", file)]
SOURCES = [file for file in FILES if re.search(r"\.(?:c|cpp|h|hpp)$", file)]


def folder_of(file):
    """Returns the folder of MAY_INCLUDE that a file belongs to."""
    return max((folder for folder in MAY_INCLUDE if file.startswith(folder + "/")), key=len, default=None)


def names_of(header):
    """Returns what an #include of a header may say: the ends of its path."""
    parts = header.split("/")
    return ["/".join(parts[n:]) for n in range(len(parts))]


HEADERS_BY_NAME = {}
for _header in HEADERS:
    for _name in names_of(_header):
        HEADERS_BY_NAME.setdefault(_name, []).append(_header)


def is_private(header):
    folder = folder_of(header)
    return folder in PUBLIC and not header.startswith(PUBLIC[folder])


def fault(file, header):
    """Returns why a file may not include a header, or None if it may."""
    folder, other = folder_of(file), folder_of(header)
    if folder == other:
        return None
    if not any(header.startswith(allowed + "/") for allowed in MAY_INCLUDE[folder]):
        return f"{folder}/ may not include {header}"
    if is_private(header) and not any(file.startswith(tests + "/") for tests in TESTS[other]):
        return f"{header} is private to {other}/"
    if folder in OUTSIDE and INTERNAL in header:
        return f"{header} is not installed"
    return None


def headers_named(file, name):
    """Returns the headers of the repository that an #include in a file may mean: the one next to it, or all of that name."""
    beside = str((pathlib.PurePath(file).parent / name))
    return [beside] if beside in HEADERS else HEADERS_BY_NAME.get(name, [])


def faults_of(file, text):
    """Returns the faults of a file with the given text. An #include that may mean several headers is good if one is."""
    for name in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text, re.MULTILINE):
        faults = [fault(file, header) for header in headers_named(file, name)]
        if faults and None not in faults:
            yield f"{file}: {faults[0]}"


def row_of_design(line):
    """Returns a folder of the table in docs/design.md, and what it says that the folder includes."""
    folder, includes = re.fullmatch(r"\| `([\w/]+)/` \|.*\| ([^|]*) \|", line).groups()
    return folder, includes


class FoldersTest(unittest.TestCase):
    maxDiff = None

    def test_each_folder_is_in_the_table(self):
        self.assertEqual({file for file in SOURCES if folder_of(file) is None}, set())
        for folder in MAY_INCLUDE:
            self.assertTrue((ROOT / folder).is_dir(), folder)

    def test_arrows_lead_up(self):
        above = []
        for folder, others in MAY_INCLUDE.items():
            self.assertLessEqual({folder_of(other + "/") for other in others}, set(above), folder)
            above.append(folder)

    def test_includes_keep_to_the_table(self):
        faults = itertools.chain.from_iterable(
            faults_of(file, (ROOT / file).read_text(errors="replace")) for file in SOURCES)
        self.assertEqual("\n".join(faults), "")

    def test_faults_are_found(self):
        for file, name, sentence in [
                ("runtime/a.cpp", "tegula/dsl.h", "runtime/ may not include dsl/include/tegula/dsl.h"),
                ("workload/oracle/a.h", "tegula/device.h", "workload/oracle/ may not include runtime/include/tegula/device.h"),
                ("tuner/a.cpp", "cache/tiers.h", "runtime/cache/tiers.h is private to runtime/"),
                ("tests/host/a.cpp", "nvtx_abi.h", "runtime/nvtx_abi.h is private to runtime/"),
                ("examples/a/a.cpp", "tegula/internal/fork.h", "base/include/tegula/internal/fork.h is not installed"),
                ("workload/a.cpp", "bench/attention/measure.h", "workload/ may not include bench/attention/measure.h")]:
            with self.subTest(file):
                self.assertEqual(list(faults_of(file, f'#include "{name}"\n')), [f"{file}: {sentence}"])

    def test_the_oracle_links_nothing_of_what_it_judges(self):
        text = (ROOT / "workload/oracle/CMakeLists.txt").read_text()
        linked = re.findall(r"target_link_libraries\(tegula_oracle ([^)]*)\)", text)
        self.assertEqual(linked, ["PUBLIC tegula_base"])

    def test_cmake_adds_the_folders_in_this_order(self):
        added = re.findall(r"^ *add_subdirectory\((\w+)\)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
        self.assertEqual(added, [folder for folder in MAY_INCLUDE if "/" not in folder and folder not in OUTSIDE])

    def test_the_page_about_the_design_says_the_same(self):
        table = re.search(r"\| folder \| contents \| includes \|\n\|[-|]+\n((?:\|.*\n)+)", (ROOT / "docs/design.md").read_text())
        rows = dict(map(row_of_design, table[1].splitlines()))
        self.assertEqual(list(rows), list(MAY_INCLUDE))
        for folder in itertools.takewhile("tests".__ne__, rows):
            named = set(re.findall(r"[\w/]+", re.sub(r"\(.*?\)", "", rows[folder]))) & {*MAY_INCLUDE, "compiler/client"}
            self.assertEqual(named | {"base"}, set(MAY_INCLUDE[folder]) | {"base"}, folder)

    def test_no_tool_imports_an_example(self):
        scripts = [file for file in FILES if file.startswith(("bench/", "tools/")) and not file.endswith((".json", ".cpp", ".h"))]
        importing = [file for file in scripts if re.search(r"""["']examples["']""", (ROOT / file).read_text(errors="replace"))]
        self.assertEqual(importing, [])


if __name__ == "__main__":
    unittest.main()
