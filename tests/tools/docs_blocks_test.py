# SPDX-License-Identifier: MIT
"""Tests each block of code on a page, as docs_blocks.py says. docs_blocks.toml lists the commands that cannot run here."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

import docs_blocks as rules
import docs_rules
from docs_test import FILES, PAGES, ROOT, text_of
from missing_tool import missing_tool

TABLE = tomllib.loads((ROOT / "tests" / "tools" / "docs_blocks.toml").read_text())
INSTEAD = {entry["command"]: entry.get("instead") for entry in TABLE["commands"]}
BIN = pathlib.Path(os.environ["TEGULA"]).parent
BLOCKS = {page: rules.blocks_of(text_of(page)) for page in PAGES}
COMMANDS = {command for blocks in BLOCKS.values() for block in blocks if block.language == "sh"
            for command in rules.commands_of(block)}
SOURCES = [rules.squeezed(text_of(file)) for file in FILES
           if re.search(r"\.(?:c|cpp|h|hpp|json|py)$", file) and not file.startswith("tests/tools/")]

# Each block breaks a rule.
BAD_PAGE = """
```
no language
```

    no fence

```sh
echo printed > file && cat file
```
```
not printed
```
```mlir input
no test above
```
`compiler/cuda/threads/tests/roles.mlir`, `@turns`
```mlir input
not there
```
```mlir output
not there
```
```json
{"part": "of no file"}
```
```cpp
open brace {
```
```cpp
int x = undeclared;
```
```sh
false
```
"""
BLOCKS["bad.md"] = rules.blocks_of(BAD_PAGE)


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)


# Commands


@functools.cache
def has_tool(tool):
    if tool == "ptxas":  # Tegula also finds it outside PATH.
        return "no ptxas" not in run([os.environ["TEGULA"], "devices"]).stdout
    return shutil.which(tool) is not None


def missing_tools(command):
    return [tool for text, tool in TABLE["tools"].items() if text in command and not has_tool(tool)]


def replaced(command):
    """Returns what runs in place of a command, None for nothing."""
    return INSTEAD[command] if command in INSTEAD else None if missing_tools(command) else command


@functools.cache
def run_page(page):
    """Runs the commands of a page in a folder that looks like a repository that has been built. Returns what the block of
    each line prints, and a finding if a command fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for entry in {file.split("/")[0] for file in FILES}:
            (folder / entry).symlink_to(ROOT / entry)
        for build in "build", "build-dev":
            (folder / build).symlink_to(BIN.parent)
        path = f"{BIN}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "HOME": name, "XDG_CACHE_HOME": name, "TEGULA_CACHE_DIR": ""}
        try:
            script = rules.script_of(BLOCKS[page], replaced)
            code = run(["bash", "-c", script], cwd=folder, env=environment, timeout=TABLE["timeout_s"]).returncode
        except subprocess.TimeoutExpired as error:
            code = error
        printed = {int(file.name): file.read_text(errors="replace") for file in folder.glob("[0-9]*")}
    last = max(printed, default=0)
    return printed, [(last, f"a command fails ({code}): {printed[last][-1000:]}")] if code else []


def output_finding(page, block):
    commands = next(rules.commands_of(above) for above in BLOCKS[page] if above.number == block.printed_by)
    if any(map(missing_tools, commands)):
        return None
    line = rules.first_missing(block.text, run_page(page)[0].get(block.printed_by, ""))
    return line and f"the command does not print, or not in this order: {line}"


# Listings


@functools.cache
def opt(*arguments):
    return run([BIN / "tegula-opt", *arguments], cwd=ROOT).stdout


def lit_finding(block):
    file, function = block.lit_test or (None, None)
    if file not in FILES:
        return "the page names no lit test above, as `FILE`, `@NAME`"
    if block.words == ["output"]:
        texts = [opt(*(file if word == "%s" else word for word in words)) for words in rules.run_lines(text_of(file))]
    else:
        texts = [text_of(file) if file.endswith(".ll") else opt(file, "--split-input-file")]
    lines = [rules.first_missing(block.text, rules.function_of(text, function)) for text in texts]
    return None if None in lines else f"@{function} of {file} does not have, or not in this order: {lines[-1]}"


def is_part_of_a_file(block):
    return any(rules.is_part_of(block.text, source) for source in SOURCES)


def can_be_compiled(block):
    """An open brace would spoil all other blocks."""
    return block.language == "cpp" and block.text.count("{") == block.text.count("}")


@functools.cache
def compiler_errors():
    """Compiles the C++ that is not part of a file. Returns (page, line, error) of each error."""
    blocks = [(page, block) for page, blocks in BLOCKS.items() for block in blocks
              if can_be_compiled(block) and not is_part_of_a_file(block)]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "blocks.cpp")
        program.write_text('#include "tests/tools/docs_blocks.h"\n' + rules.program_of(blocks))
        includes = [f"-I{path}" for path in [ROOT, *ROOT.glob("*/include")]]
        result = run([os.environ["CXX"], "-std=c++20", "-fsyntax-only", *includes, program])
    errors = [(file, int(number), error) for file, number, error in
              re.findall(r"^(\S+?):(\d+):.*?error: (.*)", result.stdout, re.MULTILINE)]
    if {file for file, _, _ in errors} - set(BLOCKS):
        raise AssertionError(result.stdout)
    return errors


def listing_finding(page, block):
    if is_part_of_a_file(block):
        return None
    if not can_be_compiled(block):
        return "the block is not part of a file, and no command prints it"
    errors = [error for file, number, error in compiler_errors()
              if file == page and -1 <= number - block.number <= block.text.count("\n")]
    return "\n".join(errors)


# Pages


def finding_of(page, block):
    """Returns what is wrong with a block, or nothing."""
    if block.printed_by:
        return output_finding(page, block)
    if block.words in (["input"], ["output"]):
        return lit_finding(block)
    if not block.language:
        return "the block has no language; docs_blocks.py lists those that there are"
    return None if block.language in ("sh", "text") else listing_finding(page, block)


def findings(page):
    found = [(block.number, sentence) for block in BLOCKS[page] if (sentence := finding_of(page, block))]
    if any(block.language == "sh" for block in BLOCKS[page]):
        found += run_page(page)[1]
    return [f"{page}:{number}: {sentence}" for number, sentence in sorted(found)]


@functools.cache
def help_of(command):
    return run([os.environ["TEGULA"], command, "--help"]).stdout


def unknown_options(page):
    """Returns the options of commands in the text that `tegula COMMAND --help` does not explain."""
    commands = [(number, command, span) for number, span in docs_rules.spans_of(page)
                for command in re.findall(r"^(?:build/bin/)?tegula ([a-z]+)(?: |$)", span)]
    return [(number, f"tegula {command} has no {option}") for number, command, span in commands
            for option in re.findall(r"(?<!\S)--[\w-]+", span) if not re.search(rf"{option}(?![\w-])", help_of(command))]


class DocsBlocksTest(unittest.TestCase):
    maxDiff = None

    def test_each_block_is_tested(self):
        for page in PAGES:
            with self.subTest(page):
                found = findings(page)
                if page in TABLE["pending"]:
                    self.assertTrue(found, f"each block of {page} is tested: take the page out of `pending`")
                else:
                    self.assertEqual("\n".join(found), "")

    def test_options_in_the_text_exist(self):
        self.assertEqual([(page, *finding) for page in PAGES for finding in unknown_options(text_of(page))], [])
        self.assertEqual(unknown_options("`tegula bench --none --json x`\n"), [(1, "tegula bench has no --none")])

    def test_each_rule_can_fail(self):
        numbers = [block.number for block in BLOCKS["bad.md"] if block.text != "echo printed > file && cat file\n"]
        self.assertEqual([int(finding.split(":")[1]) for finding in findings("bad.md")], numbers)

    def test_commands_have_their_tools(self):
        for tool in sorted({tool for command in COMMANDS for tool in missing_tools(command)}):
            with self.subTest(tool):
                missing_tool(tool)

    def test_the_table_lists_commands_of_pages(self):
        self.assertEqual(set(INSTEAD) - COMMANDS, set(), "no page has these commands")
        self.assertEqual([text for text in TABLE["tools"] if text not in " ".join(COMMANDS)], [], "no command has these texts")
        self.assertEqual([entry for entry in TABLE["commands"] if not entry.get("reason")], [])


if __name__ == "__main__":
    unittest.main()
