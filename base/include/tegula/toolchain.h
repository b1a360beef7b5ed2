// SPDX-License-Identifier: MIT
// The programs that make artifacts: their paths, and how to tell one build from another.
#pragma once

#include "tegula/artifact.h"

#include <string>

namespace tegula {

/// Returns the path of ptxas: $TEGULA_PTXAS, or ptxas in $CUDA_HOME/bin, $PATH or /usr/local/cuda/bin. Empty if there
/// is none, and also if $TEGULA_PTXAS is set but empty.
std::string findAssembler();

/// Returns the file of the program or shared library that `address` lies in.
std::string fileOf(const void *address);

/// Returns the build id of an ELF file, in hex, as the linker noted it (--build-id). Empty if it cannot be read or has
/// none.
std::string buildId(const std::string &path);

/// Returns the size and the time of change of a file, which tell its versions apart without reading it. Empty if there
/// is no such file.
std::string fileStamp(const std::string &path);

/// Returns the Compiler::identity of a compiler with this build id; empty if the build id is empty.
std::string compilerIdentity(const std::string &build, const Target &target);

} // namespace tegula
