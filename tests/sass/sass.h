// SPDX-License-Identifier: MIT
// The machine code of a kernel, as nvdisasm prints it.
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
  std::vector<size_t>
      next; ///< Indices of the instructions that may follow. A call is followed by the next instruction.

  /// Returns true if the opcode is `name`, or `name` with modifiers.
  bool is(std::string_view name) const;
  bool hasOperand(std::string_view operand) const;
};

/// A loop: the ascending indices of its instructions.
struct SassLoop {
  size_t header = 0;
  std::vector<size_t> body;
};

class Sass {
public:
  /// Reads the first function of a listing. The error names the first line that is not an instruction or a label.
  static Expected<Sass> parse(std::string_view listing);

  const std::vector<SassInstruction> &code() const { return code_; }
  /// Returns the loops that contain an MMA and no other loop with an MMA.
  std::vector<SassLoop> productLoops() const;
  /// Returns one iteration, in the order in which it runs if no branch that stays in the loop is taken.
  std::vector<size_t> iteration(const SassLoop &loop) const;

private:
  std::vector<SassLoop> loops() const;

  std::vector<SassInstruction> code_;
};

/// Returns the path of nvdisasm: $TEGULA_NVDISASM, or next to ptxas, or in $PATH. Empty if there is none.
std::string findDisassembler();

/// Returns the listing of a cubin. The error has nvdisasm's output.
Expected<std::string> disassemble(const std::string &cubin);

} // namespace tegula::testing
