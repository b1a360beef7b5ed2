// SPDX-License-Identifier: MIT
// What a plan knows: everything that a launch must do, with names resolved.
#pragma once

#include "size_program.h"
#include "tegula/plan.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tegula {

/// A dimension of a caller's tensor.
struct Dimension {
  size_t argument;
  int axis;
};

/// A size that the shape of a tensor gives.
struct BoundSize {
  Dimension from;
  std::string name;
};

/// A dimension that must have a value.
struct CheckedDimension {
  Dimension dimension;
  SizeProgram value;
  std::string text; ///< The expression, for errors.
};

/// A tensor of the workspace.
struct WorkspaceTensor {
  std::string name;
  DType dtype;
  std::vector<SizeProgram> shape;
  bool zeroed;
};

/// One kernel of a plan.
struct PlanStep {
  std::string name;
  Configuration configuration;
  std::shared_ptr<Kernel> kernel;
  /// For each parameter of the kernel, its place among the caller's arguments and then the workspace's tensors.
  std::vector<size_t> places;
  bool takesCallersOrder; ///< The parameters are the caller's first arguments.
  std::array<SizeProgram, 3> grid;
  SizeProgram condition;
};

/// The value of a choice if a launch does not make it.
struct PlanChoice {
  SizeProgram otherwise;
  size_t step; ///< The kernel whose concurrency it takes.
};

/// How many of the first entries of a plan belong to its preparation.
struct Preparation {
  size_t steps = 0, arguments = 0, bound = 0, workspace = 0;
};

struct PlanState {
  std::string name;
  std::vector<Parameter> arguments;
  /// In the order of values: sizes that shapes give, then choices. The value after them is the concurrency.
  std::vector<std::string> sizes;
  std::vector<BoundSize> bound; ///< For the first of `sizes`, where they come from.
  std::vector<CheckedDimension> checked;
  std::vector<PlanChoice> choices;
  std::vector<std::pair<SizeProgram, std::string>> requirements; ///< With the words of the error.
  std::vector<WorkspaceTensor> workspace;
  std::vector<PlanStep> steps;
  Preparation preparation;
  std::shared_ptr<Kernel> zero; ///< Sets zeroed tensors to 0; null if there are none.

  size_t concurrencyPlace() const { return sizes.size(); }
};

/// The shape in which `zero` sees a tensor of the workspace, i32 [rows, kZeroColumns], and the rows of its tile.
inline constexpr int kZeroColumns = 16, kZeroRows = 256;

/// Tensors of the workspace lie at multiples of this many bytes.
inline constexpr int64_t kWorkspaceAlignment = 64;

} // namespace tegula
