// SPDX-License-Identifier: MIT
// Variants from text. docs/kernels.md describes the text.
#include "tegula/attention_words.h"
#include "tegula/tensor.h"
#include "variant_operations.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>
#include <memory>

namespace tegula {
namespace {

using namespace variant_text;

constexpr int kMaxNesting = 60; ///< The most parentheses, functions and signs around an operand.

Value gathered(const View &view, std::span<const Result> indices) {
  std::vector<Operand> at;
  for (const Result &index : indices)
    at.emplace_back(valueOf(index));
  return view.gatherAt(at);
}

bool isNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool isNamePart(char c) { return isNameStart(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

constexpr std::string_view kTensor = "tensor", kSize = "size";
constexpr std::string_view kElements[] = {"score", "probability"}; ///< In the order of Element.

std::string_view wordOf(Element element) { return kElements[static_cast<size_t>(element)]; }

struct Input {
  std::string_view word;
  Value (*make)(const ScoreIndex &at);
};
constexpr Input kPositions[] = {
    {"batch", [](const ScoreIndex &at) { return at.batch; }},
    {"head", [](const ScoreIndex &at) { return at.head; }},
    {"query", [](const ScoreIndex &at) { return at.query; }},
    {"key", [](const ScoreIndex &at) { return at.key; }},
    {"seqlen_q", [](const ScoreIndex &at) { return at.seqlen_q; }},
    {"seqlen_k", [](const ScoreIndex &at) { return at.seqlen_k; }},
};

/// Parses by precedence. `error_` keeps the first error; what is returned after it means nothing.
class Parser {
public:
  explicit Parser(std::string_view text) : text_(text) {
    nodes_.push_back({.kind = Kind::integer, .operands = {}, .make = {}, .literal = int64_t(0)}); // After an error.
    for (Element element : {Element::score, Element::probability})
      names_.emplace(wordOf(element), add({.kind = Kind::number,
                                           .operands = {},
                                           .make = [](const Inputs &inputs, auto) { return *inputs.element; },
                                           .uses = {element}}));
    for (const Input &input : kPositions)
      names_.emplace(input.word,
                     add({.kind = Kind::integer, .operands = {}, .make = [&input](const Inputs &inputs, auto) {
                            return input.make(inputs.at);
                          }}));
    names_.emplace("true", addLiteral(Kind::condition, true));
    names_.emplace("false", addLiteral(Kind::condition, false));
    names_.emplace("inf", addLiteral(Kind::number, std::numeric_limits<double>::infinity()));
    names_.emplace("nan", addLiteral(Kind::number, std::numeric_limits<double>::quiet_NaN()));
  }

  Variant parse() {
    version();
    while (skipLines())
      statement();
    Variant variant;
    if (!error_.empty()) {
      variant.status = {ErrorCode::invalid_argument, error_};
      return variant;
    }
    variant.tensors = tensors_;
    const auto nodes = std::make_shared<const Nodes>(std::move(nodes_));
    const auto modification = [&nodes](size_t root) {
      return [nodes, root](Value element, const ScoreIndex &at, VariantViews tensors) -> Value {
        return evaluate(*nodes, root, {.element = element, .at = at, .tensors = tensors});
      };
    };
    if (const std::optional<size_t> &root = outputs_[0].root)
      variant.mask = [nodes, root = *root](const ScoreIndex &at, VariantViews tensors) -> Value {
        return evaluate(*nodes, root, {.element = std::nullopt, .at = at, .tensors = tensors});
      };
    if (const std::optional<size_t> &root = outputs_[1].root)
      variant.score = modification(*root);
    if (const std::optional<size_t> &root = outputs_[2].root)
      variant.probability = modification(*root);
    return variant;
  }

private:
  /// A name that the text may define, and on which element its expression may depend.
  struct Output {
    std::string_view name;
    Kind kind;
    std::optional<Element> element;
    std::optional<size_t> root = {}; ///< Its node, if the text defines it.
  };

  size_t fail(size_t at, const std::string &problem) {
    if (error_.empty()) {
      const std::string_view before = text_.substr(0, at);
      const size_t line = size_t(std::ranges::count(before, '\n')) + 1;
      const size_t column = at - (before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1) + 1;
      error_ = "variant text, line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + problem;
    }
    at_ = text_.size();
    return 0;
  }

  size_t add(Node node) {
    for (size_t operand : node.operands)
      node.uses.insert(nodes_[operand].uses.begin(), nodes_[operand].uses.end());
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }

  size_t addLiteral(Kind kind, Result literal) {
    return add({.kind = kind, .operands = {}, .make = {}, .literal = literal});
  }

  void skipSpaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  /// Moves to the next line that is not empty. Returns false at the end.
  bool skipLines() {
    for (skipSpaces(); at_ < text_.size() && text_[at_] == '\n'; skipSpaces())
      ++at_;
    return at_ < text_.size();
  }

  bool accept(std::string_view word) {
    skipSpaces();
    if (text_.substr(at_, word.size()) != word)
      return false;
    at_ += word.size();
    return true;
  }

  void expect(std::string_view word, const std::string &after) {
    if (!accept(word))
      fail(at_, "expected '" + std::string(word) + "' after " + after);
  }

  void expectEnd() {
    skipSpaces();
    if (at_ < text_.size() && text_[at_] != '\n')
      fail(at_, "expected an operator or the end of the line");
  }

  std::string_view name() {
    skipSpaces();
    const size_t begin = at_;
    if (at_ < text_.size() && isNameStart(text_[at_]))
      while (at_ < text_.size() && isNamePart(text_[at_]))
        ++at_;
    return text_.substr(begin, at_ - begin);
  }

  //===-- Lines --------------------------------------------------------------------------------------------------===//

  void version() {
    skipLines();
    const size_t begin = at_;
    const bool isVersion = name() == "variant" && accept("1");
    skipSpaces();
    if (!isVersion || (at_ < text_.size() && text_[at_] != '\n'))
      fail(begin, "the text must begin with the line 'variant 1', the version of the text that this library reads");
  }

  void statement() {
    const size_t begin = at_;
    const std::string_view word = name();
    if (word.empty())
      fail(begin, "expected a name; a line is 'tensor NAME TYPE[AXES]' or 'NAME = EXPRESSION'");
    else if (word == kTensor)
      tensor();
    else
      assignment(begin, std::string(word));
    expectEnd();
  }

  /// Checks that a name may be defined.
  void checkNew(size_t at, const std::string &name) {
    if (names_.contains(name) || tensorOf_.contains(name))
      fail(at, "'" + name + "' is defined already");
    else if (findFunction(name) != nullptr || name == kTensor || name == kSize)
      fail(at, "'" + name + "' has a meaning of its own; choose another name");
  }

  void assignment(size_t begin, const std::string &name) {
    expect("=", "'" + name + "'");
    skipSpaces();
    const size_t at = at_;
    const size_t node = binary(1);
    const Kind kind = nodes_[node].kind;
    if (!error_.empty())
      return;
    Output *output = std::ranges::find(outputs_, name, &Output::name);
    if (output == std::end(outputs_)) {
      checkNew(begin, name);
      names_.emplace(name, node);
    } else if (output->root) {
      fail(begin, "'" + name + "' is defined already");
    } else if (kind != output->kind) {
      fail(at, "'" + name + "' is " + std::string(nameOf(kind)) +
                   (output->kind == Kind::number ? "; it must be a number, such as f32(x)"
                                                 : "; it must be a condition, such as x != 0"));
    } else {
      checkUses(at, *output, nodes_[node]);
      output->root = node;
    }
  }

  void checkUses(size_t at, const Output &output, const Node &node) {
    for (Element element : node.uses)
      if (element != output.element)
        fail(at, "'" + std::string(output.name) + "' depends on '" + std::string(wordOf(element)) +
                     "'; it may depend on " + (output.element ? std::string(wordOf(*output.element)) + ", " : "") +
                     "positions and tensors only");
  }

  void tensor() {
    skipSpaces();
    const size_t begin = at_;
    VariantTensor tensor;
    tensor.name = name();
    if (tensor.name.empty())
      fail(begin, "expected the name of the tensor");
    checkNew(begin, tensor.name);
    skipSpaces();
    const size_t atType = at_;
    const std::optional<DType> dtype = parseDType(name());
    if (!dtype || *dtype == DType::index)
      fail(atType, "expected the type of the tensor: f32, f16, bf16, e4m3, i64, i32, i8 or i1");
    tensor.dtype = dtype.value_or(f32);
    expect("[", "the type of the tensor");
    do
      tensor.axes.push_back(axis());
    while (accept(","));
    expect("]", "the axes");
    if (tensor.axes.size() > kMaxRank)
      fail(begin, "'" + tensor.name + "' has " + std::to_string(tensor.axes.size()) + " axes; it may have " +
                      std::to_string(kMaxRank));
    words(tensor);
    if (error_.empty()) {
      tensorOf_.emplace(tensor.name, tensors_.size());
      tensors_.push_back(std::move(tensor));
    }
  }

  Axis axis() {
    constexpr Axis last = Axis::up_to_seqlen_k;
    skipSpaces();
    const size_t begin = at_;
    const std::string_view word = name();
    std::string legal;
    for (int n = 0; n <= int(last); ++n) {
      if (toString(Axis(n)) == word)
        return Axis(n);
      legal += (n == 0 ? "" : ", ") + std::string(toString(Axis(n)));
    }
    fail(begin, "'" + std::string(word) + "' is no axis; axes are " + legal);
    return Axis::any;
  }

  /// Parses what follows the axes of a tensor.
  void words(VariantTensor &tensor) {
    for (;;) {
      skipSpaces();
      const size_t begin = at_;
      const std::string_view word = name();
      if (word == "gradient")
        tensor.wants_gradient = true;
      else if (word == "read_once")
        tensor.read_once = true;
      else if (word == "broadcasts")
        tensor.broadcasts = true;
      else if (word.empty())
        return;
      else
        fail(begin, "'" + std::string(word) + "' is unknown; a tensor may have gradient, read_once and broadcasts");
      if (word == "gradient" && !isFloat(tensor.dtype))
        fail(begin, "'" + tensor.name + "' is " + std::string(toString(tensor.dtype)) +
                        "; only tensors of floats have a gradient");
    }
  }

  //===-- Expressions --------------------------------------------------------------------------------------------===//

  const Operation *infix(int precedence) {
    for (const Operation &operation : operations())
      if (operation.precedence == precedence && accept(operation.word))
        return &operation;
    return nullptr;
  }

  size_t binary(int precedence) {
    if (precedence == kSign)
      return sign();
    size_t left = binary(precedence + 1);
    skipSpaces();
    size_t at = at_;
    while (const Operation *operation = infix(precedence)) {
      const size_t right = binary(precedence + 1);
      left = apply(at, *operation, {left, right});
      skipSpaces();
      at = at_;
    }
    return left;
  }

  size_t sign() {
    skipSpaces();
    const size_t at = at_;
    if (++nesting_ > kMaxNesting)
      return fail(at, "there are more than " + std::to_string(kMaxNesting) +
                          " parentheses, functions and signs around this; give a part a name on a line of its own");
    const Operation *operation = infix(kSign);
    const size_t operand = operation != nullptr ? sign() : atom();
    --nesting_;
    return operation != nullptr ? apply(at, *operation, {operand}) : operand;
  }

  size_t atom() {
    skipSpaces();
    const size_t begin = at_;
    if (accept("(")) {
      const size_t inner = binary(1);
      expect(")", "the expression");
      return inner;
    }
    const std::string word(name());
    if (word.empty())
      return number();
    if (accept("("))
      return function(begin, word);
    if (accept("["))
      return gather(begin, word);
    if (const auto found = names_.find(word); found != names_.end())
      return found->second;
    if (tensorOf_.contains(word))
      return fail(begin, "'" + word + "' is a tensor; read an element, as " + word + "[head]");
    return fail(begin,
                "'" + word +
                    "' is not defined; there are score, probability, batch, head, query, key, seqlen_q, seqlen_k, "
                    "true, false, inf, nan, and the names of earlier lines");
  }

  size_t number() {
    const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
    if (at_ == text_.size() || (std::isdigit(static_cast<unsigned char>(*begin)) == 0 && *begin != '.'))
      return fail(at_, "expected a number, a name or an expression");
    double number = 0;
    const auto [last, error] = std::from_chars(begin, end, number);
    const bool isInteger = std::all_of(begin, last, [](unsigned char c) { return std::isdigit(c) != 0; });
    if (error != std::errc() || (isInteger && number > std::numeric_limits<int32_t>::max()))
      return fail(at_, isInteger ? "integers must be at most 2147483647; write a number with a point, as 3e9 or 3.0"
                                 : "the number is not one of 64 bits");
    at_ += size_t(last - begin);
    return isInteger ? addLiteral(Kind::integer, int64_t(number)) : addLiteral(Kind::number, number);
  }

  /// Parses expressions with commas up to `close`.
  std::vector<size_t> list(std::string_view close, const std::string &after) {
    std::vector<size_t> all;
    if (accept(close))
      return all;
    do
      all.push_back(binary(1));
    while (accept(","));
    expect(close, after);
    return all;
  }

  size_t function(size_t begin, const std::string &word) {
    if (word == kSize)
      return size();
    const Operation *operation = findFunction(word);
    if (operation == nullptr)
      return fail(begin, "'" + word + "' is no function; functions are " + std::string(kSize) + ", " + functionWords());
    return apply(begin, *operation, list(")", "the operands of " + word));
  }

  size_t apply(size_t at, const Operation &operation, const std::vector<size_t> &operands) {
    if (!error_.empty())
      return 0;
    const std::string word = "'" + std::string(operation.word) + "'";
    if (operands.size() != operation.operands)
      return fail(at, word + " has " + std::to_string(operands.size()) + " operands; it takes " +
                          std::to_string(operation.operands));
    std::vector<Kind> kinds;
    std::string given;
    for (size_t operand : operands) {
      kinds.push_back(nodes_[operand].kind);
      given += (given.empty() ? "" : " and ") + std::string(nameOf(kinds.back()));
    }
    const std::optional<Kind> kind = kindOfResult(operation.rule, kinds);
    if (!kind)
      return fail(at, word + " is given " + given + "; it takes " + std::string(legalOperands(operation.rule)));
    if (operation.precedence == kSign && nodes_[operands[0]].literal)
      return negated(*nodes_[operands[0]].literal);
    if (operation.rule == Rule::counts)
      if (const std::optional<Result> &count = nodes_[operands[1]].literal)
        if (std::get<int64_t>(*count) < 0 || std::get<int64_t>(*count) > 31)
          return fail(at, word + " is given a literal count that is not from 0 to 31");
    return add({.kind = *kind,
                .operands = operands,
                .make = [&operation](const Inputs &, std::span<const Result> results) -> Result {
                  std::vector<Operand> values;
                  for (const Result &result : results)
                    values.push_back(operandOf(result));
                  return operation.make(values);
                }});
  }

  /// Returns the literal that `-` or `!` makes of a literal.
  size_t negated(Result literal) {
    if (const bool *condition = std::get_if<bool>(&literal))
      return addLiteral(Kind::condition, !*condition);
    if (const double *number = std::get_if<double>(&literal))
      return addLiteral(Kind::number, -*number);
    return addLiteral(Kind::integer, -std::get<int64_t>(literal));
  }

  /// Parses the operands of size(TENSOR, AXIS).
  size_t size() {
    skipSpaces();
    const size_t begin = at_;
    const auto found = tensorOf_.find(name());
    if (found == tensorOf_.end())
      return fail(begin, "expected the name of a tensor, as in size(bias, 0)");
    expect(",", "'" + found->first + "'");
    skipSpaces();
    const size_t atAxis = at_;
    const size_t axis = number();
    expect(")", "the axis");
    if (!error_.empty())
      return 0;
    const int64_t *n = std::get_if<int64_t>(&*nodes_[axis].literal);
    const size_t axes = tensors_[found->second].axes.size();
    if (n == nullptr || *n >= int64_t(axes))
      return fail(atAxis, "the axis must be an integer from 0 to " + std::to_string(axes - 1));
    return add({.kind = Kind::integer,
                .operands = {},
                .make = [tensor = found->second, n = int(*n)](const Inputs &inputs, auto) -> Result {
                  return inputs.tensors[tensor].dim(n);
                }});
  }

  size_t gather(size_t begin, const std::string &word) {
    const auto found = tensorOf_.find(word);
    if (found == tensorOf_.end())
      return fail(begin,
                  "'" + word + "' is no tensor; declare it on a line before, as: tensor " + word + " f32[heads]");
    const VariantTensor &tensor = tensors_[found->second];
    const std::vector<size_t> indices = list("]", "the indices of '" + word + "'");
    if (!error_.empty())
      return 0;
    if (indices.size() != tensor.axes.size())
      return fail(begin, "'" + word + "' is read with " + std::to_string(indices.size()) + " indices; it has " +
                             std::to_string(tensor.axes.size()) + " axes");
    for (size_t index : indices)
      if (nodes_[index].kind != Kind::integer)
        return fail(begin, "an index of '" + word + "' is " + std::string(nameOf(nodes_[index].kind)) +
                               "; it must be an integer, such as i32(x)");
    return add({.kind = kindOf(tensor.dtype),
                .operands = indices,
                .make = [n = found->second](const Inputs &inputs, std::span<const Result> at) -> Result {
                  return gathered(inputs.tensors[n], at);
                }});
  }

  std::string_view text_;
  size_t at_ = 0;
  int nesting_ = 0;
  std::string error_;

  Nodes nodes_;
  std::map<std::string, size_t, std::less<>> names_;    ///< Nodes of the names of lines, and of inputs.
  std::map<std::string, size_t, std::less<>> tensorOf_; ///< Indices of `tensors_`.
  std::vector<VariantTensor> tensors_;
  Output outputs_[3] = {{"mask", Kind::condition, std::nullopt},
                        {"score", Kind::number, Element::score},
                        {"probability", Kind::number, Element::probability}};
};

} // namespace

Variant variantFromText(std::string_view text) { return Parser(text).parse(); }

} // namespace tegula
