// SPDX-License-Identifier: MIT
#include "replay/operation.h"

#include <bit>

namespace tegula::test {
namespace {

//===-- mma: the words of a, b and c of each lane -----------------------------------------------------------------===//

std::string multiplyBody(const std::string &shape, const std::string &type) {
  return loadWords(0, 10) + toFloats(4, 6, 4) + "mma.sync.aligned." + shape + ".row.col.f32." + type + "." + type +
         ".f32 {f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5}, {f4, f5, f6, f7};\n" + toWords(10, 0, 4) +
         storeWords(10, 4);
}

/// Returns a word of an operand. bf16 and tf32 take the high bits of f32 numbers; f16 has its own numbers.
int32_t number(std::mt19937_64 &random, SimtMma kind, bool exact) {
  const auto integer = [&] { return float(int(random() % 17) - 8); };
  const auto real = [&] { return float(int(random() % 20001) - 10000) / 10000; };
  const auto draw = [&] { return std::bit_cast<uint32_t>(exact ? integer() : real()); };
  const auto half = [&] { // An f16 number: 1 + a fraction, with a sign. If exact, sums of 16 products are exact.
    return uint32_t(random() % 2 << 15 | 0x3c00 | (exact ? random() % 4 << 8 : random() % 1024));
  };
  if (kind == SimtMma::tf32)
    return int32_t(draw());
  if (kind == SimtMma::f16)
    return int32_t(half() | half() << 16);
  return int32_t(draw() >> 16 | (draw() & 0xffff0000));
}

std::vector<int32_t> multiplyOperands(SimtMma kind, bool exact) {
  std::mt19937_64 random(uint64_t(kind) + 10 * exact);
  std::vector<int32_t> in;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < 6; ++i)
      in.push_back(number(random, kind, exact));
    for (uint32_t i = 0; i < 4; ++i)
      in.push_back(std::bit_cast<int32_t>(float(int(random() % 17) - 8)));
  }
  return in;
}

void addMmas(std::vector<Operation> &all) {
  for (const bool exact : {true, false}) {
    const std::string suffix = exact ? " exact" : " rounded";
    const double tolerance = exact ? 0 : 1e-5;
    all.push_back({.name = "mma bf16" + suffix,
                   .lanes = asKernel<multiply<SimtMma::bf16>>,
                   .body = multiplyBody("m16n8k16", "bf16"),
                   .in = multiplyOperands(SimtMma::bf16, exact),
                   .out_words = 128,
                   .tolerance = tolerance});
    all.push_back({.name = "mma f16" + suffix,
                   .lanes = asKernel<multiply<SimtMma::f16>>,
                   .body = multiplyBody("m16n8k16", "f16"),
                   .in = multiplyOperands(SimtMma::f16, exact),
                   .out_words = 128,
                   .tolerance = tolerance});
    all.push_back({.name = "mma tf32" + suffix,
                   .lanes = asKernel<multiply<SimtMma::tf32>>,
                   .body = multiplyBody("m16n8k8", "tf32"),
                   .in = multiplyOperands(SimtMma::tf32, exact),
                   .out_words = 128,
                   .tolerance = tolerance});
  }
}

//===-- ldmatrix, stmatrix: four words of each lane, at its row ---------------------------------------------------===//

uint32_t rowOf(const Me &me) { return kSimtSharedBase + 16 * me.thread(); }

template <uint32_t Count, bool Transposed> void loadMatrices(const Me &me) {
  uint32_t row[4], words[4] = {};
  for (uint32_t i = 0; i < 4; ++i)
    row[i] = me.load(4 * me.thread() + i);
  me.ops->store_shared(me.lane, 2, 1, rowOf(me), 16, row);
  me.ops->barrier_warp(me.lane, 3);
  me.ops->load_matrices(me.lane, 4, rowOf(me), Count, Transposed, words);
  for (uint32_t i = 0; i < 4; ++i)
    me.store(4 * me.thread() + i, words[i]);
}

template <bool Transposed> void storeMatrices(const Me &me) {
  uint32_t words[4];
  for (uint32_t i = 0; i < 4; ++i)
    words[i] = me.load(4 * me.thread() + i);
  me.ops->store_matrices(me.lane, 2, rowOf(me), 4, Transposed, words);
  me.ops->barrier_warp(me.lane, 3);
  for (uint32_t i = 0; i < 4; ++i)
    me.store(4 * me.thread() + i, me.read(4, 16 * me.thread() + 4 * i));
}

constexpr const char *kRow = "mad.lo.u32 r40, tid, 16, sh;\n";

std::string loadMatricesBody(uint32_t count, bool transposed) {
  return loadWords(0, 4) + kRow + "st.shared.v4.b32 [r40], {r0, r1, r2, r3};\nbar.warp.sync -1;\n" +
         "mov.b32 r4, 0;\nmov.b32 r5, 0;\nmov.b32 r6, 0;\nmov.b32 r7, 0;\nldmatrix.sync.aligned.m8n8.x" +
         std::to_string(count) + (transposed ? ".trans" : "") + ".shared.b16 " + registerList("r", 4, count) +
         ", [r40];\n" + storeWords(4, 4);
}

std::string storeMatricesBody(bool transposed) {
  return loadWords(0, 4) + kRow + "stmatrix.sync.aligned.m8n8.x4" + (transposed ? ".trans" : "") +
         ".shared.b16 [r40], {r0, r1, r2, r3};\nbar.warp.sync -1;\nld.shared.v4.b32 {r4, r5, r6, r7}, [r40];\n" +
         storeWords(4, 4);
}

template <uint32_t Count, bool Transposed> Operation loadOperation() {
  return {.name = "ldmatrix.x" + std::to_string(Count) + (Transposed ? ".trans" : ""),
          .lanes = asKernel<loadMatrices<Count, Transposed>>,
          .body = loadMatricesBody(Count, Transposed),
          .in = randomWords(128, Count),
          .out_words = 128};
}

void addMatrices(std::vector<Operation> &all) {
  all.insert(all.end(), {loadOperation<1, false>(), loadOperation<2, false>(), loadOperation<4, false>(),
                         loadOperation<1, true>(), loadOperation<2, true>(), loadOperation<4, true>()});
  all.push_back({.name = "stmatrix.x4",
                 .needs_sm_90a = true,
                 .lanes = asKernel<storeMatrices<false>>,
                 .body = storeMatricesBody(false),
                 .in = randomWords(128, 5),
                 .out_words = 128});
  all.push_back({.name = "stmatrix.x4.trans",
                 .needs_sm_90a = true,
                 .lanes = asKernel<storeMatrices<true>>,
                 .body = storeMatricesBody(true),
                 .in = randomWords(128, 6),
                 .out_words = 128});
}

//===-- Between lanes ---------------------------------------------------------------------------------------------===//

void exchange(const Me &me) {
  const uint32_t value = me.load(me.thread());
  me.store(5 * me.thread(), me.ops->shuffle(me.lane, 2, uint32_t(SimtShuffle::lane_xor), value, 21));
  me.store(5 * me.thread() + 1, me.ops->shuffle(me.lane, 3, uint32_t(SimtShuffle::index), value, 7));
  for (SimtVote kind : {SimtVote::any, SimtVote::all, SimtVote::ballot})
    me.store(5 * me.thread() + 2 + uint32_t(kind), me.ops->vote(me.lane, 4, uint32_t(kind), value & 1));
}

constexpr const char *kExchange = "shfl.sync.bfly.b32 r1, r0, 21, 31, -1;\nshfl.sync.idx.b32 r2, r0, 7, 31, -1;\n"
                                  "and.b32 r9, r0, 1;\nsetp.ne.b32 p0, r9, 0;\nvote.sync.any.pred p1, p0, -1;\n"
                                  "vote.sync.all.pred p2, p0, -1;\nselp.b32 r3, 1, 0, p1;\nselp.b32 r4, 1, 0, p2;\n"
                                  "vote.sync.ballot.b32 r5, p0, -1;\n";

void electOne(const Me &me) {
  const uint32_t one = me.ops->elect(me.lane, 2);
  if (one != 0)
    me.ops->atomic_add(me.lane, 3, 1, me.out(0), uint32_t(SimtAtomic::i32), 1, &one);
}

void additions(const Me &me) {
  const auto real = float(me.thread());
  const uint32_t integer = me.load(me.thread());
  me.ops->atomic_add(me.lane, 2, 1, me.out(0), uint32_t(SimtAtomic::f32), 1, &real);
  me.ops->atomic_add(me.lane, 3, 1, me.out(1), uint32_t(SimtAtomic::i32), 1, &integer);
}

void increments(const Me &me) {
  me.store(me.thread(), me.load(me.thread()) / 2);
  me.store(32 + me.thread(), me.ops->fetch_increment(me.lane, 2, 1, me.out(me.thread())));
}

void turns(const Me &me) {
  const auto number = int32_t(me.load(me.thread()));
  me.ops->turn_pass(me.lane, 2, me.out(0), number);
  me.ops->turn_wait(me.lane, 3, me.out(0), number);
}

//===-- cp.async, and functions -----------------------------------------------------------------------------------===//

void copies(const Me &me) {
  me.ops->copy_async(me.lane, 2, rowOf(me), me.in(4 * me.thread()), 16, me.thread() / 2);
  me.ops->commit_copies(me.lane, 3);
  me.ops->wait_copies(me.lane, 4, 0);
  for (uint32_t i = 0; i < 4; ++i)
    me.store(4 * me.thread() + i, me.read(5, 16 * me.thread() + 4 * i));
}

void conversions(const Me &me) {
  const auto x = std::bit_cast<float>(me.load(me.thread()));
  me.store(2 * me.thread(), me.ops->to_bf16(x));
  me.store(2 * me.thread() + 1, me.ops->to_tf32(x));
}

void narrowFloats(const Me &me) {
  const uint32_t word = me.load(me.thread());
  me.store(2 * me.thread(), me.ops->to_e4m3(std::bit_cast<float>(word)));
  me.store(2 * me.thread() + 1, me.ops->from_e4m3x2(word));
}

template <float (*SimtOps::*Function)(float)> void function(const Me &me) {
  const auto x = std::bit_cast<float>(me.load(me.thread()));
  me.store(me.thread(), (me.ops->*Function)(x));
}

std::vector<int32_t> floats(float low, float high) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<int32_t> words;
  for (uint32_t i = 0; i < 32; ++i)
    words.push_back(std::bit_cast<int32_t>(uniform(random)));
  return words;
}

template <float (*SimtOps::*Function)(float)>
Operation functionOf(std::string name, const std::string &instruction, std::vector<int32_t> in, double tolerance) {
  return {.name = std::move(name),
          .lanes = asKernel<function<Function>>,
          .body =
              loadWords(0, 1) + "mov.b32 f0, r0;\n" + instruction + " f1, f0;\nmov.b32 r1, f1;\n" + storeWords(1, 1),
          .in = std::move(in),
          .out_words = 32,
          .tolerance = tolerance};
}

void addOthers(std::vector<Operation> &all) {
  all.push_back({.name = "shfl, vote",
                 .lanes = asKernel<exchange>,
                 .body = loadWords(0, 1) + kExchange + storeWords(1, 5),
                 .in = randomWords(32, 2),
                 .out_words = 160});
  all.push_back({.name = "elect",
                 .needs_sm_90a = true,
                 .lanes = asKernel<electOne>,
                 .body = "elect.sync r0|p0, -1;\n@p0 red.relaxed.gpu.global.add.s32 [pout], 1;\n",
                 .in = {0},
                 .out_words = 1});
  all.push_back({.name = "red.add",
                 .lanes = asKernel<additions>,
                 .body = loadWords(0, 1) + "cvt.rn.f32.u32 f0, tid;\nred.relaxed.gpu.global.add.f32 [pout], f0;\n"
                                           "red.relaxed.gpu.global.add.s32 [pout+4], r0;\n",
                 .in = randomWords(32, 3),
                 .out_words = 2,
                 .fill = 0});
  all.push_back({.name = "atom.inc",
                 .lanes = asKernel<increments>,
                 .body = loadWords(0, 1) +
                         "shr.u32 r0, r0, 1;\nmad.wide.u32 rd0, tid, 4, pout;\nst.global.b32 [rd0], r0;\n"
                         "atom.relaxed.gpu.global.inc.u32 r1, [rd0], 2147483647;\n"
                         "st.global.b32 [rd0+128], r1;\n",
                 .in = randomWords(32, 5),
                 .out_words = 64});
  all.push_back({.name = "red.release.max",
                 .lanes = asKernel<turns>,
                 .body = loadWords(0, 1) + "red.release.gpu.global.max.s32 [pout], r0;\n"
                                           "WAIT:\nld.acquire.gpu.global.b32 r1, [pout];\n"
                                           "setp.lt.s32 p0, r1, r0;\n@p0 bra WAIT;\n",
                 .in = randomWords(32, 7),
                 .out_words = 1,
                 .fill = 0});
  all.push_back({.name = "cp.async",
                 .lanes = asKernel<copies>,
                 .body = std::string(kRow) +
                         "mad.wide.u32 rd0, tid, 16, pin;\nshr.u32 r0, tid, 1;\n"
                         "cp.async.cg.shared.global [r40], [rd0], 16, r0;\ncp.async.commit_group;\n"
                         "cp.async.wait_group 0;\nld.shared.v4.b32 {r4, r5, r6, r7}, [r40];\n" +
                         storeWords(4, 4),
                 .in = randomWords(128, 4),
                 .out_words = 128});
  all.push_back({.name = "cvt bf16, tf32",
                 .lanes = asKernel<conversions>,
                 .body = loadWords(0, 1) +
                         "mov.b32 f0, r0;\ncvt.rn.bf16.f32 h0, f0;\ncvt.u32.u16 r1, h0;\n"
                         "cvt.rna.tf32.f32 r2, f0;\n" +
                         storeWords(1, 2),
                 .in = floats(-3, 3),
                 .out_words = 64});
  all.push_back({.name = "cvt e4m3",
                 .needs_sm_90a = true,
                 .lanes = asKernel<narrowFloats>,
                 .body = loadWords(0, 1) +
                         "mov.b32 f0, r0;\nmov.b32 f1, 0;\ncvt.rn.satfinite.e4m3x2.f32 h0, f1, f0;\n"
                         "cvt.u32.u16 r1, h0;\nmov.b32 {h1, h2}, r0;\ncvt.rn.f16x2.e4m3x2 r2, h1;\n" +
                         storeWords(1, 2),
                 .in = floats(-500, 500),
                 .out_words = 64});
  all.push_back(functionOf<&SimtOps::exp2>("ex2", "ex2.approx.ftz.f32", floats(-30, 3), 2.5e-7));
  all.push_back(functionOf<&SimtOps::log2>("lg2", "lg2.approx.ftz.f32", floats(2, 1000), 5e-7));
  all.push_back(functionOf<&SimtOps::reciprocal>("rcp", "rcp.approx.ftz.f32", floats(0.5F, 4), 2.5e-7));
  // From 2^126 on the result is 0, bit for bit.
  all.push_back(functionOf<&SimtOps::reciprocal>("rcp, flushed", "rcp.approx.ftz.f32", floats(9e37F, 3e38F), 0));
  // The executor and the GPU each err by half of this tolerance.
  all.push_back(functionOf<&SimtOps::tanh>("tanh", "tanh.approx.f32", floats(-4, 4), 1e-3));
}

} // namespace

std::vector<Operation> warpOperations() {
  std::vector<Operation> all;
  addMmas(all);
  addMatrices(all);
  addOthers(all);
  return all;
}

} // namespace tegula::test
