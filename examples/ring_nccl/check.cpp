// SPDX-License-Identifier: MIT
#include "check.h"

#include "reference.h"

#include <cmath>
#include <cstdio>

namespace {

template <class T> std::vector<T> toHost(Device &device, const tegula_tensor &x) {
  std::vector<T> numbers(bytesOf(x) / sizeof(T));
  device.copyToHost(numbers.data(), x.data, bytesOf(x));
  return numbers;
}

/// Copies a rank's part [heads, length, columns] into the whole [heads, tokens, columns].
template <class T>
void scatter(const std::vector<T> &part, const RingPlan &plan, int64_t tokens, int64_t columns, std::vector<T> &whole) {
  for (int64_t row = 0; row < static_cast<int64_t>(part.size()) / columns; ++row) {
    const int64_t head = row / plan.length, position = plan.wholePosition(row % plan.length);
    std::copy_n(&part[row * columns], columns, &whole[(head * tokens + position) * columns]);
  }
}

/// Returns all rows of a tensor, or about 32 if there are more than 2048. Their distances vary, so that they have
/// different places in the tiles of kernels.
std::vector<int64_t> sampled(int64_t rows) {
  const int64_t step = rows <= 2048 ? 1 : rows / 32;
  std::vector<int64_t> result;
  for (int64_t begin = 0, count = 0; begin + step <= rows; begin += step, ++count)
    result.push_back(begin + count * 7919 % step);
  return result;
}

/// The largest errors of a tensor.
struct Errors {
  double ours = 0, formula = 0, largest = 0;

  void add(const uint16_t *found, const std::vector<double> &rounded, const std::vector<double> &exact) {
    for (size_t i = 0; i < exact.size(); ++i) {
      const double error = std::abs(fromBf16(found[i]) - exact[i]);
      ours = error <= ours ? ours : error; // NaN counts as large: it is no number that is at most `ours`.
      formula = std::max(formula, std::abs(rounded[i] - exact[i]));
      largest = std::max(largest, std::abs(exact[i]));
    }
  }
};

/// Prints the largest errors of all ranks, and returns true if they are within the bound.
bool judge(const char *name, Errors errors, int rank, Team &team) {
  const bool is_number = team.meet(std::isnan(errors.ours) ? 1 : 0) == 0;
  errors = {team.meet(errors.ours), team.meet(errors.formula), team.meet(errors.largest)};
  const double rounding = errors.largest / 256; // Half a unit in the last place of bf16.
  const double bound = 2 * std::max(errors.formula, rounding);
  const bool right = is_number && errors.ours <= bound;
  if (rank == 0)
    std::fprintf(stderr, "%-3s error %.2e, allowed %.2e: %s\n", name, is_number ? errors.ours : std::nan(""), bound,
                 right ? "right" : "WRONG");
  return right;
}

} // namespace

bool isRight(const Options &options, const Rank &rank, Device &device, WholeOutputs &whole, Team &team) {
  const RingPlan &plan = rank.plan();
  const int64_t dim = options.head_dim;
  const auto o = toHost<uint16_t>(device, rank.outputs().o);
  const auto lse = toHost<float>(device, rank.outputs().lse);
  const auto [dq, dk, dv] = rank.gradients();
  const auto dq_host = toHost<uint16_t>(device, dq), dk_host = toHost<uint16_t>(device, dk),
             dv_host = toHost<uint16_t>(device, dv);
  scatter(o, plan, options.tokens, dim, whole.o);
  scatter(lse, plan, options.tokens, 1, whole.lse);
  team.meet(); // `whole` is complete.

  const Reference reference(options, whole.o, whole.lse);
  Errors of_o, of_lse, of_dq, of_dk, of_dv;
  for (const int64_t row : sampled(options.batch * options.heads * plan.length)) {
    team.doing("comparing queries");
    const int64_t head = row / plan.length, position = plan.wholePosition(row % plan.length);
    const QueryRow exact = reference.query(head, position, false), rounded = reference.query(head, position, true);
    of_o.add(&o[row * dim], rounded.o, exact.o);
    of_dq.add(&dq_host[row * dim], rounded.dq, exact.dq);
    const double lse_error = std::abs(lse[row] - exact.lse);
    of_lse.ours = lse_error <= of_lse.ours ? of_lse.ours : lse_error;
  }
  for (const int64_t row : sampled(options.batch * options.kv_heads * plan.length)) {
    team.doing("comparing keys");
    const int64_t head = row / plan.length, position = plan.wholePosition(row % plan.length);
    const KeyRow exact = reference.key(head, position, false), rounded = reference.key(head, position, true);
    of_dk.add(&dk_host[row * dim], rounded.dk, exact.dk);
    of_dv.add(&dv_host[row * dim], rounded.dv, exact.dv);
  }
  of_lse.formula = 5e-4; // lse is f32, and a sum of f32.
  bool right = true;
  for (const auto &[name, errors] : {std::pair("o", of_o), std::pair("lse", of_lse), std::pair("dq", of_dq),
                                     std::pair("dk", of_dk), std::pair("dv", of_dv)})
    right &= judge(name, errors, plan.rank, team);
  return right;
}
