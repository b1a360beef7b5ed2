# SPDX-License-Identifier: MIT
"""Runs the command line under test. $TEGULA names it, and $TEGULA_TEST_TARGET names the target to test (default: cpu)."""

import atexit
import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree


TARGET = os.environ.get("TEGULA_TEST_TARGET", "cpu")

# The user's tunings and kernels neither change the tests nor are changed by them.
_cache = tempfile.TemporaryDirectory()
atexit.register(_cache.cleanup)
os.environ.pop("TEGULA_CACHE_DIR", None)
os.environ["XDG_CACHE_HOME"] = _cache.name


class Page:
    """What the page of an option --html says."""

    def __init__(self, path):
        root = xml.etree.ElementTree.parse(path).getroot()
        self.title = root.findtext("body/h1")
        self.scale = [span.text for span in root.findall(".//div[@class='scale']/span")]
        self.panels = {table.findtext("caption"): self.cells(table) for table in root.findall(".//table")}
        self.axes = [head.text for head in root.findall(".//table[1]//th[@class='axis']")]  # Of columns and rows.

    @staticmethod
    def cells(table):
        """Returns the cells of a table that are not empty, by row and column."""
        columns = [head.text for head in table.findall("thead/tr/th[@scope='col']")]
        return {(row.findtext("th"), column): cell for row in table.findall("tbody/tr")
                for column, cell in zip(columns, row.findall("td")) if cell.text}


class CommandLineTest(unittest.TestCase):
    maxDiff = None

    def run_tegula(self, *arguments, code=0, text=True, stdin=None, environment={}):
        result = subprocess.run([os.environ["TEGULA"], *arguments], capture_output=True, text=text, input=stdin,
                                env=os.environ | environment)
        if code is not None:
            self.assertEqual(result.returncode, code, result.stderr)
        return result
