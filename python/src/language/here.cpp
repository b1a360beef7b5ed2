// SPDX-License-Identifier: MIT
#include "here.h"

#include <nanobind/nanobind.h>

#include <bit>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

namespace tegula_python {

using tegula::Location;

namespace {

/// The data that a std::source_location of libstdc++ and libc++ points to.
struct Place {
  const char *file;
  const char *function;
  unsigned line;
  unsigned column;
};

static_assert(sizeof(Location) == sizeof(const Place *), "a std::source_location is a pointer to a Place");

/// The lines of each file, which never move.
using Places = std::unordered_map<std::string, std::map<uint32_t, Place>>;

} // namespace

Location locationOf(std::string_view file, uint32_t line) {
  static std::mutex mutex;
  static Places &places = *new Places; // Programs and errors may be in use until the process ends.
  const std::lock_guard lock(mutex);
  const auto entry = places.try_emplace(std::string(file)).first;
  const Place &place = entry->second.try_emplace(line, Place{entry->first.c_str(), "", line, 0}).first->second;
  return std::bit_cast<Location>(&place);
}

Location here() {
  PyFrameObject *frame = PyEval_GetFrame(); // Borrowed.
  if (frame == nullptr)
    return locationOf("?", 0);
  const auto code = nanobind::steal(reinterpret_cast<PyObject *>(PyFrame_GetCode(frame)));
  const nanobind::object file = code.attr("co_filename");
  Py_ssize_t size = 0;
  const char *name = PyUnicode_AsUTF8AndSize(file.ptr(), &size);
  if (name == nullptr) {
    PyErr_Clear(); // The path has bytes that are no characters.
    return locationOf("?", uint32_t(PyFrame_GetLineNumber(frame)));
  }
  return locationOf({name, size_t(size)}, uint32_t(PyFrame_GetLineNumber(frame)));
}

} // namespace tegula_python
