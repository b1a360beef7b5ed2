// SPDX-License-Identifier: MIT
#include "fixture.h"

#include <fstream>
#include <iostream>
#include <iterator>

namespace tegula::test {
namespace {

std::string readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string describe(const Status &status) { return std::string(toString(status.code())) + ": " + status.message(); }

template <class T> T orExit(Expected<T> value) {
  if (value.ok())
    return std::move(*value);
  std::cerr << value.status().message() << '\n';
  std::exit(1);
}

} // namespace

std::string kernelsObject() { return readFile(TEGULA_TEST_KERNELS); }
std::string otherKernelsObject() { return readFile(TEGULA_TEST_OTHER_KERNELS); }
std::string unresolvedKernelsObject() { return readFile(TEGULA_TEST_UNRESOLVED_KERNELS); }

Parameter tensor(std::string name, DType dtype, int rank) {
  return {.name = std::move(name), .kind = Parameter::Kind::tensor, .dtype = dtype, .rank = rank, .written = false};
}

Parameter written(std::string name, DType dtype, int rank) {
  Parameter parameter = tensor(std::move(name), dtype, rank);
  parameter.written = true;
  return parameter;
}

Parameter scalar(std::string name, DType dtype) {
  return {.name = std::move(name), .kind = Parameter::Kind::scalar, .dtype = dtype, .rank = 0, .written = false};
}

Artifact artifact(std::string kernel, std::vector<Parameter> parameters, int64_t scratchBytes) {
  Artifact artifact;
  artifact.target = "cpu";
  artifact.kernel = std::move(kernel);
  artifact.binary = kernelsObject();
  artifact.parameters = std::move(parameters);
  artifact.scratch_bytes = scratchBytes;
  return artifact;
}

std::shared_ptr<Device> makeDevice(int threads) { return orExit(cpuDevice({.threads = threads})); }

std::shared_ptr<Kernel> load(const std::shared_ptr<Device> &device, const Artifact &artifact) {
  return orExit(device->load(artifact));
}

testing::AssertionResult isOk(const Status &status) {
  return status.ok() ? testing::AssertionSuccess() : testing::AssertionFailure() << describe(status);
}

testing::AssertionResult isError(const Status &status, ErrorCode code, const std::string &message) {
  if (status.code() == code && status.message() == message)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "got      " << describe(status) << "\nexpected "
                                     << describe(Status(code, message));
}

} // namespace tegula::test
