// SPDX-License-Identifier: MIT
// Random numbers by position.
#include "convert.h"
#include "tegula/ops.h"

namespace tegula {
namespace {

constexpr int kLeastRounds = 7, kMostRounds = 16;

/// Returns `term` as an integer of type `dtype`. Wider types are errors, except that a position becomes an i32.
NodeId integer(const Converter &convert, const char *part, const Term &term, DType dtype) {
  const DType from = convert.naturalType(term);
  if (convert.poisoned(term))
    return term.id;
  const bool fits = isInteger(from) && (from == DType::index || bitsOf(from) <= bitsOf(dtype));
  if (fits || (term.kind == Term::Kind::Integer))
    return convert.to(term, dtype);
  return convert.fail(std::string(part) + " is " + convert.describe(term) + "; it must be an integer of at most " +
                          std::to_string(bitsOf(dtype)) + " bits",
                      {term}, {dtype, convert.guess({term}).shape});
}

NodeId scalar(const Converter &convert, const char *part, const Term &term, DType dtype) {
  const NodeId id = integer(convert, part, term, dtype);
  if (convert.r.poisoned(id) || convert.r.type(id).scalar())
    return id;
  return convert.fail(std::string(part) + " is " + convert.describe(term) + "; it must be a scalar", {term},
                      {dtype, {}});
}

/// Records numbers of `bits` random bits, 8 or 32.
NodeId draw(const Converter &convert, int bits, const RandomKey &key, const Operand &row, const Operand &column,
            int rounds) {
  Recorder &r = convert.r;
  const Term at[] = {r.use(row), r.use(column)};
  const Type guess{DType::i32, convert.guess({at[0], at[1]}).shape};
  if (rounds < kLeastRounds || rounds > kMostRounds)
    return convert.fail("rounds is " + std::to_string(rounds) + "; legal are " + std::to_string(kLeastRounds) + " to " +
                            std::to_string(kMostRounds),
                        {}, guess);
  std::vector<NodeId> operands = {scalar(convert, "the seed", r.use(key.seed), DType::i64),
                                  scalar(convert, "the offset", r.use(key.offset), DType::i64),
                                  scalar(convert, "the stream", r.use(key.stream), DType::i32),
                                  integer(convert, "the row", at[0], DType::i32),
                                  integer(convert, "the column", at[1], DType::i32)};
  for (NodeId operand : operands)
    if (r.poisoned(operand))
      return r.poison(guess);
  const std::optional<Shape> shape = convert.commonShape({at[0], at[1]});
  if (!shape)
    return r.poison(guess);
  for (size_t i : {3, 4})
    operands[i] = convert.broadcast(operands[i], *shape);
  return r.pure(Op::Random, {DType::i32, *shape}, std::move(operands), convert.where,
                " bits " + std::to_string(bits) + " rounds " + std::to_string(rounds));
}

} // namespace

Value randomBytes(const RandomKey &key, Operand row, Operand column, int rounds, Location where) {
  Recorder &r = Recorder::current();
  return r.value(draw(Converter(r, "randomBytes", where), 8, key, row, column, rounds), where);
}

Value random(const RandomKey &key, Operand row, Operand column, int rounds, Location where) {
  Recorder &r = Recorder::current();
  const Value word = r.value(draw(Converter(r, "random", where), 32, key, row, column, rounds), where);
  // An f32 holds 24 bits exactly.
  const Operand bits((Operand(word, where) >> Operand(8, where)) & Operand(0xffffff, where), where);
  return Operand(cast(f32, bits, where), where) * Operand(0x1p-24, where);
}

} // namespace tegula
