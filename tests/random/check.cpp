// SPDX-License-Identifier: MIT
#include "random/check.h"

#include "compiler/client/InProcessCompiler.h"
#include "random/build.h"
#include "random/interpret.h"
#include "support/test_device.h"
#include "tegula/cuda_device.h"
#include "tegula/device.h"
#include "tegula/kernel.h"
#include "tegula/record.h"
#include "tegula/simt_device.h"
#include "tegula/tensor.h"

#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

namespace tegula::random_programs {

const std::vector<std::string> kTargets = {"cpu", "sm_80", "sm_90a", "ptx"};

Counts &Counts::operator+=(const Counts &other) {
  programs += other.programs;
  launches += other.launches;
  refusals += other.refusals;
  elements += other.elements;
  vague += other.vague;
  return *this;
}

namespace {

/// Returns the bits of a number that the type represents.
uint32_t toBits(DType dtype, double x) {
  if (dtype == i32 || dtype == DType::i1)
    return static_cast<uint32_t>(static_cast<int32_t>(x));
  const auto number = static_cast<float>(x);
  uint32_t bits;
  std::memcpy(&bits, &number, 4);
  if (dtype == bf16)
    return bits >> 16;
  if (dtype == f32 || x == 0)
    return dtype == f32 ? bits : 0;
  const int exponent = std::ilogb(x); // f16: only normal numbers are stored.
  const auto fraction = static_cast<uint32_t>((std::ldexp(std::abs(x), -exponent) - 1) * 1024);
  return (x < 0 ? 0x8000u : 0u) | static_cast<uint32_t>(exponent + 15) << 10 | fraction;
}

double fromBits(DType dtype, uint32_t bits) {
  if (dtype == i32)
    return static_cast<int32_t>(bits);
  if (dtype == f16) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                        : exponent == 0 ? std::ldexp(fraction, -24)
                                        : std::ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -size : size;
  }
  bits = dtype == bf16 ? bits << 16 : bits;
  float number;
  std::memcpy(&number, &bits, 4);
  return number;
}

/// A tensor in the memory of the host, with a margin on both sides that nothing may write to.
class Memory {
public:
  explicit Memory(const Tensor &tensor) : tensor_(tensor), width_(sizeOf(tensor.dtype)) {
    const std::vector<double> elements = initialElements(tensor);
    bytes_ = elements.size() * width_;
    storage_.assign(bytes_ + 3 * kMargin, kPoison);
    for (size_t i = 0; i < elements.size(); ++i) {
      const uint32_t bits = toBits(tensor.dtype, elements[i]);
      std::memcpy(data() + i * width_, &bits, width_);
    }
    before_ = storage_;
  }

  TensorRef ref() { return *contiguous(data(), inMemory(tensor_.dtype), tensor_.shape); }
  /// Returns the tensor in a device's own memory, with its margins.
  Expected<TensorRef> refOn(Device &device) {
    Expected<Buffer> buffer = device.allocate(static_cast<int64_t>(bytes_ + 2 * kMargin));
    if (!buffer)
      return buffer.status();
    device_ = std::move(*buffer);
    if (Status status = device.copyToDevice(device_.data(), data() - kMargin, device_.bytes()); !status.ok())
      return status;
    return contiguous(static_cast<unsigned char *>(device_.data()) + kMargin, inMemory(tensor_.dtype), tensor_.shape);
  }
  /// Copies what a device has written.
  Status readBack(Device &device) { return device.copyToHost(data() - kMargin, device_.data(), device_.bytes()); }
  size_t count() const { return bytes_ / width_; }
  double element(size_t i) {
    uint32_t bits = 0;
    std::memcpy(&bits, data() + i * width_, width_);
    return fromBits(tensor_.dtype, bits);
  }
  /// Returns whether nothing outside the tensor has changed, nor inside if the program only reads it.
  bool isIntact() {
    const size_t begin = size_t(data() - storage_.data());
    for (size_t i = 0; i < storage_.size(); ++i)
      if (storage_[i] != before_[i] && !(tensor_.written && i >= begin && i < begin + bytes_))
        return false;
    return true;
  }

private:
  static constexpr size_t kMargin = 256;
  static constexpr unsigned char kPoison = 0xff; // NaN in each float type.

  unsigned char *data() {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data()) + kMargin;
    return reinterpret_cast<unsigned char *>(address / kMargin * kMargin + kMargin);
  }

  const Tensor &tensor_;
  size_t width_, bytes_ = 0;
  std::vector<unsigned char> storage_, before_;
  Buffer device_;
};

/// The target sm_90a without a schedule: the compiler chooses, and its choice must not refuse a program.
constexpr std::string_view kUnscheduled = "unscheduled";

/// Returns an empty text if the refusal names a field of the schedule, or the resource that is too small.
std::string refusal(const std::string &target, const Status &status, Counts &counts) {
  for (std::string_view reason :
       {"roles=load", "roles is load", "instances_per_sm", "bytes of shared memory", "Insufficient registers"})
    if (status.message().find(reason) != std::string::npos) {
      ++counts.refusals;
      return "";
    }
  return "refused " + target + ": " + status.message();
}

/// A target with its device.
class Machine {
public:
  explicit Machine(const std::string &target) : target_(target) {
    if (target == "cpu")
      device_ = *cpuDevice({.threads = 1});
    else if (target == "cuda")
      device_ = testing::valueOf(cudaDevice());
    else
      device_ = simt_ = executor(target == kUnscheduled ? "sm_90a" : target);
  }

  /// Returns what is wrong, or an empty text.
  std::string check(const Case &program, const std::string &text, const std::vector<std::vector<Interval>> &expected,
                    Counts &counts) {
    CompileRequest request{text, {}, device_->target(), ""};
    prepare(program, request);
    Expected<Artifact> artifact = compiler_->compile(request);
    if (!artifact)
      return target_ == kUnscheduled ? "refused without a schedule: " + artifact.status().message()
                                     : refusal(target_, artifact.status(), counts);
    Expected<std::shared_ptr<Kernel>> kernel = device_->load(*artifact);
    if (!kernel)
      return "load " + target_ + ": " + kernel.status().message();
    std::vector<Memory> memory(program.tensors.begin(), program.tensors.end());
    if (Status status = launch(**kernel, program, memory); !status.ok())
      return "launch " + target_ + ": " + status.message();
    ++counts.launches;
    return compare(program, memory, expected, counts);
  }

private:
  Status launch(const Kernel &kernel, const Case &program, std::vector<Memory> &memory) const {
    const bool hasOwnMemory = target_ == "cuda";
    std::vector<Argument> arguments;
    for (Memory &tensor : memory) {
      Expected<TensorRef> ref = hasOwnMemory ? tensor.refOn(*device_) : tensor.ref();
      if (!ref)
        return ref.status();
      arguments.push_back(*ref);
    }
    TEGULA_RETURN_IF_ERROR(kernel.launch(Grid{program.instances, 1, 1}, arguments));
    TEGULA_RETURN_IF_ERROR(device_->synchronize());
    for (Memory &tensor : memory)
      if (hasOwnMemory)
        TEGULA_RETURN_IF_ERROR(tensor.readBack(*device_));
    return {};
  }

  static std::shared_ptr<SimtDevice> executor(const std::string &arch) {
    SimtOptions options;
    options.cpu.threads = 1;
    options.arch = arch;
    return *simtDevice(options);
  }

  void prepare(const Case &program, CompileRequest &request) {
    if (target_ == "cpu") {
      const std::string version = "tile.version = 1 : i64";
      const char *lanes = program.interleaving % 2 ? ", tile.lanes = 16 : i64" : ", tile.lanes = 8 : i64";
      request.program.replace(request.program.find(version), version.size(), version + lanes);
      return;
    }
    if (target_ != kUnscheduled)
      request.schedule = target_ == "sm_80" ? program.sm80 : program.sm90;
    if (simt_ == nullptr)
      return;
    simt_->setSchedule({.scheduler = static_cast<SimtScheduler>(program.interleaving % kSimtSchedulers),
                        .seed = program.interleaving + 1});
  }

  std::string compare(const Case &program, std::vector<Memory> &memory,
                      const std::vector<std::vector<Interval>> &expected, Counts &counts) const {
    for (size_t t = 0; t < memory.size(); ++t) {
      if (!memory[t].isIntact())
        return "overrun " + target_ + ": memory around t" + std::to_string(t) + ", or an input, has changed";
      for (size_t i = 0; program.tensors[t].written && i < memory[t].count(); ++i) {
        const Interval bound = expected[t][i];
        ++counts.elements;
        if (!std::isfinite(bound.lo) || !std::isfinite(bound.hi))
          ++counts.vague;
        else if (const double x = memory[t].element(i); !bound.contains(x))
          return difference(t, i, x, bound);
      }
    }
    return "";
  }

  std::string difference(size_t tensor, size_t element, double x, Interval bound) const {
    std::ostringstream text;
    text.precision(9);
    text << "wrong " << target_ << ": element " << element << " of t" << tensor << " is " << x << ", must be from "
         << bound.lo << " to " << bound.hi;
    return text.str();
  }

  std::string target_;
  std::unique_ptr<Compiler> compiler_ = makeInProcessCompiler();
  std::shared_ptr<Device> device_;
  std::shared_ptr<SimtDevice> simt_;
};

/// Compiles a program to PTX, which no machine here runs. Returns what is wrong, or an empty text.
std::string checkPtx(const std::string &text, const std::string &arch, const Schedule &schedule, Counts &counts) {
  static const std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  Expected<Artifact> artifact = compiler->compile({text, schedule, {"cuda", arch, ""}, "ptx"});
  return artifact ? "" : refusal("ptx " + arch, artifact.status(), counts);
}

Machine &machine(const std::string &target) {
  static std::map<std::string, Machine> machines;
  return machines.try_emplace(target, target).first->second;
}

} // namespace

std::string check(const Case &program, const std::vector<std::string> &targets, Counts &counts) {
  ++counts.programs;
  Expected<Program> recorded = build(program);
  if (!recorded)
    return "record: " + recorded.status().message();
  const std::vector<std::vector<Interval>> expected = interpret(program);
  for (const std::string &target : targets) {
    std::string wrong = target == "ptx" ? checkPtx(recorded->text, "sm_80", program.sm80, counts) +
                                              checkPtx(recorded->text, "sm_90a", program.sm90, counts)
                                        : machine(target).check(program, recorded->text, expected, counts);
    if (!wrong.empty())
      return wrong;
  }
  return "";
}

} // namespace tegula::random_programs
