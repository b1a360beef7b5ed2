// SPDX-License-Identifier: MIT
// One decoding problem on a device: compiled, with random inputs in its memory, ready to run again and again.
#pragma once

#include "tegula/plan.h"
#include "workload/attention_check.h"
#include "workload/cache_layout.h"
#include "workload/decode_case.h"
#include "workload/device_tensor.h"
#include "workload/reruns.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tegula::tools {

class DecodeRun {
public:
  /// Compiles and fills the inputs. Returns resource_exhausted if the tensors do not fit into the device's memory.
  /// `cache` has the device's kernels. `decode` has at least one sequence.
  static Expected<DecodeRun> make(const DecodeCase &decode, std::shared_ptr<Device> device, KernelCache &cache);

  /// Gives the work to the device and does not wait for it.
  Status run() const;

  /// Fills the keys and values with NaN that no sequence has.
  Status spoilUnused() const;

  /// Returns each sequence as a problem of attention.
  Expected<std::vector<CheckedRun>> sequences() const;

  Expected<Reruns> rerun(int64_t runs) const;

  Device &device() const { return *device_; }
  Schedule schedule() const { return plan_.configuration("decode").schedule; }
  double compileMs() const { return compile_ms_; } ///< From recording to loaded kernels.

private:
  using NamedTensor = std::pair<std::string, DeviceTensor>;

  DecodeRun(const DecodeCase &decode, std::shared_ptr<Device> device, Plan plan, double compile_ms)
      : decode_(decode), layout_(makeLayout(decode, decode.seed)),
        value_layout_(makeLayout(decode, decode.seed + uint64_t(decode.problem.page_table_v))),
        prefix_layout_({int32_t(decode.prefix)}, decode.kv_heads, 0, 0), device_(std::move(device)),
        plan_(std::move(plan)), compile_ms_(compile_ms) {}

  /// Returns the layout whose pages `seed` orders. With pages, the prefix is one more sequence after the others.
  static CacheLayout makeLayout(const DecodeCase &decode, uint64_t seed);
  const CacheLayout &layoutOf(std::string_view name) const { return name == "v" ? value_layout_ : layout_; }
  /// Returns what the argument `lengths` has.
  std::vector<int32_t> lengths() const;
  bool hasOwnPrefix() const { return decode_.problem.prefix && decode_.problem.page_size == 0; }
  Status allocate(const PlanSpec &spec);
  Status fill() const;
  Status fillFloats(const std::string &name, const DeviceTensor &tensor, uint64_t seed) const;
  Status fillTable(const CacheLayout &layout, const DeviceTensor &tensor, int64_t first_sequence) const;
  /// Puts the arguments in the order of the plan.
  void arrange();
  /// Allocates and computes what runs have in common.
  Status prepare();
  Status spoilUnusedRows(const std::string &name) const;
  /// Returns the keys or values of a sequence, those of the prefix first: the first `columns` columns of rows of the
  /// arrays `name` and `prefix_` + `name`, which have `row` columns.
  std::vector<float> gather(std::map<std::string, std::vector<float>> &arrays, const std::string &name, int64_t row,
                            int64_t columns, int64_t sequence) const;
  /// Returns the part of arrays of all tensors that belongs to a sequence.
  AttentionArrays arraysOf(int64_t sequence, std::map<std::string, std::vector<float>> &arrays) const;
  const DeviceTensor &tensor(std::string_view name) const;

  DecodeCase decode_;
  CacheLayout layout_, value_layout_;
  CacheLayout prefix_layout_; ///< The layout of a prefix without pages.
  std::shared_ptr<Device> device_;
  Plan plan_;
  double compile_ms_;
  std::vector<NamedTensor> tensors_;
  Buffer workspace_, prepared_; ///< Runs prepare themselves if `prepared_` is empty.
  std::vector<Argument> arguments_;
};

} // namespace tegula::tools
