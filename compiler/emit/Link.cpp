// SPDX-License-Identifier: MIT
#include "compiler/emit/Emit.h"
#include "compiler/emit/TemporaryFile.h"

#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

namespace tegula::emit {

namespace {

Status linkFailed(const std::string &why) {
  return Status(ErrorCode::compile_failed, "cannot link the kernel: " + why);
}

} // namespace

Expected<std::string> link(const std::string &object) {
  // lld keeps its state in one global object. After a fatal error of lld, that object is unusable.
  static std::mutex oneAtATime;
  static bool usable = true;
  std::lock_guard lock(oneAtATime);
  if (!usable)
    return linkFailed("an earlier error left the linker unusable; start a new process");
  TemporaryFile input("o"), output("so");
  input.write(object);
  if (input.error() || output.error())
    return linkFailed((input.error() ? input.error() : output.error()).message());
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
