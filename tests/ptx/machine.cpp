// SPDX-License-Identifier: MIT
#include "ptx/machine.h"

#include <cstring>

namespace tegula::ptx_fuzz {

namespace {

constexpr int kMostSteps = 100'000;
constexpr uint64_t kUnwritten = 0xdead'dead'dead'dead; ///< The first value of each register.

class Machine {
public:
  Machine(const Program &program, const std::vector<uint8_t> &parameters, std::vector<uint8_t> &memory)
      : program_(program), parameters_(parameters), memory_(memory), registers_(program.registers.size(), kUnwritten) {}

  std::string run() {
    for (int step = 0; step < kMostSteps; ++step) {
      if (next_ >= program_.instructions.size())
        return "the program has no end";
      const Instruction &instruction = program_.instructions[next_++];
      if (instruction.kind == Instruction::Kind::exit && isEnabled(instruction))
        return "";
      if (isEnabled(instruction))
        execute(instruction);
      if (!problem_.empty())
        return problem_ + ": " + instruction.text;
    }
    return "the program takes too many steps";
  }

private:
  bool isEnabled(const Instruction &instruction) const {
    return instruction.guard < 0 ||
           (registers_[static_cast<size_t>(instruction.guard)] & 1) != uint64_t{instruction.guardIsNegated};
  }

  uint64_t read(const Operand &operand, unsigned bits) const {
    return zeroExtend(operand.kind == Operand::Kind::reg ? registers_[operand.reg] : operand.bits, bits);
  }

  void write(const Operand &operand, uint64_t value) {
    if (operand.kind == Operand::Kind::reg)
      registers_[operand.reg] = zeroExtend(value, program_.registers[operand.reg]);
  }

  /// Writes a number to a register that may be larger.
  void writeExtended(const Operand &operand, uint64_t value, Type type) {
    write(operand,
          type.isSigned() ? static_cast<uint64_t>(signExtend(value, type.bits)) : zeroExtend(value, type.bits));
  }

  void execute(const Instruction &instruction) {
    const std::vector<Operand> &operands = instruction.operands;
    switch (instruction.kind) {
    case Instruction::Kind::compute:
      return compute(instruction);
    case Instruction::Kind::move_list:
      return operands[0].kind == Operand::Kind::list ? unpack(instruction) : pack(instruction);
    case Instruction::Kind::address_parameter:
      return write(operands[0], operands[1].bits);
    case Instruction::Kind::load_parameter:
      return loadParameter(instruction);
    case Instruction::Kind::load:
      return loadMemory(instruction);
    case Instruction::Kind::store:
      return store(instruction);
    case Instruction::Kind::branch:
      return jump(operands[0].name);
    case Instruction::Kind::branch_by_index:
      return jump(program_.targets.at(operands[1].name).at(read(operands[0], 32)));
    case Instruction::Kind::trap:
    case Instruction::Kind::exit:
      problem_ = "the program traps";
    }
  }

  void jump(const std::string &label) { next_ = program_.labels.at(label); }

  void compute(const Instruction &instruction) {
    const Operation &operation = instruction.operation;
    uint64_t inputs[4] = {};
    for (size_t i = 0; i < operation.operands.size(); ++i)
      inputs[i] = read(instruction.operands[i + 1], operation.operands[i].bits);
    uint64_t result = operation.compute(inputs);
    if (instruction.operands[0].kind != Operand::Kind::list)
      return writeExtended(instruction.operands[0], result, operation.result);
    for (const Operand &predicate : instruction.operands[0].elements) {
      write(predicate, result & 1);
      result >>= 1;
    }
  }

  void pack(const Instruction &instruction) {
    uint64_t whole = 0;
    unsigned shift = 0;
    for (const Operand &element : instruction.operands[1].elements) {
      whole |= read(element, instruction.element.bits) << shift;
      shift += instruction.element.bits;
    }
    write(instruction.operands[0], whole);
  }

  void unpack(const Instruction &instruction) {
    uint64_t whole = read(instruction.operands[1], 64);
    for (const Operand &element : instruction.operands[0].elements) {
      write(element, zeroExtend(whole, instruction.element.bits));
      whole >>= instruction.element.bits;
    }
  }

  static std::vector<Operand> elementsOf(const Operand &data) {
    return data.kind == Operand::Kind::list ? data.elements : std::vector{data};
  }

  void loadParameter(const Instruction &instruction) {
    const Operand &address = instruction.operands[1];
    const uint64_t offset = address.bits + (address.kind == Operand::Kind::address ? registers_[address.reg] : 0);
    load(instruction, parameters_, offset);
  }

  void loadMemory(const Instruction &instruction) { load(instruction, memory_, offsetOf(instruction.operands[1])); }

  uint64_t offsetOf(const Operand &address) const { return registers_[address.reg] + address.bits - kMemoryAddress; }

  /// Returns true if an access lies inside, and is aligned to its whole size.
  bool isLegal(uint64_t offset, uint64_t bytes, const std::vector<uint8_t> &all) {
    const bool isInside = offset < all.size() && offset + bytes <= all.size();
    if (!isInside || offset % bytes != 0)
      problem_ = "a wrong address";
    return problem_.empty();
  }

  void load(const Instruction &instruction, const std::vector<uint8_t> &from, uint64_t offset) {
    const std::vector<Operand> elements = elementsOf(instruction.operands[0]);
    const size_t bytes = instruction.element.bits / 8;
    if (!isLegal(offset, bytes * elements.size(), from))
      return;
    for (const Operand &element : elements) {
      uint64_t value = 0;
      std::memcpy(&value, &from[offset], bytes);
      writeExtended(element, value, instruction.element);
      offset += bytes;
    }
  }

  void store(const Instruction &instruction) {
    const std::vector<Operand> elements = elementsOf(instruction.operands[1]);
    const size_t bytes = instruction.element.bits / 8;
    uint64_t offset = offsetOf(instruction.operands[0]);
    if (!isLegal(offset, bytes * elements.size(), memory_))
      return;
    for (const Operand &element : elements) {
      const uint64_t value = read(element, instruction.element.bits);
      std::memcpy(&memory_[offset], &value, bytes);
      offset += bytes;
    }
  }

  const Program &program_;
  const std::vector<uint8_t> &parameters_;
  std::vector<uint8_t> &memory_;
  std::vector<uint64_t> registers_;
  size_t next_ = 0;
  std::string problem_;
};

} // namespace

std::string execute(const Program &program, const std::vector<uint8_t> &parameters, std::vector<uint8_t> &memory) {
  return Machine(program, parameters, memory).run();
}

} // namespace tegula::ptx_fuzz
