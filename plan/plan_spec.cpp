// SPDX-License-Identifier: MIT
// Checks of a description that need no program.
#include "tegula/plan.h"

#include "where.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

namespace tegula {
namespace {

using Names = std::set<std::string, std::less<>>;

std::string shapeText(const TensorSpec &tensor) {
  std::string text = std::string(toString(tensor.dtype)) + " [";
  for (const Size &size : tensor.shape)
    text += (&size == tensor.shape.data() ? "" : ", ") + toString(size);
  return text + "]";
}

std::string typeText(const ArgumentSpec &argument) {
  if (const auto *tensor = std::get_if<TensorSpec>(&argument))
    return shapeText(*tensor) + (tensor->access != Access::workspace ? ""
                                 : tensor->zeroed                    ? " of the zeroed workspace"
                                                                     : " of the workspace");
  return "a scalar " + std::string(toString(std::get<ScalarSpec>(argument).dtype));
}

Status checkTensor(const std::string &plan, const TensorSpec &tensor) {
  if (tensor.shape.empty() || tensor.shape.size() > size_t(kMaxRank))
    return errorAt(tensor.where, plan + "'" + tensor.name + "' has rank " + std::to_string(tensor.shape.size()) +
                                     "; legal are 1 to " + std::to_string(kMaxRank));
  if (tensor.zeroed && tensor.access != Access::workspace)
    return errorAt(tensor.where, plan + "'" + tensor.name + "' is the caller's; only a workspace can be zeroed");
  return {};
}

const Size::Term *unknownName(const Size &size, const Names &names) {
  for (const Size::Term &term : size.terms())
    if (term.op == SizeOp::name && !names.contains(term.name))
      return &term;
  return nullptr;
}

class Checker {
public:
  explicit Checker(const PlanSpec &spec) : spec_(spec), plan_("plan '" + spec.name() + "': ") {}

  Status check() {
    if (spec_.kernels().empty())
      return {ErrorCode::invalid_program, plan_ + "it has no kernels"};
    TEGULA_RETURN_IF_ERROR(checkArguments());
    collectNames();
    TEGULA_RETURN_IF_ERROR(checkNames());
    Names names = bound_;
    names.insert("concurrency");
    for (const Choice &choice : spec_.choices()) {
      TEGULA_RETURN_IF_ERROR(checkSize(choice.otherwise, names, spec_.kernels().front().declared()));
      names.insert(choice.name);
      bound_.insert(choice.name);
    }
    for (const Requirement &requirement : spec_.requirements())
      TEGULA_RETURN_IF_ERROR(checkSize(requirement.condition, bound_, spec_.kernels().front().declared()));
    for (const KernelSpec &kernel : spec_.kernels())
      TEGULA_RETURN_IF_ERROR(checkKernel(kernel));
    return checkPreparation();
  }

private:
  Status checkArguments() const {
    std::vector<ArgumentSpec> seen;
    for (const KernelSpec &kernel : spec_.kernels()) {
      Names own;
      for (const ArgumentSpec &argument : kernel.arguments()) {
        if (!own.insert(nameOf(argument)).second)
          return errorAt(whereOf(argument),
                         plan_ + "kernel '" + kernel.name() + "' has two arguments '" + nameOf(argument) + "'");
        if (const auto *tensor = std::get_if<TensorSpec>(&argument))
          TEGULA_RETURN_IF_ERROR(checkTensor(plan_, *tensor));
        const auto same = std::ranges::find(seen, nameOf(argument), &nameOf);
        if (same == seen.end())
          seen.push_back(argument);
        else if (typeText(*same) != typeText(argument))
          return errorAt(whereOf(argument), plan_ + "'" + nameOf(argument) + "' is " + typeText(argument) +
                                                " here, and " + typeText(*same) + " at " + lineOf(whereOf(*same)));
      }
    }
    return {};
  }

  /// Checks that no size has a name of another meaning.
  Status checkNames() const {
    Names taken = {"concurrency"};
    for (const ArgumentSpec &argument : spec_.arguments())
      taken.insert(nameOf(argument));
    const Location where = spec_.kernels().front().declared();
    if (bound_.contains("concurrency"))
      return errorAt(where, plan_ + "a dimension is called 'concurrency', which is a size of the device; legal is any "
                                    "other name");
    for (const Choice &choice : spec_.choices()) {
      if (!taken.insert(choice.name).second)
        return errorAt(where, plan_ + "the choice '" + choice.name +
                                  "' has the name of an argument, of another choice, or of the size 'concurrency'");
      if (!choice.kernel.empty() &&
          std::ranges::find(spec_.kernels(), choice.kernel, &KernelSpec::name) == spec_.kernels().end())
        return errorAt(where, plan_ + "the choice '" + choice.name + "' takes the concurrency of '" + choice.kernel +
                                  "', which is no kernel of the plan");
    }
    return {};
  }

  /// Collects the sizes that shapes of the caller's tensors give.
  void collectNames() {
    for (const KernelSpec &kernel : spec_.kernels())
      for (const ArgumentSpec &argument : kernel.arguments())
        if (const auto *tensor = std::get_if<TensorSpec>(&argument); tensor && tensor->access != Access::workspace)
          for (const Size &size : tensor->shape)
            if (size.isName() && !isTunable(kernel, size.terms().front().name))
              bound_.insert(size.terms().front().name);
  }

  static bool isTunable(const KernelSpec &kernel, const std::string &name) {
    return std::ranges::any_of(kernel.tunables(), [&](const Tunable &tunable) { return tunable.name() == name; });
  }

  Status checkSize(const Size &size, const Names &names, Location where) const {
    const Size::Term *unknown = unknownName(size, names);
    if (unknown == nullptr)
      return {};
    return errorAt(where, plan_ + "the size '" + unknown->name + "' in '" + toString(size) +
                              "' is no dimension of a caller's tensor; give it to one, or make it a choice");
  }

  Status checkKernel(const KernelSpec &kernel) const {
    Names names = bound_;
    for (const Tunable &tunable : kernel.tunables())
      names.insert(tunable.name());
    for (const ArgumentSpec &argument : kernel.arguments())
      if (const auto *tensor = std::get_if<TensorSpec>(&argument))
        for (const Size &size : tensor->shape)
          TEGULA_RETURN_IF_ERROR(checkSize(size, names, tensor->where));
    TEGULA_RETURN_IF_ERROR(checkSize(kernel.condition(), names, kernel.declared()));
    names.insert("concurrency");
    for (const Size &size : kernel.gridSizes())
      TEGULA_RETURN_IF_ERROR(checkSize(size, names, kernel.declared()));
    return {};
  }

  Status checkPreparation() const {
    if (spec_.preparationKernels() > spec_.kernels().size())
      return {ErrorCode::invalid_program, plan_ + "its preparation has " + std::to_string(spec_.preparationKernels()) +
                                              " kernels, and the plan " + std::to_string(spec_.kernels().size())};
    for (const KernelSpec &kernel : std::span(spec_.kernels()).first(spec_.preparationKernels()))
      for (const ArgumentSpec &argument : kernel.arguments())
        if (const auto *tensor = std::get_if<TensorSpec>(&argument);
            tensor && (tensor->access == Access::output || tensor->access == Access::inout))
          return errorAt(tensor->where, plan_ + "kernel '" + kernel.name() + "' of the preparation writes '" +
                                            tensor->name + "', which is the caller's; it may only write a workspace");
    return {};
  }

  const PlanSpec &spec_;
  const std::string plan_;
  Names bound_; ///< From checks of choices on, these are among them.
};

} // namespace

PlanSpec::PlanSpec(KernelSpec kernel) : name_(kernel.name()) { kernels_.push_back(std::move(kernel)); }

PlanSpec::PlanSpec(std::string name, std::vector<KernelSpec> kernels)
    : name_(std::move(name)), kernels_(std::move(kernels)) {}

PlanSpec &&PlanSpec::choice(std::string name, Size otherwise, std::string kernel) && {
  choices_.push_back({std::move(name), std::move(otherwise), std::move(kernel)});
  return std::move(*this);
}

PlanSpec &&PlanSpec::require(Size fits, std::string why) && {
  requirements_.push_back({std::move(fits), std::move(why)});
  return std::move(*this);
}

PlanSpec &&PlanSpec::preparation(size_t kernels) && {
  preparation_ = kernels;
  return std::move(*this);
}

std::vector<ArgumentSpec> PlanSpec::arguments() const {
  std::vector<ArgumentSpec> all;
  for (const KernelSpec &kernel : kernels_)
    for (const ArgumentSpec &argument : kernel.arguments())
      if (std::ranges::find(all, nameOf(argument), &nameOf) == all.end())
        all.push_back(argument);
  return all;
}

Status PlanSpec::check() const { return Checker(*this).check(); }

} // namespace tegula
