// SPDX-License-Identifier: MIT
#include "tegula/size.h"

#include "size_operations.h"

#include <algorithm>

namespace tegula {

Size::Size(SizeOp op, std::initializer_list<Size> operands) {
  for (const Size &operand : operands)
    terms_.insert(terms_.end(), operand.terms_.begin(), operand.terms_.end());
  terms_.push_back({.op = op});
}

Size applied(SizeOp op, std::span<const Size> operands) {
  return operands.size() == 3 ? Size(op, {operands[0], operands[1], operands[2]})
                              : Size(op, {operands[0], operands[1]});
}

Size substituted(const Size &size, const Sizes &known) {
  std::vector<Size> stack;
  for (const Size::Term &term : size.terms()) {
    if (term.op == SizeOp::number) {
      stack.emplace_back(term.number);
    } else if (term.op == SizeOp::name) {
      const auto found = std::ranges::find(known, term.name, &NamedSize::name);
      stack.push_back(found == known.end() ? Size(term.name) : Size(found->value));
    } else {
      const size_t first = stack.size() - operationOf(term.op).operands;
      const Size result = applied(term.op, std::span(stack).subspan(first));
      stack.resize(first, Size(0));
      stack.push_back(result);
    }
  }
  return stack.front();
}

} // namespace tegula
