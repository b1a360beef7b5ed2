# SPDX-License-Identifier: MIT
"""Tests each rule of docs_blocks.py on strings that break it, and on similar strings that do not."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import docs_blocks as rules


class BlockTest(unittest.TestCase):
    def test_blocks_of_a_page(self):
        blocks = rules.blocks_of("a\n```mlir input x\nb\n\nc\n```\n\n    d\n    e\n\n```\nf\n```\n")
        self.assertEqual([(block.number, block.language, block.words, block.text) for block in blocks],
                         [(3, "mlir", ["input", "x"], "b\n\nc\n"), (8, "", [], "    d\n    e\n"), (12, "", [], "f\n")])

    def test_only_a_block_on_the_next_line_is_what_commands_print(self):
        self.assertEqual(rules.blocks_of("```sh\na\n```\n```\nb\n```\n")[1].printed_by, 2)
        self.assertIsNone(rules.blocks_of("```sh\na\n```\n\n```\nb\n```\n")[1].printed_by)
        self.assertIsNone(rules.blocks_of("```cpp\na\n```\n```\nb\n```\n")[1].printed_by)

    def test_the_lit_test_is_the_last_one_above(self):
        page = "`a.mlir`, `@f` and `b/c.ll`,\n`@g`; `d.mlir`, `e`\n```mlir input\nx\n```\n`e.mlir`, `@h`\n"
        self.assertEqual(rules.blocks_of(page)[0].lit_test, ("b/c.ll", "g"))
        self.assertIsNone(rules.blocks_of("```mlir input\nx\n```\n")[0].lit_test)


class CommandTest(unittest.TestCase):
    def test_commands_of_a_block(self):
        (block,) = rules.blocks_of("```sh\na b \\\n  c  # why\n\n# note\nd '#e'\n```\n")
        self.assertEqual(rules.commands_of(block), ["a b c", "d '#e'"])

    def run_page(self, page, replace=lambda command: command):
        with tempfile.TemporaryDirectory() as folder:
            script = rules.script_of(rules.blocks_of(page), replace)
            code = subprocess.run(["bash", "-c", script], env={"HOME": folder}).returncode
            return code, {file.name: file.read_text() for file in pathlib.Path(folder).iterdir()}

    def test_blocks_share_a_shell_and_print_apart(self):
        page = "```sh\nx=1\n```\n```cpp\ny\n```\n```sh\necho $x\necho 2 >&2\n```\n"
        self.assertEqual(self.run_page(page), (0, {"2": "", "8": "1\n2\n"}))

    def test_nothing_runs_after_a_failure(self):
        self.assertEqual(self.run_page("```sh\nfalse\n```\n\n```sh\necho\n```\n"), (1, {"2": ""}))

    def test_commands_are_replaced(self):
        replace = {"a": "echo b", "c": None}.get
        self.assertEqual(self.run_page("```sh\na\nc\n```\n", replace), (0, {"2": "b\n"}))


class ListingTest(unittest.TestCase):
    def check(self, listing, printed, missing=None):
        self.assertEqual(rules.first_missing(listing, printed), missing, f"{listing}\n--\n{printed}")

    def test_lines_are_printed_in_this_order(self):
        self.check("a\nc", "a\nb\nc\n")
        self.check("c\na", "a\nb\nc\n", "a")
        self.check("a\na", "a\nb\n", "a")

    def test_a_part_of_a_line(self):
        self.check("sm.wait 1", "  sm.wait 1 : i32")
        self.check("sm.wait 1", "  sm.wait 10", "sm.wait 1")
        self.check("wait 1", "sm.wait 1", "wait 1")

    def test_space_dots_and_comments(self):
        self.check("  a   b  // note\n// note\n\n... left out", "\ta b\n")
        self.check("a ... c", "a b c\n")
        self.check("a c", "a b c\n", "a c")
        self.check("https://a", "https://a\n")

    def test_values_have_one_name_each(self):
        printed = "%1 = f %arg0\n%2 = g %1, %arg0\n%3:2 = h %2#1\n"
        self.check("%x = f %a\n%y = g %x, %a\n%z:2 = h %y#1", printed)
        self.check("%x = f %a\n%y = g %a, %x", printed, "%y = g %a, %x")
        self.check("%y = g %x, %x", printed, "%y = g %x, %x")
        self.check("h %y", printed)
        self.check("%x = f %y\n%x = g %z, %y", "%1 = f %2\n%3 = g %1, %2\n")
        self.check("f %a\nf %a", "f %1\nf %10\n", "f %a")

    def test_results_and_arguments_of_loops_are_new_names(self):
        self.check("%a, %b = f\n%a, %b = g %b", "%1, %2 = f\n%3, %4 = g %2\n", "%a, %b = g %b")
        self.check("for %i = %n\nfor %i = %n", "for %1 = %9\nfor %2 = %9\n")
        self.check("for %i = %n\nfor %i = %n", "for %1 = %9\nfor %2 = %8\n", "for %i = %n")

    def test_a_constant_has_its_value_in_its_name(self):
        self.check("f %c1, %c1", "f %c1_i32, %c1_0\n")
        self.check("f %c1", "f %c10\n", "f %c1")
        self.check("f %c1_i32", "f %c1_i32_7\n")
        self.check("f %c1_i32", "f %c1\n", "f %c1_i32")

    def test_aliases(self):
        self.check("#s = #sm.layout<1>\nx #s", "#layout1 = #sm.layout<1>\nx #layout1\n")
        self.check("#s = #sm.layout<1>\nx #s", "#layout1 = #sm.layout<1>\nx #layout2\n", "x #s")
        self.check("#s = #tile.layout<1>", "#layout1 = #sm.layout<1>\n", "#s = #tile.layout<1>")


class LitTest(unittest.TestCase):
    def test_run_lines(self):
        test = "// RUN: tegula-opt %s --a=b --c | FileCheck %s\n// x\n// RUN: tegula-opt --d %s\n// RUN: not tegula-opt %s\n"
        self.assertEqual(rules.run_lines(test), [["%s", "--a=b", "--c"], ["--d", "%s"]])
        self.assertEqual(rules.run_lines("; RUN: tegula-opt --ptx %s | FileCheck %s\n"), [["--ptx", "%s"]])

    def test_a_function_of_a_split_file(self):
        text = "#a\nfunc.func @f(x)\n// CHECK: y\n1\nfunc.func private @ff(x)\n2\n// -----\n#b\nfunc.func @g()\n3\n"
        self.assertEqual(rules.function_of(text, "f").split(), "#a func.func @f(x) 1".split())
        self.assertEqual(rules.function_of(text, "ff").split(), "#a func.func private @ff(x) 2".split())
        self.assertEqual(rules.function_of(text, "g").split(), "#b func.func @g() 3".split())
        self.assertEqual(rules.function_of(text, "h"), "")
        self.assertIn("1", rules.function_of(".visible .entry f(\n1\n.visible .entry g(\n2\n", "f"))
        self.assertIn("1", rules.function_of("define void @f(i32 %n) {\n1\n", "f"))

    def test_part_of_a_file(self):
        source = rules.squeezed("int f() { // why\n  return 1;\n}\nint g();\n")
        self.assertTrue(rules.is_part_of("int f()\n{ return 1; } // so\n", source))
        self.assertTrue(rules.is_part_of("int f() {\n  ...\n}\nint g();", source))
        self.assertFalse(rules.is_part_of("int f() { return 2; }", source))
        self.assertFalse(rules.is_part_of("int g();\n...\nint f() {", source))


class CppTest(unittest.TestCase):
    def errors(self, *texts):
        blocks = [("page.md", rules.blocks_of(f"\n```cpp\n{text}\n```\n")[0]) for text in texts]
        program = "namespace page_md { extern int declared; }\n" + rules.program_of(blocks)
        result = subprocess.run([os.environ["CXX"], "-fsyntax-only", "-xc++", "-"], input=program, capture_output=True, text=True)
        return [line.split(": ", 1)[0] for line in result.stderr.splitlines() if " error: " in line]

    def test_definitions_and_statements(self):
        definitions = "#include <limits>\nint f(int i) {\n  return i;\n}\nint x = f(1);"
        statements = "int x = declared;\nif (x == 0) {\n  ++x;\n}"
        self.assertEqual(self.errors(definitions, statements, statements), [])

    def test_errors_have_the_line_of_the_page(self):
        self.assertEqual(self.errors("int x = 0;\n\nx = y;"), ["page.md:5:5"])


if __name__ == "__main__":
    unittest.main()
