# SPDX-License-Identifier: MIT
"""All code that may run in a host writes its files by writeAll, so that a limit on their size never ends the host."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What libtegula.so and the C++ libraries contain.
HOST_FOLDERS = "base", "dsl", "runtime", "plan", "kernels", "tuner", "host"
THE_WRITER = "base/write_all.cpp"
# Programs of their own, which no host links.
PROGRAMS = {"kernels/write_schedule_rows.cpp"}
WRITERS = re.compile(r"\b(?:ofstream|fwrite|fputs|fprintf|pwrite\w*|writev|ftruncate|posix_fallocate|copy_file)\b"
                     r"|std::fstream|(?<!\w)::write\(|\bfopen\([^;]*\"[wa]")


def findings(file, text):
    text = re.sub(r"//[^\n]*", "", text)
    return [f"{file}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}" for match in WRITERS.finditer(text)]


class FileWritersTest(unittest.TestCase):
    def test_a_writer_is_found(self):
        for line in ("std::ofstream file(path);", "while (::write(fd, p, n) < 0)", 'std::fopen(name, "wb")',
                     "fwrite(p, 1, n, f)"):
            self.assertEqual(len(findings("a.cpp", "\n" + line)), 1, line)
        for line in ("// std::ofstream", "folder->write(name, bytes)", 'fopen("/proc/meminfo", "re")',
                     "writeAll(fd, bytes)"):
            self.assertEqual(findings("a.cpp", line), [])

    def test_there_is_one_writer(self):
        found = []
        for folder in HOST_FOLDERS:
            for path in sorted((ROOT / folder).rglob("*")):
                file = str(path.relative_to(ROOT))
                if path.suffix in (".cpp", ".h", ".hpp") and file != THE_WRITER and file not in PROGRAMS:
                    found += findings(file, path.read_text())
        self.assertEqual(found, [], f"use writeAll of {THE_WRITER}")
        self.assertTrue(findings(THE_WRITER, (ROOT / THE_WRITER).read_text()))


if __name__ == "__main__":
    unittest.main()
