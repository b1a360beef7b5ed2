// SPDX-License-Identifier: MIT
// Shuffles of the bytes of words, such as the transpose of a tile of bytes: four bytes of four words make a word. Two
// words are interleaved first, which serves two results.
#include "compiler/ptx/Selection.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"

namespace tegula::ptx {

using namespace llvm;

bool shufflesBytes(const User &user) {
  auto *shuffle = dyn_cast<ShuffleVectorInst>(&user);
  return shuffle && isFourBytes(shuffle->getType()) && isFourBytes(shuffle->getOperand(0)->getType());
}

namespace {

/// A byte of a word; no word if its value does not matter.
using Byte = std::pair<Value *, unsigned>;

/// Returns the byte that a chain of shuffles brings to a place.
Byte sourceOf(Value *word, unsigned place) {
  constexpr int bytesOfWord = 4;
  while (auto *user = dyn_cast<User>(word)) {
    if (!shufflesBytes(*user))
      break;
    auto *shuffle = cast<ShuffleVectorInst>(user);
    const int index = shuffle->getMaskValue(place);
    if (index < 0)
      return {nullptr, 0};
    word = shuffle->getOperand(index / bytesOfWord);
    place = static_cast<unsigned>(index % bytesOfWord);
  }
  return isa<UndefValue>(word) ? Byte{nullptr, 0} : Byte{word, place};
}

} // namespace

/// Two neighbouring bytes of a register, from byte `first` on.
struct Selection::Bytes {
  Operand word;
  unsigned first = 0;
};

/// Returns a register with two bytes as neighbours.
Selection::Bytes Selection::neighbours(ArrayRef<Byte> two) {
  Byte low = two[0], high = two[1];
  if (!low.first && !high.first)
    return {};
  low = low.first ? low : high;
  high = high.first ? high : low;
  const auto [first, place] = low;
  if (first == high.first && high.second == place + 1)
    return {packed(first), place};
  if (place != high.second)
    return {emit("prmt.b32 $0, $1, $2, " + Twine(place | (4 + high.second) << 4), RegisterClass::b32,
                 {packed(first), packed(high.first)})};
  constexpr unsigned lowHalves = 0x5140, highHalves = 0x7362;
  Operand &word = interleaved_[{first, high.first, place / 2}];
  if (!word.isRegister())
    word = emit("prmt.b32 $0, $1, $2, " + Twine(place < 2 ? lowHalves : highHalves), RegisterClass::b32,
                {packed(first), packed(high.first)});
  return {word, place % 2 * 2};
}

void Selection::shuffleBytes(ShuffleVectorInst &shuffle) {
  if (all_of(shuffle.users(), [](User *user) { return shufflesBytes(*user); }))
    return; // The last shuffle of a chain takes the bytes from the first words.
  SmallVector<Byte, 4> bytes;
  for (unsigned place = 0; place < 4; ++place)
    bytes.push_back(sourceOf(&shuffle, place));
  const Bytes low = neighbours(ArrayRef(bytes).take_front(2)), high = neighbours(ArrayRef(bytes).drop_front(2));
  const Operand first = low.word.isRegister() ? low.word : high.word;
  const Operand second = high.word.isRegister() ? high.word : first;
  const unsigned selector = low.first | (low.first + 1) << 4 | (4 + high.first) << 8 | (5 + high.first) << 12;
  definePacked(shuffle, emit("prmt.b32 $0, $1, $2, " + Twine(selector), RegisterClass::b32, {first, second}));
}

} // namespace tegula::ptx
