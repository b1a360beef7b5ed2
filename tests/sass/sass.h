// SPDX-License-Identifier: MIT
// Machine code of a kernel, as nvdisasm prints it.
#pragma once

#include "tegula/status.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::testing {

struct SassInstruction {
  std::string guard;                 ///< "@!P0", or empty.
  std::string opcode;                ///< "HGMMA.64x128x16.F32.BF16"
  std::vector<std::string> operands; ///< "R24", "gdesc[UR12]", "R24", "gsb0"
  std::vector<size_t> next;          ///< Indices of the instructions that may follow. Calls return.

  /// Whether the opcode is `name`, or `name` with modifiers.
  bool is(std::string_view name) const;
  bool hasOperand(std::string_view operand) const;
};

/// A loop by its instructions' indices, ascending.
struct SassLoop {
  size_t header = 0;
  std::vector<size_t> body;
};

class Sass {
public:
  /// Reads the first function of a listing. The error names the line that is not understood.
  static Expected<Sass> parse(std::string_view listing);

  const std::vector<SassInstruction> &code() const { return code_; }
  /// The loops that hold a product and no other such loop.
  std::vector<SassLoop> productLoops() const;
  /// One iteration, in the order in which it runs where no branch that stays in the loop is taken.
  std::vector<size_t> iteration(const SassLoop &loop) const;

private:
  std::vector<SassLoop> loops() const;

  std::vector<SassInstruction> code_;
};

/// nvdisasm: $TEGULA_NVDISASM, or beside the assembler, or in $PATH. Empty if there is none.
std::string findDisassembler();

/// The listing of a cubin; the error holds what the disassembler said.
Expected<std::string> disassemble(const std::string &cubin);

} // namespace tegula::testing
