// SPDX-License-Identifier: MIT
#include "elf_check.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <vector>

namespace tegula {
namespace {

Status invalid(const char *problem) {
  return {ErrorCode::InvalidArgument, std::string("the binary is not a usable shared object: ") + problem};
}

bool inside(std::string_view bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

/// A copy, because the bytes need not be aligned.
template <class T> T read(std::string_view bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Status checkHeader(const Elf64_Ehdr &header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return invalid("it does not start with the ELF magic");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return invalid("it is not 64-bit little-endian");
  if (header.e_machine != EM_X86_64)
    return invalid("it is for another kind of processor");
  if (header.e_type != ET_DYN)
    return invalid("its type is not ET_DYN");
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    return invalid("its program headers have an unknown size");
  return {};
}

std::vector<Elf64_Phdr> readSegments(std::string_view bytes, const Elf64_Ehdr &header) {
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  for (size_t i = 0; i < segments.size(); ++i)
    segments[i] = read<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
  return segments;
}

/// Whether the loader will find `part`, bytes and addresses, where it maps `whole`.
bool covers(const Elf64_Phdr &whole, const Elf64_Phdr &part) {
  return whole.p_type == PT_LOAD && part.p_vaddr >= whole.p_vaddr &&
         part.p_vaddr - whole.p_vaddr == part.p_offset - whole.p_offset && part.p_memsz <= whole.p_memsz &&
         part.p_vaddr - whole.p_vaddr <= whole.p_memsz - part.p_memsz;
}

bool isCovered(const std::vector<Elf64_Phdr> &segments, const Elf64_Phdr &part) {
  return std::any_of(segments.begin(), segments.end(), [&](const Elf64_Phdr &whole) { return covers(whole, part); });
}

Status checkSegments(std::string_view bytes, const std::vector<Elf64_Phdr> &segments) {
  bool isDynamic = false;
  for (const Elf64_Phdr &segment : segments) {
    if (!inside(bytes, segment.p_offset, segment.p_filesz))
      return invalid("a segment ends beyond the last byte");
    if (segment.p_type == PT_LOAD && (segment.p_filesz > segment.p_memsz || (segment.p_flags & PF_R) == 0))
      return invalid("a segment is larger in the file than in memory, or not readable");
    if (segment.p_type == PT_DYNAMIC && !isCovered(segments, segment))
      return invalid("its dynamic segment lies outside of those to load");
    isDynamic |= segment.p_type == PT_DYNAMIC;
  }
  return isDynamic ? Status() : invalid("it has no dynamic segment");
}

} // namespace

Status checkSharedObject(std::string_view bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr))
    return invalid("it is shorter than an ELF header");
  const auto header = read<Elf64_Ehdr>(bytes, 0);
  TEGULA_RETURN_IF_ERROR(checkHeader(header));
  if (!inside(bytes, header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)))
    return invalid("its program headers end beyond the last byte");
  if (!inside(bytes, header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize))
    return invalid("its section headers end beyond the last byte");
  return checkSegments(bytes, readSegments(bytes, header));
}

} // namespace tegula
