// SPDX-License-Identifier: MIT
#include "compiler/simt/InlineAssembly.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using llvm::SmallVector;
using llvm::StringRef;

namespace tegula::simt {

namespace {

/// Splits a text at commas that no bracket encloses.
SmallVector<StringRef> splitOperands(StringRef text) {
  SmallVector<StringRef> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == '{'))
      ++depth;
    if (i < text.size() && (text[i] == ']' || text[i] == '}'))
      --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0))
      continue;
    if (StringRef part = text.slice(begin, i).trim(); !part.empty())
      parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

bool isLabel(StringRef text) {
  return llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

} // namespace

bool AsmStatement::is(StringRef words) const {
  return mnemonic.starts_with(words) && (mnemonic.size() == words.size() || mnemonic[words.size()] == '.');
}

bool AsmStatement::has(StringRef word) const { return llvm::is_contained(llvm::split(mnemonic, '.'), word); }

AsmText::AsmText(LLVM::InlineAsmOp op) : op_(op) {
  if (op.getNumResults()) {
    auto structure = dyn_cast<LLVM::LLVMStructType>(op.getResult(0).getType());
    results_ = structure ? structure.getBody().size() : 1;
  }
  parseConstraints();
  StringRef text = StringRef(op.getAsmString()).trim();
  if (text.consume_front("{"))
    text.consume_back("}");
  for (StringRef statement : llvm::split(text, ';'))
    parseStatement(statement.trim());
}

void AsmText::parseConstraints() {
  tied_.resize(results_);
  size_t input = 0;
  for (StringRef constraint : llvm::split(op_.getConstraints(), ',')) {
    if (constraint.starts_with("=") || constraint.starts_with("~"))
      continue;
    size_t result = 0;
    if (!constraint.getAsInteger(10, result) && result < results_)
      tied_[result] = op_.getOperands()[input];
    ++input;
  }
}

void AsmText::parseStatement(StringRef text) {
  if (auto [label, rest] = text.split(':'); rest.data() != nullptr && !rest.starts_with(":") && isLabel(label))
    text = rest.trim();
  AsmStatement statement;
  if (text.consume_front("@"))
    std::tie(statement.guard, text) = text.split(' ');
  text = text.trim();
  statement.mnemonic = text.take_until([](char c) { return c == ' ' || c == '\t'; });
  if (statement.mnemonic.empty() || statement.mnemonic == ".reg")
    return;
  statement.operands = splitOperands(text.drop_front(statement.mnemonic.size()));
  statements_.push_back(std::move(statement));
}

Value AsmText::operand(StringRef text) const {
  size_t number = 0;
  if (!text.consume_front("$") || text.getAsInteger(10, number) || number < results_ ||
      number - results_ >= op_->getNumOperands())
    return nullptr;
  return op_.getOperands()[number - results_];
}

SmallVector<StringRef> members(StringRef operand) {
  if ((operand.starts_with("{") && operand.ends_with("}")) || (operand.starts_with("[") && operand.ends_with("]")))
    return splitOperands(operand.drop_front().drop_back());
  return {operand};
}

} // namespace tegula::simt
