// SPDX-License-Identifier: MIT
#include "replay/operation.h"
#include "replay/tensor_map.h"

#include <bit>
#include <memory>

namespace tegula::test {
namespace {

constexpr uint32_t kMapWords = 32, kBoxBytes = 4096, kMbarrier = kSimtSharedBase, kBox = kSimtSharedBase + 1024;

/// A box of a tensor. In `in`, a tensor map is followed by a tensor, or by the numbers of a box that is stored.
struct Boxes {
  SimtTensorMap map; ///< `address` is relative to the tensor.
  int32_t corner[3] = {};
};

/// The boxes of the operation that runs.
const Boxes *running = nullptr;

SimtTensorMap mapAt(uint64_t tensor) {
  SimtTensorMap map = running->map;
  map.address += tensor;
  return map;
}

void waitForBox(const Me &me) {
  me.ops->mbarrier_wait(me.lane, 7, kMbarrier, 0, 1);
  for (uint32_t i = me.thread(); i < kBoxBytes / 4; i += 32)
    me.store(i, me.read(8, 1024 + 4 * i));
}

void initialise(const Me &me) {
  if (me.thread() == 0) {
    me.ops->mbarrier_init(me.lane, 2, 1, kMbarrier, 1);
    me.ops->fence_proxy(me.lane, 3, uint32_t(SimtFence::mbarrier_init));
  }
  me.barrier(4);
  if (me.thread() == 0)
    me.ops->mbarrier_arrive(me.lane, 5, 1, kMbarrier, 1, kBoxBytes);
}

void loadBox(const Me &me) {
  initialise(me);
  const SimtTensorMap map = mapAt(me.in(kMapWords));
  if (me.thread() == 0)
    me.ops->copy_tensor(me.lane, 6, 1, uint32_t(SimtBulk::load), kBox, &map, running->corner, kMbarrier);
  waitForBox(me);
}

void loadBytes(const Me &me) {
  initialise(me);
  if (me.thread() == 0)
    me.ops->copy_bulk(me.lane, 6, 1, uint32_t(SimtBulk::load), kBox, me.in(kMapWords), kBoxBytes, kMbarrier);
  waitForBox(me);
}

template <SimtBulk Kind, bool Tensor> void store(const Me &me) {
  for (uint32_t i = me.thread(); i < kBoxBytes / 4; i += 32)
    me.write(2, 1024 + 4 * i, me.load(kMapWords + i));
  me.ops->fence_proxy(me.lane, 3, uint32_t(SimtFence::async_proxy));
  me.ops->barrier_warp(me.lane, 4);
  if (me.thread() != 0)
    return;
  const SimtTensorMap map = mapAt(me.out(0));
  if (Tensor)
    me.ops->copy_tensor(me.lane, 5, 1, uint32_t(Kind), kBox, &map, running->corner, 0);
  else
    me.ops->copy_bulk(me.lane, 5, 1, uint32_t(Kind), kBox, me.out(4), kBoxBytes, 0);
  me.ops->commit_bulk(me.lane, 6);
  me.ops->wait_bulk(me.lane, 7, 0, 0);
}

//===-- PTX -------------------------------------------------------------------------------------------------------===//

/// The host has written the map, to an address where another map may have been before.
constexpr const char *kAcquireMap = "fence.proxy.tensormap::generic.acquire.sys [pin], 128;\n";
constexpr const char *kInitialise =
    "add.u32 r10, sh, 1024;\nadd.u64 rd10, pin, 128;\nsetp.ne.u32 p0, tid, 0;\n@p0 bra READY;\n"
    "mbarrier.init.shared::cta.b64 [sh], 1;\nfence.mbarrier_init.release.cluster;\nREADY:\nbar.sync 0;\n"
    "@p0 bra WAIT;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [sh], 4096;\n";
constexpr const char *kCopyOut =
    "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p1, [sh], 0;\n@!p1 bra WAIT;\nmov.u32 r11, tid;\nOUT:\n"
    "mad.lo.u32 r12, r11, 4, r10;\nld.shared.b32 r13, [r12];\nmad.wide.u32 rd11, r11, 4, pout;\n"
    "st.global.b32 [rd11], r13;\nadd.u32 r11, r11, 32;\nsetp.lt.u32 p2, r11, 1024;\n@p2 bra OUT;\n";
constexpr const char *kCopyIn =
    "add.u32 r10, sh, 1024;\nmov.u32 r11, tid;\nIN:\nmad.wide.u32 rd11, r11, 4, pin;\n"
    "ld.global.b32 r13, [rd11+128];\nmad.lo.u32 r12, r11, 4, r10;\nst.shared.b32 [r12], r13;\nadd.u32 r11, r11, 32;\n"
    "setp.lt.u32 p2, r11, 1024;\n@p2 bra IN;\nfence.proxy.async.shared::cta;\nbar.warp.sync -1;\n"
    "setp.ne.u32 p0, tid, 0;\n@p0 bra END;\n";
constexpr const char *kFinish = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nEND:\n";

/// Returns `[pin, {x, y, ...}]`.
std::string box(const Boxes &boxes) {
  std::string text;
  for (uint32_t d = 0; d < boxes.map.rank; ++d)
    text += (d ? ", " : "[pin, {") + std::to_string(boxes.corner[d]);
  return text + "}]";
}

std::string loadBody(const Boxes &boxes) {
  return std::string(kAcquireMap) + kInitialise + "cp.async.bulk.tensor." + std::to_string(boxes.map.rank) +
         "d.shared::cluster.global.mbarrier::complete_tx::bytes [r10], " + box(boxes) + ", [sh];\n" + kCopyOut;
}

std::string storeBody(const Boxes &boxes, bool add) {
  return std::string(kAcquireMap) + kCopyIn + (add ? "cp.reduce.async.bulk.tensor." : "cp.async.bulk.tensor.") +
         std::to_string(boxes.map.rank) + "d.global.shared::cta." + (add ? "add." : "") + (add ? "tile." : "") +
         "bulk_group " + box(boxes) + ", [r10];\n" + kFinish;
}

//===-- Operations ------------------------------------------------------------------------------------------------===//

SimtTensorMap packed(uint32_t elementBytes, uint32_t swizzle, uint32_t width) {
  SimtTensorMap map{.rank = 3, .element_bytes = elementBytes, .swizzle = swizzle};
  const uint32_t rowBytes = width * elementBytes;
  map.box[0] = width, map.box[1] = kBoxBytes / rowBytes, map.box[2] = 1;
  map.size[0] = width + std::max(8U, 16 / elementBytes), map.size[1] = map.box[1] + 5, map.size[2] = 2;
  map.stride[0] = map.size[0] * elementBytes, map.stride[1] = map.stride[0] * map.size[1];
  return map;
}

/// Returns a map whose boxes have half the rows, in each of two matrices.
SimtTensorMap ofTwoMatrices(SimtTensorMap map) {
  map.box[1] /= 2, map.box[2] = 2;
  map.size[2] = 3;
  return map;
}

std::vector<int32_t> operands(size_t words) {
  std::vector<int32_t> in(kMapWords);
  for (int32_t word : randomWords(words, 7))
    in.push_back(std::bit_cast<int32_t>(float(word % 100)));
  return in;
}

Operation operationOf(const std::string &name, const Boxes &of, SimtKernel lanes, const std::string &body,
                      bool stores) {
  const auto boxes = std::make_shared<Boxes>(of);
  Operation operation{.name = name,
                      .needs_sm_90a = true,
                      .lanes = lanes,
                      .body = body,
                      .in = operands(8192),
                      .out_words = stores ? 8192U : kBoxBytes / 4,
                      .fill = std::bit_cast<int32_t>(2.0F)};
  operation.prepare = [boxes] { running = boxes.get(); };
  operation.for_gpu = [boxes, stores](Device &gpu, std::vector<int32_t> &in, uint64_t inAddress, uint64_t outAddress) {
    return encodeTensorMap(gpu, boxes->map, stores ? outAddress : inAddress + 4 * kMapWords, in.data());
  };
  return operation;
}

/// Adds copies of boxes. `x` counts units of 16 bytes, because a box must begin at a multiple of 16 bytes.
void addBoxes(std::vector<Operation> &all, uint32_t swizzle, int32_t x, int32_t y) {
  const std::string where =
      " swizzle " + std::to_string(swizzle) + " at " + std::to_string(x) + ", " + std::to_string(y);
  const Boxes halves{packed(2, swizzle, swizzle == 0 ? 128 : swizzle / 2), {8 * x, y, 1}};
  const Boxes bytes{packed(1, swizzle, swizzle == 0 ? 256 : swizzle), {16 * x, y, 1}};
  const Boxes deep{ofTwoMatrices(halves.map), {8 * x, y, 1}};
  const Boxes words{packed(4, swizzle, swizzle == 0 ? 64 : swizzle / 4), {4 * x, y, 1}};
  const std::pair<const char *, const Boxes &> kinds[] = {
      {"tensor", halves}, {"8-bit tensor", bytes}, {"f32 tensor", words}, {"three-dimensional tensor", deep}};
  for (const auto &[kind, boxes] : kinds)
    all.push_back(operationOf(kind + (" load" + where), boxes, asKernel<loadBox>, loadBody(boxes), false));
  if (x < 0 || y < 0) // Neither a GPU nor the executor stores boxes there.
    return;
  for (const auto &[kind, boxes] : kinds)
    all.push_back(operationOf(kind + (" store" + where), boxes, asKernel<store<SimtBulk::store, true>>,
                              storeBody(boxes, false), true));
  all.push_back(
      operationOf("tensor add" + where, words, asKernel<store<SimtBulk::add_f32, true>>, storeBody(words, true), true));
}

} // namespace

std::vector<Operation> bulkOperations() {
  std::vector<Operation> all;
  for (uint32_t swizzle : {0, 32, 64, 128})
    for (const auto &[x, y] : {std::pair{0, 0}, std::pair{1, 3}, std::pair{-1, -2}, std::pair{3, 9}})
      addBoxes(all, swizzle, x, y);
  all.push_back(operationOf("bulk load", {}, asKernel<loadBytes>,
                            std::string(kInitialise) +
                                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                                "bytes [r10], [rd10], 4096, [sh];\n" +
                                kCopyOut,
                            false));
  all.push_back(operationOf("bulk store", {}, asKernel<store<SimtBulk::store, false>>,
                            std::string(kCopyIn) +
                                "add.u64 rd12, pout, 16;\ncp.async.bulk.global.shared::cta."
                                "bulk_group [rd12], [r10], 4096;\n" +
                                kFinish,
                            true));
  all.push_back(operationOf("bulk add", {}, asKernel<store<SimtBulk::add_f32, false>>,
                            std::string(kCopyIn) +
                                "add.u64 rd12, pout, 16;\ncp.reduce.async.bulk.global.shared::cta."
                                "bulk_group.add.f32 [rd12], [r10], 4096;\n" +
                                kFinish,
                            true));
  for (size_t i = all.size() - 3; i < all.size(); ++i)
    all[i].for_gpu = {}; // They use no tensor map.
  return all;
}

} // namespace tegula::test
