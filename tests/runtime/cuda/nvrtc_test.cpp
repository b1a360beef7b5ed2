// SPDX-License-Identifier: MIT
#include "cuda_fixture.h"
#include "tegula/nvrtc.h"

using namespace tegula;
using namespace tegula::test;

namespace {

class NvrtcTest : public testing::Test {
  Variable libnvrtc_{"TEGULA_LIBNVRTC", TEGULA_STAND_IN_NVRTC};
};

TEST_F(NvrtcTest, MakesCubinsAndPtx) {
  for (int round = 0; round < 2; ++round) { // The second round sees whether the first program was freed.
    EXPECT_EQ(*compileCuda("f", "sm_90a"), "cubin: 1 alive; --gpu-architecture=sm_90a");
    EXPECT_EQ(*compileCuda("f", "compute_80"), "ptx: 1 alive; --gpu-architecture=compute_80");
  }
}

TEST_F(NvrtcTest, PassesOptionsOn) {
  const std::vector<std::string> options{"--use_fast_math", "-DX=1"};
  EXPECT_EQ(*compileCuda("f", "sm_80", options), "cubin: 1 alive; --gpu-architecture=sm_80 --use_fast_math -DX=1");
}

TEST_F(NvrtcTest, ReportsTheLog) {
  EXPECT_ERROR(compileCuda("wrong", "sm_80").status(), ErrorCode::compile_failed,
               "nvrtcCompileProgram failed: NVRTC_ERROR_COMPILATION\nsource.cu(1): error: this is wrong\n");
  EXPECT_ERROR(compileCuda("unmakeable", "sm_80").status(), ErrorCode::compile_failed,
               "nvrtcCreateProgram failed: NVRTC_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(*compileCuda("f", "sm_80"), "cubin: 1 alive; --gpu-architecture=sm_80");
}

TEST_F(NvrtcTest, RefusesOtherArchitectures) {
  EXPECT_ERROR(compileCuda("f", "gfx942").status(), ErrorCode::invalid_argument,
               "arch is 'gfx942', but must be like sm_90a or compute_90");
}

TEST(NvrtcMissing, IsNamed) {
  const Variable libnvrtc("TEGULA_LIBNVRTC", "/nowhere/libnvrtc.so");
  EXPECT_ERROR(compileCuda("f", "sm_80").status(), ErrorCode::unsupported,
               "no usable NVRTC: /nowhere/libnvrtc.so: cannot open shared object file: No such file or directory; "
               "needed is NVRTC of CUDA 12 or 13");
}

} // namespace
