// SPDX-License-Identifier: MIT
#include "elf_check.h"

#include <cstdint>
#include <cstring>
#include <elf.h>

namespace tegula {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "the cpu device has not been ported to this machine"
#endif

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
  if (header.e_machine != kMachine)
    return invalid("it is for another kind of processor");
  if (header.e_type != ET_DYN)
    return invalid("its type is not ET_DYN");
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    return invalid("its program headers have an unknown size");
  return {};
}

Status checkSegments(std::string_view bytes, const Elf64_Ehdr &header) {
  bool loads = false;
  bool isDynamic = false;
  for (int i = 0; i < header.e_phnum; ++i) {
    const auto segment = read<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!inside(bytes, segment.p_offset, segment.p_filesz))
      return invalid("a segment ends beyond the last byte");
    loads |= segment.p_type == PT_LOAD;
    isDynamic |= segment.p_type == PT_DYNAMIC;
  }
  return loads && isDynamic ? Status() : invalid("it has nothing to load");
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
  return checkSegments(bytes, header);
}

} // namespace tegula
