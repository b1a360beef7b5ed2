// SPDX-License-Identifier: MIT
// Sizes as text, and back.
#include "size_operations.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace tegula {
namespace {

constexpr int kAtom = 7;        ///< The precedence of numbers, names and functions.
constexpr int kMaxNesting = 60; ///< The most parentheses and functions around a number.

struct Text {
  std::string text;
  int precedence;
};

std::string inside(const Text &operand, int precedence) {
  return operand.precedence < precedence ? "(" + operand.text + ")" : operand.text;
}

Text spelt(const SizeOperation &operation, std::span<const Text> operands) {
  if (operation.precedence > 0)
    return {inside(operands[0], operation.precedence) + " " + std::string(operation.word) + " " +
                inside(operands[1], operation.precedence + 1),
            operation.precedence};
  std::string text = std::string(operation.word) + "(";
  for (const Text &operand : operands)
    text += (&operand == operands.data() ? "" : ", ") + operand.text;
  return {text + ")", kAtom};
}

bool isNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool isNamePart(char c) { return isNameStart(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.'; }

/// Parses by precedence. `error_` keeps the first error; what is returned after it means nothing.
class Parser {
public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expected<Size> parse() {
    Size size = binary(1);
    skipSpaces();
    if (at_ < text_.size())
      fail("an operator");
    if (!error_.empty())
      return Status(ErrorCode::invalid_argument, error_);
    return size;
  }

private:
  void skipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
  }

  void fail(const std::string &expected) {
    if (error_.empty())
      error_ = "'" + std::string(text_) + "': expected " + expected + " at character " + std::to_string(at_ + 1) +
               "; legal are numbers, names, + - * / % < <= > >= == != & |, ceildiv, min, max and select";
    at_ = text_.size();
  }

  bool accept(std::string_view word) {
    skipSpaces();
    if (text_.substr(at_, word.size()) != word)
      return false;
    at_ += word.size();
    return true;
  }

  const SizeOperation *infix(int precedence) {
    for (const SizeOperation &operation : sizeOperations())
      if (operation.precedence == precedence && accept(operation.word))
        return &operation;
    return nullptr;
  }

  Size binary(int precedence) {
    if (precedence == kAtom)
      return atom();
    Size left = binary(precedence + 1);
    while (const SizeOperation *operation = infix(precedence)) {
      const Size operands[] = {left, binary(precedence + 1)};
      left = applied(operation->op, operands);
    }
    return left;
  }

  Size atom() {
    skipSpaces();
    if (++nesting_ > kMaxNesting)
      fail("fewer parentheses");
    Size size = 0;
    if (accept("(")) {
      size = binary(1);
      if (!accept(")"))
        fail("')'");
    } else if (at_ < text_.size() && isNameStart(text_[at_])) {
      size = nameOrFunction();
    } else {
      size = number();
    }
    --nesting_;
    return size;
  }

  Size number() {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc())
      fail("a number or a name");
    else
      at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  Size nameOrFunction() {
    const size_t begin = at_;
    while (at_ < text_.size() && isNamePart(text_[at_]))
      ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    const auto found = std::ranges::find(sizeOperations(), name, &SizeOperation::word);
    if (found == sizeOperations().end())
      return Size(name);
    std::vector<Size> operands;
    while (operands.size() < found->operands) {
      if (!accept(operands.empty() ? "(" : ","))
        fail("the operands of " + std::string(name) + ", of which there are " + std::to_string(found->operands));
      operands.push_back(binary(1));
    }
    if (!accept(")"))
      fail("')'");
    return applied(found->op, operands);
  }

  std::string_view text_;
  size_t at_ = 0;
  int nesting_ = 0;
  std::string error_;
};

} // namespace

std::string toString(const Size &size) {
  std::vector<Text> stack;
  for (const Size::Term &term : size.terms()) {
    if (term.op == SizeOp::number) {
      stack.push_back({std::to_string(term.number), kAtom});
    } else if (term.op == SizeOp::name) {
      stack.push_back({term.name, kAtom});
    } else {
      const SizeOperation &operation = operationOf(term.op);
      const size_t first = stack.size() - operation.operands;
      Text result = spelt(operation, std::span(stack).subspan(first));
      stack.resize(first);
      stack.push_back(std::move(result));
    }
  }
  return stack.front().text;
}

Expected<Size> parseSize(std::string_view text) { return Parser(text).parse(); }

std::string toString(const Sizes &sizes) {
  std::string text;
  for (const NamedSize &size : sizes)
    text += (text.empty() ? "" : " ") + size.name + "=" + std::to_string(size.value);
  return text;
}

} // namespace tegula
