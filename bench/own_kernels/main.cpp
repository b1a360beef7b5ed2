// SPDX-License-Identifier: MIT
// tegula-own-kernels: writes the programs that tools/bench-own-kernels measures into a folder, as NAME.mlir.
#include "bench/own_kernels/programs.h"

#include <cstdio>
#include <fstream>
#include <string>

using namespace tegula;

namespace {

/// Writes one program. Prints an error and returns false if that fails.
bool write(const std::string &folder, const char *name, const Expected<Program> &program) {
  if (!program) {
    std::fprintf(stderr, "tegula-own-kernels: %s: %s\n", name, program.status().message().c_str());
    return false;
  }
  const std::string file = folder + "/" + name + ".mlir";
  std::ofstream stream(file);
  stream << program->text;
  if (stream.flush())
    return true;
  std::fprintf(stderr, "tegula-own-kernels: %s cannot be written\n", file.c_str());
  return false;
}

bool writeAll(const std::string &folder) {
  return write(folder, "row_softmax", bench::recordRowSoftmax(bf16, 1, 4096)) &&
         write(folder, "layer_norm", bench::recordLayerNorm(bf16, 1, 4096)) &&
         write(folder, "sink_attention", bench::recordSinkAttention(bf16, 128, 128, 128)) &&
         write(folder, "sigmoid_forward", bench::recordSigmoidForward(bf16, 128, 128, 128)) &&
         write(folder, "sigmoid_backward", bench::recordSigmoidBackward(bf16, 64, 128, 128)) &&
         write(folder, "sigmoid_finish", bench::recordSigmoidFinish(bf16, 64, 128));
}

} // namespace

int main(int count, char **words) {
  if (count == 2)
    return writeAll(words[1]) ? 0 : 1;
  std::fprintf(stderr, "Usage: tegula-own-kernels FOLDER\n");
  return 2;
}
