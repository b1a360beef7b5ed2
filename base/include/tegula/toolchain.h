// SPDX-License-Identifier: MIT
// The programs that make artifacts, by path and by what tells one build from another.
#pragma once

#include "tegula/artifact.h"

#include <string>

namespace tegula {

/// The assembler for GPUs: $TEGULA_PTXAS (none, if that is set but empty), or ptxas in $CUDA_HOME/bin, $PATH or
/// /usr/local/cuda/bin. Empty if there is none.
std::string findAssembler();

/// The file of the program or shared library that `address` lies in.
std::string fileOf(const void *address);

/// The build of an ELF file, in hex, as the linker noted it (--build-id). Empty if it cannot be read or has none.
std::string buildId(const std::string &path);

/// Tells versions of any file apart, by size and time of change, without reading it. Empty if there is no such file.
std::string fileStamp(const std::string &path);

/// Compiler::identity of a compiler with this build id; empty if that is.
std::string compilerIdentity(const std::string &build, const Target &target);

} // namespace tegula
