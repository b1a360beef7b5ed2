# SPDX-License-Identifier: MIT
"""The programs of tests/dsl/programs.cpp, in Python. Their text must be that of C++, except for locations."""

import math

import tegula
from tegula import language as tl
from tegula.language import Scalar, Tensor


@tegula.kernel
def flash_forward(q: Tensor("bf16", 3), k: Tensor("bf16", 3), v: Tensor("bf16", 3), o: Tensor("bf16", 3),
                  lse: Tensor("f32", 2), scale: Scalar("f32"), block_m=64, block_n=32):
    row = tl.program_id(0) * block_m
    tile = q.at(tl.program_id(1)).load(row, [block_m, 64])
    rows = tl.as_column(row + tl.iota(block_m))
    softmax = tl.OnlineSoftmax(block_m, 64)
    for key in tl.range(0, tl.min(row + block_m, k.dim(1)), block_n):
        s = tl.dot(tile, tl.transpose(k.at(tl.program_id(1)).load(key, [block_n, 64]))) * scale
        keys = tl.as_row(key + tl.iota(block_n))
        softmax.update(tl.select((keys <= rows) & (keys < k.dim(1)), s, -math.inf),
                       v.at(tl.program_id(1)).load(key, [block_n, 64]))
    o.at(tl.program_id(1)).store(row, softmax.output())
    lse.at(tl.program_id(1)).store(row, softmax.log_sum_exp())


@tegula.kernel
def arithmetic(x: Tensor("bf16", 2), y: Tensor("f16", 2), out: Tensor("f32", 2), scale: Scalar("f32"),
               count: Scalar("i32")):
    a = x.load(0, [4, 8])
    b = y.load([count, 1], [4, 8], 1)
    column = tl.as_column(tl.reduce_sum(a * a, 1))
    total = a + b * column - 2 / scale
    position = tl.program_id(2) * 3 + tl.iota(8)
    even = ((position % 2 == 0) ^ ~(position >= count)) | (position != count // 3)
    shifted = (position << 2 >> 1 & 7) - tl.ceil_div(position, 2)
    special = (tl.exp(total) + tl.exp2(total) * tl.log(total) / tl.log2(total) - tl.tanh(total) * tl.fast_tanh(total)
               + tl.sqrt(abs(total)))
    bounded = tl.max(tl.min(special, 1e-5), -math.inf)
    chosen = tl.select(tl.as_row(even), bounded, tl.as_row(shifted))
    rounded = tl.cast("f32", tl.cast("f16", tl.cast("i32", -chosen))) + tl.cast("f32", tl.as_row(even))
    out.store([0, 3], rounded)


@tegula.kernel
def nested_loops(x: Tensor("f32", 1), out: Tensor("f32", 1), count: Scalar("i64")):
    total = tl.Var(tl.fill([16], 0.0))
    unused = tl.Var(tl.fill([16], 1.0))
    never_read = tl.Var(tl.constant("i32", 0))
    previous = tl.Var(tl.fill([16], 0.0))
    current = tl.Var(x.load(0, [16]))
    for i in tl.range(0, count):
        inner = tl.Var(x.load(i * 16, [16]))
        for j in tl.range(i, count, 2):
            inner.assign(inner * total)
            total += x.load(j * 16, [16])
            never_read.assign(never_read + 1)
        swap = tl.Value(previous)
        previous.assign(current)
        current.assign(swap + inner)
    for i in tl.range(0, 10):
        unused.assign(unused * 2.0)
    out.store(0, total + current)


@tegula.kernel
def branches(x: Tensor("f32", 1), out: Tensor("f32", 1), count: Scalar("i32")):
    kept = tl.Var(x.load(0, [16]))
    level = tl.Var(tl.constant("f32", 1))

    def otherwise():
        tl.when(count == -1, lambda: out.store(0, kept))
        kept.assign(-kept)

    tl.when(count > 0, lambda: kept.assign(kept * 2.0), otherwise)
    tl.when(count == 3, lambda: None, lambda: out.store(16, level))
    for i in tl.range(0, count):
        @tl.when(i > 4)
        def _():
            level.assign(level + 1.0)
    out.store(32, kept * level)


@tegula.kernel
def memory_order(x: Tensor("f32", 2), y: Tensor("f32", 2), out: Tensor("f32", 2)):
    early = x.load(0, [8, 8])
    late = y.load(0, [8, 8])
    y.load(8, [8, 8])
    out.store(0, x.load(1, [8, 8]) @ y.load(1, [8, 8]))
    again = x.load(0, [8, 8])
    out.store(8, early + again)
    for i in tl.range(0, 8):
        m = out.load(i, [1, 8])
        n = out.load([i, 8], [1, 8])
        out.store([i, 8], m)
        out.store(i, n)
    out.store(16, late + x.load(0, [8, 8]))


@tegula.kernel
def elements(table: Tensor("bf16", 4), counts: Tensor("i32", 1), out: Tensor("f32", 3), head: Scalar("i32")):
    rows, columns = tl.as_column(tl.iota(8)), tl.as_row(tl.iota(4))
    found = table.gather(head, tl.program_id(0), rows, columns)
    slope = counts.gather(head)
    out.at(head).atomic_add(head + 1, found * slope)
    out.scatter_add(1.0, head, rows, columns + rows)
    out.at(head).scatter(found, tl.as_column(counts.load(0, [8])), columns)
    out.at(head).store_where(rows < 5, head, found)
    counts.store_where(tl.iota(8) < head, 0, 7)
    cube = tl.reshape(found, [2, 4, 4])
    turned = tl.permute(cube, [2, 0, 1])
    out.store([0, 1], tl.cast("f32", turned))
    counts.store(0, tl.reduce_max(tl.broadcast(tl.as_row(tl.iota(4)), [8, 4]), 0) + tl.reduce_min(tl.iota(16), 0))


@tegula.kernel
def functions(x: Tensor("bf16", 2), y: Tensor("f32", 2), slope: Tensor("f32", 2), rows: Tensor("f32", 1)):
    s = x.load(0, [8, 8])
    gates = tl.sigmoid(s) + tl.silu(s) - tl.gelu(s) * tl.clamp(s, -2, 2)
    y.store(0, gates + tl.sin(s) * tl.cos(s) / tl.pow(abs(s), 0.3) + tl.rsqrt(s ** 2 + 1) - tl.erf(s ** 3))
    slope.store(0, tl.differentiate(tl.silu(s), s, tl.fill([8, 8], 1.0)))
    rows.store(0, tl.row_log_sum_exp(s))


@tegula.kernel
def gradient(x: Tensor("f32", 2), bias: Tensor("bf16", 3), dbias: Tensor("f32", 3), dx: Tensor("f32", 2)):
    s = x.load(0, [8, 8])
    position = tl.iota(8)
    modified = 30 * tl.tanh(s / 30) + bias.gather(tl.program_id(0), tl.as_column(position), tl.as_row(position))
    masked = tl.select(tl.as_column(position) >= tl.as_row(position), modified, -math.inf)
    dx.store(0, tl.differentiate(masked, s, tl.fill([8, 8], 1.0), [(bias, dbias)]))


@tegula.kernel
def dynamic_loop(x: Tensor("f32", 1), out: Tensor("f32", 1), counter: Tensor("i32", 1), count: Scalar("i32")):
    scale = tl.exp(x.load(0, [16]))
    for i in tl.dynamic_range(counter, tl.ceil_div(count, 16)):
        total = tl.Var(x.load(i * 16, [16]))
        for j in tl.range(0, i):
            total += x.load(j * 16, [16])
        out.store(i * 16, total * scale)


@tegula.kernel
def sums_and_prints(x: Tensor("f32", 2), dx: Tensor("f32", 2), count: Scalar("i32")):
    s = x.load(0, [4, 8])
    tl.print("s", s)
    for i in tl.range(0, count):
        tl.print("the third", i, i == 2)
    y = tl.cumsum(s * s, 1)
    dx.store(0, tl.differentiate(y, s, tl.cumsum(y, 0, True)))


@tegula.kernel
def turns(x: Tensor("f32", 2), sums: Tensor("f32", 2), counters: Tensor("i32", 2)):
    number = tl.program_id(0)
    for i in tl.range(0, x.dim(0), 8):
        turn = tl.Turn(counters.at(tl.program_id(1)), i, number, number + 1)
        sums.ordered_add([i, 0], x.load([i, 0], [8, 4]) * 2.0, turn)


@tegula.kernel
def arrivals(x: Tensor("f32", 2), parts: Tensor("f32", 2), sums: Tensor("f32", 1), counters: Tensor("i32", 1)):
    part, column = tl.program_id(0), tl.program_id(1)
    parts.at(part).store(column, tl.row_sum(x.load([column, part * 4], [8, 4])))

    @tl.when(counters.arrive(column, tl.num_programs(0)))
    def _():
        total = tl.Var(tl.fill([8], 0.0))
        for i in tl.range(0, tl.num_programs(0)):
            total += parts.at(i).load(column, [8])
        sums.store(column, total)


@tegula.kernel
def random_numbers(state: Tensor("i64", 1), x: Tensor("f32", 2), dx: Tensor("f32", 2), high: Tensor("i32", 2),
                   stream: Scalar("i32")):
    key = tl.RandomKey(state.gather(0), state.gather(1), stream)
    row, column = tl.as_column(tl.program_id(0) * 16 + tl.iota(16)), tl.as_row(tl.iota(32))
    s = x.load(0, [16, 32])
    dropped = (tl.select(tl.random_bytes(key, row, column, 7) < 230, s * s, 0.0)
               + tl.random(tl.RandomKey(1, 2, 3), row, 5))
    dx.store(0, tl.differentiate(dropped, s, tl.random(key, row, column)))
    high.store(0, tl.broadcast(tl.mulhi(row, column), [16, 32]))


@tegula.kernel
def pairs(x: Tensor("f32", 2), angle: Tensor("f32", 2), dx: Tensor("f32", 2)):
    s, t = x.load(0, [16, 32]), angle.load(0, [16, 16])
    even, odd = tl.columns(s, 0, 32, 2), tl.columns(s, 1, 32, 2)
    turned = tl.interleave_columns(even * tl.cos(t) - odd * tl.sin(t), even * tl.sin(t) + odd * tl.cos(t))
    dx.store(0, tl.differentiate(turned, s, tl.join_columns(t, tl.columns(s, 3, 19))))


@tegula.kernel
def conditions(x: Tensor("f32", 2), seen: Tensor("i1", 2), out: Tensor("f32", 2), flags: Tensor("i1", 1)):
    s, places = x.load(0, [8, 16]), tl.iota(8)
    visible = tl.any_of([seen.load(0, [8, 16], 1), s > 2, ~seen.gather(tl.as_column(places), tl.as_row(tl.iota(16)))])
    rows = tl.all(visible, 1) | tl.any(s < 0, 1)
    flags.store_where(rows, 0, rows)
    flags.scatter(tl.all_of([rows, places > 2]), places + 8)
    tl.when(tl.all(visible) & flags.gather(0), lambda: out.store(0, tl.select(visible, s, 0.0)))


@tegula.kernel
def segments(starts: Tensor("i32", 1), x: Tensor("f32", 2), bias: Tensor("bf16", 3), dbias: Tensor("f32", 3),
             out: Tensor("f32", 2)):
    begin, end = starts.gather(tl.program_id(0)), starts.gather(tl.program_id(0) + 1)
    rows, of_bias = x.rows(begin, end), bias.at(1).rows(begin, end)
    for i in tl.range(0, rows.dim(0), 8):
        s = rows.load(i, [8, 16])
        biased = s * of_bias.gather(tl.as_column(i + tl.iota(8)), tl.as_row(tl.iota(16)))
        out.rows(begin, end).store(i, tl.differentiate(biased, s, tl.fill([8, 16], 1.0), [(bias, dbias)]))
    out.rows(begin, 7).at(2).atomic_add(0, tl.fill([16], 1.0))


@tegula.kernel
def pages(table: Tensor("i32", 2), lengths: Tensor("i32", 1), pool: Tensor("f32", 4), q: Tensor("f32", 3),
          out: Tensor("f32", 2)):
    sequence = tl.program_id(0)
    keys, heads = tl.paged(pool.at(1), table.at(sequence), 16).rows(0, lengths.gather(sequence)), tl.packed(q)
    for i in tl.range(0, keys.dim(0), 8):
        heads.store(i, keys.load(i, [8, 16]))
    tl.packed(q, 4).at(3).atomic_add(0, tl.paged(pool.at_axis(1, 0), table.at(2), 4, lengths).at(3).load(0, [16]))
    out.store(0, keys.gather(tl.as_column(tl.iota(8)), tl.as_row(tl.iota(16))))


@tegula.kernel
def products(a: Tensor("f32", 2), b: Tensor("f32", 2), out: Tensor("f32", 2)):
    x, y = a.load(0, [16, 32]), b.load(0, [32, 8])
    rounded, exact = tl.dot(x, y, input_precision="tf32"), tl.dot(x, y, input_precision="ieee")
    out.store(0, tl.label("sum", tl.dot(x, y, rounded, "tf32")))
    out.store(16, tl.label("difference", tl.dot(-x, y, acc=exact)))


@tegula.kernel
def steps(table: Tensor("i32", 1), x: Tensor("f32", 2), sums: Tensor("f32", 2)):
    for i in tl.range(0, table.dim(0), 1, [tl.Steps("s add"), tl.Steps("block rows@1", "load")]):
        block = tl.label("block", table.gather(i))
        rows = tl.label("rows", x.load([block * 16, 0], [16, 16], 1.0))
        s = tl.label("s", tl.dot(rows, tl.transpose(rows)))
        tl.label("add", lambda: sums.atomic_add([block * 16, 0], s))
    tl.label("last", lambda: sums.store_where(table.gather(0) == 0, 0, tl.fill([16, 16], 1.0)))
