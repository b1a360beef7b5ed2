// SPDX-License-Identifier: MIT
#include "compiler/simt/InlineAssembly.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tegula::simt {

namespace {

class Parser {
public:
  explicit Parser(LLVM::InlineAsmOp op) : op_(op), text_(op.getAsmString()) {
    if (op.getNumResults()) {
      auto structure = dyn_cast<LLVM::LLVMStructType>(op.getResult(0).getType());
      results_ = structure ? structure.getBody().size() : 1;
    }
  }

  std::optional<MemoryInstruction> parse() {
    MemoryInstruction instruction;
    if (text_.consume_front("@"))
      instruction.predicate = operand();
    text_ = text_.ltrim();
    std::tie(instruction.mnemonic, text_) = text_.split(' ');
    if (!parseMnemonic(instruction) || !text_.consume_back(";"))
      return std::nullopt;
    auto [before, rest] = text_.split('[');
    text_ = rest;
    instruction.address = operand();
    if (!instruction.address)
      return std::nullopt;
    while (text_.contains('$'))
      instruction.registers.push_back(operand());
    // What a result is tied to comes last and is not named.
    if (op_.getConstraints().contains(",0,") && instruction.kind == MemoryInstruction::Kind::Load)
      instruction.otherwise = op_.getOperands().back();
    return instruction;
  }

private:
  /// The next `$n`; null if there is none or it is a result.
  Value operand() {
    text_ = text_.substr(text_.find('$'));
    size_t number = 0;
    if (!text_.consume_front("$") || text_.consumeInteger(10, number))
      return nullptr;
    return number >= results_ && number - results_ < op_->getNumOperands() ? op_.getOperands()[number - results_]
                                                                           : Value();
  }

  static bool parseMnemonic(MemoryInstruction &instruction) {
    auto words = llvm::to_vector(llvm::split(instruction.mnemonic, '.'));
    using Kind = MemoryInstruction::Kind;
    if (words.front() == "ld")
      instruction.kind = Kind::Load;
    else if (words.front() == "st")
      instruction.kind = Kind::Store;
    else if (words.front() == "red" && llvm::is_contained(words, "add"))
      instruction.kind = Kind::Add;
    else
      return false;
    instruction.isShared = llvm::is_contained(words, "shared");
    instruction.isFloat = words.back().starts_with("f");
    return (instruction.isShared || llvm::is_contained(words, "global")) &&
           !words.back().drop_front().getAsInteger(10, instruction.bits);
  }

  LLVM::InlineAsmOp op_;
  StringRef text_;
  size_t results_ = 0;
};

} // namespace

std::optional<MemoryInstruction> parseMemoryInstruction(LLVM::InlineAsmOp op) { return Parser(op).parse(); }

} // namespace tegula::simt
