// SPDX-License-Identifier: MIT
// Tests of the cuda device on the stand-in driver.
#pragma once

#include "../fixture.h"
#include "cuda_abi.h"
#include "stand_in.h"
#include "tegula/cuda_device.h"

#include <gtest/gtest.h>

namespace tegula::test {

/// Sets an environment variable until it goes out of scope.
class Variable {
public:
  Variable(const char *name, const char *value);
  ~Variable();
  Variable(const Variable &) = delete;
  Variable &operator=(const Variable &) = delete;

private:
  const char *name_;
};

/// An artifact of PTX, for blocks of 128 threads.
Artifact cudaArtifact(std::string kernel, std::vector<Parameter> parameters = {});

/// A cubin, as far as anybody but the driver can see.
std::string cubin();

/// Each test begins with one working GPU and ends with everything freed and the host's contexts as they were.
class Cuda : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Makes a device or stops the test.
  static std::shared_ptr<Device> makeCuda(int ordinal = 0);

private:
  Variable libcuda_{"TEGULA_LIBCUDA", TEGULA_STAND_IN_CUDA};
  Variable libnvml_{"TEGULA_LIBNVML", TEGULA_STAND_IN_NVML};
};

} // namespace tegula::test
