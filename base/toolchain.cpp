// SPDX-License-Identifier: MIT
#include "tegula/toolchain.h"

#include <algorithm>
#include <cpuid.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <link.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tegula {
namespace {

bool canExecute(const std::string &path) {
  struct stat file;
  return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// Looks for a program in the directories of $PATH. Skips an empty entry.
std::string findInPath(const std::string &name) {
  const char *variable = secure_getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "";
  while (!rest.empty()) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), directory.size() + 1));
    if (std::string path = std::string(directory) + "/" + name; !directory.empty() && canExecute(path))
      return path;
  }
  return "";
}

template <class T> bool readAt(std::ifstream &file, uint64_t offset, T *values, size_t count) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(
      file.read(reinterpret_cast<char *>(values), static_cast<std::streamsize>(count * sizeof(T))));
}

std::string toHex(const unsigned char *bytes, size_t count) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
  return text;
}

size_t aligned(size_t bytes) { return (bytes + 3) / 4 * 4; }

/// Returns the build id among the notes of a segment.
std::string findNote(const std::vector<unsigned char> &notes) {
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const size_t name = at + sizeof note;
    const size_t description = name + aligned(note.n_namesz);
    const size_t end = description + aligned(note.n_descsz);
    if (end > notes.size())
      return "";
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes.data() + name, "GNU", 4) == 0)
      return toHex(notes.data() + description, note.n_descsz);
    at = end;
  }
  return "";
}

constexpr uint64_t kLongestNotes = 1 << 16;

void appendWord(std::string &text, unsigned word) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", word);
  text += digits;
}

/// Returns the maker, the model and the features of this machine's processor. (ebx of leaf 1 and edx of leaf 7 differ
/// between cores.)
std::string processor() {
  std::string text;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) != 0)
    for (unsigned word : {ebx, edx, ecx})
      appendWord(text, word);
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0)
    for (unsigned word : {eax, ecx, edx})
      appendWord(text, word);
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0)
    for (unsigned word : {ebx, ecx})
      appendWord(text, word);
  // The operating system may have switched off vector units that the processor has.
  return text + (__builtin_cpu_supports("avx2") ? "+" : "-") + (__builtin_cpu_supports("avx512f") ? "+" : "-");
}

} // namespace

std::string findAssembler() {
  if (const char *path = secure_getenv("TEGULA_PTXAS"))
    return path;
  if (const char *home = secure_getenv("CUDA_HOME"))
    if (std::string path = std::string(home) + "/bin/ptxas"; canExecute(path))
      return path;
  if (std::string path = findInPath("ptxas"); !path.empty())
    return path;
  const char *usual = "/usr/local/cuda/bin/ptxas";
  return canExecute(usual) ? usual : "";
}

std::string fileOf(const void *address) {
  Dl_info info;
  link_map *map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr)
    return "";
  return *map->l_name == '\0' ? "/proc/self/exe" : map->l_name; // The program itself has no name.
}

std::string buildId(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!file || !readAt(file, 0, &header, 1) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return "";
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (!readAt(file, header.e_phoff, segments.data(), segments.size()))
    return "";
  for (const Elf64_Phdr &segment : segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > kLongestNotes)
      continue;
    std::vector<unsigned char> notes(segment.p_filesz);
    if (!readAt(file, segment.p_offset, notes.data(), notes.size()))
      return "";
    if (std::string id = findNote(notes); !id.empty())
      return id;
  }
  return "";
}

std::string fileStamp(const std::string &path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0)
    return "";
  return std::to_string(file.st_size) + " bytes, changed " + std::to_string(file.st_mtim.tv_sec) + "." +
         std::to_string(file.st_mtim.tv_nsec);
}

std::string compilerIdentity(const std::string &build, const Target &target) {
  if (build.empty())
    return "";
  const std::string compiler = "compiler " + build;
  if (target.name == "cuda") {
    const std::string assembler = findAssembler();
    return compiler + ", assembler " + (assembler.empty() ? "none" : fileStamp(assembler));
  }
  const bool named = target.name == "cpu" && !target.arch.empty();
  return named ? compiler : compiler + ", processor " + processor();
}

} // namespace tegula
