// SPDX-License-Identifier: MIT
// Functions of libraries that are found at run time.
#pragma once

#include <string>

class DynamicLibrary {
public:
  /// Loads a library, which stays loaded. Ends the process if there is none.
  explicit DynamicLibrary(const std::string &file);

  /// Finds a function. Ends the process if there is none.
  template <class Function> void find(Function *&function, const char *name) const {
    function = reinterpret_cast<Function *>(address(name));
  }

private:
  void *address(const char *name) const;

  std::string file_;
  void *handle_;
};
