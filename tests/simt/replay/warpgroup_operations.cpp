// SPDX-License-Identifier: MIT
#include "products.h"
#include "replay/operation.h"

#include <memory>
#include <sstream>

namespace tegula::test {
namespace {

/// The layout of `in`: the image in shared memory, then each lane's accumulators and registers of A.
struct Layouts {
  ProductCase c;
  uint32_t imageWords = 0, bStart = 0;

  uint32_t sums() const { return c.columns / 2; }
  uint32_t perLane() const { return sums() + (c.aInRegisters ? 4 * kSteps : 0); }
  uint64_t aDescriptor(uint32_t step) const {
    const OperandLayout a{c, kRows, c.aTransposed};
    return descriptor(a, step * a.step());
  }
  uint64_t bDescriptor(uint32_t step) const {
    const OperandLayout b{c, c.columns, c.bTransposed};
    return descriptor(b, bStart + step * b.step());
  }
};

/// The layout of the operation that runs.
const Layouts *running = nullptr;

void multiply(const Me &me) {
  const Layouts &l = *running;
  for (uint32_t i = me.thread(); i < l.imageWords; i += kLanes)
    me.write(2, 4 * i, me.load(i));
  me.ops->fence_proxy(me.lane, 3, uint32_t(SimtFence::async_proxy));
  me.barrier(4);
  const uint32_t mine = l.imageWords + me.thread() * l.perLane();
  uint32_t d[128];
  for (uint32_t i = 0; i < l.sums(); ++i)
    d[i] = me.load(mine + i);
  me.ops->wgmma_fence(me.lane, 5);
  for (uint32_t step = 0; step < kSteps; ++step) {
    SimtWgmma product{.type = uint32_t(l.c.type),
                      .columns = l.c.columns,
                      .a_in_registers = l.c.aInRegisters,
                      .a_transposed = l.c.aTransposed,
                      .b_transposed = l.c.bTransposed,
                      .a_descriptor = l.aDescriptor(step),
                      .b_descriptor = l.bDescriptor(step)};
    for (uint32_t r = 0; l.c.aInRegisters && r < 4; ++r)
      product.a[r] = me.load(mine + l.sums() + 4 * step + r);
    me.ops->wgmma(me.lane, 6, &product, d);
  }
  me.ops->wgmma_commit(me.lane, 7);
  me.ops->wgmma_wait(me.lane, 8, 0, l.sums(), d);
  for (uint32_t i = 0; i < l.sums(); ++i)
    me.store(me.thread() * l.sums() + i, d[i]);
}

constexpr const char *kTypes[] = {"bf16", "f16", "tf32", "e4m3"}; ///< By SimtMma.

/// Returns PTX that does the same. Descriptors hold the executor's addresses of shared memory, to which the code adds
/// the difference from the GPU's.
std::string bodyOf(const Layouts &l) {
  std::ostringstream text;
  text << "mov.u32 r400, tid;\nCOPY:\nmad.wide.u32 rd0, r400, 4, pin;\nld.global.b32 r401, [rd0];\n"
       << "mad.lo.u32 r402, r400, 4, sh;\nst.shared.b32 [r402], r401;\nadd.u32 r400, r400, 128;\n"
       << "setp.lt.u32 p0, r400, " << l.imageWords << ";\n@p0 bra COPY;\n"
       << "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
       << loadWords(0, l.perLane(), l.imageWords) << toFloats(0, 0, l.sums()) << "sub.u32 r403, sh, " << kSimtSharedBase
       << ";\nshr.u32 r403, r403, 4;\ncvt.u64.u32 rd1, r403;\n"
       << "setp.eq.u32 p1, 0, 0;\nwgmma.fence.sync.aligned;\n";
  const std::string type = kTypes[size_t(l.c.type)];
  for (uint32_t step = 0; step < kSteps; ++step) {
    text << "add.u64 rd2, rd1, " << l.aDescriptor(step) << ";\nadd.u64 rd3, rd1, " << l.bDescriptor(step) << ";\n"
         << "wgmma.mma_async.sync.aligned.m64n" << l.c.columns << "k" << l.c.stepDepth() << ".f32." << type << "."
         << type << " " << registerList("f", 0, l.sums()) << ", "
         << (l.c.aInRegisters ? registerList("r", l.sums() + 4 * step, 4) : "rd2") << ", rd3, p1, 1, 1";
    if (!l.c.mustBeKMajor() && !l.c.aInRegisters)
      text << ", " << l.c.aTransposed;
    if (!l.c.mustBeKMajor())
      text << ", " << l.c.bTransposed;
    text << ";\n";
  }
  text << "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
       << toWords(0, 0, l.sums()) << storeWords(0, l.sums());
  return text.str();
}

std::vector<int32_t> operandsOf(Layouts &l, uint64_t seed) {
  const MmaOperands operands(l.c, seed);
  const ProductImage image(l.c, operands);
  l.imageWords = uint32_t(image.bytes.size()) / 4;
  l.bStart = image.b_start;
  std::vector<int32_t> in(l.imageWords);
  std::memcpy(in.data(), image.bytes.data(), image.bytes.size());
  const OperandLayout a{l.c, kRows, l.c.aTransposed};
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t i = 0; i < l.sums(); ++i) {
      const auto [row, column] = place(lane, i);
      in.push_back(std::bit_cast<int32_t>(operands.c[row * l.c.columns + column]));
    }
    for (uint32_t i = 0; l.c.aInRegisters && i < 4 * kSteps; ++i) {
      int32_t word = 0;
      std::memcpy(&word, &image.bytes[a.at(aRow(lane, i % 4), aDepth(l.c, lane, i % 4, i / 4))], 4);
      in.push_back(word);
    }
  }
  return in;
}

Operation operationOf(const ProductCase &c, uint64_t seed) {
  const auto layouts = std::make_shared<Layouts>(Layouts{.c = c});
  Operation operation;
  operation.name = std::string("wgmma ") + kTypes[size_t(c.type)] + " n" + std::to_string(c.columns) + " swizzle " +
                   std::to_string(c.swizzle) +
                   (c.aInRegisters  ? " RS"
                    : c.aTransposed ? " A^T"
                                    : "") +
                   (c.bTransposed ? " B^T" : "");
  operation.needs_sm_90a = true;
  operation.lanes = asKernel<multiply>;
  operation.in = operandsOf(*layouts, seed);
  operation.body = bodyOf(*layouts);
  operation.out_words = size_t{kLanes} * layouts->sums();
  operation.threads = kLanes;
  operation.shared_bytes = 4 * layouts->imageWords;
  operation.prepare = [layouts] { running = layouts.get(); };
  return operation;
}

} // namespace

std::vector<Operation> warpgroupOperations() {
  std::vector<Operation> all;
  uint64_t seed = 0;
  for (SimtMma type : {SimtMma::bf16, SimtMma::f16, SimtMma::tf32, SimtMma::e4m3})
    for (uint32_t swizzle : {0, 32, 64, 128})
      for (const bool inRegisters : {false, true})
        for (const bool aTransposed : {false, true})
          for (const bool bTransposed : {false, true}) {
            const ProductCase one{.type = type,
                                  .columns = swizzle == 64 ? 192U : 64U,
                                  .swizzle = swizzle,
                                  .aInRegisters = inRegisters,
                                  .aTransposed = aTransposed,
                                  .bTransposed = bTransposed};
            if ((inRegisters && aTransposed) || (one.mustBeKMajor() && (aTransposed || bTransposed)))
              continue; // There are no such instructions.
            all.push_back(operationOf(one, ++seed));
          }
  return all;
}

} // namespace tegula::test
