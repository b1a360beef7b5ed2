# SPDX-License-Identifier: MIT
"""Tests that libtegula.py, which PYTHONPATH names, calls the installed library ($LIBTEGULA) on memory of Python's own."""

import ctypes
import unittest

import libtegula as tegula

HEADS, LENGTH, DIM = 2, 10, 8
SIZE = HEADS * LENGTH * DIM

DOUBLE = '''
module attributes {tile.version = 1 : i64} {
  func.func @times(%x: !tile.view<1xf32> {tile.name = "x"}, %y: !tile.view<1xf32> {tile.name = "y", tile.written},
                   %a: f32 {tile.name = "a"}) {
    %c0 = arith.constant 0 : index
    %xs = tile.load %x[%c0] : !tile.view<1xf32> -> tensor<16xf32>
    %as = tile.broadcast %a : f32 -> tensor<16xf32>
    %ys = arith.mulf %xs, %as : tensor<16xf32>
    tile.store %ys, %y[%c0] : tensor<16xf32>, !tile.view<1xf32>
    return
  }
}
'''


def view(numbers):
    """Returns a tensor [1, HEADS, LENGTH, DIM], or [1, HEADS, LENGTH] if there are fewer numbers."""
    shape = (1, HEADS, LENGTH, DIM)[:4 if len(numbers) == SIZE else 3]
    strides = [len(numbers)]
    for size in shape[:-1]:
        strides.append(strides[-1] // size)
    strides = strides[1:] + [1]
    return tegula.Tensor(ctypes.addressof(numbers), tegula.F32, len(shape), shape, tuple(strides))


class LibtegulaTest(unittest.TestCase):
    def setUp(self):
        self.context = tegula.Context(tegula.ContextOptions())
        self.problem = tegula.Problem(dtype=tegula.F32, head_dim=DIM, backward=1, causal=tegula.CAUSAL_TOP_LEFT)
        numbers = ctypes.c_float * SIZE
        # All keys are equal: attention is the mean of the values so far.
        self.q, self.k, self.d_o = numbers(*[0.5] * SIZE), numbers(*[0.25] * SIZE), numbers(*[1] * SIZE)
        self.v = numbers(*[i // DIM % LENGTH for i in range(SIZE)])
        self.o, self.dq, self.dk, self.dv = numbers(), numbers(), numbers(), numbers()
        self.lse = (ctypes.c_float * (HEADS * LENGTH))()

    def views(self, *names):
        return {name: view(getattr(self, name)) for name in names}

    def test_forward_and_backward(self):
        self.context.forward(self.problem, tegula.ForwardArgs(scale=1, **self.views(*"q k v o lse".split())))
        for i in range(SIZE):
            self.assertAlmostEqual(self.o[i], (i // DIM % LENGTH) / 2, places=5)
        self.context.backward(self.problem, tegula.BackwardArgs(
            scale=1, **self.views(*"q k v o lse d_o dq dk dv".split())))
        for i in range(SIZE):
            key = i // DIM % LENGTH
            self.assertAlmostEqual(self.dq[i], 0, places=5)
            self.assertAlmostEqual(self.dv[i], sum(1 / (row + 1) for row in range(key, LENGTH)), places=5)

    def test_an_error_is_an_exception(self):
        with self.assertRaisesRegex(RuntimeError, "argument 'lse': it has rank 0"):
            self.context.forward(self.problem, tegula.ForwardArgs(scale=1, **self.views(*"q k v o".split())))

    def test_a_kernel_of_its_own(self):
        kernel = tegula.Kernel(self.context, DOUBLE)
        self.assertEqual(kernel.parameters(), ["x", "y", "a"])
        x, y = (ctypes.c_float * 10)(*range(10)), (ctypes.c_float * 10)()
        vectors = [tegula.Tensor(ctypes.addressof(each), tegula.F32, 1, (10,), (1,)) for each in (x, y)]
        kernel.launch((1, 1, 1), [*vectors, 2.0])
        self.assertEqual(list(y), [2 * i for i in range(10)])
        with self.assertRaisesRegex(RuntimeError, "kernel '[a-z_]+': argument 'a': expected f32, got i64"):
            kernel.launch((1, 1, 1), [*vectors, 2])


if __name__ == "__main__":
    unittest.main()
