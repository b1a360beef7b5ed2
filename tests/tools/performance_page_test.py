# SPDX-License-Identifier: MIT
"""Tests that tools/performance-page makes docs/performance.md, its plots and the summary in README.md of bench/results."""

import pathlib
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from performance import page, plot, tables  # noqa: E402


def row(direction, seqlen, tegula, peer, mask="none"):
    results = {"tegula": {"tflops": tegula, "sm_clock_mhz": 1500 + seqlen}, "cudnn": {"tflops": peer, "error": "none"}, "fa3": None}
    return {"pass": direction, "head_dim": 64, "mask": mask, "seqlen": seqlen, "batch": 1, "heads": 1, "results": results}


ATTENTION = {"kind": "attention", "name": "a_gpu", "title": "A GPU", "summary": "A GPU, bf16", "order": 0, "plot": True,
             "date": "2026-11-25", "commit": "abc", "command": None, "machine": {"gpu": "A GPU", "driver": None},
             "method": {"text": "By hand."}, "problem": {}, "implementations": {"tegula": "Tegula", "cudnn": "cuDNN", "fa3": "FA3"},
             "rows": [row("forward", 512, 300, 200), row("forward", 1024, 1250.4, 1000), row("forward", 2048, 500, None),
                      row("forward", 512, 99.96, 200, "causal"), row("backward", 512, 150, 300)]}
TABLE = {"kind": "table", "name": "times", "title": "Times", "order": 1, "date": None, "commit": None, "command": None,
         "machine": {"host": "A host"}, "method": {"text": "By hand."}, "columns": ["what", "ms", "s"],
         "summary": [{"what": "all times", "unit": "ms", "columns": ["ms"]}],
         "rows": [["one", 1.5, None], ["two", [2.25, 3], 4000]]}


class RepositoryTest(unittest.TestCase):
    def test_page_plots_and_readme_are_up_to_date(self):
        texts, stale = page.outputs(ROOT)
        self.assertEqual({path.name for path in texts} & {"performance.md", "README.md"}, {"performance.md", "README.md"})
        self.assertEqual(stale, [], "tools/performance-page removes these drawings")
        for path, text in texts.items():
            self.assertTrue(path.exists(), f"{path} is missing; run tools/performance-page")
            self.assertEqual(path.read_text(), text, f"{path.name} is out of date; run tools/performance-page")

    def test_the_readme_has_the_summary_of_the_page(self):
        tables_of = [re.findall(r"(?:^\|.*\n)+", (ROOT / name).read_text(), re.MULTILINE)
                     for name in ("README.md", "docs/performance.md")]
        self.assertIn(tables_of[1][0], tables_of[0])

    def test_links_lead_somewhere(self):
        for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / "docs" / "performance.md").read_text()):
            self.assertTrue((ROOT / "docs" / target).exists(), target)

    def test_the_command_finds_nothing_to_change(self):
        result = subprocess.run([sys.executable, "-B", ROOT / "tools" / "performance-page", "--check"], capture_output=True,
                                text=True)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))


class TablesTest(unittest.TestCase):
    maxDiff = None

    def test_attention(self):
        self.assertEqual(tables.attention(ATTENTION, "forward"), """\
| D | mask | TFLOP/s | 512 | 1k | 2k |
|---|---|---|---:|---:|---:|
| 64 | none | Tegula | 300 | 1,250 | 500 |
|  |  | cuDNN | 200 | 1,000 | – |
|  |  | Tegula / cuDNN | **1.50** | **1.25** | – |
| 64 | causal | Tegula | 100 | – | – |
|  |  | cuDNN | 200 | – | – |
|  |  | Tegula / cuDNN | **0.50** | – | – |""")

    def test_a_table_keeps_the_digits_of_the_file(self):
        self.assertEqual(tables.plain(TABLE), """\
| what | ms | s |
|---|---:|---:|
| one | 1.5 | – |
| two | 2.25, 3 | 4,000 |""")

    def test_the_summary_has_the_lowest_ratio(self):
        self.assertEqual(tables.summary([ATTENTION, TABLE]), """\
|  | compared with | lowest | median | highest |
|---|---|---:|---:|---:|
| A GPU, bf16, forward, 512 to 1k keys | cuDNN | 0.50 | 1.25 | 1.50 |
| A GPU, bf16, backward, 512 keys | cuDNN | 0.50 | 0.50 | 0.50 |
| all times |  | 1.50 ms | 2.25 ms | 3 ms |""")

    def test_a_cpu_has_gigaflops(self):
        slow = ATTENTION | {"unit": "GFLOP/s", "rows": [row("forward", 512, 0.1204, None)]}
        self.assertIn("| 64 | none | Tegula | 120 |", tables.attention(slow, "forward"))


class PageTest(unittest.TestCase):
    def test_a_section_says_where_its_figures_come_from(self):
        self.assertEqual(page.origin(ATTENTION), """\
| how it was measured |  |
|---|---|
| machine | A GPU |
| commit | abc, 2026-11-25 |
| SM clock and power | 2012 to 3548 MHz |
| method | By hand. |
| data | [a_gpu.json](../bench/results/a_gpu.json) |""")
        self.assertIn("| machine | A host |\n| commit | not recorded |\n| method | By hand. |", page.origin(TABLE))

    def test_a_section_compares_ratios_by_time_with_those_by_cycles(self):
        def cell(ours, other):
            return {"results": {"tegula": {"ms": 1, "mcycles": ours}, "cudnn": {"ms": 2, "mcycles": other}, "fa3": None}}

        self.assertEqual(page.at_equal_clocks([cell(1.5, 2.97), cell(1.5, 3.15)]),
                         [("ratios by SM cycles", "0.99 to 1.05 times those by time")])
        self.assertEqual(page.at_equal_clocks(ATTENTION["rows"]), [])

    def test_a_readme_without_the_comments_is_refused(self):
        with self.assertRaisesRegex(ValueError, "README.md must have the lines"):
            page.with_summary("# Tegula\n", [TABLE])
        self.assertIn("| all times |", page.with_summary(f"a\n{page.BEGIN}old\n{page.END}\nb\n", [TABLE]))

    def test_plots_have_a_line_for_each_implementation_and_a_point_for_each_figure(self):
        drawings = page.drawings([ATTENTION, TABLE])
        self.assertEqual(sorted(drawings), ["performance-a-gpu-backward.svg", "performance-a-gpu-forward.svg"])
        root = xml.etree.ElementTree.fromstring(plot.draw(ATTENTION, "forward"))
        tags = [element.tag.split("}")[1] for element in root.iter()]
        self.assertEqual((tags.count("polyline"), tags.count("circle")), (4, 4 + 3))
        self.assertIn("Tegula", [element.text for element in root])


if __name__ == "__main__":
    unittest.main()
