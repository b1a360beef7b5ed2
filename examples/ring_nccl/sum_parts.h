// SPDX-License-Identifier: MIT
// A kernel that adds up partial gradients.
#pragma once

#include <cstdint>
#include <string>

/// Rows that a program instance sums.
constexpr int64_t kSumRows = 64;

/// Returns the text of a program for tegula_kernel_create, which runs on the cpu and on GPUs:
///
///   parts bf16 [parts, batch, heads, rows, columns]
///   sum   bf16 [batch, heads, rows, columns]          written; summed in f32 and rounded once
///
/// Its grid is ceil(rows / kSumRows), heads, batch.
std::string sumPartsProgram(int64_t columns);
