# SPDX-License-Identifier: MIT
"""Reads the blocks of code on pages, and compares listings with what they show. docs_blocks_test.py runs the tests:

| block | test |
|---|---|
| `sh` | the commands run, after those of the blocks above it |
| any block, on the line after an `sh` block | the commands print its lines |
| `mlir input`, `llvm input` | the lit test that the page names last, as "`FILE`, `@NAME`", has its lines |
| `mlir output`, `ptx output` | tegula-opt prints its lines for that test |
| `text` | none: a picture, or a form with placeholders |
| any other | it is part of a file; C++ may also compile |
"""

import re

import docs_rules

LIT_TEST = re.compile(r"`([\w/.-]+\.(?:mlir|ll))`,\s+`@(\w+)`")
RUN = re.compile(r"^(?://|;) RUN: tegula-opt ([^|\n]*)", re.MULTILINE)
FUNCTION = re.compile(r"^(?=[ \t]*(?:func\.func|define|\.visible)\b)", re.MULTILINE)
COMMENT = re.compile(r"(?:^|(?<=\s))//.*", re.MULTILINE)


class Block:
    """A block of code: the number of its first line, its language ("" if it has none), the words after the language, and
    its text. `above` is the page above it, `printed_by` the number of an `sh` block that ends on the line before, or None."""

    def __init__(self, number, info, above, printed_by=None):
        self.language, *self.words = info.split() or [""]
        self.number, self.above, self.printed_by, self.text = number, above, printed_by, ""

    @property
    def lit_test(self):
        """Returns the path and the function of the lit test that the page names last, or None."""
        return next(reversed(LIT_TEST.findall(self.above)), None)


def blocks_of(page):
    """Returns the blocks of a page. An indented block has no language."""
    blocks, inside, above, before = [], False, "", None
    for line in docs_rules.lines_of(page):
        if line.kind == "fence" and not inside:
            follows_shell = before == "fence" and blocks[-1].language == "sh"
            blocks.append(Block(line.number + 1, line.text.strip("`~ "), above, blocks[-1].number if follows_shell else None))
        elif line.kind == "code":
            if not inside and before != "code":
                blocks.append(Block(line.number, "", above))
            blocks[-1].text += line.text + "\n"
        inside ^= line.kind == "fence"
        above, before = above + line.text + "\n", line.kind
    return blocks


# Commands


def commands_of(block):
    """Returns the commands of a block without comments. A backslash at the end of a line joins the next one."""
    lines = re.sub(r"\\\n\s*", "", block.text).splitlines()
    return [line for line in (re.sub(r"(?:^|\s+)# .*", "", line) for line in lines) if line]


def script_of(blocks, replace):
    """Returns a script that runs all `sh` blocks; what the block of line N prints goes to the file N. `replace` returns
    what runs in place of a command, None for nothing."""
    script = ["set -e"]
    for block in blocks:
        if block.language == "sh":
            commands = map(replace, commands_of(block))
            script += [f"exec > ~/{block.number} 2>&1", *filter(None, commands)]
    return "\n".join(script)


# Listings

TOKEN = re.compile(r"(?P<constant>%c-?\d+(?P<type>_i\d+)?)(?!\w)|(?P<name>%\w+|(?<![\w%])#[a-z]\w*(?![\w.]))|\.\.\.|\s+")


def pattern_of(line, names):
    """Returns a regular expression for a line of a listing, and the names that its groups match. `names` maps names of
    the listing that are known already to those that are printed."""
    results = re.match(r"(?:%\w+, )*", line).group()
    defined = set(re.findall(r"%\w+", results) + re.findall(r"[%#]\w+(?=(?::\d+)? = )", line))
    pattern, groups, at = r"(?<![\w.%#])", [], 0
    for token in TOKEN.finditer(line):
        pattern, text, at = pattern + re.escape(line[at:token.start()]), token.group(), token.end()
        if token["constant"]:  # The name has the value.
            pattern += re.escape(text) + ("" if token["type"] else r"(?:_i\d+)?") + r"(?:_\d+)?(?!\w)"
        elif not token["name"]:
            pattern += ".*" if text == "..." else r"\s+"
        elif text in groups:
            pattern += rf"(?P=n{groups.index(text)})(?!\w)"
        elif text in names and text not in defined:
            pattern += re.escape(names[text]) + r"(?!\w)"
        else:
            result = r"(?:#\d+)?" if text[0] == "%" and line[at:at + 1] not in ("#", ":") else ""
            pattern += rf"(?P<n{len(groups)}>{text[0]}\w+{result})"
            groups.append(text)
    return re.compile(pattern + re.escape(line[at:]) + r"(?!\w)"), groups


def first_missing(listing, printed):
    """Returns the first line of `listing` that `printed` lacks, or None.

    As in FileCheck, a line is looked for below the one before it, and may be a part of the line that is printed, for
    instance without types at the end. `...` stands for any text; a line that begins with it is not looked for. Values and
    aliases may have other names, but the same one each time. Comments after `//` belong to the page.
    """
    names, rest = {}, iter(printed.splitlines())
    for line in map(str.strip, COMMENT.sub("", listing).splitlines()):
        if line and not line.startswith("..."):
            pattern, groups = pattern_of(line, names)
            match = next(filter(None, map(pattern.search, rest)), None)
            if not match:
                return line
            names |= zip(groups, match.groups())
    return None


def run_lines(test):
    """Returns the arguments of tegula-opt in each RUN line of a lit test."""
    return [arguments.split() for arguments in RUN.findall(test)]


def function_of(text, name):
    """Returns what `text`, IR or PTX, has of one function: its part of a split file without other functions and comments."""
    for part in text.split("// -----"):
        first, *functions = FUNCTION.split(re.sub(r"^\s*(?:;|//).*", "", part, flags=re.MULTILINE))
        for function in functions:
            if re.match(rf"[^(]*\b{name}\(", function):
                return first + function
    return ""


def squeezed(source):
    """Returns a source without space and comments."""
    return "".join(COMMENT.sub("", source).split())


def is_part_of(listing, source):
    """True if a squeezed source has the listing; `...` stands for any text."""
    at = 0
    for piece in squeezed(listing).split("..."):
        at = source.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


# C++

DEFINITION = re.compile(r"^(?!(?:if|for|while|when)\b)[\w:<>,&* ]+ [\w:]+\(.*\) (?:const )?\{$", re.MULTILINE)


def program_of(blocks):
    """Returns a program of all blocks, pairs of a page and a block. A block of definitions becomes a namespace. One of
    statements becomes a function that uses the names in the page's namespace, `tour_md` for tour.md. Errors have the lines
    of the page."""
    program = [line for _, block in blocks for line in block.text.splitlines() if line.startswith("#include")]
    for index, (page, block) in enumerate(blocks):
        names = re.sub(r"\W", "_", page.rpartition("/")[2])
        function = f"void block{index}() {{ using namespace {names};"
        program += [f'#line {block.number - 1} "{page}"',
                    f"namespace block{index} {{" if DEFINITION.search(block.text) else function,
                    re.sub(r"(?m)^#include.*", "", block.text) + "}"]
    return "\n".join(program) + "\n"
