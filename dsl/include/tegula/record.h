// SPDX-License-Identifier: MIT
// From a kernel function to a Program.
#pragma once

#include "tegula/control.h"
#include "tegula/program.h"
#include "tegula/status.h"
#include "tegula/view.h"

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tegula {

/// Returns the type in which memory holds the elements of a tensor parameter: i8 for conditions (i1).
DType inMemory(DType dtype);

/// A tensor parameter of a kernel: becomes a View.
struct TensorArg {
  std::string name;
  /// The type of the elements. With i1, they are conditions: the launch passes an i8 tensor, such as the bytes of
  /// bool. Each byte except 0 is true. Stores write 1 and 0.
  DType dtype;
  int rank; ///< 1 to 5
};

/// A scalar parameter of a kernel: becomes a Value.
struct ScalarArg {
  std::string name;
  DType dtype; ///< f32, i32 or i64
};

/// A kernel's name, with the line of the call to record(). Made implicitly.
class KernelName {
public:
  template <std::convertible_to<std::string_view> T>
  KernelName(const T &text, Location where = Location::current()) : text_(text), where_(where) {}
  std::string_view text() const { return text_; }
  Location where() const { return where_; }

private:
  std::string_view text_;
  Location where_;
};

namespace record_details {

View parameter(const TensorArg &tensor);
Value parameter(const ScalarArg &scalar);
template <class T> T &&parameter(T &&other) { return std::forward<T>(other); }
inline View parameter(TensorArg &tensor) { return parameter(std::as_const(tensor)); }
inline View parameter(TensorArg &&tensor) { return parameter(std::as_const(tensor)); }
inline Value parameter(ScalarArg &scalar) { return parameter(std::as_const(scalar)); }
inline Value parameter(ScalarArg &&scalar) { return parameter(std::as_const(scalar)); }

Expected<Program> record(const KernelName &name, Block body);

/// The number of arguments of a function or a function object; -1 if it has several forms.
template <class Kernel> inline constexpr int kArgumentCount = -1;
template <class Result, class... Arguments>
inline constexpr int kArgumentCount<Result (*)(Arguments...)> = sizeof...(Arguments);
template <class Object, class Result, class... Arguments>
inline constexpr int kArgumentCount<Result (Object::*)(Arguments...)> = sizeof...(Arguments);
template <class Object, class Result, class... Arguments>
inline constexpr int kArgumentCount<Result (Object::*)(Arguments...) const> = sizeof...(Arguments);
template <class Object>
  requires requires { &Object::operator(); }
inline constexpr int kArgumentCount<Object> = kArgumentCount<decltype(&Object::operator())>;

/// Returns true if `Kernel` can be called with `Arguments`, after a static_assert that says why not.
template <class Kernel, class... Arguments> constexpr bool checkKernel() {
  constexpr bool callable = std::is_invocable_v<Kernel, Arguments...>;
  constexpr int count = kArgumentCount<std::decay_t<Kernel>>;
  constexpr bool otherCount = !callable && count >= 0 && count != sizeof...(Arguments);
  static_assert(!otherCount, "record: the kernel takes more or fewer arguments than record() is given after it");
  static_assert(callable || otherCount,
                "record: an argument of the kernel has another type. TensorArg arrives as View, "
                "ScalarArg as Value, all else as it is");
  return callable;
}

} // namespace record_details

/// Runs `kernel(arguments...)` once and returns what it recorded. TensorArg and ScalarArg arguments become parameters
/// of the program; every other argument is passed through and specialises it. All errors of the program are reported
/// together in the Status, each as `file:line: error: ...`, with notes that point at the operands.
template <class Kernel, class... Arguments>
Expected<Program> record(KernelName name, Kernel &&kernel, Arguments &&...arguments) {
  using record_details::parameter;
  return record_details::record(name, [&] {
    if constexpr (record_details::checkKernel<Kernel, decltype(parameter(std::forward<Arguments>(arguments)))...>()) {
      using Bound = std::tuple<decltype(parameter(std::forward<Arguments>(arguments)))...>;
      std::apply(std::forward<Kernel>(kernel), Bound{parameter(std::forward<Arguments>(arguments))...});
    }
  });
}

} // namespace tegula
