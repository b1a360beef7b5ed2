// SPDX-License-Identifier: MIT
#include "fixture.h"

#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::test;

namespace {

const std::string kUnusable = "kernel 'count': the binary is not a usable shared object: ";

Artifact countArtifact() { return artifact("count", {written("counts", i32)}); }

Status loadBinary(std::string binary) {
  Artifact artifact = countArtifact();
  artifact.binary = std::move(binary);
  return makeDevice()->load(artifact).status();
}

/// Sets a field of the ELF header and tries to load the result.
template <class T> Status loadWithHeader(T Elf64_Ehdr::*field, T value) {
  std::string binary = kernelsObject();
  Elf64_Ehdr header;
  std::memcpy(&header, binary.data(), sizeof header);
  header.*field = value;
  std::memcpy(binary.data(), &header, sizeof header);
  return loadBinary(std::move(binary));
}

/// Returns how many lines of /proc/self/maps show a kernel's object.
int mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("memfd:tegula:") != std::string::npos;
  return count;
}

std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

TEST(Load, RefusesAnotherTarget) {
  Artifact other = countArtifact();
  other.target = "cuda";
  EXPECT_ERROR(makeDevice()->load(other).status(), ErrorCode::invalid_argument,
               "kernel 'count': the artifact is for target 'cuda', this device is 'cpu'");
}

TEST(Load, RefusesAMissingSymbol) {
  EXPECT_ERROR(makeDevice()->load(artifact("absent", {})).status(), ErrorCode::invalid_argument,
               "kernel 'absent': the binary has no symbol 'absent'");
}

TEST(Load, RefusesFieldsThatCannotBe) {
  const auto device = makeDevice();
  EXPECT_ERROR(device->load(artifact("count", {}, -1)).status(), ErrorCode::invalid_argument,
               "kernel 'count': scratch_bytes is -1");
  EXPECT_ERROR(device->load(artifact("count", {tensor("q", bf16, 6)})).status(), ErrorCode::invalid_argument,
               "kernel 'count': parameter 'q': a tensor of rank 6, but ranks are 1 to 5");
  EXPECT_ERROR(device->load(artifact("count", {scalar("s", bf16)})).status(), ErrorCode::invalid_argument,
               "kernel 'count': parameter 's': a scalar of type bf16, but scalars are f32, i32 or i64");
  EXPECT_ERROR(device->load(artifact("count", std::vector<Parameter>(65, scalar("s", f32)))).status(),
               ErrorCode::resource_exhausted, "kernel 'count': 65 parameters, at most 64");
}

TEST(Load, RefusesBytesThatAreNoSharedObject) {
  EXPECT_ERROR(loadBinary(""), ErrorCode::invalid_argument, kUnusable + "it is shorter than an ELF header");
  EXPECT_ERROR(loadBinary(std::string(5000, 'x')), ErrorCode::invalid_argument,
               kUnusable + "it does not start with the ELF magic");
}

TEST(Load, RefusesForeignHeaders) {
  std::string binary = kernelsObject();
  binary[EI_CLASS] = ELFCLASS32;
  EXPECT_ERROR(loadBinary(binary), ErrorCode::invalid_argument, kUnusable + "it is not 64-bit little-endian");
  EXPECT_ERROR(loadWithHeader<Elf64_Half>(&Elf64_Ehdr::e_machine, EM_S390), ErrorCode::invalid_argument,
               kUnusable + "it is for another kind of processor");
  EXPECT_ERROR(loadWithHeader<Elf64_Half>(&Elf64_Ehdr::e_type, ET_REL), ErrorCode::invalid_argument,
               kUnusable + "its type is not ET_DYN");
  EXPECT_ERROR(loadWithHeader<Elf64_Half>(&Elf64_Ehdr::e_phentsize, 1), ErrorCode::invalid_argument,
               kUnusable + "its program headers have an unknown size");
  EXPECT_ERROR(loadWithHeader<Elf64_Half>(&Elf64_Ehdr::e_phnum, 0), ErrorCode::invalid_argument,
               kUnusable + "it has no dynamic segment");
  EXPECT_ERROR(loadWithHeader<Elf64_Off>(&Elf64_Ehdr::e_phoff, ~Elf64_Off{0}), ErrorCode::invalid_argument,
               kUnusable + "its program headers end beyond the last byte");
  EXPECT_ERROR(loadWithHeader<Elf64_Off>(&Elf64_Ehdr::e_shoff, ~Elf64_Off{0}), ErrorCode::invalid_argument,
               kUnusable + "its section headers end beyond the last byte");
}

/// Changes the first program header of a type and tries to load the result.
template <class Change> Status loadWithSegment(Elf64_Word type, Change change) {
  std::string binary = kernelsObject();
  Elf64_Ehdr header;
  std::memcpy(&header, binary.data(), sizeof header);
  for (char *place = binary.data() + header.e_phoff;; place += sizeof(Elf64_Phdr)) {
    Elf64_Phdr segment;
    std::memcpy(&segment, place, sizeof segment);
    if (segment.p_type != type)
      continue;
    change(segment);
    std::memcpy(place, &segment, sizeof segment);
    return loadBinary(std::move(binary));
  }
}

TEST(Load, RefusesSegmentsThatCannotBe) {
  EXPECT_ERROR(loadWithSegment(PT_LOAD, [](Elf64_Phdr &segment) { segment.p_offset = 1 << 30; }),
               ErrorCode::invalid_argument, kUnusable + "a segment ends beyond the last byte");
  EXPECT_ERROR(loadWithSegment(PT_LOAD, [](Elf64_Phdr &segment) { segment.p_memsz = 1; }), ErrorCode::invalid_argument,
               kUnusable + "a segment is larger in the file than in memory, or not readable");
  EXPECT_ERROR(loadWithSegment(PT_LOAD, [](Elf64_Phdr &segment) { segment.p_flags = 0; }), ErrorCode::invalid_argument,
               kUnusable + "a segment is larger in the file than in memory, or not readable");
  EXPECT_ERROR(loadWithSegment(PT_DYNAMIC, [](Elf64_Phdr &segment) { segment.p_vaddr += 8; }),
               ErrorCode::invalid_argument, kUnusable + "its dynamic segment lies outside of those to load");
}

TEST(Load, RefusesEveryTruncation) {
  const std::string binary = kernelsObject();
  const auto device = makeDevice();
  Artifact cut = countArtifact();
  for (size_t size = 0; size < binary.size(); size += 1 + size / 64) {
    cut.binary = binary.substr(0, size);
    EXPECT_STREQ(toString(device->load(cut).status().code()), "invalid_argument") << size;
  }
}

TEST(Load, PassesOnWhatTheSystemsLoaderSays) {
  const Status status = loadBinary(unresolvedKernelsObject());
  EXPECT_STREQ(toString(status.code()), "invalid_argument");
  EXPECT_EQ(status.message().rfind("kernel 'count': the system cannot load the binary: ", 0), 0u) << status.message();
  EXPECT_NE(status.message().find("undefined symbol: tegula_test_absent"), std::string::npos) << status.message();
}

TEST(Load, KeepsObjectsApart) {
  const auto device = makeDevice(1);
  Artifact addsTwo = countArtifact();
  addsTwo.binary = otherKernelsObject();
  const auto first = load(device, countArtifact());
  const auto second = load(device, addsTwo);
  const auto third = load(device, countArtifact());
  std::vector<int32_t> counts(3);
  EXPECT_OK(first->launch({1}, {contiguous(&counts[0], i32, {1})}));
  EXPECT_OK(second->launch({1}, {contiguous(&counts[1], i32, {1})}));
  EXPECT_OK(third->launch({1}, {contiguous(&counts[2], i32, {1})}));
  EXPECT_EQ(counts, (std::vector<int32_t>{1, 2, 1}));
}

TEST(Load, LeavesNothingBehind) {
  const auto device = makeDevice(1);
  const std::ptrdiff_t before = descriptors();
  {
    std::vector<std::shared_ptr<Kernel>> kernels;
    for (int i = 0; i < 100; ++i)
      kernels.push_back(load(device, countArtifact()));
    EXPECT_EQ(descriptors(), before);
    EXPECT_GE(mappings(), 100);
  }
  EXPECT_EQ(mappings(), 0);
}

TEST(Load, KeepsParameters) {
  const auto kernel = load(makeDevice(), countArtifact());
  EXPECT_EQ(kernel->name(), "count");
  EXPECT_EQ(kernel->parameters(), countArtifact().parameters);
}

} // namespace
