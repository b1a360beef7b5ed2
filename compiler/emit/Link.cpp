// SPDX-License-Identifier: MIT
#include "compiler/emit/Emit.h"

#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

namespace tegula::emit {

namespace {

/// A file in the system's folder for temporary files that disappears with this object.
class TemporaryFile {
public:
  TemporaryFile() { error_ = llvm::sys::fs::createTemporaryFile("tegula", "o", path_); }
  ~TemporaryFile() {
    if (!error_)
      llvm::sys::fs::remove(path_);
  }
  std::error_code error() const { return error_; }
  std::string path() const { return path_.str().str(); }

private:
  llvm::SmallString<128> path_;
  std::error_code error_;
};

Status linkFailed(const std::string &why) { return Status(ErrorCode::CompileFailed, "cannot link the kernel: " + why); }

} // namespace

Expected<std::string> link(const std::string &object) {
  // lld keeps its state in one global object, and a fatal error of its own leaves that unusable.
  static std::mutex oneAtATime;
  static bool usable = true;
  std::lock_guard lock(oneAtATime);
  if (!usable)
    return linkFailed("an earlier error left the linker unusable; start a new process");
  TemporaryFile input, output;
  if (input.error() || output.error())
    return linkFailed((input.error() ? input.error() : output.error()).message());
  {
    std::error_code error;
    llvm::raw_fd_ostream file(input.path(), error);
    file << object;
    file.close();
    if (error || file.has_error()) {
      std::string why = (error ? error : file.error()).message();
      file.clear_error();
      return linkFailed(why);
    }
  }
  std::string in = input.path(), out = output.path(), messages;
  llvm::raw_string_ostream log(messages);
  std::vector<const char *> arguments = {"ld.lld",          "-shared", "-z",        "defs",    "--threads=1",
                                         "--build-id=none", "-o",      out.c_str(), in.c_str()};
  lld::Result result = lld::lldMain(arguments, log, log, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode != 0)
    return linkFailed(messages);
  auto binary = llvm::MemoryBuffer::getFile(out);
  if (!binary)
    return linkFailed(binary.getError().message());
  return (*binary)->getBuffer().str();
}

} // namespace tegula::emit
