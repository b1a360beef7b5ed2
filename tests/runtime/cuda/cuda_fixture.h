// SPDX-License-Identifier: MIT
// Tests of the cuda device on the stand-in driver.
#pragma once

#include "../fixture.h"
#include "cuda_abi.h"
#include "stand_in.h"
#include "tegula/cuda_device.h"

#include <gtest/gtest.h>

namespace tegula::test {

/// An environment variable that is set until this object goes out of scope.
class Variable {
public:
  Variable(const char *name, const char *value);
  ~Variable();
  Variable(const Variable &) = delete;
  Variable &operator=(const Variable &) = delete;

private:
  const char *name_;
};

/// Returns an artifact of PTX, for thread blocks of 128 threads.
Artifact cudaArtifact(std::string kernel, std::vector<Parameter> parameters = {});

/// Returns bytes that only the driver could tell from a cubin.
std::string cubin();

/// A test that begins with one working GPU, and ends with everything freed and the host's contexts unchanged.
class Cuda : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Makes a device, or ends the process with a message.
  static std::shared_ptr<Device> makeCuda(int ordinal = 0);

private:
  Variable libcuda_{"TEGULA_LIBCUDA", TEGULA_STAND_IN_CUDA};
  Variable libnvml_{"TEGULA_LIBNVML", TEGULA_STAND_IN_NVML};
};

} // namespace tegula::test
