# SPDX-License-Identifier: MIT
"""Tests each rule of docs_rules.py on strings that break it, and on similar strings that do not."""

import unittest

import docs_rules as rules

REPOSITORY = rules.Repository(
    files=["README.md", "tools/dev", "docs/tour.md", "kernels/scores.cpp", "kernels/scores.h", "compiler/cuda/roles/analysis/Rings.cpp"],
    programs=rules.programs_of("add_executable(tegula main.cpp)\nadd_executable(tegula-opt x.cpp)\n"
                               "  add_executable(tegula_simt_${name}_test x.cpp)"),
    subcommands=["attention", "bench"], outside_commands=["cmake", "ctest"])


def numbers(findings):
    return [number for number, _ in findings]


def sentences(findings):
    return [sentence for _, sentence in findings]


class PageTest(unittest.TestCase):
    def kinds(self, page):
        return [line.kind for line in rules.lines_of(page)]

    def test_kinds_of_lines(self):
        self.assertEqual(self.kinds("# T\n\ntext\n| a |\n```sh\nx\n```\n\n    code\n"),
                         ["heading", "blank", "prose", "table", "fence", "code", "fence", "blank", "code"])
        self.assertEqual(self.kinds("- item\n\n    goes on\n"), ["prose", "blank", "prose"])
        self.assertEqual(self.kinds("- item\n\nText.\n\n    code\n"), ["prose", "blank", "prose", "blank", "code"])

    def test_a_block_of_code_ends_with_its_own_fence(self):
        self.assertEqual(self.kinds("````\n```\n# x\n````\ntext"), ["fence", "code", "code", "fence", "prose"])

    def test_long_lines(self):
        fits, long = "x" * rules.WIDTH, "x" * (rules.WIDTH + 1)
        self.assertEqual(rules.long_lines(f"{fits}\n"), [])
        self.assertEqual(rules.long_lines(f"a\n{long}\n"), [(2, "prose has 131 columns; the most is 130")])
        self.assertEqual(rules.long_lines(f"| {long} |\n```\n{long}\n```\n"), [])

    def test_numbers(self):
        self.assertEqual(rules.numbers_of("It takes 17 to 53.5 ms, 1,024 rows, 3 % and 2^8."), ["17", "53.5", "1,024", "3"])
        self.assertEqual(rules.numbers_of("sm_90a, 16-bit, 192x128, FlashAttention-2, C++20, `4 5`, [x](y-1.md)"), [])
        self.assertEqual(rules.numbers_of("LLVM 22.1, g++ 12 and clang\n22, library 1.2.3, D = 64, N=4096, 9445015"), [])
        self.assertEqual(rules.numbers_of("1. First, 2 of them"), ["2"])

    def test_crowded_paragraphs(self):
        self.assertEqual(rules.crowded_paragraphs("1 2 3\n4\n\n5 6\n"), [])
        self.assertEqual(numbers(rules.crowded_paragraphs("x\n\n1 2 3\n4 and 5\n")), [3])
        self.assertEqual(rules.crowded_paragraphs("- 1 2 3\n- 4 5 6\n"), [], "each item of a list is a paragraph")
        self.assertEqual(rules.crowded_paragraphs("| 1 | 2 | 3 | 4 | 5 |\n\n```\n1 2 3 4 5\n```\n"), [])

    def test_anchors(self):
        page = "# The `tile` dialect, in short\n## A_b\n## A_b\n```\n# no heading\n```\n"
        self.assertEqual(rules.anchors_of(page), {"the-tile-dialect-in-short", "a_b", "a_b-1"})

    def test_broken_links(self):
        pages = {"": "# Here\n[x](#here)", "other.md": "# There\n", "folder": ""}
        good = "# Here\n[a](other.md) [b](other.md#there) [c](#here) [d](folder) [e](https://x.org/y) `[f](none.md)`\n"
        self.assertEqual(rules.broken_links(good, pages.get), [])
        bad = "text\n[a](none.md)\n[b](other.md#here) and [c](#there) and [d](/other.md)\n"
        self.assertEqual(rules.broken_links(bad, pages.get),
                         [(2, "the link leads nowhere: none.md"),
                          (3, "the link's page has no heading '#here': other.md#here"),
                          (3, "the link's page has no heading '#there': #there"),
                          (3, "the link leads nowhere: /other.md")])


class CommandTest(unittest.TestCase):
    def unknown(self, page):
        return rules.unknown_commands(page, REPOSITORY)

    def test_commands_of_a_line(self):
        self.assertEqual(rules.commands_of('A=1 cmake "a b" && tools/dev x | sort > y  # z'),
                         [["cmake", "a b"], ["tools/dev", "x"], ["sort"], ["cat", "y"]])
        self.assertEqual(rules.commands_of('kernel="--arch sm_90a"'), [])

    def test_what_exists_is_known(self):
        self.assertEqual(self.unknown("```sh\ntools/dev build\ncmake --build build\nX=1 build-dev/bin/tegula bench\n"
                                      "tegula attention \\\n  --check\nbuild/bin/tegula_simt_roles_test\n```\n"), [])
        self.assertEqual(self.unknown("Run `tools/dev`, `build/bin/tegula-opt --ptx`, `tegula --help`, `tools/`, `tools/*`.\n"), [])
        self.assertEqual(self.unknown("    tools/   scripts\n"), [])
        self.assertEqual(self.unknown("```\nregisters 128\n```\n```cpp\ntools/none\n```\n"), [])

    def test_what_does_not_exist(self):
        page = ("```sh\ntools/none\nbuild/bin/tegula-none\nfrobnicate x\ncmake . && tegula none\n```\n\n"
                "    tools/gone\n\n`tools/lost x` and `tegula-lost` and `tegula lost`\n")
        self.assertEqual(self.unknown(page),
                         [(2, "there is no script tools/none"), (3, "the build makes no program tegula-none"),
                          (4, "frobnicate is no command of this repository, nor listed in outside_commands"),
                          (5, "tegula has no command none"), (8, "there is no script tools/gone"),
                          (10, "there is no script tools/lost"), (10, "the build makes no program tegula-lost"),
                          (10, "tegula has no command lost")])

    def test_unreadable_shell(self):
        self.assertIn("cannot be read as shell", self.unknown("```sh\ncmake 'x\n```\n")[0][1])

    def test_paths(self):
        good = ("`kernels/scores.cpp`, `scores.h:12`, `analysis/Rings.cpp`, `kernels/scores.{h,cpp}`, `kernels/`, `compiler/cuda`,"
                " `kernels/*.cpp`, `PROGRAM.mlir`, `compiler/PHASE/Passes.td`, `tile.load`, `a/b`, `x.cubin`, `.cpp`")
        self.assertEqual(rules.missing_paths(good, REPOSITORY), [])
        bad = "x\n`kernels/none.cpp`, `none.td`, `kernels/scores.{h,td}`, `docs/none/`, `none*.cpp`, `ores.cpp`"
        self.assertEqual(rules.missing_paths(bad, REPOSITORY),
                         [(2, f"there is no file {path}") for path in
                          ("kernels/none.cpp", "none.td", "kernels/scores.td", "docs/none/", "none*.cpp", "ores.cpp")])


class NameTest(unittest.TestCase):
    def test_names_of_ir(self):
        source = ('def Tile_DotOp : Tile_Op<"dot"> {\n  let summary = "no tile";\n}\ndef Sm_Layout : AttrDef<Sm_Dialect> {\n'
                  '  let mnemonic = "layout";\n}\nsetting(op, "tile.num_warps", 4);\n// tile.none, "sm.no name"\n')
        self.assertEqual(rules.names_of_ir(source), {"tile.dot", "sm.layout", "tile.num_warps"})

    def test_unknown_ir_names(self):
        names = {"tile.dot", "sm.wgmma"}
        self.assertEqual(rules.unknown_ir_names("`tile.dot`, `x = sm.wgmma %a`, tile.none, `a.tile.x`, `tile.h`", names),
                         [(1, "the compiler has no tile.h")])
        self.assertEqual(rules.unknown_ir_names("x\n`!sm.tok<2>`\n", names), [(2, "the compiler has no sm.tok")])

    def test_misspelt_statuses(self):
        codes = ["ok", "internal", "compile_failed"]
        self.assertEqual(rules.misspelt_statuses("x\n`CompileFailed`, `compile_failed`, `Internals`, Internal", codes),
                         [(2, "CompileFailed is spelt compile_failed")])


class FileTest(unittest.TestCase):
    def test_conflict_markers(self):
        text = "a\n{0} HEAD\nb\n{1} base\nc\n{2}\nd\n{3} 123 (x)\n".format(*(7 * mark for mark in "<|=>"))
        self.assertEqual(numbers(rules.conflict_markers(text)), [2, 4, 6, 8])
        self.assertIn("a conflict of a merge is left: " + 7 * "<", sentences(rules.conflict_markers(text))[0])
        for fine in (6 * "<", 8 * "=", 7 * "=" + " x", "x " + 7 * "<", 7 * ">" + "x"):
            self.assertEqual(rules.conflict_markers(fine + "\n"), [], fine)


class SourceTest(unittest.TestCase):
    def test_long_td_lines(self):
        fits, long = "x" * rules.TD_WIDTH, "x" * (rules.TD_WIDTH + 1)
        self.assertEqual(rules.long_td_lines("x.td", f"{fits}\n"), [])
        self.assertEqual(rules.long_td_lines("x.td", f"a\n{long}\n"), [(2, "the line has 121 columns; the most is 120")])
        self.assertEqual(rules.long_td_lines("x.py", long), [])

    def test_weak_beginnings(self):
        weak = ["/// Of x.\nint a;", "int a; ///< What it is.", "  /// That of x.", "///   Whether x.", "/// Those of x."]
        for source in weak:
            self.assertEqual(numbers(rules.weak_beginnings("x.h", source)), [1], source)
        fine = ["/// Offers x.", "/// Returns it.\n/// What follows goes on.", "// Of x.", '"/// Of x."', "/// Whatever x."]
        for source in fine:
            self.assertEqual(rules.weak_beginnings("x.h", source), [], source)

    def test_each_member_has_a_comment_of_its_own(self):
        self.assertEqual(numbers(rules.weak_beginnings("x.h", "int a; ///< A.\nint b; ///< Of b.\n")), [2])
        self.assertEqual(numbers(rules.weak_beginnings("x.h", "int a; ///< A.\n/// Of b.\nint b;\n")), [2])
        self.assertEqual(rules.weak_beginnings("x.h", "int a; ///< A\n       ///< Of b\n       ///< Of c.\n"), [])

    def test_banned_words_of_each_kind_of_file(self):
        self.assertEqual(rules.banned_words("x.cpp", "// Ours.\nint behind;\n// Behind it.\n"),
                         [(3, "'behind': write 'after', or name the place")])
        for name, source in [("x.cpp", 'f("so many");'), ("x.cpp", 'R"(whoever)"'), ("x.td", "[{ behind }]"),
                             ("x.c", "/* behind */"), ("x.py", '"""behind"""'), ("x.py", "x = 1  # behind"),
                             ("CMakeLists.txt", "# behind"), ("x.cmake", 'message("behind")'),
                             ("tool", "#!/bin/sh\n# behind"), ("tool", "#!/usr/bin/python3\n'behind'"), ("x.md", "`behind`")]:
            self.assertEqual(len(rules.banned_words(name, source)), 1, source)
        for name, source in [("x.cpp", "int whoever = 1'000 + behind;"), ("x.py", "behind = 1"), ("x.mlir", "// behind"),
                             ("x.cmake", "set(behind 1)"), ("x.cpp", "// so manyfold"), ("x.h", "// A lane falls\n// behind.")]:
            self.assertEqual(rules.banned_words(name, source), [], source)

    def test_words_meet_across_lines(self):
        self.assertEqual(numbers(rules.banned_words("x.h", "/// Needs so\n/// many of them.\n")), [1])
        self.assertEqual(numbers(rules.banned_words("x.md", "There are so\nmany.\n")), [1])

    def test_torn_rulers(self):
        self.assertEqual(rules.torn_rulers("x.h", "//===-- Name ------===//\n"), [])
        self.assertEqual(numbers(rules.torn_rulers("x.h", "int x;\n//===-- Name\n//------------===//\n")), [2])


if __name__ == "__main__":
    unittest.main()
