// SPDX-License-Identifier: MIT
// Python objects as operands of the language.
#pragma once

#include "here.h"
#include "tegula/value.h"
#include "tegula/view.h"

#include <nanobind/nanobind.h>

#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tegula_python {

namespace nb = nanobind;
using tegula::Operand;
using tegula::Value;
using tegula::Var;

/// Writes a Value, a Var or a number as an operand of the current line. Leaves `operand` empty for other objects.
void readOperand(nb::handle object, std::optional<Operand> &operand) noexcept;

/// Returns the operand, or throws a TypeError.
Operand operandOf(nb::handle object);
std::vector<Operand> operandsOf(nb::handle sequence);

/// Returns a Value, or the value of a Var. Throws a TypeError for a number.
Value valueOf(nb::handle object);

/// Parses the name of a type, or throws a ValueError.
tegula::DType dtypeOf(const std::string &name);

/// Calls `function` with a list of 1 to 6 elements; the language refuses more than 5.
template <class T, class Function> auto withList(const std::vector<T> &all, Function function) {
  using List = std::initializer_list<T>;
  switch (all.size()) {
  case 0:
    throw nb::value_error("an empty list; it must have an entry for each dimension");
  case 1:
    return function(List{all[0]});
  case 2:
    return function(List{all[0], all[1]});
  case 3:
    return function(List{all[0], all[1], all[2]});
  case 4:
    return function(List{all[0], all[1], all[2], all[3]});
  case 5:
    return function(List{all[0], all[1], all[2], all[3], all[4]});
  default:
    return function(List{all[0], all[1], all[2], all[3], all[4], all[5]});
  }
}

/// A position in a view: one operand, or a list.
tegula::Position positionOf(nb::handle object);

// The parts of the module.
void bindValues(nb::module_ &module);
void bindOperations(nb::module_ &module);
void bindControl(nb::module_ &module);
void bindKernels(nb::module_ &module);

} // namespace tegula_python

namespace nanobind::detail {

template <> struct type_caster<tegula::Operand> {
  static constexpr auto Name = const_name("Value | Var | int | float | bool");
  template <typename T> using Cast = tegula::Operand;
  template <typename T> static constexpr bool can_cast() { return true; }
  bool from_python(handle source, uint8_t, cleanup_list *) noexcept {
    tegula_python::readOperand(source, operand);
    return operand.has_value();
  }
  explicit operator tegula::Operand() { return *operand; }

  std::optional<tegula::Operand> operand;
};

} // namespace nanobind::detail
