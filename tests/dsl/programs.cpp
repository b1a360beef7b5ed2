// SPDX-License-Identifier: MIT
#include "programs.h"

#include "tegula/dsl.h"

#include <limits>

using namespace tegula;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void flashForward(View Q, View K, View V, View O, View Lse, Value scale, int64_t block_m, int64_t block_n) {
  Value row = programId(0) * block_m;
  Value q = Q.at(programId(1)).load(row, {block_m, 64});
  Value rows = asColumn(row + iota(block_m));
  OnlineSoftmax softmax(block_m, 64);
  for (Value key : range(0, min(row + block_m, K.dim(1)), block_n)) {
    Value s = dot(q, transpose(K.at(programId(1)).load(key, {block_n, 64}))) * scale;
    Value keys = asRow(key + iota(block_n));
    softmax.update(select((keys <= rows) & (keys < K.dim(1)), s, -infinity),
                   V.at(programId(1)).load(key, {block_n, 64}));
  }
  O.at(programId(1)).store(row, softmax.output());
  Lse.at(programId(1)).store(row, softmax.logSumExp());
}

void arithmetic(View x, View y, View out, Value scale, Value count) {
  Value a = x.load(0, {4, 8}), b = y.load({count, 1}, {4, 8}, 1);
  Value column = asColumn(reduceSum(a * a, 1));
  Value sum = a + b * column - 2 / scale;
  Value position = programId(2) * 3 + iota(8);
  Value even = ((position % 2 == 0) ^ !(position >= count)) | (position != floorDiv(count, 3));
  Value shifted = (position << 2 >> 1 & 7) - ceilDiv(position, 2);
  Value special = exp(sum) + exp2(sum) * log(sum) / log2(sum) - tanh(sum) * fastTanh(sum) + sqrt(abs(sum));
  Value bounded = max(min(special, 1e-5), -infinity);
  Value chosen = select(asRow(even), bounded, asRow(shifted));
  Value rounded = cast(f32, cast(f16, cast(i32, -chosen))) + cast(f32, asRow(even));
  out.store({0, 3}, rounded);
}

void nestedLoops(View x, View out, Value count) {
  Var total = fill({16}, 0.0);
  Var unused = fill({16}, 1.0);
  Var never_read = constant(i32, 0);
  Var previous = fill({16}, 0.0), current = x.load(0, {16});
  for (Value i : range(0, count)) {
    Var inner = x.load(i * 16, {16});
    for (Value j : range(i, count, 2)) {
      inner = inner * total;
      total += x.load(j * 16, {16});
      never_read = never_read + 1;
    }
    Value swap = previous;
    previous = current;
    current = swap + inner;
  }
  for ([[maybe_unused]] Value i : range(0, 10))
    unused = unused * 2.0;
  out.store(0, total + current);
}

void branches(View x, View out, Value count) {
  Var kept = x.load(0, {16});
  Var level = constant(f32, 1);
  when(
      count > 0, [&] { kept = kept * 2.0; },
      [&] {
        when(count == -1, [&] { out.store(0, kept); });
        kept = -kept;
      });
  when(count == 3, [] {}, [&] { out.store(16, level); });
  for (Value i : range(0, count))
    when(i > 4, [&] { level = level + 1.0; });
  out.store(32, kept * level);
}

void memoryOrder(View x, View y, View out) {
  Value early = x.load(0, {8, 8});
  Value late = y.load(0, {8, 8});
  [[maybe_unused]] Value unused = y.load(8, {8, 8});
  out.store(0, dot(x.load(1, {8, 8}), y.load(1, {8, 8})));
  Value again = x.load(0, {8, 8});
  out.store(8, early + again);
  for (Value i : range(0, 8)) {
    Value m = out.load(i, {1, 8}), l = out.load({i, 8}, {1, 8});
    out.store({i, 8}, m);
    out.store(i, l);
  }
  out.store(16, late + x.load(0, {8, 8}));
}

void elements(View table, View counts, View out, Value head) {
  Value rows = asColumn(iota(8)), columns = asRow(iota(4));
  Value found = table.gather(head, programId(0), rows, columns);
  Value slope = counts.gather(head);
  out.at(head).atomicAdd(head + 1, found * slope);
  out.scatterAdd(1.0, head, rows, columns + rows);
  out.at(head).scatter(found, asColumn(counts.load(0, {8})), columns);
  out.at(head).storeWhere(rows < 5, head, found);
  counts.storeWhere(iota(8) < head, 0, 7);
  Value cube = reshape(found, {2, 4, 4});
  Value turned = permute(cube, {2, 0, 1});
  out.store({0, 1}, cast(f32, turned));
  counts.store(0, reduceMax(broadcast(asRow(iota(4)), {8, 4}), 0) + reduceMin(iota(16), 0));
}

void functions(View x, View y, View slope, View rows) {
  Value s = x.load(0, {8, 8});
  Value gates = sigmoid(s) + silu(s) - gelu(s) * clamp(s, -2, 2);
  y.store(0, gates + sin(s) * cos(s) / pow(abs(s), 0.3) + rsqrt(pow(s, 2) + 1) - erf(pow(s, 3)));
  slope.store(0, differentiate(silu(s), s, fill({8, 8}, 1.0)));
  rows.store(0, rowLogSumExp(s));
}

void gradient(View x, View bias, View dbias, View dx) {
  Value s = x.load(0, {8, 8});
  Value position = iota(8);
  Value modified = 30 * tanh(s / 30) + bias.gather(programId(0), asColumn(position), asRow(position));
  Value masked = select(asColumn(position) >= asRow(position), modified, -infinity);
  const ViewGradient gathered[] = {{bias, dbias}};
  dx.store(0, differentiate(masked, s, fill({8, 8}, 1.0), gathered));
}

void dynamicLoop(View x, View out, View counter, Value count) {
  Value scale = exp(x.load(0, {16}));
  for (Value i : dynamicRange(counter, ceilDiv(count, 16))) {
    Var sum = x.load(i * 16, {16});
    for (Value j : range(0, i))
      sum += x.load(j * 16, {16});
    out.store(i * 16, sum * scale);
  }
}

void sumsAndPrints(View x, View dx, Value count) {
  Value s = x.load(0, {4, 8});
  print("s", s);
  for (Value i : range(0, count))
    print("the third", i, i == 2);
  Value y = cumsum(s * s, 1);
  dx.store(0, differentiate(y, s, cumsum(y, 0, true)));
}

void turns(View x, View sums, View counters) {
  Value number = programId(0);
  for (Value i : range(0, x.dim(0), 8)) {
    const Turn turn{counters.at(programId(1)), i, number, number + 1};
    sums.orderedAdd({i, 0}, x.load({i, 0}, {8, 4}) * 2.0, turn);
  }
}

void arrivals(View x, View parts, View sums, View counters) {
  Value part = programId(0), column = programId(1);
  parts.at(part).store(column, rowSum(x.load({column, part * 4}, {8, 4})));
  when(counters.arrive(column, numPrograms(0)), [&] {
    Var sum = fill({8}, 0.0);
    for (Value i : range(0, numPrograms(0)))
      sum = sum + parts.at(i).load(column, {8});
    sums.store(column, sum);
  });
}

void randomNumbers(View state, View x, View dx, View high, Value stream) {
  const RandomKey key{state.gather(0), state.gather(1), stream};
  Value row = asColumn(programId(0) * 16 + iota(16)), column = asRow(iota(32));
  Value s = x.load(0, {16, 32});
  Value dropped = select(randomBytes(key, row, column, 7) < 230, s * s, 0.0) + random({1, 2, 3}, row, 5);
  dx.store(0, differentiate(dropped, s, random(key, row, column)));
  high.store(0, broadcast(mulhi(row, column), {16, 32}));
}

void pairs(View x, View angle, View dx) {
  Value s = x.load(0, {16, 32}), t = angle.load(0, {16, 16});
  Value even = columns(s, 0, 32, 2), odd = columns(s, 1, 32, 2);
  Value turned = interleaveColumns(even * cos(t) - odd * sin(t), even * sin(t) + odd * cos(t));
  dx.store(0, differentiate(turned, s, joinColumns(t, columns(s, 3, 19))));
}

void conditions(View x, View seen, View out, View flags) {
  Value s = x.load(0, {8, 16}), places = iota(8);
  Value visible = anyOf({seen.load(0, {8, 16}, 1), s > 2, !seen.gather(asColumn(places), asRow(iota(16)))});
  Value rows = all(visible, 1) | any(s < 0, 1);
  flags.storeWhere(rows, 0, rows);
  flags.scatter(allOf({rows, places > 2}), places + 8);
  when(all(visible) & flags.gather(0), [&] { out.store(0, select(visible, s, 0.0)); });
}

void segments(View starts, View x, View bias, View dbias, View out) {
  Value begin = starts.gather(programId(0)), end = starts.gather(programId(0) + 1);
  View rows = x.rows(begin, end), of_bias = bias.at(1).rows(begin, end);
  const ViewGradient gathered[] = {{bias, dbias}};
  for (Value i : range(0, rows.dim(0), 8)) {
    Value s = rows.load(i, {8, 16});
    Value biased = s * of_bias.gather(asColumn(i + iota(8)), asRow(iota(16)));
    out.rows(begin, end).store(i, differentiate(biased, s, fill({8, 16}, 1.0), gathered));
  }
  out.rows(begin, 7).at(2).atomicAdd(0, fill({16}, 1.0));
}

void pages(View table, View lengths, View pool, View q, View out) {
  Value sequence = programId(0);
  View keys = paged(pool.at(1), table.at(sequence), 16).rows(0, lengths.gather(sequence)), heads = packed(q);
  for (Value i : range(0, keys.dim(0), 8))
    heads.store(i, keys.load(i, {8, 16}));
  packed(q, 4).at(3).atomicAdd(0, paged(pool.atAxis(1, 0), table.at(2), lengths, 4).at(3).load(0, {16}));
  out.store(0, keys.gather(asColumn(iota(8)), asRow(iota(16))));
}

void products(View a, View b, View out) {
  Value x = a.load(0, {16, 32}), y = b.load(0, {32, 8});
  Value rounded = dot(x, y, Precision::tf32), exact = dot(x, y);
  out.store(0, label("sum", dot(x, y, rounded, Precision::tf32)));
  out.store(16, label("difference", dot(-x, y, exact)));
}

void steps(View table, View x, View sums) {
  for (Value i : range(0, table.dim(0), 1, {Steps("s add"), Steps("block rows@1", "load")})) {
    Value block = label("block", table.gather(i));
    Value rows = label("rows", x.load({block * 16, 0}, {16, 16}, 1.0));
    Value s = label("s", dot(rows, transpose(rows)));
    label("add", [&] { sums.atomicAdd({block * 16, 0}, s); });
  }
  label("last", [&] { sums.storeWhere(table.gather(0) == 0, 0, fill({16, 16}, 1.0)); });
}

TensorArg tensor(const char *name, DType dtype, int rank) { return {name, dtype, rank}; }

constexpr GoldenProgram kPrograms[] = {
    {"flash_forward",
     [] {
       return record("flash_forward", flashForward, tensor("q", bf16, 3), tensor("k", bf16, 3), tensor("v", bf16, 3),
                     tensor("o", bf16, 3), tensor("lse", f32, 2), ScalarArg{"scale", f32}, 64, 32);
     }},
    {"arithmetic",
     [] {
       return record("arithmetic", arithmetic, tensor("x", bf16, 2), tensor("y", f16, 2), tensor("out", f32, 2),
                     ScalarArg{"scale", f32}, ScalarArg{"count", i32});
     }},
    {"nested_loops",
     [] {
       return record("nested_loops", nestedLoops, tensor("x", f32, 1), tensor("out", f32, 1), ScalarArg{"count", i64});
     }},
    {"branches",
     [] { return record("branches", branches, tensor("x", f32, 1), tensor("out", f32, 1), ScalarArg{"count", i32}); }},
    {"memory_order",
     [] {
       return record("memory_order", memoryOrder, tensor("x", f32, 2), tensor("y", f32, 2), tensor("out", f32, 2));
     }},
    {"elements",
     [] {
       return record("elements", elements, tensor("table", bf16, 4), tensor("counts", i32, 1), tensor("out", f32, 3),
                     ScalarArg{"head", i32});
     }},
    {"functions",
     [] {
       return record("functions", functions, tensor("x", bf16, 2), tensor("y", f32, 2), tensor("slope", f32, 2),
                     tensor("rows", f32, 1));
     }},
    {"gradient",
     [] {
       return record("gradient", gradient, tensor("x", f32, 2), tensor("bias", bf16, 3), tensor("dbias", f32, 3),
                     tensor("dx", f32, 2));
     }},
    {"dynamic_loop",
     [] {
       return record("dynamic_loop", dynamicLoop, tensor("x", f32, 1), tensor("out", f32, 1), tensor("counter", i32, 1),
                     ScalarArg{"count", i32});
     }},
    {"sums_and_prints",
     [] {
       return record("sums_and_prints", sumsAndPrints, tensor("x", f32, 2), tensor("dx", f32, 2),
                     ScalarArg{"count", i32});
     }},
    {"arrivals",
     [] {
       return record("arrivals", arrivals, tensor("x", f32, 2), tensor("parts", f32, 2), tensor("sums", f32, 1),
                     tensor("counters", i32, 1));
     }},
    {"turns",
     [] { return record("turns", turns, tensor("x", f32, 2), tensor("sums", f32, 2), tensor("counters", i32, 2)); }},
    {"random_numbers",
     [] {
       return record("random_numbers", randomNumbers, tensor("state", i64, 1), tensor("x", f32, 2),
                     tensor("dx", f32, 2), tensor("high", i32, 2), ScalarArg{"stream", i32});
     }},
    {"pairs",
     [] { return record("pairs", pairs, tensor("x", f32, 2), tensor("angle", f32, 2), tensor("dx", f32, 2)); }},
    {"conditions",
     [] {
       return record("conditions", conditions, tensor("x", f32, 2), tensor("seen", DType::i1, 2), tensor("out", f32, 2),
                     tensor("flags", DType::i1, 1));
     }},
    {"segments",
     [] {
       return record("segments", segments, tensor("starts", i32, 1), tensor("x", f32, 2), tensor("bias", bf16, 3),
                     tensor("dbias", f32, 3), tensor("out", f32, 2));
     }},
    {"pages",
     [] {
       return record("pages", pages, tensor("table", i32, 2), tensor("lengths", i32, 1), tensor("pool", f32, 4),
                     tensor("q", f32, 3), tensor("out", f32, 2));
     }},
    {"products",
     [] { return record("products", products, tensor("a", f32, 2), tensor("b", f32, 2), tensor("out", f32, 2)); }},
    {"steps",
     [] { return record("steps", steps, tensor("table", i32, 1), tensor("x", f32, 2), tensor("sums", f32, 2)); }},
};

} // namespace

std::span<const GoldenProgram> goldenPrograms() { return kPrograms; }
