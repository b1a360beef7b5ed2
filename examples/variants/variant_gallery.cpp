// SPDX-License-Identifier: MIT
// Runs variants of the gallery forward and backward, compares them with their definitions in double precision, and
// draws the tiles that kernels visit.
#include "gallery.h"

#include "tegula/cuda_device.h"
#include "tegula/simt_device.h"
#include "tegula/worker_compiler.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace gallery;

namespace {

constexpr const char *kUsage = R"(variant_gallery NAME... | --all [options]
  --target T     cpu (default), cuda, simt or simt:sm_90a
  --svg PATH     draws visited tiles: a file for one variant, a folder for several
  --chosen-tiles checks with tiles that the library chooses, in bf16, instead of tiles of 32x32 in f32
  --time         also times lists and the forward pass, in bf16 with 16 heads of 128
  --length N     keys that are timed: a power of two; 16384 by default
)";

struct Options {
  std::vector<Entry> entries;
  std::string target = "cpu", svg;
  bool chosen_tiles = false, time = false;
  int64_t length = 16384;
};

/// Ends the program with a message.
[[noreturn]] void fail(const std::string &message) {
  std::fprintf(stderr, "variant_gallery: %s\n", message.c_str());
  std::exit(1);
}

template <class T> T valueOf(Expected<T> expected) {
  if (!expected)
    fail(expected.status().message());
  return std::move(*expected);
}

Entry entryOf(const std::string &name) {
  std::string names;
  for (const Entry &entry : entries()) {
    if (name == entry.name)
      return entry;
    names += std::string(names.empty() ? "" : ", ") + entry.name;
  }
  fail("there is no variant '" + name + "', only " + names);
}

Options parse(int count, char **words) {
  Options options;
  for (int n = 1; n < count; ++n) {
    const std::string word = words[n];
    auto value = [&]() -> std::string {
      if (++n == count)
        fail(word + " needs a value");
      return words[n];
    };
    if (word == "--all")
      options.entries.assign(entries().begin(), entries().end());
    else if (word == "--target")
      options.target = value();
    else if (word == "--svg")
      options.svg = value();
    else if (word == "--chosen-tiles")
      options.chosen_tiles = true;
    else if (word == "--time")
      options.time = true;
    else if (word == "--length")
      options.length = std::atoll(value().c_str());
    else if (word.starts_with("-"))
      fail("there is no option '" + word + "'\n" + kUsage);
    else
      options.entries.push_back(entryOf(word));
  }
  if (options.length < 512 || !std::has_single_bit(uint64_t(options.length)))
    fail("--length: it is " + std::to_string(options.length) + "; it must be a power of two from 512 on");
  if (options.entries.empty())
    fail(std::string("name a variant, or --all\n") + kUsage);
  return options;
}

std::shared_ptr<Device> openDevice(const std::string &target) {
  if (target == "cpu")
    return valueOf(cpuDevice());
  if (target == "cuda")
    return valueOf(cudaDevice());
  SimtOptions lanes;
  lanes.arch = target == "simt" ? "" : "sm_90a";
  if (target == "simt" || target == "simt:sm_90a")
    return valueOf(simtDevice(lanes));
  fail("'" + target + "' is no target; there are cpu, cuda, simt, simt:sm_90a");
}

/// Gives operands of products the element type of q.
void setOperandTypes(AttentionProblem &problem) {
  for (const ScoreProduct &product : problem.variant.products)
    for (size_t operand : {product.queries, product.keys})
      problem.variant.tensors[operand].dtype = problem.dtype;
}

/// Makes a trial of both passes. Small tiles show in a short sequence what large ones skip in a long one.
VariantTrial checkedTrial(const Entry &entry, bool chosen_tiles) {
  const int64_t length = chosen_tiles ? 1024 : 512;
  VariantTrial trial = entry.make({.batch = 2, .heads = 2, .kv_heads = 1, .seqlen_q = length, .seqlen_k = length});
  trial.problem.backward = true;
  trial.problem.dtype = chosen_tiles ? bf16 : f32;
  trial.problem.head_dim = trial.problem.value_dim = chosen_tiles ? 64 : 16;
  if (!chosen_tiles)
    trial.schedule = {.block_m = 32, .block_n = 32};
  setOperandTypes(trial.problem);
  return trial;
}

VariantTrial longTrial(const Entry &entry, int64_t length) {
  VariantTrial trial = entry.make({.batch = 1, .heads = 16, .kv_heads = 16, .seqlen_q = length, .seqlen_k = length});
  trial.problem.head_dim = trial.problem.value_dim = 128;
  trial.problem.expected = trial.shape;
  setOperandTypes(trial.problem);
  return trial;
}

void draw(const Options &options, const Entry &entry, const VariantTrial &trial, const VariantReport &report) {
  std::filesystem::path path = options.svg;
  if (options.entries.size() > 1 || std::filesystem::is_directory(path)) {
    std::filesystem::create_directories(path);
    path /= std::string(entry.name) + ".svg";
  }
  std::ofstream file(path);
  file << toSvg(trial, report, entry.title);
  if (!file.flush())
    fail("cannot write " + path.string());
}

/// Prints a row of the first table. Returns false if results are wrong, or if a pass visits all tiles.
bool check(const Options &options, const Entry &entry, KernelCache &cache, const std::shared_ptr<Device> &device) {
  const VariantTrial trial = checkedTrial(entry, options.chosen_tiles);
  const VariantReport report = valueOf(tryVariant(trial, cache, device));
  std::string remark;
  if (const Status status = verdict(report); !status.ok())
    remark = status.message();
  else if (report.forward.share() == 1 || report.backward.share() == 1)
    remark = "a pass visits all tiles";
  std::printf("%-18s %8.1f %% %8.1f %% %10.2f   %s\n", entry.name, 100 * report.forward.share(),
              100 * report.backward.share(), report.worstRatio(), remark.empty() ? "right" : remark.c_str());
  std::fflush(stdout);
  if (!options.svg.empty())
    draw(options, entry, trial, report);
  return remark.empty();
}

void printTimes(const Options &options, KernelCache &cache, const std::shared_ptr<Device> &device) {
  std::printf("\n%lld keys, %s\n%-18s %9s %11s %11s %11s %14s\n", static_cast<long long>(options.length),
              std::string(device->name()).c_str(), "variant", "visited", "lists, ms", "forward, ms", "plain, ms",
              "time per tile");
  for (const Entry &entry : options.entries) {
    const VariantTimes times = valueOf(timeVariant(longTrial(entry, options.length), cache, device));
    std::printf("%-18s %7.1f %% %11.3f %11.3f %11.3f %14.2f\n", entry.name, 100 * times.share, times.lists,
                times.forward, times.plain, times.forward / (times.share * times.plain));
    std::fflush(stdout);
  }
}

} // namespace

int main(int count, char **words) {
  const Options options = parse(count, words);
  const std::unique_ptr<Compiler> compiler = makeWorkerCompiler();
  const std::shared_ptr<Device> device = openDevice(options.target);
  KernelCache cache(*compiler, device);
  bool good = true;
  std::printf("%-18s %10s %10s %10s\n", "variant", "forward", "backward", "ratio");
  for (const Entry &entry : options.entries)
    good &= check(options, entry, cache, device);
  if (options.time)
    printTimes(options, cache, device);
  return good ? 0 : 1;
}
