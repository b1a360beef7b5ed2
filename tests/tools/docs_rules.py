# SPDX-License-Identifier: MIT
"""The rules that docs_test.py applies to pages and sources. Each function takes text and returns what breaks a rule.

A finding is a pair: the number of a line, from 1 on, and a sentence. docs_rules_test.py tests each function on strings.
"""

import fnmatch
import io
import re
import shlex
import tokenize

WIDTH = 130
TD_WIDTH = 120
NUMBERS = 4
VERSION = re.compile(r"(?:\b(?:clang|CUDA|cuDNN|Debian|driver|LLVM|ptxas|PyTorch|Triton)|g\+\+)\s+\d[\d.]*|\b\d+(?:\.\d+){2,}")
COMMIT = re.compile(r"\b[0-9a-f]{7}\b")

# Beginnings that no doc comment may have.
WEAK_BEGINNING = re.compile(r"(?:Of|That of|Those|What|Whether)\b")
BANNED_WORDS = {
    "behind": "write 'after', or name the place",
    "so many": "name the number",
    "whoever": "name the thread, caller or program",
}
# A lane may fall behind another one.
BANNED = re.compile(rf"(?<!far\s)(?<!fall\s)(?<!falls\s)(?<!fallen\s)\b(?:{'|'.join(word.replace(' ', chr(92) + 's+') for word in BANNED_WORDS)})\b", re.IGNORECASE)

SOURCE_FILE = re.compile(r".+\.(?:cpp|hpp|h|c|td|py|mlir|ll|md|cmake)|(?:.*/)?CMakeLists\.txt")
OUR_PROGRAM = re.compile(r"tegula(?:-[a-z]+)*")
OUR_PATH = re.compile(r"(?:\./)?(?:tools|build(?:-\w+)?/bin)/\S+")
SHELL_WORDS = {"cd", "do", "done", "else", "export", "fi", "for", "if", "then", "while", "{", "}"}


# Pages


class Line:
    """One line of a page: its number, its text and its kind, which is prose, heading, table, code or blank."""

    def __init__(self, number, text, kind, language=None):
        self.number, self.text, self.kind, self.language = number, text, kind, language


def lines_of(page):
    """Returns the lines of a page. Lines of code have the language of their block, "" if it names none."""
    result, fence, language, in_list, previous = [], None, None, False, "blank"
    for number, text in enumerate(page.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)\s*(\w*)", text)
        if fence:
            kind = "code"
            if mark and mark.group(1).startswith(fence):
                fence, kind = None, "fence"
        elif mark:
            fence, language, kind = mark.group(1), mark.group(2), "fence"
        elif not text.strip():
            kind = "blank"
        elif re.match(r"(?: {4}|\t)", text) and not in_list and previous in ("blank", "code"):
            kind, language = "code", ""
        elif text.startswith("#"):
            kind, in_list = "heading", False
        elif text.lstrip().startswith("|"):
            kind = "table"
        else:
            kind = "prose"
            if re.match(r"\s*(?:[-*]|\d+\.)\s", text):
                in_list = True
            elif not text.startswith(" "):
                in_list = in_list and previous != "blank"
        result.append(Line(number, text, kind, language if kind == "code" else None))
        previous = kind
    return result


def blocks_of(page):
    """Returns (number of the first line, text, kind) of each paragraph, list item, heading and row of a table."""
    blocks, open_block = [], False
    for line in lines_of(page):
        if line.kind not in ("prose", "heading", "table"):
            open_block = False
        elif line.kind == "prose" and open_block and not re.match(r"\s*(?:[-*]|\d+\.)\s", line.text):
            blocks[-1][1] += "\n" + line.text
        else:
            blocks.append([line.number, line.text, line.kind])
            open_block = line.kind == "prose"
    return blocks


def spans_of(page):
    """Yields (number, text) of everything in back-quotes outside blocks of code."""
    for first, text, _ in blocks_of(page):
        for span in re.finditer(r"`([^`]+)`", text):
            yield first + text.count("\n", 0, span.start()), " ".join(span.group(1).split())


def long_lines(page):
    return [(line.number, f"prose has {len(line.text)} columns; the most is {WIDTH}")
            for line in lines_of(page) if line.kind == "prose" and len(line.text) > WIDTH]


def numbers_of(prose):
    """Returns the numbers of a paragraph, without names (sm_90a, 16-bit, 192x128, FlashAttention-2), versions (LLVM 22,
    1.2.3), commits and parameters (D = 64)."""
    prose = re.sub(r"`[^`]*`|\]\([^)]*\)|^\s*\d+\.\s", " ", prose)
    prose = VERSION.sub(" ", COMMIT.sub(" ", prose))
    return re.findall(r"(?<![\w.,+^=-])(?<!\w = )\d+(?:[.,]\d+)*(?![\w^]|-[a-zA-Z])", prose)


def crowded_paragraphs(page):
    return [(number, f"the paragraph has {len(numbers_of(text))} numbers; the most is {NUMBERS}: use a table")
            for number, text, kind in blocks_of(page) if kind == "prose" and len(numbers_of(text)) > NUMBERS]


def anchors_of(page):
    """Returns the anchors that GitHub gives to the headings of a page."""
    anchors = set()
    for line in lines_of(page):
        if line.kind != "heading":
            continue
        title = re.sub(r"\]\([^)]*\)", "", line.text.lstrip("#").strip())
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        copies = [anchor] + [f"{anchor}-{i}" for i in range(1, 100)]
        anchors.add(next(copy for copy in copies if copy not in anchors))
    return anchors


def broken_links(page, read):
    """Returns the links that lead nowhere. `read` returns the text of a target, "" for a target without anchors (a
    directory), None for a missing target. For the page itself, the target is ""."""
    found = []
    for first, text, _ in blocks_of(page):
        plain = re.sub(r"`[^`]*`", lambda span: "." * len(span.group()), text)
        for link in re.finditer(r"\]\(([^)\s]*)(?:\s+\"[^\"]*\")?\)", plain):
            target, _, anchor = link.group(1).partition("#")
            number = first + plain.count("\n", 0, link.start())
            if re.match(r"\w+:", target):
                continue
            content = None if target.startswith("/") else read(target)
            if content is None:
                found.append((number, f"the link leads nowhere: {link.group(1)}"))
            elif anchor and anchor not in anchors_of(content):
                found.append((number, f"the link's page has no heading '#{anchor}': {link.group(1)}"))
    return found


# Commands and paths


def programs_of(cmake):
    """Returns the patterns of the programs that a CMakeLists.txt makes; ${name} stands for any word."""
    return [re.sub(r"\$\{\w+\}", "*", name) for name in re.findall(r"\badd_executable\(\s*([\w${}-]+)", cmake)]


class Repository:
    """The names that a page may use: programs of the build, subcommands of tegula, files, and commands of other projects."""

    def __init__(self, files, programs, subcommands, outside_commands=()):
        self.files = set(files)
        self.folders = {"/".join(file.split("/")[:i]) for file in files for i in range(1, file.count("/") + 1)}
        self.programs, self.subcommands = list(programs), set(subcommands)
        self.outside_commands = set(outside_commands) | SHELL_WORDS

    def has_program(self, name):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.programs)

    def has_path(self, path):
        """True for a file or folder, by its whole path or the last parts of it; `*` stands for any text."""
        path = path.rstrip("/")
        known = self.files | self.folders
        if "*" in path:
            return any(fnmatch.fnmatchcase("/" + name, "*/" + path) for name in known)
        return path in known or any(name.endswith("/" + path) for name in known)


def commands_of(line):
    """Returns the words of each command in a line of shell, without assignments and comments."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    commands = [[]]
    for word in lexer:
        if re.fullmatch(r"[();<>|&]+", word):
            commands.append([] if not word.startswith(("<", ">")) else ["cat"])
        elif commands[-1] or not re.match(r"\w+=", word):
            commands[-1].append(word)
    return [command for command in commands if command]


def wrong_command(words, repository):
    """Returns a sentence if the command is ours and does not exist, otherwise None. A folder of scripts exists, too."""
    program = words[0].removeprefix("./")
    if program.startswith("tools/"):
        exists = program in repository.files or program.rstrip("/") in repository.folders
        return None if exists else f"there is no script {program}"
    name = program.rpartition("/")[2]
    if OUR_PATH.fullmatch(program) or OUR_PROGRAM.fullmatch(program):
        if not repository.has_program(name):
            return f"the build makes no program {name}"
        is_command = name == "tegula" and len(words) > 1 and re.fullmatch(r"[a-z]\w*", words[1])
        if is_command and words[1] not in repository.subcommands:
            return f"tegula has no command {words[1]}"
    return None


def shell_lines(page):
    """Yields (number, text, language) of each command line in a block of shell or of no language; a backslash at the
    end of a line joins the next one."""
    start, text = 0, ""
    for line in lines_of(page):
        if line.kind != "code" or line.language not in ("sh", "bash", "console", ""):
            continue
        start, text = start or line.number, text + line.text.strip()
        if text.endswith("\\"):
            text = text[:-1]
            continue
        yield start, re.sub(r"^\$ ", "", text), line.language
        start, text = 0, ""


def unknown_commands(page, repository):
    """Returns the commands that are not known. A block of language sh holds only commands, so each must be known. Other
    blocks also hold output."""
    found = []
    for number, text, language in shell_lines(page):
        strict = language in ("sh", "bash")
        if not strict and not re.match(r"(?:\./)?(?:tools/|build[\w-]*/bin/|tegula)", text):
            continue
        try:
            commands = commands_of(text)
        except ValueError as error:
            commands = []
            if strict:
                found.append((number, f"cannot be read as shell ({error}): {text}"))
        for words in commands:
            wrong = wrong_command(words, repository)
            known = OUR_PATH.fullmatch(words[0]) or OUR_PROGRAM.fullmatch(words[0])
            if strict and not known and words[0] not in repository.outside_commands:
                wrong = f"{words[0]} is no command of this repository, nor listed in outside_commands"
            if wrong:
                found.append((number, wrong))
    for number, span in spans_of(page):
        words = span.split()
        wrong = wrong_command(words, repository) if words and not re.search(r"[*{]", words[0]) else None
        if wrong:
            found.append((number, wrong))
    return found


def expand_braces(path):
    """Returns the paths that braces stand for: a.{h,cpp} gives a.h and a.cpp."""
    match = re.search(r"\{([^{}]*)\}", path)
    if not match:
        return [path]
    return [rest for part in match.group(1).split(",")
            for rest in expand_braces(path[:match.start()] + part + path[match.end():])]


def missing_paths(page, repository):
    """Returns the paths that do not exist. Words in capitals are placeholders: `compiler/PHASE/Passes.td`, `PROGRAM.mlir`."""
    found = []
    top = {file.split("/")[0] for file in repository.files if "/" in file}
    for number, span in spans_of(page):
        if not re.fullmatch(r"[\w.{},*/+-]+(?::\d+)?", span):
            continue
        for path in expand_braces(span.partition(":")[0]):
            parts = path.removesuffix("/").split("/")
            looks_like_one = SOURCE_FILE.fullmatch(path) or parts[0] in top and "/" in path
            is_placeholder = any(re.fullmatch(r"[A-Z_]{2,}(?:\.\w+)?", part) for part in parts) and path != "README.md"
            if not looks_like_one or is_placeholder:
                continue
            if not repository.has_path(path):
                found.append((number, f"there is no file {path}"))
    return found


# Names in the code


def names_of_ir(source):
    """Returns the names of ops, types and attributes of our dialects that a source of the compiler defines or spells."""
    names = set(re.findall(r'"((?:sm|tile)\.\w+)"', source))
    for prefix, mnemonic in re.findall(r'^def (Sm|Tile)_\w+ : \w+<"(\w+)"', source, re.MULTILINE):
        names.add(f"{prefix.lower()}.{mnemonic}")
    for prefix, mnemonic in re.findall(r'^def (Sm|Tile)_[^}]*?\n  let mnemonic = "(\w+)"', source, re.MULTILINE):
        names.add(f"{prefix.lower()}.{mnemonic}")
    return names


def unknown_ir_names(page, names):
    """Returns the ops, types and attributes of our dialects that a page names and no source of the compiler has."""
    return [(number, f"the compiler has no {name}") for number, span in spans_of(page)
            for name in re.findall(r"(?<![\w./])(?:sm|tile)\.[a-z]\w*", span) if name not in names]


def misspelt_statuses(page, codes):
    """Returns the words such as `CompileFailed`, which ErrorCode spells compile_failed."""
    spellings = {"".join(word.capitalize() for word in code.split("_")): code for code in codes}
    return [(number, f"{span} is spelt {spellings[span]}") for number, span in spans_of(page) if span in spellings]


# All files


def conflict_markers(text):
    """Returns the lines with which git marks a conflict of a merge."""
    return [(number, f"a conflict of a merge is left: {line}") for number, line in enumerate(text.splitlines(), 1)
            if re.fullmatch(r"(?:<{7}|\|{7}|>{7})(?: .*)?|={7}", line)]


# Sources


def long_td_lines(name, source):
    """Returns the lines of a .td file that are longer than clang-format, which does not format them, leaves in C++."""
    return [(number, f"the line has {len(line)} columns; the most is {TD_WIDTH}")
            for number, line in enumerate(source.splitlines(), 1) if name.endswith(".td") and len(line) > TD_WIDTH]


class Prose:
    """A comment or a string of a source. A doc comment knows whether it begins here or goes on from the line above."""

    def __init__(self, number, text, begins_doc=False):
        self.number, self.text, self.begins_doc = number, text, begins_doc


CPP = re.compile(r"""R"(?P<mark>[^()\s\\]{0,16})\((?P<raw>.*?)\)(?P=mark)"
  | "(?P<string>(?:\\.|[^"\\\n])*)"
  | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'
  | //(?P<line>[^\n]*)
  | /\*(?P<block>.*?)\*/
  | \[\{(?P<td>.*?)\}\]""", re.VERBOSE | re.DOTALL)

SCRIPT = re.compile(r"""(?<![\w$\\{"'])\#(?P<line>[^\n]*)
  | "(?P<string>(?:\\.|[^"\\])*)"
  | '(?P<raw>[^']*)'""", re.VERBOSE | re.DOTALL)


def cpp_prose(source):
    """Yields the comments and strings of C, C++ and TableGen. The text in [{ }] of a .td file counts as a string."""
    last, last_stood_alone = -1, False  # The doc comment before.
    for match in CPP.finditer(source):
        number = source.count("\n", 0, match.start()) + 1
        text = match.group("line")
        if text is None:
            text = next((match.group(kind) for kind in ("raw", "string", "block", "td") if match.group(kind)), "")
            yield Prose(number, text)
        elif not text.startswith("/"):
            yield Prose(number, text)
        else:
            stands_alone = not source[source.rfind("\n", 0, match.start()) + 1:match.start()].strip()
            goes_on = last == number - 1 and stands_alone and (last_stood_alone or text.startswith("/<"))
            yield Prose(number, text.lstrip("/<"), begins_doc=not goes_on)
            last, last_stood_alone = number, stands_alone and not text.startswith("/<")


def script_prose(source):
    """Yields the comments and strings of shell scripts and CMake files."""
    for match in SCRIPT.finditer(source):
        text = match.group("line") or match.group("string") or match.group("raw") or ""
        yield Prose(source.count("\n", 0, match.start()) + 1, text)


def python_prose(source):
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if tokenize.tok_name[token.type] in ("COMMENT", "STRING", "FSTRING_MIDDLE"):
            yield Prose(token.start[0], token.string)


def prose_of(name, source):
    """Returns the comments and strings of a source, or an empty list for a file of another kind."""
    first = source[:source.find("\n")]
    if name.endswith((".h", ".hpp", ".c", ".cpp", ".td")):
        return list(cpp_prose(source))
    if name.endswith(".py") or first.startswith("#!") and "python" in first:
        return list(python_prose(source))
    if name.endswith((".cmake", "CMakeLists.txt")) or first.startswith("#!"):
        return list(script_prose(source))
    return []


def weak_beginnings(name, source):
    found = []
    for prose in prose_of(name, source):
        beginning = WEAK_BEGINNING.match(prose.text.strip())
        if prose.begins_doc and beginning:
            found.append((prose.number, f"a doc comment begins with '{beginning.group()}': begin with a verb or a noun"))
    return found


def banned_in(number, text):
    for match in BANNED.finditer(text):
        word = " ".join(match.group().lower().split())
        yield number + text.count("\n", 0, match.start()), f"'{word}': {BANNED_WORDS[word]}"


def banned_words(name, source):
    """Returns the banned words of a page, or of the comments and strings of a source."""
    if name.endswith(".md"):
        return list(banned_in(1, source))
    texts, previous = [], None
    for prose in prose_of(name, source):  # A comment of several lines is one text, so that words meet across their ends.
        if previous and prose.number == previous + 1 and not prose.begins_doc:
            texts[-1][1] += "\n" + prose.text.strip()
        else:
            texts.append([prose.number, prose.text])
        previous = prose.number + prose.text.count("\n")
    return [finding for number, text in texts for finding in banned_in(number, text)]


def torn_rulers(name, source):
    """Returns the section rulers that are torn: clang-format puts a `//===-- Name ---===//` that is too long on two lines."""
    if not name.endswith((".h", ".cpp")):
        return []
    return [(source.count("\n", 0, match.start()) + 1, "a section ruler is torn: write it in one line")
            for match in re.finditer(r"^\s*//===-- [^\n]*[^=\n]\n\s*//-{8,}", source, re.MULTILINE)]


