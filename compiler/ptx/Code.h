// SPDX-License-Identifier: MIT
// The code of a kernel between LLVM IR and text: PTX instructions on an unlimited number of registers.
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

/// The size of a register. Most PTX instructions require only that the size of their registers is right.
enum class RegisterClass : uint8_t { pred, b16, b32, b64 };

/// Returns a name such as `pred` or `b32`.
llvm::StringRef toString(RegisterClass registerClass);
unsigned bitsOf(RegisterClass registerClass);

inline constexpr unsigned kSharedMemory = 3; ///< The number of the address space in LLVM.

using Register = unsigned;

struct Operand {
  enum class Kind : uint8_t {
    undefined, ///< Any value.
    reg,
    integer,
    f32,   ///< Given by its bits.
    label, ///< A block, given by its number.
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
  llvm::StringRef text; ///< `$0` stands for the first operand.
  llvm::ArrayRef<Operand> operands;
  unsigned results; ///< The number of operands, from the first on, that are written.
  bool isCopy;      ///< Copies the second operand to the first. Prints nothing if the second is undefined.
  const llvm::DILocation *place;

  llvm::ArrayRef<Operand> written() const { return operands.take_front(results); }
  llvm::ArrayRef<Operand> read() const { return operands.drop_front(results); }
};

struct Block {
  std::vector<Line> lines;
  llvm::SmallVector<unsigned, 2> successors;
};

/// The blocks and registers of a kernel. The strings and operands of its lines live as long as it does.
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

/// Returns, for each register, the register that replaces it. Registers between which values are copied become one if
/// no instruction needs both. ptxas coalesces some of them, too, but not all. It does not coalesce accumulators of a
/// wgmma in flight, which must not be copied.
std::vector<Register> coalesce(const Code &code);

} // namespace tegula::ptx
