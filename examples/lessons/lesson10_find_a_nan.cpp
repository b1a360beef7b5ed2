// SPDX-License-Identifier: MIT
// Lesson 10: a kernel reports the line that makes a NaN, and prints what it has computed before.
#include "lesson.h"
#include "tegula/dsl.h"

#include <string_view>

using namespace tegula;

constexpr int64_t kRows = 4, kColumns = 8;

/// The softmax of the positive numbers of each row. A row without positive numbers becomes NaN, or 0 if `isMended`.
void positiveSoftmax(View X, View Y, bool isMended) {
  Value x = X.load(0, {kRows, kColumns});
  Value s = select(x > 0.0, x, -kInfinity);
  Value largest = rowMax(s);
  print("largest", largest);
  Value e = exp(s - asColumn(isMended ? max(largest, 0.0) : largest));
  Value sum = rowSum(e);
  Y.store(0, e / asColumn(isMended ? max(sum, 1e-30) : sum));
}

int main() {
  Machine machine;
  KernelCache cache(*machine.compiler, machine.device,
                    {.check_finite = FiniteCheck::nan,
                     .print = [](std::string_view text) { std::printf("%s", std::string(text).c_str()); }});
  std::vector<float> x = randomNumbers(kRows * kColumns);
  std::vector<double> exact;
  for (int64_t i = 0; i < kRows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < kColumns; ++j) {
      float &number = x[i * kColumns + j];
      number = i == 2 ? -std::abs(number) : number;
      exact.push_back(number > 0 ? std::exp(double(number)) : 0);
      sum += exact.back();
    }
    for (int64_t j = 0; j < kColumns && sum > 0; ++j)
      exact[i * kColumns + j] /= sum;
  }
  const TensorRef X = machine.upload(x, {kRows, kColumns}), Y = machine.allocate({kRows, kColumns});

  bool right = true;
  for (bool isMended : {false, true}) {
    const Program program =
        valueOf(record("positive_softmax", positiveSoftmax, TensorArg{"x", f32, 2}, TensorArg{"y", f32, 2}, isMended));
    const Status status = valueOf(cache.get(program.text))->launch({}, {X, Y});
    std::printf("%s\n", status.ok() ? "no NaN" : status.message().c_str());
    right &= status.ok() == isMended;
  }
  return check("y", machine.download(Y), exact, 1e-6) && right ? 0 : 1;
}
