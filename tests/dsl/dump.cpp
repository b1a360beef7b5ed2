// SPDX-License-Identifier: MIT
#include "programs.h"

#include <cstdio>

int main() {
  for (const GoldenProgram &golden : goldenPrograms()) {
    tegula::Expected<tegula::Program> program = golden.record();
    std::printf("// %s\n%s\n", golden.name, program ? program->text.c_str() : program.status().message().c_str());
  }
}
