// SPDX-License-Identifier: MIT
// The code of a kernel between LLVM IR and text: PTX instructions on registers without end.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"

#include <cstdint>
#include <vector>

namespace llvm {
class DILocation;
} // namespace llvm

namespace tegula::ptx {

/// What fits: PTX asks of most instructions only that the size of their registers is right.
enum class RegisterClass : uint8_t { pred, b16, b32, b64 };

/// `pred`, `b32`, ...
llvm::StringRef toString(RegisterClass registerClass);
unsigned bitsOf(RegisterClass registerClass);

inline constexpr unsigned kSharedMemory = 3; ///< The number of LLVM's address space.

using Register = unsigned;

struct Operand {
  enum class Kind : uint8_t {
    undefined, ///< Any value.
    reg,
    integer,
    f32,   ///< By its bits.
    label, ///< A block, by its number.
  };

  Kind kind = Kind::undefined;
  int64_t number = 0;

  static Operand of(Register reg) { return {Kind::reg, reg}; }
  static Operand ofInteger(int64_t number) { return {Kind::integer, number}; }

  bool isRegister() const { return kind == Kind::reg; }
  bool isLiteral(int64_t value) const { return kind == Kind::integer && number == value; }
  Register reg() const { return static_cast<Register>(number); }
};

/// One instruction, or one inline assembly.
struct Line {
  llvm::StringRef text; ///< `$0` is the first operand.
  llvm::ArrayRef<Operand> operands;
  unsigned results; ///< How many of the operands, from the first on, are written.
  bool isCopy;      ///< Of the second operand to the first; of an undefined one, nothing is printed.
  const llvm::DILocation *place;

  llvm::ArrayRef<Operand> written() const { return operands.take_front(results); }
  llvm::ArrayRef<Operand> read() const { return operands.drop_front(results); }
};

struct Block {
  std::vector<Line> lines;
  llvm::SmallVector<unsigned, 2> successors;
};

/// The strings and operands of its lines live as long as it does.
class Code {
public:
  std::vector<Block> blocks;
  std::vector<RegisterClass> registers;

  Register addRegister(RegisterClass registerClass) {
    registers.push_back(registerClass);
    return static_cast<Register>(registers.size() - 1);
  }

  llvm::StringRef keep(const llvm::Twine &text) { return strings_.save(text); }
  llvm::ArrayRef<Operand> keep(llvm::ArrayRef<Operand> operands) { return operands.copy(memory_); }

private:
  llvm::BumpPtrAllocator memory_;
  llvm::StringSaver strings_{memory_};
};

/// For each register the one that takes its place: registers between which values are copied become one where no
/// instruction needs both. The assembler does so, too, but not with all; and not with accumulators of products that
/// are in flight, which nobody may copy.
std::vector<Register> coalesce(const Code &code);

} // namespace tegula::ptx
