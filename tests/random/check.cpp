// SPDX-License-Identifier: MIT
#include "random/check.h"

#include "compiler/client/InProcessCompiler.h"
#include "oracle/convert.h"
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

/// Writes a number that the type represents to memory.
void write(DType dtype, double x, void *to) {
  const auto number = static_cast<float>(x);
  const auto whole = static_cast<int32_t>(x); // Its low bytes come first.
  if (isFloat(dtype))
    oracle::encode(&number, 1, dtype, to);
  else
    std::memcpy(to, &whole, sizeOf(dtype));
}

double read(DType dtype, const void *from) {
  float number = 0;
  int32_t whole = 0;
  if (isFloat(dtype))
    oracle::decode(from, 1, dtype, &number);
  else
    std::memcpy(&whole, from, sizeOf(dtype));
  return isFloat(dtype) ? double(number) : whole;
}

/// A tensor in the memory of the host, with a margin on both sides that nothing may write to.
class Memory {
public:
  explicit Memory(const Tensor &tensor) : tensor_(tensor), width_(sizeOf(tensor.dtype)) {
    const std::vector<double> elements = initialElements(tensor);
    bytes_ = elements.size() * width_;
    storage_.assign(bytes_ + 3 * kMargin, kPoison);
    for (size_t i = 0; i < elements.size(); ++i)
      write(tensor.dtype, elements[i], data() + i * width_);
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
  double element(size_t i) { return read(tensor_.dtype, data() + i * width_); }
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

/// Significant bits of the sums of e4m3 products that warpgroups of a GPU compute. The executor and the cpu add in f32.
constexpr int kTensorCoreSumBits = 14;

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
  std::map<int, std::vector<std::vector<Interval>>> expected; // For each number of bits in sums of e4m3 products.
  for (const std::string &target : targets) {
    const int bits = target == "cuda" ? kTensorCoreSumBits : formatOf(f32).significantBits;
    if (!expected.contains(bits))
      expected[bits] = interpret(program, bits);
    std::string wrong = target == "ptx" ? checkPtx(recorded->text, "sm_80", program.sm80, counts) +
                                              checkPtx(recorded->text, "sm_90a", program.sm90, counts)
                                        : machine(target).check(program, recorded->text, expected[bits], counts);
    if (!wrong.empty())
      return wrong;
  }
  return "";
}

} // namespace tegula::random_programs
