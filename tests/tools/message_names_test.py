# SPDX-License-Identifier: MIT
"""Every name in a message exists: what public headers declare, and options, commands and variables."""

import fnmatch
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = "base", "dsl", "compiler", "runtime", "plan", "kernels", "host", "tuner", "workload", "tools"
# Files whose strings are code for a machine, and no messages.
NO_MESSAGES = "compiler/emit/*Instructions.cpp", "compiler/ptx/*", "runtime/simt/fiber.cpp", "*_svg.cpp"
# Names that others have given.
FOREIGN = {
    "BLOCK_SIZE": "FlexAttention's BlockMask",
    "ET_DYN": "ELF",
    "memfd_create": "Linux",
    "kB": "/proc/meminfo",
    "flash2_kernels": "a folder of an example",
    "fortran_order": "the .npy format",
    "not_timed": "kernels/schedules.json",
    "schedule_rows": "the program tegula-schedule-rows",
}
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:\\.|[^"\\\n])*)"|'
                   r"'(?:\\.|[^'\\])+'|#include[^\n]*", re.DOTALL)
NAME = re.compile(r"(?<![\w.$-])(?:"
                  r"(?P<snake>[A-Za-z]\w*_\w+)"            # block_m, TEGULA_TENSOR
                  r"|(?P<camel>[a-z]+[A-Z]\w*)"            # asColumn
                  r"|(?P<call>[A-Za-z]\w*)\("              # record(
                  r"|(?P<member>[A-Z]\w*::\w+)"            # Variant::score
                  r"|(?P<option>--[a-z][a-z-]*)"           # --head-dim
                  r")|\$(?P<variable>[A-Z]\w*)"            # $TEGULA_CC
                  r"|`tegula (?P<command>[a-z]+)")         # `tegula tune`
ARCHITECTURE = re.compile(r"(?:sm|compute)_\d+a?")
# Calls with the name of an argument, which the message puts into quotation marks.
ARGUMENT = re.compile(r"\b(?:invalidArgument|nullArgument|check(?:OneOf|Range|Count|Dim|Block|Window)"
                      r"|read(?:Length|Struct|Into|List))"
                      r'\((?:[^"();]*,\s*)?"(\w+)"')


def sources(folder, *suffixes):
    return [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes]


def without_comments(text):
    return TOKEN.sub(lambda token: " " if token["text"] is None and token["raw"] is None else token.group(), text)


def literals(text):
    """Yields (position, value) of each string. Strings that stand next to each other are one."""
    first, end, parts = 0, 0, []
    for token in TOKEN.finditer(text):
        value = token["raw"] if token["text"] is None else token["text"]
        if value is None:
            continue
        if parts and text[end:token.start()].strip():
            yield first, "".join(parts)
            parts = []
        first = first if parts else token.start()
        parts.append(re.sub(r"\\[nt]", " ", value))
        end = token.end()
    if parts:
        yield first, "".join(parts)


def names_in(message):
    """Yields (kind, name) of what looks like a name in a message, which has at least two words."""
    if " " not in message.strip():
        return
    for match in NAME.finditer(message):
        kind = match.lastgroup
        for name in match[kind].split("::"):
            yield kind, name


def identifiers(text):
    """Returns the identifiers of C++ code, without comments and strings."""
    return set(re.findall(r"[A-Za-z_]\w*", TOKEN.sub(" ", text)))


class Known:
    """All names that exist."""

    def __init__(self):
        self.api, self.ir, self.strings = set(), set(), set()
        for folder in FOLDERS:
            for path in sources(folder, ".h", ".hpp"):
                if "include/tegula/" in str(path) and "/internal/" not in str(path):
                    self.api |= identifiers(path.read_text())
            for path in sources(folder, ".td"):
                self.ir |= set(re.findall(r"\w+", path.read_text()))
        self.c_header = (ROOT / "host/include/tegula/tegula.h").read_text()
        self.c = identifiers(self.c_header)
        # Kernels also refuse what only C++ can give: a schedule, and a variant of the caller's own.
        self.arguments = {"host": self.c}
        schedule = identifiers((ROOT / "base/include/tegula/schedule.h").read_text())
        self.arguments["kernels"] = self.c | schedule | {"variant"}
        for folder in "kernels", "tools", "base", "runtime", "plan":
            for path in sources(folder, ".cpp", ".h"):
                self.strings |= {value for _, value in literals(path.read_text())}
        self.options = {option for value in self.strings for option in re.findall(r"^(?:-\w,)?(--[a-z-]+)$", value)}
        tools = "".join(path.read_text() for path in sources("tools", ".cpp"))
        of_llvm = re.findall(r'cl::opt<[^>]*>\s*\w+\(\s*"([a-z-]+)"', tools)
        self.options |= {"--help"} | {"--" + name for name in of_llvm}

    def has(self, kind, name, of_op):
        if kind == "option":
            return name in self.options
        if kind in ("variable", "command"):
            return name in self.strings
        return (name in self.api or name in FOREIGN or name in self.strings or bool(ARCHITECTURE.fullmatch(name))
                or (of_op and name in self.ir))


KNOWN = Known()


def findings(file, text):
    """Returns the names in a source's messages that do not exist. A message of an op may name what the op has."""
    found = []
    for position, value in literals(text):
        statement = re.split(r"[;{}]", text[:position])[-1]
        for kind, name in names_in(value):
            if not KNOWN.has(kind, name, "emitOpError" in statement):
                found.append(f"{file}:{text.count(chr(10), 0, position) + 1}: {name}")
    for match in ARGUMENT.finditer(without_comments(text)):
        if match[1] not in KNOWN.arguments.get(file.split("/")[0], KNOWN.api):
            found.append(f"{file}: argument '{match[1]}'")
    return found


class MessageNamesTest(unittest.TestCase):
    def test_a_name_that_does_not_exist_is_found(self):
        for line in ('dot.emitRemark("cast the operands, or " "set allow_tf32");', 'return invalid("use asRows");',
                     'fail("see --head-dims");', 'error("set $TEGULA_CCC to a path");',
                     'text("`tegula tuned` finds it");', 'return invalid("call makeRow( first");',
                     'error("raise WorkerOptions::speed or wait");'):
            self.assertEqual(len(findings("dsl/a.cpp", line)), 1, line)
        self.assertEqual(findings("host/a.cpp", 'return nullArgument("variant");'), ["host/a.cpp: argument 'variant'"])
        for line in ('return op.emitOpError("has no allow_tf32 ") << 1;',
                     'return invalid("use asRow, or block_m=64 on sm_90a");', "// set allow_tf32", 'add("allow_tf32");',
                     'fail("see --head-dim and `tegula tune`");'):
            self.assertEqual(findings("dsl/a.cpp", line), [], line)
        self.assertEqual(findings("host/a.cpp", 'return nullArgument("variant_tensors");'), [])

    def test_the_arguments_of_attention_have_their_names_in_c(self):
        plan, calls, variants = ((ROOT / "kernels" / file).read_text()
                                 for file in ("attention_plan.cpp", "call_arguments.cpp", "variants.cpp"))
        names = set(re.findall(r'\bvisit\("(\w+)"', plan) + re.findall(r'^    \{"(\w+)",', calls, re.MULTILINE))
        self.assertLessEqual({"q", "d_o", "dq", "scale", "dropout_state", "d_sinks"}, names)
        self.assertEqual(names - KNOWN.c, set())
        # Those of variants are in the comments.
        tensors = set(re.findall(r'\{"(\w+)", \w+, \{Axis::|\{\.name = "(\w+)",\s+\.dtype', variants))
        tensors = {name for pair in tensors for name in pair if name}
        self.assertLessEqual({"slopes", "query_end", "bias"}, tensors)
        self.assertEqual([name for name in tensors if not re.search(rf"\b{name}\b", KNOWN.c_header)], [])

    def test_all_names_in_messages_exist(self):
        found = []
        for folder in FOLDERS:
            for path in sources(folder, ".cpp", ".h", ".hpp"):
                file = str(path.relative_to(ROOT))
                if not any(fnmatch.fnmatch(file, pattern) for pattern in NO_MESSAGES):
                    found += findings(file, path.read_text())
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
