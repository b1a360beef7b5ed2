# SPDX-License-Identifier: MIT
"""Tests that libtegula.py, which PYTHONPATH names, calls the installed library ($LIBTEGULA) on memory of Python's own."""

import ctypes
import math
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

    def test_a_mask_selects_keys(self):
        self.problem.causal, self.problem.backward, self.problem.variants = tegula.CAUSAL_NONE, 0, tegula.MASK
        mask = (ctypes.c_int8 * 4)(0, 1, 0, 1)  # Keys 1 and 3; those beyond are hidden.
        tensors = (tegula.Tensor * 1)(tegula.Tensor(ctypes.addressof(mask), tegula.I8, 1, (4,), (1,)))
        self.context.forward(self.problem, tegula.ForwardArgs(
            scale=1, variant_tensors=tensors, variant_tensor_count=1, **self.views(*"q k v o lse".split())))
        for i in range(SIZE):
            self.assertAlmostEqual(self.o[i], 2, places=5)

    def test_a_union_has_the_keys_of_a_window_and_the_first_ones(self):
        self.problem.backward = 0
        self.problem.any_of[0] = tegula.KeySet(variants=tegula.WINDOW, window_left=1)
        self.problem.any_of[1] = tegula.KeySet(variants=tegula.GLOBAL_TOKENS, global_tokens=2)
        self.context.forward(self.problem, tegula.ForwardArgs(scale=1, **self.views(*"q k v o lse".split())))
        for i in range(SIZE):
            row = i // DIM % LENGTH
            seen = [key for key in range(row + 1) if key < 2 or key >= row - 1]
            self.assertAlmostEqual(self.o[i], sum(seen) / len(seen), places=5)

    def test_a_variant_is_text(self):
        self.problem.causal, self.problem.backward = tegula.CAUSAL_NONE, 0
        self.problem.variant_text = b"variant 1\nmask = key == query | key == query + 2\n"
        self.context.forward(self.problem, tegula.ForwardArgs(scale=1, **self.views(*"q k v o lse".split())))
        for i in range(SIZE):
            row = i // DIM % LENGTH
            self.assertAlmostEqual(self.o[i], row + 1 if row + 2 < LENGTH else row, places=5)

    def test_each_call_moves_the_diagonal(self):
        self.problem.backward, self.problem.diagonal_offset = 0, 1
        for past in 0, 3:
            offset = (ctypes.c_int32 * 1)(past)
            self.context.forward(self.problem, tegula.ForwardArgs(
                scale=1, diagonal_offset=tegula.Tensor(ctypes.addressof(offset), tegula.I32, 1, (1,), (1,)),
                **self.views(*"q k v o lse".split())))
            for i in range(SIZE):
                self.assertAlmostEqual(self.o[i], min(i // DIM % LENGTH + past, LENGTH - 1) / 2, places=5)

    def test_sinks(self):
        self.problem.sinks = 1
        sinks, d_sinks = (ctypes.c_float * HEADS)(*[0.0] * HEADS), (ctypes.c_float * HEADS)()
        vectors = {name: tegula.Tensor(ctypes.addressof(each), tegula.F32, 1, (HEADS,), (1,))
                   for name, each in (("sinks", sinks), ("d_sinks", d_sinks))}
        self.q = type(self.q)()  # All scores are 0, as the sinks are.
        self.context.forward(self.problem, tegula.ForwardArgs(
            scale=1, sinks=vectors["sinks"], **self.views(*"q k v o lse".split())))
        for i in range(SIZE):
            row = i // DIM % LENGTH
            self.assertAlmostEqual(self.o[i], row * (row + 1) / 2 / (row + 2), places=5)
        self.context.backward(self.problem, tegula.BackwardArgs(
            scale=1, **vectors, **self.views(*"q k v o lse d_o dq dk dv".split())))
        for head in range(HEADS):
            expected = -sum(DIM * row * (row + 1) / 2 / (row + 2) ** 2 for row in range(LENGTH))
            self.assertAlmostEqual(d_sinks[head], expected, places=3)

    def test_merge(self):
        merge = tegula.Merge(self.context, tegula.MergeProblem(dtype=tegula.F32, value_dim=DIM))
        rows = HEADS * LENGTH
        o_parts, lse_parts = (ctypes.c_float * (2 * SIZE))(), (ctypes.c_float * (2 * rows))(*[0.0] * 2 * rows)
        for i in range(SIZE):
            o_parts[i], o_parts[SIZE + i] = 1, 3
        lse_parts[rows] = -math.inf  # The second part of the first row has seen no key.
        tensors = [tegula.Tensor(ctypes.addressof(o_parts), tegula.F32, 5, (2, 1, HEADS, LENGTH, DIM),
                                 (SIZE, SIZE, LENGTH * DIM, DIM, 1)),
                   tegula.Tensor(ctypes.addressof(lse_parts), tegula.F32, 4, (2, 1, HEADS, LENGTH),
                                 (rows, rows, LENGTH, 1)), view(self.o), view(self.lse)]
        merge.launch(tensors)
        self.assertEqual(list(self.o), [1] * DIM + [2] * (SIZE - DIM))
        self.assertEqual(self.lse[0], 0)
        self.assertAlmostEqual(self.lse[1], math.log(2), places=6)
        with self.assertRaisesRegex(RuntimeError, "plan 'merge': expected 4 arguments, got 3"):
            merge.launch(tensors[:3])

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
