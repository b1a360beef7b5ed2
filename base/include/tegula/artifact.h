// SPDX-License-Identifier: MIT
// The compiler's interface: a request goes in, an artifact or diagnostics come out.
#pragma once

#include "tegula/dtype.h"
#include "tegula/schedule.h"
#include "tegula/status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// One parameter of a kernel.
struct Parameter {
  enum class Kind : uint8_t { tensor, scalar };

  std::string name;
  Kind kind = Kind::tensor;
  DType dtype = f32;
  int rank = 0;         ///< 1 to 5 for a tensor, 0 for a scalar.
  bool written = false; ///< The kernel stores or adds to this tensor.
  bool counter = false; ///< A tensor of one i32 with which the kernel counts. Each launch sets it to 0 first.

  bool operator==(const Parameter &) const = default;
};

/// The machine to compile for.
struct Target {
  std::string name = "cpu";  ///< "cpu", "cuda", or "simt", which runs the code of cuda on the host.
  std::string arch = {};     ///< cpu: an LLVM CPU name; empty means the host's. cuda, simt: "sm_90a".
  std::string features = {}; ///< cpu: LLVM feature string; empty means the features of `arch`.
};

/// The elements that a kernel with checks reports.
enum class FiniteCheck : uint8_t {
  none,
  nan, ///< The first NaN.
  inf, ///< The first NaN, or the first infinity that elementwise arithmetic makes from finite numbers.
};

std::string_view toString(FiniteCheck check);
/// The inverse of toString: "none", "nan", "inf".
std::optional<FiniteCheck> parseFiniteCheck(std::string_view word);

/// The reports of a kernel to the host while it runs. Such a kernel is slow: it obeys no field of the schedule that
/// only orders or overlaps MMAs.
struct DebugOptions {
  bool print = false; ///< print() of the language has an effect.
  FiniteCheck check_finite = FiniteCheck::none;
  bool device_asserts = false; ///< deviceAssert() of the language has an effect.

  bool operator==(const DebugOptions &) const = default;
};

/// Everything that a compilation depends on, and nothing else.
struct CompileRequest {
  std::string program; ///< MLIR text of the `tile` dialect.
  Schedule schedule = {};
  Target target = {};
  /// Name of a phase ("tile", "loops", "llvm", "asm", ...); its text is returned in Artifact::text.
  /// Empty compiles to the end.
  std::string emit = {};
  DebugOptions debug = {};
};

/// The report of ptxas on a kernel.
struct AssemblerReport {
  std::string assembler; ///< Name and version, "ptxas 13.0.88"; empty if none ran and the driver will assemble.
  int registers = 0;     ///< Registers of each thread.
  int spill_bytes = 0;   ///< Bytes that ptxas keeps in local memory because registers ran out.
  int stack_bytes = 0;
  std::string notes; ///< Warnings and notes, one a line.
};

/// A tensor that a kernel loads or stores in boxes, by TMA. The launch describes it as a CUtensorMap.
struct TensorMap {
  int parameter = 0;    ///< The tensor's index in Artifact::parameters.
  DType dtype = f32;    ///< As TMA sees the elements, which must have 1, 2 or 4 bytes.
  std::vector<int> box; ///< Sizes of a box, at most 256, from the tensor's last dimension on. All others are 1.
  int swizzle = 0;      ///< Bytes of a row in shared memory within which 16-byte units change places; 0 if they stay.
  /// The number of elements along the last dimension that count. Elements after them read as 0 and are not stored.
  int64_t columns = 0;
  /// True if each box names its first row and an end, which a kernel knows. The map then has two more dimensions.
  bool ends_inside = false;
  /// If it is not 0, rows count through another dimension, too, and the map does not have that dimension: with 1 the
  /// first one outside the rows, such as pages, and with 2 the second one.
  int joined = 0;

  bool operator==(const TensorMap &) const = default;
};

/// A statement of a program that writes records while the kernel runs.
struct DebugSite {
  enum class Kind : uint8_t {
    print, ///< A record has all elements of the value, in row-major order.
    /// A record has all elements of the value of an assertion that failed, in row-major order.
    assertion,
    element, ///< A record has the row-major index of an element that is not finite, and its bits as an f32.
  };

  Kind kind = Kind::print;
  std::string name;     ///< The label of a print or an assertion; the operation that made an element.
  std::string location; ///< "attention.cpp:17"; empty if the program has no locations.
  DType dtype = f32;
  std::vector<int64_t> shape;     ///< Empty for a scalar.
  std::vector<std::string> loops; ///< The locations of the loops around it, from the outermost one on.

  bool operator==(const DebugSite &) const = default;
};

/// The buffer through which a kernel reports. It is the kernel's last parameter, i32 [1 + records, record_words]. The
/// first element counts the records, also those that have no room. All else must be 0 before a launch.
///
/// A record has the index of its site, the position of the program instance along x, y and z, the position of each loop
/// around the site, and then what DebugSite::kind says. Each number takes one word; elements of 64 bits take two, the
/// lower one first.
struct DebugLayout {
  int64_t record_words = 0;
  std::vector<DebugSite> sites; ///< If there is none, the kernel has no such parameter.

  bool operator==(const DebugLayout &) const = default;
};

/// A compiled kernel.
struct Artifact {
  std::string target; ///< Target::name of the request.
  std::string kernel; ///< Symbol to look up in `binary`.
  std::string binary; ///< cpu, simt: an ELF shared object without undefined symbols. cuda: a cubin, or PTX text.
  std::string text;   ///< The phase that CompileRequest::emit asked for.
  /// The schedule as parseSchedule reads it: that of the request, with the compiler's choice in the other fields.
  std::string schedule;
  std::vector<Parameter> parameters;
  int64_t scratch_bytes = 0;          ///< cpu: private memory that one running program instance needs.
  int threads = 0;                    ///< cuda, simt: threads of one program instance.
  int64_t shared_bytes = 0;           ///< cuda, simt: dynamic shared memory of one program instance.
  int instances_per_sm = 1;           ///< cuda, simt: program instances that share a multiprocessor's registers.
  std::vector<TensorMap> tensor_maps; ///< cuda, simt.
  AssemblerReport report;             ///< cuda.
  DebugLayout debug;
  std::string remarks; ///< Fields of the schedule that have no effect, each in a line that says why.
};

/// cpu artifacts export `kernel` with this type: runs the program instances `first` to `last - 1` of a grid in the
/// order x fastest, then y, then z.
///   tensors: one base address per tensor parameter, in order.
///   words: for each parameter in order, a tensor's shape then its strides (in elements), or a scalar's 8 bytes
///          (integers sign-extended, f32 in the low 4 bytes).
///   grid: number of program instances along x, y and z.
///   scratch: Artifact::scratch_bytes bytes, 64-byte aligned.
using CpuKernel = void (*)(void *const *tensors, const int64_t *words, const int64_t *grid, void *scratch,
                           int64_t first, int64_t last);

/// cuda and simt artifacts (see simt_ops.h) take their parameters as one block of 64-bit words, in order: a tensor's
/// base address, its shape and its strides (in elements), or a scalar in the low bytes of a word. The grid is the
/// launch's; blocks have Artifact::threads threads. A kernel with tensor maps takes them first, 128 bytes each. Its
/// last word has bit i set if map i describes its tensor. If TMA cannot have the tensor's address or a stride, bit i is
/// 0, and the kernel copies elements one by one.

/// Turns programs into artifacts. Implemented by the compiler library in process and by its worker process.
/// Thread-safe; never throws, aborts or prints.
class Compiler {
public:
  virtual ~Compiler() = default;
  virtual Expected<Artifact> compile(const CompileRequest &request) = 0;
  /// Returns the build of the compiler and of the tools that it runs, on which an artifact for `target` depends. It is
  /// part of the key under which an artifact is kept. If it is empty, the build is not known and nothing may be kept.
  virtual std::string identity(const Target &) const { return ""; }
};

} // namespace tegula
