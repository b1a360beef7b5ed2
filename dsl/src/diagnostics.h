// SPDX-License-Identifier: MIT
// The errors of one program, in an order that does not depend on the C++ compiler.
#pragma once

#include "tegula/status.h"
#include "tegula/value.h"

#include <string>
#include <vector>

namespace tegula {

struct Note {
  Location where;
  std::string text;
};

class Diagnostics {
public:
  void add(Location where, std::string message, std::vector<Note> notes);
  bool empty() const { return errors_.empty(); }
  /// Returns one Status for all errors, sorted by line, each once.
  Status status() const;

private:
  struct Error {
    Location where;
    std::string text;
  };
  std::vector<Error> errors_;
};

} // namespace tegula
