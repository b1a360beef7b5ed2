// SPDX-License-Identifier: MIT
#include "compiler/emit/Emit.h"
#include "compiler/emit/TemporaryFile.h"
#include "tegula/artifact.h"
#include "tegula/toolchain.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <chrono>
#include <csignal>
#include <map>
#include <mutex>
#include <thread>

namespace tegula::emit {

using namespace llvm;

namespace {

constexpr std::chrono::seconds kTimeLimit{120};

Status assembleFailed(const Twine &why) { return Status(ErrorCode::compile_failed, ("ptxas: " + why).str()); }

std::string readFile(const TemporaryFile &file) {
  auto buffer = MemoryBuffer::getFile(file.path());
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// Waits for the end of `process`, and kills it after the time limit. It does not give llvm::sys::Wait a limit, because
/// that uses the alarm signal, which may belong to the program that the compiler runs in.
sys::ProcessInfo waitFor(const sys::ProcessInfo &process) {
  auto end = std::chrono::steady_clock::now() + kTimeLimit;
  while (std::chrono::steady_clock::now() < end) {
    sys::ProcessInfo result = sys::Wait(process, /*SecondsToWait=*/0);
    if (result.Pid != 0)
      return result;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(process.Pid, SIGKILL);
  return sys::Wait(process, std::nullopt);
}

/// Runs a program. Returns its output if it succeeds. If not, the output is part of the error.
Expected<std::string> run(const std::string &program, ArrayRef<StringRef> arguments) {
  TemporaryFile output("txt");
  if (output.error())
    return assembleFailed(output.error().message());
  SmallVector<StringRef> words = {program};
  llvm::append_range(words, arguments);
  std::string path = output.path(), error;
  bool failed = false;
  sys::ProcessInfo process = sys::ExecuteNoWait(program, words, std::nullopt,
                                                {StringRef(""), StringRef(path), StringRef(path)}, 0, &error, &failed);
  if (failed)
    return assembleFailed("'" + program + "' does not start: " + error);
  int code = waitFor(process).ReturnCode;
  if (code < 0)
    return assembleFailed("'" + program + "' crashed, or took longer than " + Twine(kTimeLimit.count()) + " s");
  if (code > 0)
    return assembleFailed("'" + program + "' says\n" + readFile(output));
  return readFile(output);
}

/// Returns the version, such as "ptxas 13.0.88", from the line `Cuda compilation tools, release 13.0, V13.0.88`.
std::string versionOf(const std::string &ptxas) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  std::lock_guard lock(mutex);
  std::string &version = known[ptxas];
  if (version.empty()) {
    Expected<std::string> text = run(ptxas, {"--version"});
    StringRef number = text ? StringRef(*text).split(", V").second.take_until(isSpace) : "";
    version = ("ptxas " + number).str();
  }
  return version;
}

/// Returns the number before the words `what`, as in `8 bytes stack frame`.
int numberBefore(StringRef text, StringRef what) {
  StringRef before = text.split(what).first.rtrim();
  int number = 0;
  before.substr(before.find_last_not_of("0123456789") + 1).getAsInteger(10, number);
  return number;
}

/// Fills in the report. The numbers come from lines that every assembler prints, the notes are all other lines.
void parseReport(StringRef text, AssemblerReport &report) {
  constexpr StringLiteral usual[] = {"bytes gmem", "Compiling entry function", "Function properties", "Compile time"};
  for (StringRef line : split(text, '\n')) {
    line = line.trim();
    if (line.contains("bytes stack frame")) {
      report.stack_bytes = numberBefore(line, "bytes stack frame");
      report.spill_bytes = numberBefore(line, "bytes spill stores") + numberBefore(line, "bytes spill loads");
    } else if (line.contains(" registers, ")) {
      report.registers = numberBefore(line, "registers");
    } else if (!line.empty() && llvm::none_of(usual, [&](StringRef words) { return line.contains(words); })) {
      report.notes += (line + "\n").str();
    }
  }
}

} // namespace

Expected<std::string> assemble(const std::string &ptx, const GpuTarget &target, AssemblerReport &report) {
  std::string ptxas = findAssembler();
  if (ptxas.empty())
    return ptx;
  TemporaryFile input("ptx"), output("cubin");
  input.write(ptx);
  if (input.error() || output.error())
    return assembleFailed((input.error() ? input.error() : output.error()).message());
  Expected<std::string> text = run(ptxas, {"-arch=" + target.arch, "-v", "--warn-on-spills", "--generate-line-info",
                                           "-o", output.path(), input.path()});
  if (!text)
    return text.status();
  report.assembler = versionOf(ptxas);
  parseReport(*text, report);
  return readFile(output);
}

} // namespace tegula::emit
