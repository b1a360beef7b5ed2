// SPDX-License-Identifier: MIT
// The operations of tegula/ops.h, differentiate() and enclose().
#include "operands.h"

#include "tegula/ops.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tegula_python {

using namespace tegula;
using namespace nb::literals;

namespace {

std::vector<Value> valuesOf(nb::handle sequence) {
  std::vector<Value> values;
  for (nb::handle object : sequence)
    values.push_back(valueOf(object));
  return values;
}

std::optional<Value> maybeValueOf(nb::handle object) {
  return object.is_none() ? std::nullopt : std::optional<Value>(valueOf(object));
}

Precision precisionOf(const std::string &name) {
  if (name != "ieee" && name != "tf32")
    throw nb::value_error(("'" + name + "' is no precision; legal are ieee and tf32").c_str());
  return name == "tf32" ? Precision::tf32 : Precision::ieee;
}

#define TEGULA_UNARY(NAME, FUNCTION, OPERAND)                                                                          \
  module.def(                                                                                                          \
      NAME, [](Operand x) { return FUNCTION(x, here()); }, nb::arg(OPERAND));
#define TEGULA_BINARY(NAME, FUNCTION, FIRST, SECOND)                                                                   \
  module.def(                                                                                                          \
      NAME, [](Operand a, Operand b) { return FUNCTION(a, b, here()); }, nb::arg(FIRST), nb::arg(SECOND));
#define TEGULA_ALONG(NAME, FUNCTION)                                                                                   \
  module.def(                                                                                                          \
      NAME, [](Operand x, int axis) { return FUNCTION(x, axis, here()); }, "x"_a, "axis"_a);

void bindTiles(nb::module_ &module) {
  module.def(
      "program_id", [](int axis) { return programId(axis, here()); }, "axis"_a = 0);
  module.def(
      "num_programs", [](int axis) { return numPrograms(axis, here()); }, "axis"_a = 0);
  module.def(
      "iota", [](int64_t size) { return iota(size, here()); }, "size"_a);
  module.def(
      "fill", [](const Shape &shape, Operand scalar) { return fill(shape, scalar, here()); }, "shape"_a, "scalar"_a);
  module.def(
      "constant", [](const std::string &dtype, double value) { return constant(dtypeOf(dtype), value, here()); },
      "dtype"_a, "value"_a);
  module.def(
      "broadcast", [](Operand x, const Shape &shape) { return broadcast(x, shape, here()); }, "x"_a, "shape"_a);
  module.def(
      "reshape", [](Operand x, const Shape &shape) { return reshape(x, shape, here()); }, "x"_a, "shape"_a);
  TEGULA_UNARY("transpose", transpose, "matrix")
  module.def(
      "permute",
      [](Operand x, const std::vector<int> &permutation) {
        const Location where = here();
        return withList(permutation, [&](std::initializer_list<int> list) { return permute(x, list, where); });
      },
      "x"_a, "permutation"_a);
  TEGULA_UNARY("as_column", asColumn, "vector")
  TEGULA_UNARY("as_row", asRow, "vector")
  module.def(
      "columns",
      [](Operand x, int64_t begin, int64_t end, int64_t step) { return columns(x, begin, end, step, here()); }, "x"_a,
      "begin"_a, "end"_a, "step"_a = 1);
  TEGULA_BINARY("join_columns", joinColumns, "left", "right")
  TEGULA_BINARY("interleave_columns", interleaveColumns, "even", "odd")
}

void bindElementwise(nb::module_ &module) {
  TEGULA_BINARY("floor_div", floorDiv, "a", "b")
  TEGULA_BINARY("ceil_div", ceilDiv, "a", "b")
  TEGULA_BINARY("min", min, "a", "b")
  TEGULA_BINARY("max", max, "a", "b")
  module.def(
      "clamp", [](Operand x, Operand low, Operand high) { return clamp(x, low, high, here()); }, "x"_a, "low"_a,
      "high"_a);
  TEGULA_UNARY("abs", abs, "x")
  TEGULA_UNARY("exp", exp, "x")
  TEGULA_UNARY("exp2", exp2, "x")
  TEGULA_UNARY("log", log, "x")
  TEGULA_UNARY("log2", log2, "x")
  TEGULA_UNARY("tanh", tanh, "x")
  TEGULA_UNARY("fast_tanh", fastTanh, "x")
  TEGULA_UNARY("sqrt", sqrt, "x")
  TEGULA_UNARY("rsqrt", rsqrt, "x")
  TEGULA_UNARY("erf", erf, "x")
  TEGULA_UNARY("sin", sin, "x")
  TEGULA_UNARY("cos", cos, "x")
  TEGULA_BINARY("pow", pow, "x", "y")
  TEGULA_UNARY("sigmoid", sigmoid, "x")
  TEGULA_UNARY("silu", silu, "x")
  TEGULA_UNARY("gelu", gelu, "x")
  module.def(
      "cast", [](const std::string &dtype, Operand x) { return cast(dtypeOf(dtype), x, here()); }, "dtype"_a, "x"_a);
  TEGULA_BINARY("mulhi", mulhi, "a", "b")
  module.def(
      "select", [](Operand condition, Operand yes, Operand no) { return select(condition, yes, no, here()); },
      "condition"_a, "yes"_a, "no"_a);
  TEGULA_UNARY("is_finite", isFinite, "x")
}

void bindRandom(nb::module_ &module) {
  nb::class_<RandomKey>(module, "RandomKey", "The key of random numbers: three integer scalars.")
      .def(
          "__init__",
          [](RandomKey *self, Operand seed, Operand offset, Operand stream) {
            new (self) RandomKey{seed, offset, stream};
          },
          "seed"_a, "offset"_a, "stream"_a);
  module.def(
      "random_bytes",
      [](const RandomKey &key, Operand row, Operand column, int rounds) {
        return randomBytes(key, row, column, rounds, here());
      },
      "key"_a, "row"_a, "column"_a, "rounds"_a = 10);
  module.def(
      "random",
      [](const RandomKey &key, Operand row, Operand column, int rounds) {
        return random(key, row, column, rounds, here());
      },
      "key"_a, "row"_a, "column"_a, "rounds"_a = 10);
}

void bindProducts(nb::module_ &module) {
  module.def(
      "label", [](const std::string &name, Operand product) { return label(name, product, here()); }, "name"_a,
      "product"_a);
  module.def(
      "dot",
      [](Operand a, Operand b, nb::handle acc, const std::string &input_precision) {
        const Precision precision = precisionOf(input_precision);
        return acc.is_none() ? dot(a, b, precision, here()) : dot(a, b, operandOf(acc), precision, here());
      },
      "a"_a, "b"_a, "acc"_a = nb::none(), "input_precision"_a = "ieee");
  module.def(
      "dot_where",
      [](nb::handle seen, nb::handle a, nb::handle b, Operand acc) {
        return dotWhere(valueOf(seen), valueOf(a), valueOf(b), acc, here());
      },
      "seen"_a, "a"_a, "b"_a, "acc"_a);
}

void bindReductions(nb::module_ &module) {
  module.def(
      "all_finite", [](nb::handle x) { return allFinite(valueOf(x), here()); }, "x"_a);
  TEGULA_UNARY("any", any, "condition")
  TEGULA_UNARY("all", all, "condition")
  module.def(
      "any", [](Operand x, int axis) { return any(x, axis, here()); }, "condition"_a, "axis"_a);
  module.def(
      "all", [](Operand x, int axis) { return all(x, axis, here()); }, "condition"_a, "axis"_a);
  module.def(
      "any_of", [](nb::sequence conditions) { return anyOf(valuesOf(conditions), here()); }, "conditions"_a);
  module.def(
      "all_of", [](nb::sequence conditions) { return allOf(valuesOf(conditions), here()); }, "conditions"_a);
  module.def(
      "cumsum", [](Operand x, int axis, bool reverse) { return cumsum(x, axis, reverse, here()); }, "x"_a, "axis"_a,
      "reverse"_a = false);
  TEGULA_ALONG("reduce_max", reduceMax)
  TEGULA_ALONG("reduce_min", reduceMin)
  TEGULA_ALONG("reduce_sum", reduceSum)
  TEGULA_UNARY("row_max", rowMax, "matrix")
  TEGULA_UNARY("row_sum", rowSum, "matrix")
  TEGULA_UNARY("row_log_sum_exp", rowLogSumExp, "matrix")
}

void bindOnlineSoftmax(nb::module_ &module) {
  using Softmax = OnlineSoftmax;
  nb::class_<Softmax>(module, "OnlineSoftmax", "softmax(s) v, computed over tiles of keys.")
      .def(
          "__init__",
          [](Softmax *self, int64_t rows, int64_t value_dim) { new (self) Softmax(rows, value_dim, here()); }, "rows"_a,
          "value_dim"_a)
      .def(
          "__init__",
          [](Softmax *self, int64_t rows, int64_t value_dim, nb::handle sink) {
            new (self) Softmax(rows, value_dim, valueOf(sink), here());
          },
          "rows"_a, "value_dim"_a, "sink"_a)
      .def(
          "__init__",
          [](Softmax *self, nb::handle m, nb::handle l, nb::handle o) {
            new (self) Softmax(valueOf(m), valueOf(l), valueOf(o), here());
          },
          "m"_a, "l"_a, "o"_a)
      .def(
          "update",
          [](Softmax &self, Operand scores, Operand values, nb::handle keep) {
            self.update(scores, values, maybeValueOf(keep), here());
          },
          "scores"_a, "values"_a, "keep"_a = nb::none())
      .def(
          "update_where_seen",
          [](Softmax &self, nb::handle scores, nb::handle values, nb::handle keep) {
            self.updateWhereSeen(valueOf(scores), valueOf(values), maybeValueOf(keep), here());
          },
          "scores"_a, "values"_a, "keep"_a = nb::none())
      .def(
          "merge",
          [](Softmax &self, nb::handle output, nb::handle lse) { self.merge(valueOf(output), valueOf(lse), here()); },
          "output"_a, "lse"_a)
      .def("output", [](const Softmax &self) { return self.output(here()); })
      .def("log_sum_exp", [](const Softmax &self) { return self.logSumExp(here()); })
      .def("max", &Softmax::max)
      .def("sum", [](const Softmax &self) { return self.sum(here()); })
      .def("undivided", &Softmax::undivided);
  nb::class_<SoftmaxPart>(module, "SoftmaxPart", "A finished softmax(s) v over some keys.")
      .def(
          "__init__",
          [](SoftmaxPart *self, nb::handle output, nb::handle lse) {
            new (self) SoftmaxPart{valueOf(output), valueOf(lse)};
          },
          "output"_a, "lse"_a)
      .def_ro("output", &SoftmaxPart::output)
      .def_ro("lse", &SoftmaxPart::lse);
  module.def(
      "merge_softmax", [](const std::vector<SoftmaxPart> &parts) { return mergeSoftmax(parts, here()); }, "parts"_a);
}

} // namespace

void bindOperations(nb::module_ &module) {
  bindTiles(module);
  bindElementwise(module);
  bindRandom(module);
  bindProducts(module);
  bindReductions(module);
  bindOnlineSoftmax(module);
  module.def(
      "differentiate",
      [](nb::handle output, nb::handle input, nb::handle seed, nb::handle gathered) {
        std::vector<ViewGradient> pairs;
        for (nb::handle pair : gathered)
          pairs.push_back({nb::cast<View>(pair[0]), nb::cast<View>(pair[1])});
        return differentiate(valueOf(output), valueOf(input), valueOf(seed), pairs, here());
      },
      "output"_a, "input"_a, "seed"_a, "gathered"_a = nb::make_tuple());
  nb::class_<Enclosure>(module, "Enclosure")
      .def_ro("sometimes", &Enclosure::sometimes)
      .def_ro("always", &Enclosure::always);
  module.def(
      "enclose", [](nb::handle condition) { return enclose(valueOf(condition), here()); }, "condition"_a);
}

} // namespace tegula_python
