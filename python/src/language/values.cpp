// SPDX-License-Identifier: MIT
// Value, Var and View.
#include "operands.h"

#include "tegula/ops.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tegula_python {

using namespace tegula;

//===-- From Python ----------------------------------------------------------------------------------------------===//

void readOperand(nb::handle object, std::optional<Operand> &operand) noexcept {
  PyObject *p = object.ptr();
  try {
    if (nb::isinstance<Value>(object)) {
      operand.emplace(nb::cast<const Value &>(object), here());
    } else if (nb::isinstance<Var>(object)) {
      operand.emplace(nb::cast<const Var &>(object), here());
    } else if (PyBool_Check(p)) {
      operand.emplace(p == Py_True, here());
    } else if (PyFloat_Check(p)) {
      operand.emplace(PyFloat_AsDouble(p), here());
    } else if (PyIndex_Check(p)) {
      const long long number = PyLong_AsLongLong(p);
      if (PyErr_Occurred() == nullptr)
        operand.emplace(int64_t(number), here());
      PyErr_Clear();
    } else if (PyType_GetSlot(Py_TYPE(p), Py_nb_float) != nullptr) { // numpy.float32, for one.
      const double number = PyFloat_AsDouble(p);
      if (PyErr_Occurred() == nullptr)
        operand.emplace(number, here());
      PyErr_Clear();
    }
  } catch (...) {
    PyErr_Clear();
  }
}

namespace {

std::string typeName(nb::handle object) { return nb::cast<std::string>(object.type().attr("__name__")); }

} // namespace

Operand operandOf(nb::handle object) {
  std::optional<Operand> operand;
  readOperand(object, operand);
  if (!operand)
    throw nb::type_error(
        ("an operand is a Value, a Var or a number of at most 64 bits, not " + typeName(object)).c_str());
  return *operand;
}

std::vector<Operand> operandsOf(nb::handle sequence) {
  std::vector<Operand> operands;
  for (nb::handle object : sequence)
    operands.push_back(operandOf(object));
  return operands;
}

Position positionOf(nb::handle object) {
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr()))
    return Position(operandOf(object));
  return withList(operandsOf(object), [](std::initializer_list<Operand> list) { return Position(list); });
}

Value valueOf(nb::handle object) {
  if (nb::isinstance<Value>(object))
    return nb::cast<const Value &>(object);
  if (nb::isinstance<Var>(object))
    return nb::cast<const Var &>(object);
  if (PyFloat_Check(object.ptr()) || PyIndex_Check(object.ptr()))
    throw nb::type_error("a number is no Value: write constant(\"f32\", 0.5), or fill([16, 16], 0.5) for a tile");
  throw nb::type_error(("expected a Value or a Var, not " + typeName(object)).c_str());
}

DType dtypeOf(const std::string &name) {
  if (const std::optional<DType> dtype = parseDType(name))
    return *dtype;
  throw nb::value_error(
      ("'" + name + "' is no type; legal are f32, f16, bf16, e4m3, i64, i32, i8, i1 and index").c_str());
}

//===-- Bindings -------------------------------------------------------------------------------------------------===//

namespace {

template <class T> void bindOperators(nb::class_<T> &type) {
  // The left operand first: `a` is this object in __add__ and the right operand in __radd__.
#define TEGULA_OPERATOR(NAME, EXPRESSION)                                                                              \
  type.def(                                                                                                            \
      "__" NAME "__",                                                                                                  \
      [](const T &self, Operand b) {                                                                                   \
        const Operand a(self, here());                                                                                 \
        return EXPRESSION;                                                                                             \
      },                                                                                                               \
      nb::is_operator());
#define TEGULA_OPERATOR_BOTH(NAME, EXPRESSION)                                                                         \
  TEGULA_OPERATOR(NAME, EXPRESSION)                                                                                    \
  type.def(                                                                                                            \
      "__r" NAME "__",                                                                                                 \
      [](const T &self, Operand a) {                                                                                   \
        const Operand b(self, here());                                                                                 \
        return EXPRESSION;                                                                                             \
      },                                                                                                               \
      nb::is_operator());
  TEGULA_OPERATOR_BOTH("add", a + b)
  TEGULA_OPERATOR_BOTH("sub", a - b)
  TEGULA_OPERATOR_BOTH("mul", a * b)
  TEGULA_OPERATOR_BOTH("truediv", a / b)
  TEGULA_OPERATOR_BOTH("floordiv", floorDiv(a, b, here()))
  TEGULA_OPERATOR_BOTH("mod", a % b)
  TEGULA_OPERATOR_BOTH("lshift", a << b)
  TEGULA_OPERATOR_BOTH("rshift", a >> b)
  TEGULA_OPERATOR_BOTH("and", a & b)
  TEGULA_OPERATOR_BOTH("or", a | b)
  TEGULA_OPERATOR_BOTH("xor", a ^ b)
  TEGULA_OPERATOR_BOTH("pow", pow(a, b, here()))
  TEGULA_OPERATOR_BOTH("matmul", dot(a, b, Precision::ieee, here()))
  TEGULA_OPERATOR("eq", a == b)
  TEGULA_OPERATOR("ne", a != b)
  TEGULA_OPERATOR("lt", a < b)
  TEGULA_OPERATOR("le", a <= b)
  TEGULA_OPERATOR("gt", a > b)
  TEGULA_OPERATOR("ge", a >= b)
#undef TEGULA_OPERATOR_BOTH
#undef TEGULA_OPERATOR
  type.def("__neg__", [](const T &self) { return -Operand(self, here()); });
  type.def("__abs__", [](const T &self) { return abs(Operand(self, here()), here()); });
  type.def("__invert__", [](const T &self) { return !self; });
  type.def("__bool__", [](const T &) -> bool {
    throw nb::type_error("a device condition: use select(...) or when(...) instead of if, and &, | and ~ instead of "
                         "and, or and not");
  });
  type.attr("__hash__") = nb::none();
  type.attr("__array_ufunc__") = nb::none(); // numpy's numbers leave operators to us.
  type.def_prop_ro("dtype", [](const T &self) { return std::string(toString(self.dtype())); });
  type.def_prop_ro("shape", [](const T &self) { return nb::tuple(nb::cast(Shape(self.shape()))); });
}

constexpr const char *kOtherInPlace[] = {"floordiv", "mod", "lshift", "rshift", "and", "or", "xor", "pow", "matmul"};

/// Without these methods Python would bind the name to a new Value, which ends with the loop.
template <class T> void refuseInPlace(nb::class_<T> &type, const char *name, const char *why) {
  type.def(("__i" + std::string(name) + "__").c_str(),
           [why](const T &, nb::handle) -> nb::object { throw nb::type_error(why); });
}

void bindValue(nb::class_<Value> &type) {
  type.def("__init__", [](Value *self, nb::handle value) { new (self) Value(valueOf(value)); }, nb::arg("value"));
  bindOperators(type);
  constexpr const char *why = "a Value is immutable: declare it as Var to assign to it";
  for (const char *name : {"add", "sub", "mul", "truediv"})
    refuseInPlace(type, name, why);
  for (const char *name : kOtherInPlace)
    refuseInPlace(type, name, why);
  type.def("__repr__", [](const Value &self) {
    std::string sizes;
    for (const int64_t size : self.shape())
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    return "<Value " + std::string(toString(self.dtype())) + " [" + sizes + "]>";
  });
}

void bindVar(nb::class_<Var> &type) {
  type.def(
      "__init__", [](Var *self, nb::handle initial) { new (self) Var(valueOf(initial), here()); }, nb::arg("initial"));
  bindOperators(type);
  type.def(
      "assign", [](Var &self, nb::handle value) { self = valueOf(value); }, nb::arg("value"),
      "Gives the variable another value.");
#define TEGULA_ASSIGN(NAME, OPERATOR)                                                                                  \
  type.def(NAME, [](nb::object self, Operand x) {                                                                      \
    nb::cast<Var &>(self) OPERATOR x;                                                                                  \
    return self;                                                                                                       \
  });
  TEGULA_ASSIGN("__iadd__", +=)
  TEGULA_ASSIGN("__isub__", -=)
  TEGULA_ASSIGN("__imul__", *=)
  TEGULA_ASSIGN("__itruediv__", /=)
#undef TEGULA_ASSIGN
  for (const char *name : kOtherInPlace)
    refuseInPlace(type, name, "a Var has +=, -=, *= and /=; write v.assign(v & x) for other operators");
}

void bindView(nb::class_<View> &type) {
  type.def_prop_ro("dtype", [](const View &self) { return std::string(toString(self.dtype())); });
  type.def_prop_ro("rank", &View::rank);
  type.def("dim", [](const View &self, int axis) { return self.dim(axis, here()); }, nb::arg("axis"));
  const auto some = [](const nb::args &indices) {
    if (indices.size() == 0)
      throw nb::type_error("an index is missing");
    return operandsOf(indices);
  };
  type.def("at", [some](const View &self, nb::args indices) { return self.slice(some(indices)); });
  type.def("at_axis", [some](const View &self, int axis, nb::args indices) { return self.slice(some(indices), axis); });
  type.def(
      "rows", [](const View &self, Operand begin, Operand end) { return self.rows(begin, end); }, nb::arg("begin"),
      nb::arg("end"), "Takes the rows from begin on, below end.");
  type.def(
      "load",
      [](const View &self, nb::handle position, const Shape &shape, double fill) {
        return self.load(positionOf(position), shape, fill, here());
      },
      nb::arg("position"), nb::arg("shape"), nb::arg("fill") = 0.0);
  type.def(
      "store",
      [](const View &self, nb::handle position, Operand tile) { self.store(positionOf(position), tile, here()); },
      nb::arg("position"), nb::arg("tile"));
  type.def(
      "store_where",
      [](const View &self, Operand condition, nb::handle position, Operand tile) {
        self.storeWhere(condition, positionOf(position), tile, here());
      },
      nb::arg("condition"), nb::arg("position"), nb::arg("tile"));
  type.def(
      "atomic_add",
      [](const View &self, nb::handle position, Operand tile) { self.atomicAdd(positionOf(position), tile, here()); },
      nb::arg("position"), nb::arg("tile"));
  type.def(
      "ordered_add",
      [](const View &self, nb::handle position, Operand tile, const Turn &turn) {
        self.orderedAdd(positionOf(position), tile, turn, here());
      },
      nb::arg("position"), nb::arg("tile"), nb::arg("turn"));
  type.def(
      "arrive", [](const View &self, Operand place, Operand count) { return self.arrive(place, count, here()); },
      nb::arg("place"), nb::arg("count"));
  type.def("gather", [some](const View &self, nb::args indices) { return self.gatherAt(some(indices)); });
  type.def("scatter",
           [some](const View &self, Operand tile, nb::args indices) { self.scatterAt(tile, some(indices)); });
  type.def("scatter_add",
           [some](const View &self, Operand tile, nb::args indices) { self.scatterAddAt(tile, some(indices)); });
}

void bindViewFunctions(nb::module_ &module) {
  module.def(
      "paged",
      [](const View &pool, const View &table, int page, const std::optional<View> &lengths) {
        return lengths ? paged(pool, table, *lengths, page, here()) : paged(pool, table, page, here());
      },
      nb::arg("pool"), nb::arg("table"), nb::arg("page"), nb::arg("lengths") = nb::none());
  module.def(
      "packed", [](const View &view, std::optional<int> group) { return packed(view, group, here()); }, nb::arg("view"),
      nb::arg("group") = nb::none());
}

} // namespace

void bindValues(nb::module_ &module) {
  nb::class_<Value> value(module, "Value", "A scalar (shape ()) or a tile of the program that is being recorded.");
  nb::class_<Var> var(module, "Var", "A variable, whose value loops and branches carry.");
  nb::class_<View> view(module, "View", "A tensor in memory, or a part of one.");
  nb::class_<Turn> turn(module, "Turn", "The turn of an ordered addition.");
  bindValue(value);
  bindVar(var);
  bindView(view);
  bindViewFunctions(module);
  turn.def(
      "__init__",
      [](Turn *self, const View &counters, Operand place, Operand number, Operand next) {
        new (self) Turn{counters, place, number, next};
      },
      nb::arg("counters"), nb::arg("place"), nb::arg("number"), nb::arg("next"));
}

} // namespace tegula_python
