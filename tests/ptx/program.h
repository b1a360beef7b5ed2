// SPDX-License-Identifier: MIT
// A PTX kernel, read from its text. An instruction that the interpreter does not know is an error.
#pragma once

#include "ptx/operations.h"

#include "tegula/status.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::ptx_fuzz {

struct Operand {
  enum class Kind { reg, integer, f32, list, address, parameter, name };

  Kind kind = Kind::name;
  unsigned reg = 0;              ///< Also the base of an address in memory.
  uint64_t bits = 0;             ///< A literal, the offset of an address, or a place in the block of parameters.
  std::string name;              ///< A label.
  std::vector<Operand> elements; ///< The members of a list, such as `{%r1, %r2}` or `%p1|%p2`.
};

struct Instruction {
  enum class Kind {
    compute,
    move_list,
    address_parameter,
    load_parameter,
    load,
    store,
    branch,
    branch_by_index,
    exit,
    trap
  };

  Kind kind = Kind::compute;
  std::string text; ///< As it is printed, for messages.
  int guard = -1;   ///< The register of its predicate, or -1.
  bool guardIsNegated = false;
  std::string name; ///< Such as `add.s32`.
  std::vector<Operand> operands;
  Operation operation; ///< For compute.
  Type element;        ///< The type in memory, or in a list that is moved.
};

struct Program {
  std::vector<unsigned> registers;            ///< The size of each register.
  std::map<std::string, unsigned> parameters; ///< Their offsets in the parameter block.
  std::vector<Instruction> instructions;
  std::map<std::string, size_t> labels;                    ///< The index of the instruction that follows.
  std::map<std::string, std::vector<std::string>> targets; ///< The labels of a `.branchtargets` directive.
};

/// Reads the only kernel of a PTX file. Returns invalid_argument with the offender if a statement is not known, or has
/// operands that ptxas would refuse.
Expected<Program> parseProgram(std::string_view ptx);

} // namespace tegula::ptx_fuzz
