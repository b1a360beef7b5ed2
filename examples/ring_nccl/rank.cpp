// SPDX-License-Identifier: MIT
#include "rank.h"

#include <algorithm>

using tegula::host::tensor;

Rank::Rank(const Options &options, const RingPlan &plan, const Kernels &kernels, Device &device, Exchange &exchange)
    : options_(options), plan_(plan), kernels_(kernels), device_(device), exchange_(exchange) {
  const int64_t batch = options.batch, heads = options.heads, kv_heads = options.kv_heads, length = plan.length,
                dim = options.head_dim, ranks = plan.ranks;
  for (tegula_tensor *x : {&q_, &d_o_, &dq_, &outputs_.o})
    *x = allocate(TEGULA_BF16, {batch, heads, length, dim});
  outputs_.lse = allocate(TEGULA_F32, {batch, heads, length});
  for (tegula_tensor *x : {&kv_, &dkv_, &arriving_[0], &arriving_[1], &leaving_[0], &leaving_[1]})
    *x = allocate(TEGULA_BF16, {2 * batch, kv_heads, length, dim});
  parts_.o = allocate(TEGULA_BF16, {ranks, batch, heads, length, dim});
  parts_.lse = allocate(TEGULA_F32, {ranks, batch, heads, length});
  dkv_parts_ = allocate(TEGULA_BF16, {ranks, 2 * batch, kv_heads, length, dim});
  for (int step = 0; step < plan.ranks; ++step) {
    const auto [queries, keys, masked] = plan.step(step);
    workspace_.bytes = std::max(workspace_.bytes, attention(masked).workspaceBytes(queries.size(), keys.size()));
  }
  memory_.push_back(device.allocate(workspace_.bytes));
  workspace_.data = memory_.back().get();
  workspace_.stream = device.stream();
  bytes_ += workspace_.bytes;

  const RandomInputs inputs(options);
  fill(q_, Input::q, inputs);
  fill(firstHalf(kv_), Input::k, inputs);
  fill(secondHalf(kv_), Input::v, inputs);
  fill(d_o_, Input::d_o, inputs);
}

tegula_tensor Rank::allocate(int32_t dtype, std::initializer_list<int64_t> shape) {
  tegula_tensor x = tensor(nullptr, dtype, shape);
  memory_.push_back(device_.allocate(bytesOf(x)));
  x.data = memory_.back().get();
  bytes_ += bytesOf(x);
  return x;
}

void Rank::fill(const tegula_tensor &x, Input input, const RandomInputs &inputs) {
  const std::vector<uint16_t> numbers = inputs.part(input, plan_);
  device_.copyToDevice(x.data, numbers.data(), bytesOf(x));
}

// In each step the keys of the next step travel. They arrive in the memory of the keys of the step before, whose
// kernels have been enqueued by then.

void Rank::forward(Work work) {
  for (int step = 0; step < plan_.ranks; ++step) {
    const bool exchanges = work != Work::kernels && step + 1 < plan_.ranks;
    if (exchanges)
      exchange_.start({keysAfter(step)});
    if (work != Work::exchanges)
      attend(step);
    if (exchanges)
      exchange_.finish();
  }
  if (work != Work::exchanges)
    mergeOutputs();
}

// The gradients of another rank's keys go straight to that rank during the next step. This rank's own keys are cut
// between heads: half of their work hides the first exchange, and the other half, in an additional step, the last one.

void Rank::backward(Work work) {
  const int64_t half = (options_.kv_heads + 1) / 2;
  const tegula_tensor own = at(dkv_parts_, plan_.keyPart(0));
  for (int step = 0; step <= plan_.ranks; ++step) {
    std::vector<Transfer> transfers;
    if (step + 1 < plan_.ranks)
      transfers.push_back(keysAfter(step));
    if (step >= 2)
      transfers.push_back(gradientsOf(step - 1));
    const bool exchanges = work != Work::kernels && !transfers.empty();
    if (exchanges)
      exchange_.start(transfers);
    if (work != Work::exchanges) {
      if (step == 0)
        differentiate(0, {0, half}, own);
      else if (step == plan_.ranks)
        differentiate(0, {half, options_.kv_heads}, own);
      else
        differentiate(step, {0, options_.kv_heads}, leaving_[step % 2]);
    }
    if (exchanges)
      exchange_.finish();
  }
  if (work != Work::exchanges)
    sumGradients();
}

void Rank::forwardOfOwnKeys() { attention(plan_.causal).forward(ownInputs(), outputs_, workspace_); }

void Rank::backwardOfOwnKeys() {
  attention(plan_.causal).backward(ownInputs(), outputs_, d_o_, gradients(), workspace_);
}

Transfer Rank::keysAfter(int step) const {
  const tegula_tensor &sent = kvOf(step), &received = kvOf(step + 1);
  return {sent.data, plan_.next(), received.data, plan_.previous(), static_cast<size_t>(bytesOf(sent))};
}

Transfer Rank::gradientsOf(int step) const {
  const tegula_tensor &sent = leaving_[step % 2], received = at(dkv_parts_, plan_.keyPart(step));
  return {sent.data, plan_.source(step), received.data, plan_.holder(step), static_cast<size_t>(bytesOf(sent))};
}

void Rank::attend(int step) const {
  const auto [queries, keys, masked] = plan_.step(step);
  const tegula_tensor kv = kvOf(step);
  attention(masked).forward({rowsOf(q_, queries), rowsOf(firstHalf(kv), keys), rowsOf(secondHalf(kv), keys)},
                            {rowsOf(at(parts_.o, step), queries), lseRows(at(parts_.lse, step), queries)}, workspace_);
}

/// Computes the gradients of a step from some heads of its keys, and from all query heads that share them. `dkv` has dk
/// and dv.
void Rank::differentiate(int step, Range kv_heads, const tegula_tensor &dkv) const {
  if (kv_heads.size() == 0)
    return;
  const auto [queries, keys, masked] = plan_.step(step);
  const int64_t group = options_.heads / options_.kv_heads;
  const Range heads{kv_heads.begin * group, kv_heads.end * group};
  auto ofQueries = [&, rows = queries](const tegula_tensor &x) { return rowsOf(headsOf(x, heads), rows); };
  auto ofKeys = [&, rows = keys](const tegula_tensor &x) { return rowsOf(headsOf(x, kv_heads), rows); };
  const tegula_tensor kv = kvOf(step);
  attention(masked).backward({ofQueries(q_), ofKeys(firstHalf(kv)), ofKeys(secondHalf(kv))},
                             {ofQueries(outputs_.o), lseRows(headsOf(outputs_.lse, heads), queries)}, ofQueries(d_o_),
                             {ofQueries(at(parts_.o, step)), ofKeys(firstHalf(dkv)), ofKeys(secondHalf(dkv))},
                             workspace_);
}

void Rank::mergeOutputs() const {
  for (const auto [rows, parts] : plan_.queryShares())
    kernels_.merge.launch({slice(rowsOf(parts_.o, rows), 0, parts), slice(lseRows(parts_.lse, rows), 0, parts)},
                          {rowsOf(outputs_.o, rows), lseRows(outputs_.lse, rows)}, workspace_.stream);
}

void Rank::sumGradients() const {
  for (const auto [rows, parts] : plan_.queryShares())
    kernels_.sum.launch(slice(rowsOf(parts_.o, rows), 0, parts), rowsOf(dq_, rows), workspace_.stream);
  for (const auto [rows, parts] : plan_.keyShares())
    kernels_.sum.launch(slice(rowsOf(dkv_parts_, rows), 0, parts), rowsOf(dkv_, rows), workspace_.stream);
}
