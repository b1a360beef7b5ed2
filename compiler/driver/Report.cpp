// SPDX-License-Identifier: MIT
#include "compiler/driver/Report.h"

#include "compiler/driver/CommonPath.h"
#include "compiler/driver/Program.h"
#include "compiler/sm/Rates.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <set>

namespace tegula {

using namespace mlir;

namespace {

std::string row(StringRef name, const std::string &value) { return llvm::formatv("{0,-15}{1}\n", name, value).str(); }

//===-- Instructions ----------------------------------------------------------------------------------------------===//

/// A kind of instruction: the words with which it begins and that its rest contains.
struct Kind {
  StringRef name, start, rest;
};

constexpr Kind kKinds[] = {{"wgmma", "wgmma.mma_async", ""},
                           {"mma.sync", "mma.sync", ""},
                           {"TMA loads", "cp.async.bulk.tensor", "shared::cluster.global"},
                           {"TMA stores", "cp.async.bulk.tensor", "global.shared::cta"},
                           {"TMA additions", "cp.reduce.async.bulk.tensor", ""},
                           {"cp.async", "cp.async.c", ""}};

/// Returns the operand type of an MMA, such as "bf16". Its name ends with the types of the result and of the operands.
std::string operandType(StringRef instruction) {
  SmallVector<StringRef> words;
  instruction.take_until([](char c) { return c == ' '; }).split(words, '.');
  for (StringRef word : llvm::reverse(words))
    if (word != "f32")
      return word.str();
  return "f32";
}

//===-- Loops -----------------------------------------------------------------------------------------------------===//

/// The work of one iteration.
struct Work {
  double multiplyAdds = 0; ///< Multiply-adds of tensor cores.
  double ofWords = 0;      ///< As many on 16-bit operands would take the tensor cores as long.
  int64_t specialFunctions = 0, bytes = 0;
};

template <class Mma> double multiplyAddsOf(Mma mma, RankedTensorType tile) {
  return double(tile.getNumElements()) * double(mma.getDepth());
}

/// Adds multiply-adds on operands whose elements have `bytes` bytes.
void addProduct(double multiplyAdds, int64_t bytes, Work &work) {
  work.multiplyAdds += multiplyAdds;
  work.ofWords += multiplyAdds * double(bytes) / 2;
}

void add(Operation *op, Work &work) {
  if (auto mma = dyn_cast<sm::AsyncProduct>(op))
    addProduct(multiplyAddsOf(mma, mma.getSum()), cast<sm::SharedType>(mma.getRhs().getType()).elementBytes(), work);
  else if (auto mma = dyn_cast<sm::MmaOp>(op); mma && mma.getRhs().getType().elementBytes() == 2)
    addProduct(multiplyAddsOf(mma, mma.getType()), /*bytes=*/2, work);
  else if (auto load = dyn_cast<sm::ProducerLoadOp>(op))
    work.bytes += load.getTile().bytes();
  else if (auto copy = dyn_cast<sm::CopyInOp>(op))
    work.bytes += copy.getShared().getType().bytes();
  else if (auto load = dyn_cast<tile::LoadOp>(op))
    work.bytes += load.getType().getNumElements() * load.getType().getElementTypeBitWidth() / 8;
  else
    work.specialFunctions += sm::specialFunctionsOf(op);
}

/// Adds the ops of a block without those of inner loops. Of a branch, only the side counts that usually runs.
void add(Block &block, Work &work) {
  for (Operation &op : block) {
    add(&op, work);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      if (Block *side = commonSide(branch))
        add(*side, work);
    if (auto elect = dyn_cast<sm::ElectOp>(op))
      add(elect.getBody().front(), work);
  }
}

/// Returns a line of the report on a loop. `perClock` is the rate of a multiprocessor, 0 if unknown.
std::string loopRow(StringRef name, const std::string &amount, double count, double perClock) {
  std::string value = llvm::formatv("{0,14}", amount).str();
  if (perClock != 0)
    value += llvm::formatv("{0,8} clocks at least", std::llround(count / perClock)).str();
  return count == 0 ? "" : row(name, value);
}

std::string describe(const std::string &place, const Work &work, const std::optional<sm::Rates> &rates) {
  return "\nloop at " + place + ", an iteration of a program instance\n" +
         loopRow("tensor cores", llvm::formatv("{0:F2} MFLOP", 2 * work.multiplyAdds / 1e6), work.ofWords,
                 rates ? rates->multiplyAdds : 0) +
         loopRow("SFU operations", std::to_string(work.specialFunctions), double(work.specialFunctions),
                 rates ? rates->specialFunctions : 0) +
         loopRow("loads", llvm::formatv("{0:F1} KiB", double(work.bytes) / 1024), double(work.bytes), 0);
}

} // namespace

std::string describeInstructions(StringRef ptx) {
  std::string text;
  for (const Kind &kind : kKinds) {
    int64_t count = 0;
    std::set<std::string> types;
    for (size_t at = ptx.find(kind.start); at != StringRef::npos; at = ptx.find(kind.start, at + 1)) {
      StringRef instruction = ptx.substr(at).take_until([](char c) { return c == '\n'; });
      if (instruction.find(kind.rest) == StringRef::npos)
        continue;
      ++count;
      if (kind.start.contains("mma"))
        types.insert(operandType(instruction));
    }
    const std::string words = llvm::join(types, ", ");
    text += row(kind.name, std::to_string(count) + (words.empty() ? "" : " (" + words + ")"));
  }
  return text;
}

std::string describeLoops(ModuleOp module, int64_t arch) {
  llvm::MapVector<StringAttr, Work> loops;
  module.walk([&](scf::ForOp loop) {
    if (tile::anyOp(*loop.getBody(), [](scf::ForOp) { return true; }))
      return;
    Work work;
    add(*loop.getBody(), work);
    // The loops of the producer and of the consumers have one place, and each has its own work.
    Work &sum = loops[StringAttr::get(module.getContext(), placeOf(loop.getLoc()))];
    sum.multiplyAdds += work.multiplyAdds;
    sum.ofWords += work.ofWords;
    sum.specialFunctions += work.specialFunctions;
    sum.bytes += work.bytes;
  });
  std::string text;
  for (const auto &[place, work] : loops)
    if (work.multiplyAdds != 0 || work.specialFunctions != 0 || work.bytes != 0)
      text += describe(place.str(), work, sm::ratesOf(arch));
  return text;
}

std::string describeSchedule(const Artifact &artifact) {
  return row("kernel", artifact.kernel) + row("schedule", artifact.schedule);
}

std::string describeResources(const Artifact &artifact, int64_t sharedBytes) {
  const AssemblerReport &report = artifact.report;
  constexpr int64_t registersOfSm = 64 << 10, threadsOfSm = 2048, reserved = 1 << 10;
  std::string text = row("assembler", report.assembler.empty() ? "none: the driver will assemble" : report.assembler) +
                     row("threads", std::to_string(artifact.threads));
  if (!report.assembler.empty())
    text += row("registers", std::to_string(report.registers)) +
            row("spilled bytes", std::to_string(report.spill_bytes)) +
            row("stack bytes", std::to_string(report.stack_bytes));
  text += row("shared bytes", std::to_string(artifact.shared_bytes));
  if (report.registers == 0)
    return text;
  const std::pair<int64_t, StringRef> limits[] = {
      {registersOfSm / (int64_t{report.registers} * artifact.threads), "registers"},
      {threadsOfSm / artifact.threads, "threads"},
      {sharedBytes / (artifact.shared_bytes + reserved), "shared memory"}};
  const auto &least = *std::min_element(std::begin(limits), std::end(limits));
  return text +
         row("instances", std::to_string(least.first) + " on a multiprocessor, limited by " + least.second.str());
}

} // namespace tegula
