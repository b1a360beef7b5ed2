// SPDX-License-Identifier: MIT
// Instructions of sm_90a that sm_80 does not have: TMA, mbarriers, warpgroups; and turns. All are inline assembly. LLVM
// has intrinsics for some, but not for a wgmma with an operand in registers. Nor has it waits whose results depend on
// the accumulators that they wait for.
#include "compiler/emit/Assembly.h"

namespace tegula::emit {

using namespace mlir;

//===-- Copies ---------------------------------------------------------------------------------------------------===//

Type Instructions::tensorMapType() { return LLVM::LLVMPointerType::get(b_.getContext()); }

void Instructions::loadBox(Value shared, Value tensorMap, Value mbarrier, ValueRange coordinates) {
  Assembly assembly(b_);
  std::string to = assembly.input(shared), from = assembly.input(tensorMap), at = assembly.inputs(coordinates);
  assembly.create("cp.async.bulk.tensor." + Twine(coordinates.size()) +
                  "d.shared::cluster.global.mbarrier::complete_tx::bytes [" + to + "], [" + from + ", " + at + "], [" +
                  assembly.input(mbarrier) + "];");
}

void Instructions::storeBox(Value tensorMap, ValueRange coordinates, Value shared) {
  Assembly assembly(b_);
  std::string to = assembly.input(tensorMap), at = assembly.inputs(coordinates);
  assembly.create("cp.async.bulk.tensor." + Twine(coordinates.size()) + "d.global.shared::cta.bulk_group [" + to +
                  ", " + at + "], [" + assembly.input(shared) + "];");
}

void Instructions::addBox(Value tensorMap, ValueRange coordinates, Value shared, Value predicate) {
  Assembly assembly(b_);
  std::string guard = predicate ? "@" + assembly.input(predicate) + " " : "";
  std::string to = assembly.input(tensorMap), at = assembly.inputs(coordinates);
  assembly.create(guard + "cp.reduce.async.bulk.tensor." + Twine(coordinates.size()) +
                  "d.global.shared::cta.add.tile.bulk_group [" + to + ", " + at + "], [" + assembly.input(shared) +
                  "];");
}

void Instructions::commitBoxes() { Assembly(b_).create("cp.async.bulk.commit_group;"); }
void Instructions::waitBoxes(unsigned pending) {
  Assembly(b_).create("cp.async.bulk.wait_group.read " + Twine(pending) + ";");
}
void Instructions::waitBoxesWritten() { Assembly(b_).create("cp.async.bulk.wait_group 0;"); }

void Instructions::initMbarrier(Value mbarrier, unsigned arrivals) {
  Assembly assembly(b_);
  assembly.create("mbarrier.init.shared::cta.b64 [" + assembly.input(mbarrier) + "], " + Twine(arrivals) + ";");
}

void Instructions::publishMbarriers() { Assembly(b_).create("fence.mbarrier_init.release.cluster;"); }

void Instructions::arrive(Value mbarrier, Value predicate) {
  Assembly assembly(b_);
  std::string guard = predicate ? "@" + assembly.input(predicate) + " " : "";
  assembly.create(guard + "mbarrier.arrive.shared::cta.b64 _, [" + assembly.input(mbarrier) + "];");
}

void Instructions::arriveExpecting(Value mbarrier, unsigned bytes) {
  Assembly assembly(b_);
  assembly.create("mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + assembly.input(mbarrier) + "], " + Twine(bytes) +
                  ";");
}

void Instructions::waitMbarrier(Value mbarrier, Value parity) {
  Assembly assembly(b_);
  std::string place = assembly.input(mbarrier), phase = assembly.input(parity);
  assembly.create("{\n.reg .pred done;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 done, [" + Twine(place) +
                  "], " + phase + ";\n@done bra.uni DONE;\nbra.uni WAIT;\nDONE:\n}");
}

void Instructions::fenceAsync() { Assembly(b_).create("fence.proxy.async.shared::cta;"); }
void Instructions::fenceAsyncTensors() { Assembly(b_).create("fence.proxy.async.global;"); }

void Instructions::arriveAtBarrier(Value name, unsigned threads) {
  Assembly assembly(b_);
  assembly.create("bar.arrive " + Twine(assembly.input(name)) + ", " + Twine(threads) + ";");
}

void Instructions::arriveAtSequence(Value name, unsigned threads) {
  Assembly assembly(b_);
  assembly.create("bar.arrive " + Twine(assembly.input(name)) + ", " + Twine(threads) + ";");
  assembly.mark(kSequence);
}

//===-- Turns ----------------------------------------------------------------------------------------------------===//

void Instructions::waitForTurn(Value address, Value number) {
  Assembly assembly(b_);
  const std::string place = assembly.input(address), least = assembly.input(number);
  assembly.create("{\n.reg .pred come;\n.reg .b32 now;\nWAIT:\nld.acquire.gpu.global.b32 now, [" + place +
                  "];\nsetp.ge.s32 come, now, " + least + ";\n@come bra DONE;\nbra WAIT;\nDONE:\n}");
}

Value Instructions::readTurn(Value address) {
  Assembly assembly(b_, 1, b_.getI32Type());
  const std::string place = assembly.input(address);
  return assembly.create("ld.acquire.gpu.global.b32 $0, [" + place + "];").front();
}

void Instructions::passTurn(Value address, Value number) {
  Assembly assembly(b_);
  std::string place = assembly.input(address);
  assembly.create("red.release.gpu.global.max.s32 [" + Twine(place) + "], " + assembly.input(number) + ";");
}

Value Instructions::arriveAtCounter(Value address, Value last) {
  Assembly assembly(b_, 1, b_.getI32Type());
  const std::string place = assembly.input(address), wrap = assembly.input(last);
  return assembly.create("atom.acq_rel.gpu.global.inc.u32 $0, [" + place + "], " + wrap + ";").front();
}

//===-- Warpgroups -----------------------------------------------------------------------------------------------===//

void Instructions::setRegisters(unsigned count, bool more) {
  Assembly(b_).create(Twine("setmaxnreg.") + (more ? "inc" : "dec") + ".sync.aligned.u32 " + Twine(count) + ";");
}

/// The high word of each descriptor: a swizzle of 128 bytes, and 1024 bytes from one 8-row block to the next.
static constexpr uint32_t kDescriptorHigh = (1u << 30) | (1024 >> 4);

SmallVector<Value> Instructions::multiplyAsync(const WgmmaType &type, unsigned n, ValueRange a, Value b,
                                               ValueRange sums) {
  Assembly assembly(b_, n / 2);
  assembly.tie(sums);
  std::string high = ", " + std::to_string(kDescriptorHigh) + "}";
  std::string text = "{\n.reg .pred p;\n.reg .b64 da, db;\nsetp.ne.b32 p, " + std::to_string(!sums.empty()) + ", 0;\n";
  std::string lhs = "da", modes;
  if (a.size() == 1) {
    text += "mov.b64 da, {" + assembly.input(a.front()) + high + ";\n";
  } else {
    lhs = assembly.inputs(a);
  }
  if (type.transposes) {
    auto [ofA, ofB] = *type.transposes;
    modes = (a.size() == 1 ? ", " + std::to_string(ofA) : "") + ", " + std::to_string(ofB);
  }
  text += "mov.b64 db, {" + assembly.input(b) + high + ";\n";
  const std::string element = "." + type.element.str();
  text += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k" + std::to_string(type.depth) + ".f32" +
          element + element + " " + assembly.results() + ", " + lhs + ", db, p, 1, 1" + modes + ";\n}";
  return assembly.create(text, /*touchesMemory=*/false);
}

SmallVector<Value> Instructions::distinct(ValueRange registers) {
  SmallVector<Value> copies(registers);
  llvm::SmallDenseSet<Value> seen;
  for (Value &reg : copies)
    if (!seen.insert(reg).second) {
      Assembly assembly(b_, 1);
      std::string source = assembly.input(reg);
      reg = assembly.create("mov.b32 $0, " + source + ";", /*touchesMemory=*/false).front();
    }
  return copies;
}

void Instructions::fenceMmas() { Assembly(b_).create("wgmma.fence.sync.aligned;"); }
void Instructions::commitMmas() { Assembly(b_).create("wgmma.commit_group.sync.aligned;"); }

SmallVector<Value> Instructions::waitMmas(unsigned pending, ValueRange sums) {
  Assembly assembly(b_, sums.size());
  assembly.tie(sums);
  return assembly.create("wgmma.wait_group.sync.aligned " + Twine(pending) + ";");
}

} // namespace tegula::emit
