// SPDX-License-Identifier: MIT
// tegula_simt_replay [--executor | --ptx FOLDER]
//
// Runs every instruction that the executor knows on the same operands in the executor and on the GPU, and compares the
// results: bit for bit, or within a tolerance if the GPU rounds in its own way. The exit code is 0 if all agree, 1 if
// not, 2 without a GPU. Two options need no GPU: --executor only tests that the executor reports nothing, and --ptx
// writes the kernels, one file each, for ptxas.
#include "replay/operation.h"
#include "tegula/cuda_device.h"
#include "tegula/kernel.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

using namespace tegula;
using namespace tegula::test;

namespace {

std::vector<Operation> allOperations() {
  std::vector<Operation> all;
  for (const auto &some : {warpOperations(), warpgroupOperations(), bulkOperations()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

int writePtx(const std::string &folder) {
  const std::vector<Operation> all = allOperations();
  for (size_t i = 0; i < all.size(); ++i)
    std::ofstream(folder + "/" + std::to_string(i) + ".ptx") << "// " << all[i].name << "\n" << ptxOf(all[i]);
  std::cout << all.size() << " kernels\n";
  return 0;
}

/// Returns what the executor computes, or its first finding as an error.
Expected<std::vector<int32_t>> inExecutor(const Operation &operation) {
  operation.prepare();
  ::tegula::test::Run lanes{.kernel = operation.lanes,
                            .in = operation.in,
                            .out_words = operation.out_words,
                            .threads = operation.threads,
                            .shared_bytes = operation.shared_bytes};
  lanes.fill = operation.fill;
  const Outcome outcome = run(lanes);
  if (!outcome.findings.empty())
    return Status(ErrorCode::launch_failed, outcome.findings.front().message);
  return outcome.out;
}

int checkExecutor() {
  int failed = 0;
  for (const Operation &operation : allOperations())
    if (const Expected<std::vector<int32_t>> results = inExecutor(operation); !results) {
      std::cout << operation.name << ": " << results.status().message() << "\n";
      ++failed;
    }
  return failed == 0 ? 0 : 1;
}

Expected<std::vector<int32_t>> onGpu(const Operation &operation, Device &device) {
  Artifact artifact{.target = "cuda",
                    .kernel = "operation",
                    .binary = ptxOf(operation),
                    .text = {},
                    .parameters = {{.name = "in", .dtype = i32, .rank = 1},
                                   {.name = "out", .dtype = i32, .rank = 1, .written = true}}};
  artifact.threads = int(operation.threads);
  artifact.shared_bytes = operation.shared_bytes;
  Expected<std::shared_ptr<Kernel>> kernel = device.load(artifact);
  Expected<Buffer> in = device.allocate(4 * int64_t(operation.in.size()));
  Expected<Buffer> out = device.allocate(4 * int64_t(operation.out_words));
  for (const Status &status : {kernel.status(), in.status(), out.status()})
    TEGULA_RETURN_IF_ERROR(status);
  std::vector<int32_t> words = operation.in, results(operation.out_words, operation.fill);
  if (operation.for_gpu)
    TEGULA_RETURN_IF_ERROR(operation.for_gpu(device, words, reinterpret_cast<uint64_t>(in->data()),
                                             reinterpret_cast<uint64_t>(out->data())));
  const auto bytes = [](const std::vector<int32_t> &all) { return 4 * int64_t(all.size()); };
  TEGULA_RETURN_IF_ERROR(device.copyToDevice(in->data(), words.data(), bytes(words)));
  TEGULA_RETURN_IF_ERROR(device.copyToDevice(out->data(), results.data(), bytes(results)));
  TEGULA_RETURN_IF_ERROR((*kernel)->launch({.x = 1}, {contiguous(in->data(), i32, {int64_t(words.size())}),
                                                      contiguous(out->data(), i32, {int64_t(results.size())})}));
  TEGULA_RETURN_IF_ERROR(device.copyToHost(results.data(), out->data(), bytes(results)));
  TEGULA_RETURN_IF_ERROR(device.synchronize());
  return results;
}

/// Returns the number of words that do not agree.
int64_t differences(const Operation &operation, const std::vector<int32_t> &x, const std::vector<int32_t> &y) {
  int64_t count = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto a = std::bit_cast<float>(x[i]), b = std::bit_cast<float>(y[i]);
    const bool near = std::abs(a - b) <= operation.tolerance * std::max(1.0F, std::abs(a));
    count += x[i] != y[i] && !(operation.tolerance > 0 && near);
  }
  return count;
}

bool agree(const Operation &operation, Device &device) {
  const Expected<std::vector<int32_t>> ours = inExecutor(operation), theirs = onGpu(operation, device);
  for (const Status &status : {ours.status(), theirs.status()})
    if (!status.ok()) {
      std::cout << "FAILED " << operation.name << ": " << status.message() << "\n";
      return false;
    }
  const int64_t wrong = differences(operation, *ours, *theirs);
  const char *how = operation.tolerance > 0 ? " within the tolerance" : " bit for bit";
  std::cout << (wrong == 0 ? "agrees " : "DIFFERS ") << operation.name << ": " << ours->size() - wrong << " of "
            << ours->size() << " words" << how << "\n";
  return wrong == 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 3 && std::string(argv[1]) == "--ptx")
    return writePtx(argv[2]);
  if (argc == 2 && std::string(argv[1]) == "--executor")
    return checkExecutor();
  Expected<std::shared_ptr<Device>> device = cudaDevice();
  if (!device) {
    std::cerr << device.status().message() << "\n";
    return 2;
  }
  const bool isHopper = (*device)->target().arch.starts_with("sm_90");
  int failed = 0, run = 0;
  for (const Operation &operation : allOperations())
    if (isHopper || !operation.needs_sm_90a) {
      ++run;
      failed += !agree(operation, **device);
    }
  std::cout << run - failed << " of " << run << " operations agree\n";
  return failed == 0 ? 0 : 1;
}
