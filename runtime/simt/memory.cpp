// SPDX-License-Identifier: MIT
#include "simt/memory.h"

#include "argument_words.h"
#include "tegula/simt_ops.h"
#include "tensor_map.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace tegula::simt {
namespace {

/// Number of bits of the addresses of one tensor. The tensor's first element is in the middle of its 2^44 addresses.
/// Low bits are equal to those of the host's address, because the kernel tests them for alignment.
constexpr int kTensorBits = 44;
constexpr int64_t kMiddle = int64_t{1} << (kTensorBits - 1);

int64_t baseAddress(size_t tensor, uint32_t alignment) {
  return static_cast<int64_t>(tensor + 1) << kTensorBits | kMiddle | alignment;
}

} // namespace

TensorMemory::TensorMemory(const Parameter &parameter, const TensorRef &tensor)
    : name_(parameter.name), written_(parameter.written), host_(static_cast<std::byte *>(tensor.data)),
      extent_(*byteExtent(tensor)), elementBytes_(static_cast<int64_t>(sizeOf(tensor.dtype))) {
  for (int i = 0; i < tensor.rank; ++i)
    if (tensor.shape[i] > 1 && tensor.strides[i] != 0)
      dimensions_.push_back({std::abs(tensor.strides[i]) * elementBytes_, tensor.shape[i]});
  std::sort(dimensions_.begin(), dimensions_.end(), [](auto &a, auto &b) { return a.stride > b.stride; });
  int64_t covered = elementBytes_, elements = 1;
  for (auto d = dimensions_.rbegin(); d != dimensions_.rend(); ++d) {
    if (d->stride < covered)
      dense_ = true;
    covered = d->stride * (d->size - 1) + covered;
    elements *= d->size;
  }
  dense_ = dense_ || covered == elements * elementBytes_;
}

uint32_t TensorMemory::alignment() const { return reinterpret_cast<uintptr_t>(host_) % 4096; }

bool TensorMemory::contains(int64_t offset, int64_t bytes) const {
  if (offset < extent_.lowest || offset + bytes > extent_.highest)
    return false;
  if (dense_)
    return true;
  for (int64_t byte = offset; byte < offset + bytes; byte += elementBytes_)
    if (!isElement(byte - extent_.lowest))
      return false;
  return isElement(offset + bytes - 1 - extent_.lowest);
}

bool TensorMemory::isElement(int64_t offset) const {
  for (const Dimension &d : dimensions_)
    offset -= std::min(offset / d.stride, d.size - 1) * d.stride;
  return offset < elementBytes_;
}

int64_t Memory::address(size_t tensor) const { return baseAddress(tensor, tensors_[tensor].alignment()); }

Memory::Memory(std::span<const Parameter> parameters, std::span<const Argument> arguments,
               std::span<const TensorMap> maps) {
  for (size_t i = 0; i < arguments.size(); ++i)
    addParameter(parameters[i], arguments[i]);
  if (!maps.empty())
    addMaps(arguments, maps);
}

void Memory::addParameter(const Parameter &parameter, const Argument &argument) {
  if (argument.kind() == Parameter::Kind::scalar) {
    words_.push_back(scalarWord(argument));
    return;
  }
  const TensorRef &tensor = argument.tensor();
  tensors_.emplace_back(parameter, tensor);
  words_.push_back(address(tensors_.size() - 1));
  int64_t layout[kMaxLayoutWords];
  words_.insert(words_.end(), layout, writeLayout(layout, tensor));
}

void Memory::addMaps(std::span<const Argument> arguments, std::span<const TensorMap> maps) {
  constexpr size_t mapWords = kSimtTensorMapBytes / sizeof(int64_t);
  words_.insert(words_.begin(), maps.size() * mapWords, 0);
  int64_t legal = 0;
  for (size_t i = 0; i < maps.size(); ++i) {
    const auto before = arguments.first(static_cast<size_t>(maps[i].parameter));
    const auto number = std::count_if(before.begin(), before.end(), [](const Argument &argument) {
      return argument.kind() == Parameter::Kind::tensor;
    });
    const TensorRef &tensor = arguments[maps[i].parameter].tensor();
    const std::optional<MappedTensor> mapped = mapTensor(maps[i], tensor);
    if (!mapped)
      continue;
    SimtTensorMap map{.address = static_cast<uint64_t>(address(static_cast<size_t>(number))),
                      .rank = mapped->rank,
                      .element_bytes = static_cast<uint32_t>(sizeOf(maps[i].dtype)),
                      .swizzle = static_cast<uint32_t>(maps[i].swizzle)};
    std::copy(mapped->box.begin(), mapped->box.end(), map.box);
    std::copy(mapped->sizes.begin(), mapped->sizes.end(), map.size);
    std::copy_n(mapped->strides.begin(), std::size(map.stride), map.stride);
    std::memcpy(&words_[i * mapWords], &map, sizeof map);
    legal |= int64_t{1} << i;
  }
  words_.push_back(legal);
}

std::optional<Place> Memory::find(uint64_t address) const {
  const uint64_t number = address >> kTensorBits;
  if (number < 1 || number > tensors_.size())
    return std::nullopt;
  const auto tensor = static_cast<uint32_t>(number - 1);
  return Place{tensor, static_cast<int64_t>(address) - this->address(tensor)};
}

} // namespace tegula::simt
