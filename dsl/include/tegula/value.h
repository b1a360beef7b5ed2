// SPDX-License-Identifier: MIT
// The types of device values: Value, Var, and Operand, which ties a use to the user's line.
#pragma once

#include "tegula/dtype.h"

#include <concepts>
#include <cstdint>
#include <source_location>
#include <type_traits>
#include <vector>

namespace tegula {

using Location = std::source_location;
using Shape = std::vector<int64_t>;

class Recorder;
class Var;

/// A scalar (shape {}) or a tile of the program that is being recorded. Immutable: use Var for a value that changes.
class Value {
public:
  Value(const Value &) = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  Value(T) = delete; // a number is no Value: write constant(f32, 0.5), or fill({16, 16}, 0.5) for a tile
  Value &operator=(const Value &) = delete;                 // a Value is immutable: declare it as `Var` to assign to it
  template <class T> Value &operator+=(const T &) = delete; // a Value is immutable: declare it as `Var` to assign to it
  template <class T> Value &operator-=(const T &) = delete; // a Value is immutable: declare it as `Var` to assign to it
  template <class T> Value &operator*=(const T &) = delete; // a Value is immutable: declare it as `Var` to assign to it
  template <class T> Value &operator/=(const T &) = delete; // a Value is immutable: declare it as `Var` to assign to it
  explicit operator bool() const = delete; // a device condition: use select(...) or when(...), not a C++ if

  DType dtype() const;
  const Shape &shape() const;

private:
  friend class Recorder;
  Value(uint32_t node, uint32_t recording, Location made) : node_(node), recording_(recording), made_(made) {}
  uint32_t node_;
  uint32_t recording_; // Tells a Value that outlived its recording from one of this recording.
  Location made_;
};

/// An operand of an operation, with the caller's line. Made implicitly; never write it yourself.
class Operand {
public:
  Operand(Value value, Location where = Location::current()) : kind_(Kind::Value), value_{value}, where_(where) {}
  Operand(const Var &variable, Location where = Location::current());
  template <std::integral T>
  Operand(T literal, Location where = Location::current())
      : kind_(std::same_as<T, bool> ? Kind::Condition : Kind::Integer), integer_(static_cast<int64_t>(literal)),
        where_(where) {}
  template <std::floating_point T>
  Operand(T literal, Location where = Location::current())
      : kind_(Kind::Floating), floating_(static_cast<double>(literal)), where_(where) {}

  Location where() const { return where_; }

private:
  friend class Recorder;
  enum class Kind : uint8_t { Value, Integer, Floating, Condition };
  Kind kind_;
  union {
    Value value_;
    int64_t integer_;
    double floating_;
  };
  Location where_;
};

/// A variable. If it is assigned inside a device loop or branch, it carries its value out; there it keeps its dtype and
/// shape. A helper function that only reads should take a Value.
class Var {
public:
  Var(Value initial, Location where = Location::current());
  template <class T>
    requires std::is_arithmetic_v<T>
  Var(T) = delete; // a number is no Value: write constant(f32, 0.5), or fill({16, 16}, 0.5) for a tile
  Var(const Var &other, Location where = Location::current());
  ~Var();
  Var &operator=(Value value);
  template <class T>
    requires std::is_arithmetic_v<T>
  Var &operator=(T) = delete; // a number is no Value: write constant(f32, 0.5), or fill({16, 16}, 0.5) for a tile
  Var &operator=(const Var &other) { return *this = Value(other); }
  Var &operator+=(Operand x);
  Var &operator-=(Operand x);
  Var &operator*=(Operand x);
  Var &operator/=(Operand x);
  operator Value() const;                  ///< The value at this point of the program.
  explicit operator bool() const = delete; // a device condition: use select(...) or when(...), not a C++ if

  DType dtype() const { return Value(*this).dtype(); }
  const Shape &shape() const { return Value(*this).shape(); }

private:
  uint32_t slot_;
  uint32_t recording_;
};

/// A type of device values, which C++'s && and || cannot combine.
template <class T>
concept DeviceValue = std::same_as<T, Value> || std::same_as<T, Var>;

template <class A, class B>
  requires(DeviceValue<A> || DeviceValue<B>)
void operator&&(const A &, const B &) = delete; // combine device conditions by &, as in (x > 0) & (x < 3)
template <class A, class B>
  requires(DeviceValue<A> || DeviceValue<B>)
void operator||(const A &, const B &) = delete; // combine device conditions by |, as in (x < 0) | (x > 3)

} // namespace tegula
