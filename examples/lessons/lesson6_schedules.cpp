// SPDX-License-Identifier: MIT
// Lesson 6: a schedule decides which instructions a program becomes. Compiling for an H100 needs no GPU.
#include "matrix_product.h"

#include <string>

using namespace tegula;

/// Returns how often a text has a word.
int countOf(const std::string &word, const std::string &text) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

/// The numbers of instructions in the code of a kernel.
struct Counts {
  int mma_sync;  ///< Matrix products of a warp (sm_80).
  int wgmma;     ///< Matrix products of four warps, which read shared memory themselves (sm_90a).
  int cp_async;  ///< Copies of 16 bytes for each lane to shared memory.
  int tma_loads; ///< Copies of a whole tile to shared memory, which one lane starts (sm_90a).
};

/// Compiles a program up to PTX. Prints and returns the counts.
Counts compiledCounts(const Program &program, const char *schedule) {
  const std::unique_ptr<Compiler> compiler = makeWorkerCompiler();
  const Artifact artifact = valueOf(compiler->compile({.program = program.text,
                                                       .schedule = valueOf(parseSchedule(schedule)),
                                                       .target = {.name = "cuda", .arch = "sm_90a"},
                                                       .emit = "ptx"}));
  const Counts counts{.mma_sync = countOf("mma.sync.aligned", artifact.text),
                      .wgmma = countOf("wgmma.mma_async", artifact.text),
                      .cp_async = countOf("cp.async.cg", artifact.text),
                      .tma_loads = countOf("cp.async.bulk.tensor", artifact.text)};
  std::printf("%-37s %7d %8ld %8d %5d %8d %3d\n", schedule, artifact.threads, long(artifact.shared_bytes),
              counts.mma_sync, counts.wgmma, counts.cp_async, counts.tma_loads);
  return counts;
}

int main() {
  const Program program = recordMatrixProduct();
  std::printf("%-37s threads   shared mma.sync wgmma cp.async TMA\n", "schedule");
  const Counts ampere = compiledCounts(program, "num_warps=4 num_stages=3 roles=none");
  const Counts hopper = compiledCounts(program, "num_warps=8 num_stages=4 roles=load");
  const bool right = ampere.mma_sync > 0 && ampere.cp_async > 0 && ampere.wgmma == 0 && ampere.tma_loads == 0 &&
                     hopper.mma_sync == 0 && hopper.cp_async == 0 && hopper.wgmma > 0 && hopper.tma_loads > 0;
  return right ? 0 : 1;
}
