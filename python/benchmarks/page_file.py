# SPDX-License-Identifier: MIT
"""What the programs that write a page of docs have in common."""

import sys


def write_or_check(file, text):
    """Writes a page. With --check on the command line, returns 1 if the page would change, and writes nothing."""
    if "--check" in sys.argv[1:]:
        return int(file.read_text() != text)
    file.write_text(text)
    return 0
