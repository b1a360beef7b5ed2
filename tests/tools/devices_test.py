# SPDX-License-Identifier: MIT
"""Tests that `tegula devices` lists the cpu, and a GPU or the reason why there is none."""

import unittest

from command_line import CommandLineTest


class DevicesTest(CommandLineTest):
    def test_lists_the_cpu_and_says_what_assembles(self):
        text = self.run_tegula("devices").stdout
        self.assertRegex(text, r"(?m)^cpu +\S.* cores? +.* GiB")
        self.assertRegex(text, r"(?m)^cuda")
        self.assertRegex(text, r"(?m)^assembler for GPUs: (ptxas \d+|no ptxas)")

    def test_without_a_driver_it_says_why(self):
        text = self.run_tegula("devices", environment={"TEGULA_LIBCUDA": "/nowhere/libcuda.so"}).stdout
        self.assertRegex(text, r"(?m)^cuda +.*/nowhere/libcuda.so")


if __name__ == "__main__":
    unittest.main()
