// SPDX-License-Identifier: MIT
#include "bench.h"
#include "tegula/attention_words.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tegula::bench {
namespace {

using Json = nlohmann::ordered_json;

Json toJson(const Throughput &row) {
  Json json = {{"seqlen", row.seqlen},
               {"head_dim", row.head_dim},
               {"forward_ms", row.forward_ms},
               {"forward_gflops", row.forward_gflops}};
  if (row.backward_ms > 0)
    json.update({{"backward_ms", row.backward_ms}, {"backward_gflops", row.backward_gflops}});
  return json;
}

Json toJson(const ExtraMemory &row) {
  return {{"algorithm", toString(row.algorithm)},
          {"seqlen", row.seqlen},
          {"workspace_bytes", row.workspace_bytes},
          {"peak_bytes", row.peak_bytes}};
}

template <class Row> Json listOf(const std::vector<Row> &rows) {
  Json list = Json::array();
  for (const Row &row : rows)
    list.push_back(toJson(row));
  return list;
}

std::string headlineTable(const Report &report) {
  const Throughput &best = report.headline;
  return fmt::format("OpenBLAS sgemm {0}^3           {1:8.1f} GFLOP/s\n"
                     "flash2 forward, N={2:<5} D={3:<4}  {4:8.1f} GFLOP/s   {5:.2f} of sgemm\n",
                     report.gemm_size, report.sgemm_gflops, best.seqlen, best.head_dim, best.forward_gflops,
                     report.ratio());
}

std::string gridTable(const std::vector<Throughput> &rows) {
  std::string text = "\n     N    D   forward ms  GFLOP/s   backward ms  GFLOP/s\n";
  for (const Throughput &row : rows)
    text += fmt::format("{:6} {:4} {:12.2f} {:8.1f} {:13.2f} {:8.1f}\n", row.seqlen, row.head_dim, row.forward_ms,
                        row.forward_gflops, row.backward_ms, row.backward_gflops);
  return text;
}

std::string memoryTable(const std::vector<ExtraMemory> &rows) {
  std::string text = "\nMemory of one forward pass beyond its tensors, D=64\n"
                     "algorithm       N   workspace MiB   peak MiB\n";
  for (const ExtraMemory &row : rows)
    text += fmt::format("{:9} {:7} {:15.1f} {:10.1f}\n", toString(row.algorithm), row.seqlen,
                        double(row.workspace_bytes) / (1 << 20), double(row.peak_bytes) / (1 << 20));
  return text;
}

} // namespace

std::string toJson(const Report &report) {
  Json json = {{"device", report.device},
               {"sgemm", {{"size", report.gemm_size}, {"gflops", report.sgemm_gflops}}},
               {"headline", toJson(report.headline)},
               {"ratio", report.ratio()},
               {"grid", listOf(report.grid)},
               {"memory", listOf(report.memory)}};
  return json.dump(2) + "\n";
}

std::string toTable(const Report &report) {
  std::string text =
      fmt::format("{}\nbatch 1, 8 heads, f32, no mask; medians\n\n{}", report.device, headlineTable(report));
  if (!report.grid.empty())
    text += gridTable(report.grid);
  return text + memoryTable(report.memory);
}

} // namespace tegula::bench
