// SPDX-License-Identifier: MIT
#pragma once

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace tegula::emit {

/// A file in the system's folder for temporary files that disappears with this object.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef suffix) {
    error_ = llvm::sys::fs::createTemporaryFile("tegula", suffix, path_);
    exists_ = !error_;
  }
  ~TemporaryFile() {
    if (exists_)
      llvm::sys::fs::remove(path_);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  void write(llvm::StringRef contents) {
    if (error_)
      return;
    llvm::raw_fd_ostream file(path_, error_);
    file << contents;
    file.close();
    if (!error_)
      error_ = file.error();
    file.clear_error();
  }

  /// Returns the first error, if there was one. Later writes do nothing.
  std::error_code error() const { return error_; }
  std::string path() const { return path_.str().str(); }

private:
  llvm::SmallString<128> path_;
  std::error_code error_;
  bool exists_ = false;
};

} // namespace tegula::emit
