// SPDX-License-Identifier: MIT
#include "tegula/nvrtc.h"

#include "checks.h"
#include "tegula/guard.h"
#include "tegula/internal/system_library.h"

#include <cstring>

namespace tegula {
namespace {

using NvrtcResult = int; ///< 0: success.
using NvrtcProgram = struct _nvrtcProgram *;

struct Nvrtc {
  NvrtcResult (*create)(NvrtcProgram *program, const char *source, const char *name, int headerCount,
                        const char *const *headers, const char *const *headerNames) = nullptr;
  NvrtcResult (*destroy)(NvrtcProgram *program) = nullptr;
  NvrtcResult (*compile)(NvrtcProgram program, int optionCount, const char *const *options) = nullptr;
  NvrtcResult (*logSize)(NvrtcProgram program, size_t *bytes) = nullptr;
  NvrtcResult (*log)(NvrtcProgram program, char *text) = nullptr;
  NvrtcResult (*cubinSize)(NvrtcProgram program, size_t *bytes) = nullptr;
  NvrtcResult (*cubin)(NvrtcProgram program, char *bytes) = nullptr;
  NvrtcResult (*ptxSize)(NvrtcProgram program, size_t *bytes) = nullptr;
  NvrtcResult (*ptx)(NvrtcProgram program, char *text) = nullptr;
  const char *(*describe)(NvrtcResult result) = nullptr;

  static SystemLibrary library() {
    return {.what = "NVRTC",
            .variable = "TEGULA_LIBNVRTC",
            .files = {"libnvrtc.so.13", "libnvrtc.so.12"},
            .needed = "NVRTC of CUDA 12 or 13"};
  }

  std::vector<Binding> bindings() {
    return {{"nvrtcCreateProgram", reinterpret_cast<void **>(&create)},
            {"nvrtcDestroyProgram", reinterpret_cast<void **>(&destroy)},
            {"nvrtcCompileProgram", reinterpret_cast<void **>(&compile)},
            {"nvrtcGetProgramLogSize", reinterpret_cast<void **>(&logSize)},
            {"nvrtcGetProgramLog", reinterpret_cast<void **>(&log)},
            {"nvrtcGetCUBINSize", reinterpret_cast<void **>(&cubinSize)},
            {"nvrtcGetCUBIN", reinterpret_cast<void **>(&cubin)},
            {"nvrtcGetPTXSize", reinterpret_cast<void **>(&ptxSize)},
            {"nvrtcGetPTX", reinterpret_cast<void **>(&ptx)},
            {"nvrtcGetErrorString", reinterpret_cast<void **>(&describe)}};
  }
};

/// A program of NVRTC.
class Program {
public:
  explicit Program(const Nvrtc &nvrtc) : nvrtc_(nvrtc) {}
  ~Program() {
    if (program_ != nullptr)
      nvrtc_.destroy(&program_);
  }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  Status create(const std::string &source) {
    return status("nvrtcCreateProgram", nvrtc_.create(&program_, source.c_str(), "source.cu", 0, nullptr, nullptr));
  }

  Status compile(const std::vector<const char *> &options) {
    const Status compiled =
        status("nvrtcCompileProgram", nvrtc_.compile(program_, static_cast<int>(options.size()), options.data()));
    if (compiled.ok())
      return {};
    const Expected<std::string> log = read(nvrtc_.logSize, nvrtc_.log);
    return {compiled.code(), compiled.message() + (log ? "\n" + std::string(log->c_str()) : "")};
  }

  Expected<std::string> cubin() { return read(nvrtc_.cubinSize, nvrtc_.cubin); }
  Expected<std::string> ptx() {
    Expected<std::string> text = read(nvrtc_.ptxSize, nvrtc_.ptx);
    if (text)
      text->resize(std::strlen(text->c_str())); // The size counts a NUL.
    return text;
  }

private:
  Status status(const char *function, NvrtcResult result) const {
    if (result == 0)
      return {};
    return {ErrorCode::compile_failed, std::string(function) + " failed: " + nvrtc_.describe(result)};
  }

  Expected<std::string> read(NvrtcResult (*size)(NvrtcProgram, size_t *), NvrtcResult (*fill)(NvrtcProgram, char *)) {
    size_t bytes = 0;
    TEGULA_RETURN_IF_ERROR(status("reading NVRTC's result", size(program_, &bytes)));
    std::string text(bytes, '\0');
    TEGULA_RETURN_IF_ERROR(status("reading NVRTC's result", fill(program_, text.data())));
    return text;
  }

  const Nvrtc &nvrtc_;
  NvrtcProgram program_ = nullptr;
};

} // namespace

Expected<std::string> compileCuda(const std::string &source, const std::string &arch,
                                  std::span<const std::string> options) noexcept {
  return guarded([&]() -> Expected<std::string> {
    const bool toCubin = arch.starts_with("sm_");
    if (!toCubin && !arch.starts_with("compute_"))
      return invalid("arch is '" + arch + "', but must be like sm_90a or compute_90");
    const Expected<const Nvrtc *> nvrtc = functionsOf<Nvrtc>();
    if (!nvrtc)
      return nvrtc.status();
    const std::string archOption = "--gpu-architecture=" + arch;
    std::vector<const char *> all{archOption.c_str()};
    for (const std::string &option : options)
      all.push_back(option.c_str());
    Program program(**nvrtc);
    TEGULA_RETURN_IF_ERROR(program.create(source));
    TEGULA_RETURN_IF_ERROR(program.compile(all));
    return toCubin ? program.cubin() : program.ptx();
  });
}

} // namespace tegula
