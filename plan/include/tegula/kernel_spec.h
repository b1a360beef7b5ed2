// SPDX-License-Identifier: MIT
// The description of a kernel: its arguments, its tunables and its grid.
//
//   Size m("m"), n("n"), k("k");
//   Tunable block_m("block_m", {64, 128}, 64), block_n("block_n", {64, 128}, 64);
//   KernelSpec("matmul", matmul, input("a", bf16, {m, k}), input("b", bf16, {k, n}), output("c", f32, {m, n}), block_m,
//              block_n)
//       .grid(ceilDiv(m, block_m), ceilDiv(n, block_n));
//
// An argument is a tensor or a scalar of a launch. A tunable is an int of the host, known while the kernel is recorded.
#pragma once

#include "tegula/configuration.h"
#include "tegula/record.h"

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

namespace tegula {

/// The owner of a tensor argument, and what kernels do to it.
enum class Access : uint8_t {
  input,     ///< The caller's; no kernel writes it.
  output,    ///< The caller's; a kernel writes it.
  inout,     ///< The caller's; kernels also read what it held before, or add to it.
  workspace, ///< The plan's. The kernels of a plan share it by its name.
};

/// A tensor argument. A dimension that is a plain name gives that size its value; the others must have their value.
struct TensorSpec {
  std::string name;
  DType dtype = f32;
  std::vector<Size> shape = {}; ///< 1 to 5 dimensions, in elements.
  Access access = Access::input;
  bool zeroed = false; ///< A workspace that is set to 0 before the first kernel of the plan.
  Location where = {}; ///< The line of the declaration.
};

TensorSpec input(std::string name, DType dtype, std::vector<Size> shape, Location where = Location::current());
TensorSpec output(std::string name, DType dtype, std::vector<Size> shape, Location where = Location::current());
TensorSpec inout(std::string name, DType dtype, std::vector<Size> shape, Location where = Location::current());
TensorSpec workspace(std::string name, DType dtype, std::vector<Size> shape, Location where = Location::current());
/// Returns the workspace, which is then set to 0 before the first kernel of the plan.
TensorSpec zeroed(TensorSpec workspace);
/// Returns a shape of sizes of its own, "q.0" to "q.3" for the tensor q of rank 4.
std::vector<Size> freeShape(std::string_view name, int rank);

/// A scalar argument of type f32, i32 or i64.
struct ScalarSpec {
  std::string name;
  DType dtype = f32;
  Location where = {};
};

ScalarSpec scalar(std::string name, DType dtype, Location where = Location::current());

using ArgumentSpec = std::variant<TensorSpec, ScalarSpec>;
const std::string &nameOf(const ArgumentSpec &argument);
Location whereOf(const ArgumentSpec &argument);

/// The number of program instances that the device runs at the same time (Kernel::concurrency). A grid takes the
/// concurrency of its own kernel. A choice takes that of a kernel which it names, or of the plan's first kernel.
Size concurrency();

/// A condition, and the words for an error if it is 0.
struct Requirement {
  Size condition;
  std::string why;
};

/// One of several programs of a kernel, such as a recording with other tile sizes.
struct NamedProgram {
  std::string name; ///< For people, such as the name of a file.
  Program program;
  std::array<Size, 3> grid = {1, 1, 1}; ///< As of KernelSpec::grid.
};

/// The identity of a program among those of a kernel, in whatever order they are given.
struct ProgramIdentity {
  std::string name = {};
  std::string digest = {}; ///< Digest of the text without source locations: 32 hex digits.
  int value = 0;           ///< The value of the tunable `program`, made of the digest.

  bool operator==(const ProgramIdentity &) const = default;
};

ProgramIdentity identityOf(const NamedProgram &program);

namespace spec_details {

inline TensorArg recorded(const TensorSpec &tensor, const Sizes &) {
  return {tensor.name, tensor.dtype, int(tensor.shape.size())};
}
inline ScalarArg recorded(const ScalarSpec &scalar, const Sizes &) { return {scalar.name, scalar.dtype}; }
int recorded(const Tunable &tunable, const Sizes &values);
template <class Other> const Other &recorded(const Other &other, const Sizes &) { return other; }

} // namespace spec_details

/// A function over tiles, with what a host must know to launch it. Makes nothing but programs.
class KernelSpec {
public:
  /// Returns the program for values of all tunables.
  using Record = std::function<Expected<Program>(const Sizes &tunables)>;

  /// Describes `kernel(arguments...)`, which runs whenever a configuration is recorded. A TensorSpec arrives as View, a
  /// ScalarSpec as Value, a Tunable as int, everything else as it is.
  template <class Kernel, class... Arguments>
  KernelSpec(KernelName name, Kernel kernel, Arguments... arguments) : name_(name.text()), where_(name.where()) {
    (declare(arguments), ...);
    record_ = [name = name_, where = where_, kernel, arguments...](const Sizes &tunables) {
      return tegula::record(KernelName(name, where), Kernel(kernel), spec_details::recorded(arguments, tunables)...);
    };
  }
  /// Describes programs that are recorded elsewhere. Their parameters are these arguments, in any order.
  static KernelSpec ofPrograms(KernelName name, std::vector<ArgumentSpec> arguments, Record record,
                               std::vector<Tunable> tunables = {});
  /// Describes one kernel of several programs. If there is more than one, the tunable `program` selects it, by the
  /// value of its identity; the first is used without tuning. The kernel has the name of the programs; if they differ,
  /// the first one in alphabetical order. Tuned results do not depend on the order of the programs.
  static KernelSpec ofPrograms(std::vector<NamedProgram> programs, std::vector<ArgumentSpec> arguments);

  /// Sets the number of program instances along each axis.
  KernelSpec &&grid(Size x, Size y = 1, Size z = 1) &&;
  /// Leaves the kernel out of launches where `condition` is 0.
  KernelSpec &&when(Size condition) &&;
  /// Excludes configurations where `legal`, made of tunables, is 0.
  KernelSpec &&where(Size legal, std::string why) &&;
  /// Sets the schedule without tuning; the compiler chooses its fields otherwise.
  KernelSpec &&defaults(Schedule schedule) &&;
  /// Sets the schedules that the tuner tries with each choice of tunables. Otherwise it tries those of
  /// usualSchedules().
  KernelSpec &&search(std::vector<ScheduleSpace> boxes) &&;

  const std::string &name() const { return name_; }
  Location declared() const { return where_; }
  const std::vector<ArgumentSpec> &arguments() const { return arguments_; }
  const std::vector<Tunable> &tunables() const { return tunables_; }
  const std::array<Size, 3> &gridSizes() const { return grid_; }
  const Size &condition() const { return condition_; }
  const std::vector<Requirement> &legal() const { return legal_; }
  const Schedule &schedule() const { return schedule_; }
  const std::optional<std::vector<ScheduleSpace>> &searched() const { return boxes_; }
  /// Returns the named programs; none if the kernel was not described by such.
  const std::vector<NamedProgram> &programs() const { return programs_; }
  /// Returns the kernel with only the program of this value, which must be that of one of programs().
  KernelSpec only(int64_t value) const;

  /// Returns the configuration with a value for each tunable and, if it gives no field of a schedule, the default
  /// schedule. Returns invalid_argument for an unknown tunable, and for one that a requirement excludes.
  Expected<Configuration> resolved(const Configuration &configuration = {}) const;
  /// Records the program of a resolved configuration. Returns invalid_program with the user's lines.
  Expected<Program> record(const Configuration &configuration) const { return record_(configuration.tunables); }

private:
  KernelSpec() = default;
  void declare(const TensorSpec &tensor) { arguments_.emplace_back(tensor); }
  void declare(const ScalarSpec &scalar) { arguments_.emplace_back(scalar); }
  void declare(const Tunable &tunable) { tunables_.push_back(tunable); }
  template <class Other> void declare(const Other &) {}

  std::string name_;
  Location where_;
  std::vector<ArgumentSpec> arguments_;
  std::vector<Tunable> tunables_;
  std::array<Size, 3> grid_ = {1, 1, 1};
  Size condition_ = 1;
  std::vector<Requirement> legal_;
  Schedule schedule_;
  std::optional<std::vector<ScheduleSpace>> boxes_;
  std::vector<NamedProgram> programs_;
  Record record_;
};

/// Returns the configurations to try on a target: every legal choice of tunables with every schedule. The first is the
/// one without tuning.
std::vector<Configuration> configurationsOf(const KernelSpec &kernel, const Target &target);
/// Returns the schedules that are worth trying for a program of which nothing is known.
std::vector<ScheduleSpace> usualSchedules(const Target &target);

} // namespace tegula
