// SPDX-License-Identifier: MIT
#include "ptx/operations.h"

#include <cmath>
#include <map>

namespace tegula::ptx_fuzz {

namespace {

/// The result of a comparison for each order of its operands.
struct Relation {
  bool less, equal, greater, unordered;
};

const std::map<std::string, Relation> kRelations = {
    {"eq", {false, true, false, false}}, {"equ", {false, true, false, true}}, {"ne", {true, false, true, false}},
    {"neu", {true, false, true, true}},  {"lt", {true, false, false, false}}, {"ltu", {true, false, false, true}},
    {"le", {true, true, false, false}},  {"leu", {true, true, false, true}},  {"gt", {false, false, true, false}},
    {"gtu", {false, false, true, true}}, {"ge", {false, true, true, false}},  {"geu", {false, true, true, true}},
    {"num", {true, true, true, false}},  {"nan", {false, false, false, true}}};

template <class Number> bool holds(Relation relation, Number x, Number y) {
  return x < y ? relation.less : x > y ? relation.greater : x == y ? relation.equal : relation.unordered;
}

bool compareFloats(Type type, Relation relation, const uint64_t *x) {
  const Format format = formatOf(type);
  return holds(relation, valueOf(format, x[0]), valueOf(format, x[1]));
}

/// Returns true if PTX has this relation for the type. Bits are equal or not, and only floats may be unordered.
bool isLegal(Type type, Relation relation) {
  if (type.isFloat())
    return true;
  const bool isEquality = relation.less == relation.greater;
  return !relation.unordered && !(relation.less && relation.equal && relation.greater) &&
         (isEquality || type.isInteger());
}

} // namespace

std::optional<Operation> comparison(const Words &words, Type type) {
  if (words[0] != "setp" || words.size() != 3 || type.kind == Type::Kind::pred)
    return std::nullopt;
  auto known = kRelations.find(words[1]);
  if (known == kRelations.end() || !isLegal(type, known->second))
    return std::nullopt;
  return Operation{
      {Type::Kind::pred, 1}, {type, type}, [type, relation = known->second](const uint64_t *x) -> uint64_t {
        if (type.isFloat())
          return compareFloats(type, relation, x);
        if (type.isSigned())
          return holds(relation, signExtend(x[0], type.bits), signExtend(x[1], type.bits));
        return holds(relation, x[0], x[1]);
      }};
}

} // namespace tegula::ptx_fuzz
