// SPDX-License-Identifier: MIT
#pragma once

namespace tegula::testing {

/// CUDA C++ of attention as plain loops, with one thread for each query row or key. It needs the macros ELEMENT_f32,
/// ELEMENT_f16 or ELEMENT_bf16, HEAD_DIM and VALUE_DIM. Functions named exact_... compute in 64 bits. Functions named
/// plain_... compute in f32, and round S, P, dP, dS and all results to the element type, as workload/oracle/plain.cpp
/// does.
extern const char *const kReferenceSource;

} // namespace tegula::testing
