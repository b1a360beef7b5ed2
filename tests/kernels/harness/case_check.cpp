// SPDX-License-Identifier: MIT
#include "harness/case.h"

#include <algorithm>
#include <sstream>

namespace tegula::testing {
namespace {

using oracle::Gradients, oracle::Outputs, oracle::plainError;

struct Exact {
  Outputs outputs;
  Gradients gradients;
  double lse_rounding_in_dv = 0; ///< The largest element of lseRoundingInDv.
};

Exact exactResults(const Case &c, const Tensors &t) {
  float scale = float(c.scale());
  Exact exact{forward(c.shape, t.variant.exact, scale, t.inputs), {}};
  if (!c.backward)
    return exact;
  exact.gradients = backward(c.shape, t.variant.exact, scale, t.inputs, t.upstream, t.upstream_lse);
  for (double x : lseRoundingInDv(c.shape, t.variant.exact, scale, t.inputs, t.upstream))
    exact.lse_rounding_in_dv = std::max(exact.lse_rounding_in_dv, x);
  return exact;
}

std::vector<NamedError> measureKernels(const Case &c, const Tensors &t, const Exact &exact) {
  std::vector<NamedError> errors;
  auto add = [&](const std::string &name, const TestTensor &tensor, const std::vector<double> &numbers, DType dtype) {
    errors.push_back({name, oracle::measure(tensor.numbers(), numbers, dtype)});
  };
  add("o", t.o, exact.outputs.o, c.dtype);
  add("lse", t.lse, exact.outputs.lse, f32);
  if (!c.backward)
    return errors;
  add("dq", t.dq, exact.gradients.dq, c.dtype);
  add("dk", t.dk, exact.gradients.dk, c.dtype);
  add("dv", t.dv, exact.gradients.dv, c.dtype);
  add("dv of softmax", t.dv, exact.gradients.dv, c.dtype);
  errors.back().error.lse = exact.lse_rounding_in_dv;
  for (size_t n = 0; n < t.variant.gradients.size(); ++n)
    add(t.variant.gradient_names[n], t.variant.gradients[n], (*t.variant.exact_gradients)[n], c.dtype);
  if (c.sinks)
    add("d_sinks", t.d_sinks, exact.gradients.d_sinks, c.dtype);
  return errors;
}

/// Returns the errors of one run of the plain formula, in the order of measureKernels.
std::vector<double> plainErrors(const Case &c, const Tensors &t, const Exact &exact, int run) {
  Outputs outputs = plainForward(c.shape, t.variant.plain, c.scale(), t.inputs, c.dtype, run);
  std::vector<double> errors = {plainError(outputs.o, exact.outputs.o), plainError(outputs.lse, exact.outputs.lse)};
  if (!c.backward)
    return errors;
  for (std::vector<double> &gradient : *t.variant.plain_gradients)
    std::fill(gradient.begin(), gradient.end(), 0);
  oracle::PlainGradients gradients =
      plainBackward(c.shape, t.variant.plain, c.scale(), t.inputs, t.upstream, c.dtype, run, t.upstream_lse);
  errors.push_back(plainError(gradients.dq, exact.gradients.dq));
  errors.push_back(plainError(gradients.dk, exact.gradients.dk));
  errors.push_back(plainError(gradients.dv, exact.gradients.dv));
  errors.push_back(plainError(gradients.dv_of_softmax, exact.gradients.dv));
  for (size_t n = 0; n < t.variant.gradients.size(); ++n)
    errors.push_back(plainError((*t.variant.plain_gradients)[n], (*t.variant.exact_gradients)[n]));
  if (c.sinks)
    errors.push_back(plainError(gradients.d_sinks, exact.gradients.d_sinks));
  return errors;
}

} // namespace

std::vector<NamedError> measure(const Case &c, const Tensors &tensors, int plain_runs) {
  Exact exact = exactResults(c, tensors);
  std::vector<NamedError> errors = measureKernels(c, tensors, exact);
  for (int run = 0; run < plain_runs; ++run) {
    std::vector<double> plain = plainErrors(c, tensors, exact, run);
    for (size_t n = 0; n < errors.size(); ++n)
      errors[n].error.plain = std::max(errors[n].error.plain, plain[n]);
  }
  return errors;
}

std::vector<NamedError> measure(const Case &c, const Tensors &tensors) {
  std::vector<NamedError> errors = measure(c, tensors, oracle::plainRuns(c.shape, 1 - c.dropout_p));
  const auto isNear = [](const NamedError &named) { return tools::mayBeChance(named.error.ratio()); };
  return std::ranges::any_of(errors, isNear) ? measure(c, tensors, oracle::kManyPlainRuns) : errors;
}

std::string check(Tensors &tensors, const std::vector<NamedError> &errors) {
  std::ostringstream complaints;
  for (const auto &[name, error] : errors)
    if (!(error.ratio() <= kMaxRatio))
      complaints << name << ": error " << error.worst << ", plain formula " << error.plain << ", one rounding "
                 << error.rounding << ", ratio " << error.ratio() << "\n";
  for (const TestTensor *tensor : tensors.all())
    if (!tensor->surroundingsIntact())
      complaints << "memory outside a tensor was written\n";
  return complaints.str();
}

std::string rerun(const Case &c, Tensors &tensors, int times) {
  std::vector<std::pair<const char *, TestTensor *>> outputs = {{"o", &tensors.o}, {"lse", &tensors.lse}};
  if (c.backward)
    outputs.insert(outputs.end(), {{"dq", &tensors.dq}, {"dk", &tensors.dk}, {"dv", &tensors.dv}});
  if (c.backward && c.sinks)
    outputs.push_back({"d_sinks", &tensors.d_sinks});
  std::vector<std::vector<std::byte>> bits;
  for (auto [name, tensor] : outputs)
    bits.push_back(tensor->bits());
  for (int n = 0; n < times; ++n) {
    for (auto [name, tensor] : outputs)
      tensor->poison();
    if (Status status = launch(c, tensors); !status.ok())
      return status.message() + "\n";
    for (size_t output = 0; output < outputs.size(); ++output)
      if (outputs[output].second->bits() != bits[output])
        return "rerun " + std::to_string(n + 1) + " has other bits in " + outputs[output].first + "\n";
  }
  return "";
}

std::string runCase(const Case &c, std::vector<NamedError> *errors, int reruns) {
  Tensors tensors = makeTensors(c);
  Status status = launch(c, tensors);
  if (!status.ok())
    return toString(c) + "\n" + status.message() + "\n";
  std::vector<NamedError> measured = measure(c, tensors);
  std::string complaints = check(tensors, measured) + rerun(c, tensors, reruns);
  if (errors)
    *errors = std::move(measured);
  return complaints.empty() ? "" : toString(c) + "\n" + complaints;
}

} // namespace tegula::testing
