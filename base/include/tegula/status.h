// SPDX-License-Identifier: MIT
// The results of calls that can fail: a Status, or an Expected<T>. Nothing throws.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace tegula {

/// The kinds of errors, by what a host can do about them. The numbers are part of the ABI.
enum class ErrorCode {
  ok = 0,
  invalid_argument = 1,   ///< The caller's input; the message names the argument, its value and what is legal.
  invalid_program = 2,    ///< The kernel author's program; the message starts with file:line.
  unsupported = 3,        ///< Legal, but not on this target; the message names the nearest thing that is.
  needs_compile = 4,      ///< Compiling was forbidden and no compiled kernel is at hand.
  compile_failed = 5,     ///< The compiler refused; the message holds its diagnostics.
  compile_crashed = 6,    ///< The compiler died; the message holds the path of a reproducer.
  compile_timeout = 7,    ///< The compiler took longer than allowed.
  resource_exhausted = 8, ///< A limit was reached; the message names the limit.
  launch_failed = 9,      ///< The device refused a launch.
  device_lost = 10,       ///< The device's context is poisoned; only a new process helps.
  forked_child = 11,      ///< The process was forked after the library was first used.
  cancelled = 12,         ///< The caller asked to stop.
  internal = 13,          ///< A defect of Tegula.
};

/// Returns the name of a code as it is spelt above, such as "invalid_argument".
const char *toString(ErrorCode code);

/// Success, or a code and a message in plain sentences.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == ErrorCode::ok; }
  ErrorCode code() const { return code_; }
  const std::string &message() const { return message_; }

private:
  ErrorCode code_ = ErrorCode::ok;
  std::string message_;
};

/// A value, or the Status that says why there is none.
template <class T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Status error) : state_(std::in_place_index<1>, std::move(error)) {
    assert(!std::get<1>(state_).ok() && "an Expected without a value needs an error");
  }

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  Status status() const { return ok() ? Status() : std::get<1>(state_); }

  T &operator*() { return std::get<0>(state_); }
  const T &operator*() const { return std::get<0>(state_); }
  T *operator->() { return &std::get<0>(state_); }
  const T *operator->() const { return &std::get<0>(state_); }

private:
  std::variant<T, Status> state_;
};

} // namespace tegula

/// Returns the Status of `expression` from the enclosing function unless it is ok.
#define TEGULA_RETURN_IF_ERROR(expression)                                                                             \
  do {                                                                                                                 \
    if (::tegula::Status tegulaStatus = (expression); !tegulaStatus.ok())                                              \
      return tegulaStatus;                                                                                             \
  } while (false)
