// SPDX-License-Identifier: MIT
#include "callers/arrays.h"

#include "harness/machine.h"
#include "support/test_device.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tegula::testing {
namespace {

int64_t countOf(const std::vector<int64_t> &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

MirroredMemory memoryFor(DType dtype, const std::vector<int64_t> &shape) {
  return {(size_t(countOf(shape)) * sizeOf(dtype) + 3) / 4, ~0u}; // NaN of any type, and -1.
}

const TensorRef &tensorOf(const std::vector<NamedArgument> &arguments, std::string_view name) {
  return std::ranges::find(arguments, name, &NamedArgument::name)->value.tensor();
}

} // namespace

Array::Array(DType dtype, std::vector<int64_t> shape, uint64_t seed) : Array(dtype, std::move(shape)) {
  const std::vector<float> numbers = oracle::normalNumbers(countOf(shape_), dtype, seed);
  tools::encode(numbers.data(), numbers.size(), dtype, memory_.host());
}

Array::Array(DType dtype, std::vector<int64_t> shape)
    : dtype_(dtype), shape_(std::move(shape)), memory_(memoryFor(dtype, shape_)) {}

Array::Array(std::vector<int64_t> shape, const std::vector<int32_t> &numbers) : Array(i32, std::move(shape)) {
  std::memcpy(memory_.host(), numbers.data(), numbers.size() * sizeof(int32_t));
}

TensorRef Array::as(const std::vector<int64_t> &shape) const {
  return valueOf(contiguous(memory_.device(), dtype_, shape));
}

int64_t Array::place(std::initializer_list<int64_t> index) const {
  int64_t place = 0;
  for (size_t axis = 0; axis < shape_.size(); ++axis)
    place = place * shape_[axis] + index.begin()[axis];
  return place;
}

double Array::read(int64_t place) const {
  double number;
  tools::decode(memory_.host() + place * int64_t(sizeOf(dtype_)), 1, dtype_, &number);
  return number;
}

void Array::write(int64_t place, double number) {
  tools::encode(&number, 1, dtype_, memory_.host() + place * int64_t(sizeOf(dtype_)));
}

TensorRef fixed(TensorRef x, int axis, int64_t index) {
  x = part(x, axis, index, 1);
  std::copy(x.shape + axis + 1, x.shape + x.rank, x.shape + axis);
  std::copy(x.strides + axis + 1, x.strides + x.rank, x.strides + axis);
  --x.rank;
  return x;
}

TensorRef part(TensorRef x, int axis, int64_t first, int64_t count) {
  x.data = static_cast<std::byte *>(x.data) + first * x.strides[axis] * int64_t(sizeOf(x.dtype));
  x.shape[axis] = count;
  return x;
}

TensorRef withAxis(TensorRef x, int axis) {
  std::copy_backward(x.shape + axis, x.shape + x.rank, x.shape + x.rank + 1);
  std::copy_backward(x.strides + axis, x.strides + x.rank, x.strides + x.rank + 1);
  x.shape[axis] = 1;
  x.strides[axis] = 0;
  ++x.rank;
  return x;
}

TensorRef swapped(TensorRef x, int first, int second) {
  std::swap(x.shape[first], x.shape[second]);
  std::swap(x.strides[first], x.strides[second]);
  return x;
}

TensorRef repeated(TensorRef x, int64_t count) {
  x.shape[0] = count;
  x.strides[0] = 0;
  return x;
}

void run(const Expected<PlanSpec> &spec, const std::vector<NamedArgument> &arguments) {
  require(spec.status());
  const Plan plan = valueOf(Plan::make(*spec, *machine().cache));
  Sizes sizes;
  if (plan.name() == "decode") {
    const TensorRef &q = tensorOf(arguments, "q");
    sizes = {{"batch", q.shape[0]},
             {"heads", q.shape[1]},
             {"seqlen_q", q.shape[2]},
             {"kv_heads", tensorOf(arguments, "k").shape[1]}};
  }
  ScratchMemory workspace(valueOf(plan.workspaceBytes(sizes)));
  std::vector<Argument> inOrder;
  for (const Parameter &parameter : plan.arguments())
    inOrder.push_back(std::ranges::find(arguments, parameter.name, &NamedArgument::name)->value);
  require(plan.launch(inOrder, workspace.get()));
  require(machine().device->synchronize());
}

} // namespace tegula::testing
