// SPDX-License-Identifier: MIT
// What the tuner sends to tegula-measure: a device in another process, which knows what a Device knows.
//
// A frame is a sequence of commands. The process executes all of them. Its answer is a byte with the code of the first
// error and a message, or 0 and what the last command gives.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace tegula::tuning {

enum class Verb : uint64_t {
  open,        ///< Comes first. Operand: Target::name.
  allocate,    ///< Operand: bytes. Gives the address.
  release,     ///< `of`: address.
  copy_in,     ///< `of`: address. Operand: what to copy there.
  copy_again,  ///< `of`: address. Operand: how many bytes of the last copy_in to copy there.
  copy_out,    ///< `of`: address. Operand: how many bytes. Gives them.
  load,        ///< `of`: kernel. Operand: serialize(Artifact). Begins, in a thread of its own.
  concurrency, ///< `of`: kernel. Gives Kernel::concurrency().
  launch,      ///< `of`: kernel. Operand: Grid, then the Arguments.
  timers,      ///< Operand: how many. Makes them, when all kernels are loaded. The next one is the first.
  start,       ///< Starts the next timer.
  stop,        ///< Stops it.
  read,        ///< Gives the milliseconds of all timers that have stopped. The next one is the first.
  synchronize,
  memory, ///< Gives MemoryInfo.
};

/// The head of a command. Its operand follows.
struct Command {
  Verb verb;
  uint64_t of = 0;
  uint64_t operand_bytes = 0;
};

template <class T> std::string_view bytesOf(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

/// The inverse of bytesOf. Takes the value from the beginning of `bytes`.
template <class T> T valueOf(std::string_view bytes) {
  std::array<char, sizeof(T)> value = {};
  bytes.copy(value.data(), sizeof(T));
  return std::bit_cast<T>(value);
}

inline std::string encoded(Verb verb, uint64_t of = 0, std::string_view operand = {}) {
  return std::string(bytesOf(Command{verb, of, operand.size()})).append(operand);
}

} // namespace tegula::tuning
