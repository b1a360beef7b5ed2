# SPDX-License-Identifier: MIT
"""Reads NumPy's file format, version 1.0, for f32 arrays in C order."""

import ast
import math
import struct


def read_npy(path):
    """Returns the shape and the numbers of a file."""
    with open(path, "rb") as file:
        content = file.read()
    assert content[:8] == b"\x93NUMPY\x01\x00", content[:8]
    (length,) = struct.unpack("<H", content[8:10])
    assert (10 + length) % 64 == 0 and content[9 + length : 10 + length] == b"\n"
    header = ast.literal_eval(content[10 : 10 + length].decode("latin1"))
    assert header["descr"] == "<f4" and header["fortran_order"] is False, header
    data = content[10 + length :]
    assert len(data) == 4 * math.prod(header["shape"])
    return header["shape"], struct.unpack(f"<{len(data) // 4}f", data)
