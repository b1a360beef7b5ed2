// SPDX-License-Identifier: MIT
// Compares functions and their derivatives with double precision, over all of f32.
#include "language/machine.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numbers>

namespace tegula::language {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float largest = std::numeric_limits<float>::max(), smallest = std::numeric_limits<float>::min();
constexpr int64_t kTile = 256;

/// Returns numbers of both signs and of every exponent, infinities, NaN, and numbers of ordinary size.
std::vector<float> wholeRange() {
  std::vector<float> numbers = {0.0f, -0.0f, inf, -inf, std::numeric_limits<float>::quiet_NaN(), largest, -largest};
  std::mt19937 generator(5);
  for (int exponent = -149; exponent < 128; ++exponent)
    for (int i = 0; i < 6; ++i) {
      double mantissa = 1 + (i ? generator() / 0x1p32 : 0);
      numbers.push_back(static_cast<float>((i % 2 ? -1 : 1) * std::ldexp(mantissa, exponent)));
    }
  std::uniform_real_distribution<float> wide(-110, 110), narrow(-6, 6);
  while (numbers.size() % kTile || numbers.size() < 4096)
    numbers.push_back(numbers.size() % 2 ? wide(generator) : narrow(generator));
  return numbers;
}

Array<float> arrayOf(const std::vector<float> &numbers) {
  Array<float> array({static_cast<int64_t>(numbers.size())});
  array.data = numbers;
  return array;
}

using Function = std::function<Value(Value)>;
using Exact = std::function<double(double)>;

/// Returns the error in units of `exact` 2^-24, at least of 2^-149 - or of 2^-126 where a GPU may flush results to 0.
double error(float x, double exact) {
  if (std::isnan(exact) || std::isnan(x))
    return std::isnan(exact) == std::isnan(x) ? 0 : inf;
  if (static_cast<float>(exact) == x)
    return 0;
  if (std::isinf(x)) // The rounded result may be infinite where the exact one is slightly below the limit.
    return std::fabs(exact) > 0.9999 * largest && std::signbit(exact) == std::signbit(x) ? 0 : inf;
  double floor = testing::hasGpuCode() ? smallest : std::ldexp(1.0, -125);
  return std::fabs(x - exact) / std::max(std::fabs(exact) * 0x1p-24, floor);
}

class Functions : public Language {
protected:
  /// Compares function(x) with exact(x) for every x. `tolerance` is the relative error in units of 2^-24.
  void check(const Function &function, const Exact &exact, const Exact &tolerance) {
    Array<float> x = arrayOf(wholeRange()), y(x.shape);
    auto kernel = [&](View X, View Y) {
      Value start = programId(0) * kTile;
      Y.store(start, function(X.load(start, {kTile})));
    };
    runOn(Grid{x.shape[0] / kTile, 1, 1}, kernel, x, y);
    for (int64_t i = 0; i < x.shape[0]; ++i) {
      const double off = error(y(i), exact(x(i)));
      EXPECT_LE(off, tolerance(x(i))) << "x = " << x(i) << ", got " << y(i) << ", exactly " << exact(x(i));
    }
  }
  void check(const Function &function, const Exact &exact, double tolerance) {
    check(function, exact, [=](double) { return tolerance; });
  }

  /// Compares the derivative where the function and its derivative are finite. The error is at most
  /// (min(|x|, 100) + 32) 2^-23 max(|derivative|, scale).
  void checkDerivative(const Function &function, const Exact &derivative, double scale) {
    Array<float> x = arrayOf(wholeRange()), y(x.shape), dx(x.shape);
    auto kernel = [&](View X, View Y, View Dx) {
      Value start = programId(0) * kTile, input = X.load(start, {kTile}), output = function(input);
      Y.store(start, output);
      Dx.store(start, differentiate(output, input, fill({kTile}, 1.0)));
    };
    runOn(Grid{x.shape[0] / kTile, 1, 1}, kernel, x, y, dx);
    for (int64_t i = 0; i < x.shape[0]; ++i) {
      const double exact = derivative(x(i));
      if (std::isnan(x(i)) || !std::isfinite(y(i)) || !(std::fabs(exact) < 0.9999 * largest))
        continue;
      const double tolerance = (std::min(std::fabs(x(i)), 100.0f) + 32) * 0x1p-23;
      EXPECT_LE(std::fabs(dx(i) - exact), tolerance * std::max(std::fabs(exact), scale) + 2 * smallest)
          << "x = " << x(i) << ", got " << dx(i) << ", exactly " << exact;
      EXPECT_TRUE(std::isfinite(dx(i))) << "x = " << x(i) << ", got " << dx(i);
    }
  }
};

constexpr double kUlps = 2; // An ulp is at most 2^-23 of the result.

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double normal(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }
double normalDensity(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double accuracyOfExp(double x) { return std::isnan(x) ? 0 : 2 * std::min(std::fabs(x), 200.0) + 4; }
// One more addition, division and multiplication.
double accuracyOfLogistic(double x) { return accuracyOfExp(x) + 3; }

TEST_P(Functions, Exponentials) {
  check([](Value x) { return exp(x); }, [](double x) { return std::exp(x); }, accuracyOfExp);
  check([](Value x) { return exp2(x); }, [](double x) { return std::exp2(x); }, 2 * kUlps);
}

TEST_P(Functions, Quotients) {
  auto accuracy = [](double x) { return std::fabs(x) < smallest ? double{inf} : kUlps; };
  check([](Value x) { return 1.0 / x; }, [](double x) { return 1 / x; }, accuracy);
  check([](Value x) { return x / max(x, 3.0); }, [](double x) { return x / std::max(x, 3.0); }, 2 * kUlps);
}

TEST_P(Functions, Logarithms) {
  auto accuracyOf = [](double (*log)(double)) {
    return [=](double x) {
      const double exact = std::fabs(log(x));
      if (x != 0 && std::fabs(x) < smallest) // Targets replace such numbers by 0 or 2^-126.
        return double{inf};
      return exact > 0 && std::isfinite(exact) ? std::max(4 * kUlps, 4 / exact) : 0;
    };
  };
  check([](Value x) { return log(x); }, [](double x) { return std::log(x); }, accuracyOf(std::log));
  check([](Value x) { return log2(x); }, [](double x) { return std::log2(x); }, accuracyOf(std::log2));
}

TEST_P(Functions, Erf) {
  check([](Value x) { return erf(x); }, [](double x) { return std::erf(x); }, 2 * kUlps);
  checkDerivative([](Value x) { return erf(x); },
                  [](double x) { return 2 / std::sqrt(std::numbers::pi) * std::exp(-x * x); }, 1e-6);
}

TEST_P(Functions, SinAndCos) {
  auto accuracy = [](double x) { return std::fabs(x) <= 1e5 || !std::isfinite(x) ? 2 * kUlps : inf; };
  check([](Value x) { return sin(x); }, [](double x) { return std::sin(x); }, accuracy);
  check([](Value x) { return cos(x); }, [](double x) { return std::cos(x); }, accuracy);
  // From 2^22 on, results are only known to be from -1 to 1.
  auto bounded = [](double) { return 1.0; };
  check([](Value x) { return select(abs(sin(x)) <= 1, 1.0, 0.0) + 0 * x; }, [](double x) { return 1 + 0 * x; },
        bounded);
  auto nearby = [](Value x, Value y) { return select(abs(x) < 4194304, y, 0.0); };
  auto exact = [](double x, double y) { return std::fabs(x) < 4194304 ? y : 0; };
  checkDerivative([=](Value x) { return nearby(x, sin(x)); }, [=](double x) { return exact(x, std::cos(x)); }, 1);
  checkDerivative([=](Value x) { return nearby(x, cos(x)); }, [=](double x) { return exact(x, -std::sin(x)); }, 1);
}

TEST_P(Functions, PowOfOneNumber) {
  for (double y : {0.5, -0.5, 2.5, 3.0, -2.0, 0.0, 1.0, 0.001, -7.25, 10.0, 100.0, 101.0}) {
    check([=](Value x) { return pow(x, y); }, [=](double x) { return std::pow(x, y); }, 2 * kUlps);
    auto slope = [=](double x) {
      const double power = std::pow(x, y - 1);
      return y == 0 ? 0 : std::fabs(power) > largest ? inf : y * power;
    };
    checkDerivative([=](Value x) { return pow(x, y); }, slope, 0);
  }
  for (double x : {0.5, 1.0, 2.0, 0.001, 1e30, 1.0000001}) {
    float base = static_cast<float>(x);
    check([=](Value y) { return pow(base, y); }, [=](double y) { return std::pow(base, y); }, 2 * kUlps);
    auto slope = [=](double y) { return std::log(double(base)) * std::pow(double(base), y); };
    checkDerivative([=](Value y) { return pow(base, y); }, slope, 0);
  }
  auto slopeAtZero = [](double y) { return y > 0 ? 0 : std::nan(""); };
  checkDerivative([](Value y) { return pow(0, y); }, slopeAtZero, 1);
}

TEST_P(Functions, PowOfLiterals) {
  check([](Value x) { return pow(x, 2); }, [](double x) { return x * x; }, 1);
  check([](Value x) { return pow(x, 3); }, [](double x) { return x * x * x; }, 3);
  checkDerivative([](Value x) { return pow(x, 3); }, [](double x) { return 3 * x * x; }, 0);
}

TEST_P(Functions, PowOfPairs) {
  std::vector<float> x, y;
  const float special[] = {0,           -0.0f,      1,     -1,     inf,         -inf,      std::nanf(""), 0.5f,
                           2,           -2,         3,     -3,     -0.5f,       1e30,      -1e30,         16777216.0f,
                           16777215.0f, 8388609.0f, 1e-40, -1e-40, 0.99999994f, 8388607.5f};
  for (float a : special)
    for (float b : special)
      x.push_back(a), y.push_back(b);
  std::mt19937 generator(9);
  std::uniform_real_distribution<double> exponent(-103, 88), logarithm(-100, 88), small(-0.4, 0.4);
  while (x.size() % kTile || x.size() < 8192) {
    const double log = x.size() % 2 ? logarithm(generator) : small(generator);
    x.push_back(static_cast<float>(std::exp(log)));
    y.push_back(static_cast<float>(exponent(generator) / log));
  }
  Array<float> a = arrayOf(x), b = arrayOf(y), z(a.shape);
  auto kernel = [](View A, View B, View Z) {
    Value start = programId(0) * kTile;
    Z.store(start, pow(A.load(start, {kTile}), B.load(start, {kTile})));
  };
  runOn(Grid{a.shape[0] / kTile, 1, 1}, kernel, a, b, z);
  for (int64_t i = 0; i < a.shape[0]; ++i) {
    const double exact = std::pow(double(a(i)), double(b(i)));
    EXPECT_LE(error(z(i), exact), 2 * kUlps) << a(i) << "^" << b(i) << ", got " << z(i) << ", exactly " << exact;
  }
}

TEST_P(Functions, Rsqrt) {
  check([](Value x) { return rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, 1.5 * kUlps);
  checkDerivative([](Value x) { return rsqrt(x); }, [](double x) { return -0.5 / (x * std::sqrt(x)); }, 0);
}

TEST_P(Functions, Sigmoid) {
  check([](Value x) { return sigmoid(x); }, logistic, accuracyOfLogistic);
  checkDerivative([](Value x) { return sigmoid(x); }, [](double x) { return logistic(x) * logistic(-x); }, 1);
}

double siluSlope(double x) { return logistic(x) + (std::isinf(x) ? 0 : x * logistic(x) * logistic(-x)); }

TEST_P(Functions, Silu) {
  auto exact = [](double x) { return x == -inf ? 0 : x * logistic(x); };
  check([](Value x) { return silu(x); }, exact, accuracyOfLogistic);
  checkDerivative([](Value x) { return silu(x); }, siluSlope, 1);
}

TEST_P(Functions, Gelu) {
  // The error is relative to x. Quotients of subnormal numbers would not show it.
  auto quotient = [](Value x) { return select(abs(x) > 1e-30, 1 + gelu(x) / x, 1.5); };
  auto exact = [](double x) { return std::fabs(x) > 1e-30 ? 1 + normal(x) : 1.5; };
  check([=](Value x) { return select(abs(x) < double(inf), quotient(x), 0.0); },
        [=](double x) { return std::fabs(x) < inf ? exact(x) : 0; }, 6);
  check([](Value x) { return select(abs(x) < double(inf), 0.0, gelu(x)); },
        [](double x) { return x == -inf || std::fabs(x) < inf ? 0 : x; }, 0);
  auto slope = [](double x) { return normal(x) + (std::isinf(x) ? 0 : x * normalDensity(x)); };
  checkDerivative([](Value x) { return gelu(x); }, slope, 1);
}

TEST_P(Functions, Clamp) {
  auto exact = [](double x) { return std::isnan(x) ? -2 : std::min(std::max(x, -2.0), 3.0); };
  check([](Value x) { return clamp(x, -2, 3); }, exact, 0);
  checkDerivative([](Value x) { return clamp(x, -2, 3); }, [](double x) { return x >= -2 && x <= 3; }, 0);
  Array<int32_t> x({4}), y({4});
  x.data = {-5, 0, 4, 9};
  run([](View X, View Y) { Y.store(0, clamp(X.load(0, {4}), -1, 4)); }, x, y);
  EXPECT_EQ(y.data, (std::vector<int32_t>{-1, 0, 4, 4}));
}

TEST_P(Functions, RowLogSumExp) {
  constexpr int64_t rows = 6, columns = 40;
  auto x = Array<float>::random({rows, columns}, 4, -20, 20);
  for (int64_t j = 0; j < columns; ++j) {
    x(1, j) = -inf;
    x(2, j) += 1e4f;
    x(3, j) -= 1e30f;
  }
  x(4, 7) = -inf;
  x(5, 3) = inf;
  Array<float> y({rows});
  run([](View X, View Y) { Y.store(0, rowLogSumExp(X.load(0, {rows, columns}))); }, x, y);
  for (int64_t i = 0; i < rows; ++i) {
    const double most = *std::max_element(&x(i, 0), &x(i, 0) + columns);
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j)
      sum += std::exp(x(i, j) - (std::isinf(most) ? 0 : most));
    const double exact = std::isinf(most) ? most : most + std::log(sum);
    EXPECT_LE(error(y(i), exact), 16) << i << ", got " << y(i) << ", exactly " << exact;
  }
}

// Expressions in which an intermediate result overflows, is hidden, or has an infinite derivative.

TEST_P(Functions, DerivativesOfElementaryFunctions) {
  checkDerivative([](Value x) { return exp(x); }, [](double x) { return std::exp(x); }, 0);
  checkDerivative([](Value x) { return exp2(x); }, [](double x) { return std::exp2(x) * std::numbers::ln2; }, 0);
  checkDerivative([](Value x) { return log(x); }, [](double x) { return x > 0 ? 1 / x : inf; }, 0);
  checkDerivative([](Value x) { return log2(x); }, [](double x) { return x > 0 ? std::numbers::log2e / x : inf; }, 0);
  checkDerivative([](Value x) { return sqrt(x); }, [](double x) { return 0.5 / std::sqrt(x); }, 0);
  checkDerivative([](Value x) { return tanh(x); }, [](double x) { return 1 / std::pow(std::cosh(x), 2); }, 1);
  checkDerivative([](Value x) { return 1 / x; }, [](double x) { return -1 / (x * x); }, 0);
}

TEST_P(Functions, DerivativesThroughOverflow) {
  auto sigmoidSlope = [](double x) { return logistic(x) * logistic(-x); };
  checkDerivative([](Value x) { return 1 / (1 + exp(-x)); }, sigmoidSlope, 1);
  checkDerivative([](Value x) { return x / (1 + exp(-x)); }, siluSlope, 1);
  checkDerivative([](Value x) { return log(1 + exp(x)); }, logistic, 1);
  checkDerivative([](Value x) { return 30 * tanh(x / 30); },
                  [](double x) { return 1 / std::pow(std::cosh(x / 30), 2); }, 1);
  checkDerivative([](Value x) { return exp(-(x * x)); },
                  [](double x) { return std::isinf(x) ? 0 : -2 * x * std::exp(-x * x); }, 1);
  checkDerivative([](Value x) { return 1 / (1 + x * x); },
                  [](double x) { return std::isinf(x) ? 0 : -2 * x / std::pow(1 + x * x, 2); }, 1);
  checkDerivative([](Value x) { return min(exp(x), 5.0); }, [](double x) { return std::exp(x) < 5 ? std::exp(x) : 0; },
                  1);
  checkDerivative([](Value x) { return tanh(exp(x)); },
                  [](double x) { return x > 20 ? 0 : std::exp(x) / std::pow(std::cosh(std::exp(x)), 2); }, 1);
}

TEST_P(Functions, DerivativesOfWhatASelectHides) {
  auto where = [](Value condition, Value value) { return select(condition, value, 0.0); };
  checkDerivative([=](Value x) { return where(x > 0, log(x)); }, [](double x) { return x > 0 ? 1 / x : 0; }, 0);
  checkDerivative([=](Value x) { return where(x > 0, sqrt(x)); },
                  [](double x) { return x > 0 ? 0.5 / std::sqrt(x) : 0; }, 0);
  checkDerivative([=](Value x) { return where(x != 0, 1 / x); }, [](double x) { return x != 0 ? -1 / (x * x) : 0; }, 0);
  checkDerivative([=](Value x) { return where(x > 0, tanh(sqrt(x))); },
                  [](double x) { return x > 0 ? 0.5 / std::sqrt(x) / std::pow(std::cosh(std::sqrt(x)), 2) : 0; }, 1);
  checkDerivative([=](Value x) { return where(x > 0, pow(x, -1.5)); },
                  [](double x) { return x > 0 ? -1.5 * std::pow(x, -2.5) : 0; }, 0);
}

TEST_P(Functions, DerivativesAtAnInfiniteSlopeThatAFactorCancels) {
  checkDerivative([](Value x) { return sqrt(x) * x; }, [](double x) { return 1.5 * std::sqrt(x); }, 1e-12);
  checkDerivative([](Value x) { return pow(x, 0.5) * x; }, [](double x) { return 1.5 * std::sqrt(x); }, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Lanes, Functions, ::testing::ValuesIn(testedLanes()));

} // namespace
} // namespace tegula::language
