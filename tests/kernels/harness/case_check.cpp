// SPDX-License-Identifier: MIT
#include "harness/case.h"

#include <sstream>

namespace tegula::testing {
namespace {

using Errors = std::vector<NamedError>;

void measureForward(const Case &c, const Tensors &t, const oracle::Noise &noise, Errors &errors) {
  oracle::Outputs exact = forward(c.shape, t.variant.exact, float(c.scale()), t.inputs);
  oracle::Outputs plain = plainForward(c.shape, t.variant.plain, c.scale(), t.inputs, c.dtype);
  errors.push_back({"o", oracle::compare(t.o.numbers(), plain.o, exact.o, noise.o, c.dtype)});
  errors.push_back({"lse", oracle::compare(t.lse.numbers(), plain.lse, exact.lse, noise.lse, f32)});
}

void measureBackward(const Case &c, const Tensors &t, const oracle::Noise &noise, Errors &errors) {
  oracle::Gradients exact = backward(c.shape, t.variant.exact, float(c.scale()), t.inputs, t.upstream);
  oracle::Gradients plain = plainBackward(c.shape, t.variant.plain, c.scale(), t.inputs, t.upstream, c.dtype);
  errors.push_back({"dq", oracle::compare(t.dq.numbers(), plain.dq, exact.dq, noise.dq, c.dtype)});
  errors.push_back({"dk", oracle::compare(t.dk.numbers(), plain.dk, exact.dk, noise.dk, c.dtype)});
  errors.push_back({"dv", oracle::compare(t.dv.numbers(), plain.dv, exact.dv, noise.dv, c.dtype)});
  if (t.variant.exact_bias)
    errors.push_back({"dbias", oracle::compare(t.variant.gradients[0].numbers(), *t.variant.plain_bias,
                                               *t.variant.exact_bias, noise.score, c.dtype)});
}

} // namespace

std::vector<NamedError> measure(const Case &c, const Tensors &tensors) {
  oracle::Noise noise = noiseOf(c.shape, tensors.variant.exact, c.scale(), tensors.inputs,
                                c.backward ? tensors.upstream : std::vector<float>(), c.dtype);
  Errors errors;
  measureForward(c, tensors, noise, errors);
  if (c.backward)
    measureBackward(c, tensors, noise, errors);
  return errors;
}

std::string check(Tensors &tensors, const std::vector<NamedError> &errors) {
  std::ostringstream complaints;
  for (const auto &[name, error] : errors)
    if (!(error.ratio() <= kMaxRatio))
      complaints << name << ": error " << error.worst << ", plain formula " << error.plain << ", noise " << error.noise
                 << ", ratio " << error.ratio() << "\n";
  for (const TestTensor *tensor : tensors.all())
    if (!tensor->surroundingsIntact())
      complaints << "memory outside a tensor was written\n";
  return complaints.str();
}

std::string runCase(const Case &c, std::vector<NamedError> *errors) {
  Tensors tensors = makeTensors(c);
  Status status = launch(c, tensors);
  if (!status.ok())
    return toString(c) + "\n" + status.message() + "\n";
  std::vector<NamedError> measured = measure(c, tensors);
  std::string complaints = check(tensors, measured);
  if (errors)
    *errors = std::move(measured);
  return complaints.empty() ? "" : toString(c) + "\n" + complaints;
}

} // namespace tegula::testing
