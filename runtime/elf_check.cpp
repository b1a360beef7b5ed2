// SPDX-License-Identifier: MIT
#include "elf_check.h"

#include "checks.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <vector>

namespace tegula {
namespace {

/// The kind of object that a check expects.
struct Kind {
  const char *name;
  Elf64_Half machine;
};

constexpr Kind kSharedObject{"shared object", EM_X86_64};
constexpr Kind kCubin{"cubin", EM_CUDA};

Status invalid(const Kind &kind, const char *problem) {
  return tegula::invalid(std::string("the binary is not a usable ") + kind.name + ": " + problem);
}

bool inside(std::string_view bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

/// Returns a copy of a T, because the bytes need not be aligned.
template <class T> T read(std::string_view bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Status checkHeader(const Kind &kind, const Elf64_Ehdr &header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return invalid(kind, "it does not start with the ELF magic");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return invalid(kind, "it is not 64-bit little-endian");
  if (header.e_machine != kind.machine)
    return invalid(kind, "it is for another kind of processor");
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    return invalid(kind, "its program headers have an unknown size");
  return {};
}

/// Returns the header of an object, after a check that its tables lie inside.
Expected<Elf64_Ehdr> readHeader(const Kind &kind, std::string_view bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr))
    return invalid(kind, "it is shorter than an ELF header");
  const auto header = read<Elf64_Ehdr>(bytes, 0);
  TEGULA_RETURN_IF_ERROR(checkHeader(kind, header));
  if (!inside(bytes, header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)))
    return invalid(kind, "its program headers end beyond the last byte");
  if (!inside(bytes, header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize))
    return invalid(kind, "its section headers end beyond the last byte");
  return header;
}

std::vector<Elf64_Phdr> readSegments(std::string_view bytes, const Elf64_Ehdr &header) {
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  for (size_t i = 0; i < segments.size(); ++i)
    segments[i] = read<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
  return segments;
}

/// Returns true if the loader will find the bytes and addresses of `part` where it maps `whole`.
bool covers(const Elf64_Phdr &whole, const Elf64_Phdr &part) {
  return whole.p_type == PT_LOAD && part.p_vaddr >= whole.p_vaddr &&
         part.p_vaddr - whole.p_vaddr == part.p_offset - whole.p_offset && part.p_memsz <= whole.p_memsz &&
         part.p_vaddr - whole.p_vaddr <= whole.p_memsz - part.p_memsz;
}

bool isCovered(const std::vector<Elf64_Phdr> &segments, const Elf64_Phdr &part) {
  return std::any_of(segments.begin(), segments.end(), [&](const Elf64_Phdr &whole) { return covers(whole, part); });
}

Status checkInside(const Kind &kind, std::string_view bytes, const std::vector<Elf64_Phdr> &segments) {
  for (const Elf64_Phdr &segment : segments)
    if (!inside(bytes, segment.p_offset, segment.p_filesz))
      return invalid(kind, "a segment ends beyond the last byte");
  return {};
}

/// Returns invalid_argument unless the system's loader can map the segments.
Status checkLoadable(const std::vector<Elf64_Phdr> &segments) {
  bool isDynamic = false;
  for (const Elf64_Phdr &segment : segments) {
    if (segment.p_type == PT_LOAD && (segment.p_filesz > segment.p_memsz || (segment.p_flags & PF_R) == 0))
      return invalid(kSharedObject, "a segment is larger in the file than in memory, or not readable");
    if (segment.p_type == PT_DYNAMIC && !isCovered(segments, segment))
      return invalid(kSharedObject, "its dynamic segment lies outside of those to load");
    isDynamic |= segment.p_type == PT_DYNAMIC;
  }
  return isDynamic ? Status() : invalid(kSharedObject, "it has no dynamic segment");
}

Status checkSections(std::string_view bytes, const Elf64_Ehdr &header) {
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    return invalid(kCubin, "its section headers have an unknown size");
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = read<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS && !inside(bytes, section.sh_offset, section.sh_size))
      return invalid(kCubin, "a section ends beyond the last byte");
  }
  return {};
}

} // namespace

Status checkSharedObject(std::string_view bytes) {
  const Expected<Elf64_Ehdr> header = readHeader(kSharedObject, bytes);
  if (!header)
    return header.status();
  if (header->e_type != ET_DYN)
    return invalid(kSharedObject, "its type is not ET_DYN");
  const std::vector<Elf64_Phdr> segments = readSegments(bytes, *header);
  TEGULA_RETURN_IF_ERROR(checkInside(kSharedObject, bytes, segments));
  return checkLoadable(segments);
}

Status checkCubin(std::string_view bytes) {
  const Expected<Elf64_Ehdr> header = readHeader(kCubin, bytes);
  if (!header)
    return header.status();
  TEGULA_RETURN_IF_ERROR(checkInside(kCubin, bytes, readSegments(bytes, *header)));
  return checkSections(bytes, *header);
}

} // namespace tegula
