// SPDX-License-Identifier: MIT
#include "cuda_fixture.h"

#include <cstdlib>
#include <elf.h>
#include <iostream>

namespace tegula::test {

Variable::Variable(const char *name, const char *value) : name_(name) { setenv(name, value, 1); }
Variable::~Variable() { unsetenv(name_); }

Artifact cudaArtifact(std::string kernel, std::vector<Parameter> parameters) {
  Artifact artifact;
  artifact.target = "cuda";
  artifact.kernel = std::move(kernel);
  artifact.binary = ".version 7.0\n.target sm_80\n";
  artifact.parameters = std::move(parameters);
  artifact.threads = 128;
  return artifact;
}

std::string cubin() {
  Elf64_Ehdr header{};
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_CUDA;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_phoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 1;
  header.e_shoff = sizeof header + sizeof(Elf64_Phdr);
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_filesz = sizeof header;
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = header.e_shoff + sizeof section;
  section.sh_size = 8;
  const auto bytes = [](const auto &part) { return std::string(reinterpret_cast<const char *>(&part), sizeof part); };
  return bytes(header) + bytes(segment) + bytes(section) + std::string(8, '\x7f');
}

void Cuda::SetUp() { stand_in::reset(); }

void Cuda::TearDown() {
  EXPECT_EQ(stand_in::alive(), stand_in::Alive());
  EXPECT_EQ(stand_in::currentGpus(), std::vector<int>());
}

std::shared_ptr<Device> Cuda::makeCuda(int ordinal) {
  const Expected<std::shared_ptr<Device>> device = cudaDevice({.ordinal = ordinal});
  if (device.ok())
    return *device;
  std::cerr << device.status().message() << '\n';
  std::exit(1);
}

} // namespace tegula::test
