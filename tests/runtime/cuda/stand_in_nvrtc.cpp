// SPDX-License-Identifier: MIT
// A compiler of CUDA C++ (NVRTC) whose results list its arguments. It refuses sources with the word "wrong". Each
// result says how many programs are alive.
#include <atomic>
#include <cstring>
#include <string>

struct _nvrtcProgram {
  std::string source, result, log;
};

namespace {

std::atomic<int> alive{0};

int copySize(const std::string &text, size_t *bytes, size_t extra) {
  *bytes = text.size() + extra;
  return 0;
}

int copy(const std::string &text, char *to, size_t extra) {
  std::memcpy(to, text.c_str(), text.size() + extra);
  return 0;
}

} // namespace

extern "C" {

int nvrtcCreateProgram(_nvrtcProgram **program, const char *source, const char *, int, const char *const *,
                       const char *const *) {
  if (std::strcmp(source, "unmakeable") == 0)
    return 1;
  *program = new _nvrtcProgram{.source = source, .result = "", .log = ""};
  ++alive;
  return 0;
}

int nvrtcDestroyProgram(_nvrtcProgram **program) {
  delete *program;
  *program = nullptr;
  --alive;
  return 0;
}

int nvrtcCompileProgram(_nvrtcProgram *program, int count, const char *const *options) {
  program->result = std::to_string(alive) + " alive;";
  for (int i = 0; i < count; ++i)
    program->result += std::string(" ") + options[i];
  if (program->source.find("wrong") == std::string::npos)
    return 0;
  program->log = "source.cu(1): error: this is wrong\n";
  return 6;
}

int nvrtcGetProgramLogSize(_nvrtcProgram *program, size_t *bytes) { return copySize(program->log, bytes, 1); }
int nvrtcGetProgramLog(_nvrtcProgram *program, char *text) { return copy(program->log, text, 1); }
int nvrtcGetCUBINSize(_nvrtcProgram *program, size_t *bytes) { return copySize("cubin: " + program->result, bytes, 0); }
int nvrtcGetCUBIN(_nvrtcProgram *program, char *bytes) { return copy("cubin: " + program->result, bytes, 0); }
int nvrtcGetPTXSize(_nvrtcProgram *program, size_t *bytes) { return copySize("ptx: " + program->result, bytes, 1); }
int nvrtcGetPTX(_nvrtcProgram *program, char *text) { return copy("ptx: " + program->result, text, 1); }

const char *nvrtcGetErrorString(int result) {
  return result == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_OUT_OF_MEMORY";
}
}
