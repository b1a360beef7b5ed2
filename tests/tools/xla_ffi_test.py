# SPDX-License-Identifier: MIT
"""Tests bench/performance/xla_ffi.py with functions of Python that read what XLA's FFI passes."""

import ctypes
import pathlib
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from performance import xla_ffi  # noqa: E402


def tensor(shape, dtype, address):
    return types.SimpleNamespace(shape=shape, dtype=f"torch.{dtype}", dim=lambda: len(shape), data_ptr=lambda: address)


def buffers(values):
    """Returns (type, address, shape) of each."""
    items = [xla_ffi.Buffer.from_address(values.values[i]) for i in range(values.size)]
    return [(item.dtype, item.data, tuple(item.dims[:item.rank])) for item in items]


def attributes(values):
    kinds = {1: ctypes.c_bool, 5: ctypes.c_int64, 12: ctypes.c_double}
    for i in range(values.size):
        name, scalar = xla_ffi.Name.from_address(values.names[i]), xla_ffi.Scalar.from_address(values.values[i])
        yield name.text[:name.length].decode(), kinds[scalar.dtype].from_address(scalar.value).value


class XlaFfiTest(unittest.TestCase):
    def setUp(self):
        self.memory = []
        self.caller = xla_ffi.Caller(3, 0x5000, lambda size: self.memory.append(size) or 0x7000, self.memory.append)

    def call(self, body, *arguments, **numbers):
        """Calls `body(frame, api)`, which stands in for a function of a library."""
        function = xla_ffi.CALLBACK(lambda address: body(frame := xla_ffi.Frame.from_address(address), frame.api.contents))
        return self.caller.call(function, *arguments, **numbers)

    def test_a_function_reads_what_is_passed(self):
        seen = {}

        def body(frame, api):
            seen.update(args=buffers(frame.args), rets=buffers(frame.rets), numbers=list(attributes(frame.attributes)),
                        stage=frame.stage, size=frame.struct_size)

        self.call(body, [tensor((2, 3), "bfloat16", 0x100), tensor((4,), "float32", 0x200)],
                  [tensor((2,), "float16", 0x300), tensor((5,), "int32", 0x400)], scale=0.125, causal=True, left=-1)
        self.assertEqual(seen, {"args": [(16, 0x100, (2, 3)), (11, 0x200, (4,))], "rets": [(10, 0x300, (2,)), (4, 0x400, (5,))],
                                "numbers": [("causal", True), ("left", -1), ("scale", 0.125)], "stage": 3, "size": 168})

    def test_a_function_gets_the_stream_the_device_and_memory(self):
        seen = {}

        def body(frame, api):
            stream, memory = xla_ffi.make(xla_ffi.StreamGet), xla_ffi.make(xla_ffi.Memory, size=640)
            ordinal, freed = xla_ffi.make(xla_ffi.Ordinal), xla_ffi.make(xla_ffi.Freed, data=0x7000)
            for ask, structure in ((api.stream_get, stream), (api.allocate, memory), (api.device_ordinal, ordinal),
                                   (api.free, freed)):
                self.assertIsNone(ask(ctypes.addressof(structure)))
            seen.update(stream=stream.stream, data=memory.data, ordinal=ordinal.ordinal)

        self.call(body, [], [])
        self.assertEqual(seen, {"stream": 0x5000, "data": 0x7000, "ordinal": 3})
        self.assertEqual(self.memory, [640, 0x7000])

    def test_an_error_of_the_function_is_raised(self):
        def body(frame, api):
            error = xla_ffi.make(xla_ffi.ErrorCreate, message=b"no such head dimension")
            return api.error_create(ctypes.addressof(error))

        with self.assertRaisesRegex(RuntimeError, "no such head dimension"):
            self.call(body, [], [])
        self.assertIsNone(self.call(lambda frame, api: None, [], []))

    def test_what_is_not_offered_is_named(self):
        with self.assertRaisesRegex(RuntimeError, "it calls schedule, which is not offered"):
            self.call(lambda frame, api: api.schedule(0), [], [])


if __name__ == "__main__":
    unittest.main()
