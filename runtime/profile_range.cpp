// SPDX-License-Identifier: MIT
#include "tegula/profile_range.h"

#include "nvtx_abi.h"
#include "tegula/guard.h"
#include "tegula/internal/system_library.h"

#include <cstdio>
#include <iterator>

namespace tegula {
namespace {

/// The functions that the profiler fills in.
nvtx::Function functions[nvtx::kModules][nvtx::kMaxModuleFunctions];
nvtx::Function *functionTables[nvtx::kModules][nvtx::kMaxModuleFunctions + 1];

void makeFunctionTables() {
  for (unsigned module = 0; module < nvtx::kModules; ++module)
    for (unsigned index = 1; index < nvtx::kModuleSizes[module]; ++index)
      functionTables[module][index] = &functions[module][index];
}

int moduleFunctions(int module, nvtx::Function ***table, unsigned *count) {
  if (module <= 0 || module >= static_cast<int>(nvtx::kModules))
    return 0;
  if (table != nullptr)
    *table = functionTables[module];
  if (count != nullptr)
    *count = nvtx::kModuleSizes[module];
  return 1;
}

const void *exportTable(uint32_t table) {
  static constexpr nvtx::Callbacks callbacks{sizeof callbacks, moduleFunctions};
  static constexpr nvtx::Version version{sizeof version, 3, 0, [](uint32_t) {}};
  if (table == nvtx::kCallbacksTable)
    return &callbacks;
  return table == nvtx::kVersionTable ? &version : nullptr;
}

Status loadProfiler() {
  const SystemLibrary library{"profiler", "NVTX_INJECTION64_PATH", {}, "one for NVTX"};
  nvtx::Initialize initialize = nullptr;
  const Binding binding{"InitializeInjectionNvtx2", reinterpret_cast<void **>(&initialize)};
  TEGULA_RETURN_IF_ERROR(bindLibrary(library, {&binding, 1}));
  makeFunctionTables();
  return initialize(exportTable) != 0 ? Status() : Status(ErrorCode::unsupported, "the profiler does not want to");
}

struct Profiler {
  nvtx::DomainRangePush push = nullptr;
  nvtx::DomainRangePop pop = nullptr;
  nvtx::Domain domain = nullptr;

  Profiler() noexcept {
    if (!guarded(loadProfiler).ok())
      return;
    const auto &all = functions[nvtx::kDomains];
    push = reinterpret_cast<nvtx::DomainRangePush>(all[nvtx::kDomainRangePush]);
    pop = reinterpret_cast<nvtx::DomainRangePop>(all[nvtx::kDomainRangePop]);
    if (const auto create = reinterpret_cast<nvtx::DomainCreate>(all[nvtx::kDomainCreate]))
      domain = create("tegula");
  }

  bool listens() const { return push != nullptr && pop != nullptr && domain != nullptr; }
};

const Profiler &profiler() {
  static const Profiler profiler;
  return profiler;
}

} // namespace

constinit std::atomic<bool> ProfileRange::wanted_{true};

void ProfileRange::push(std::string_view activity, std::string_view subject) noexcept {
  const Profiler &to = profiler();
  if (!to.listens()) {
    wanted_.store(false, std::memory_order_relaxed);
    return;
  }
  char text[128];
  std::snprintf(text, std::size(text), "%.*s%s%.*s", static_cast<int>(activity.size()), activity.data(),
                subject.empty() ? "" : " ", static_cast<int>(subject.size()), subject.data());
  to.push(to.domain, &static_cast<const nvtx::EventAttributes &>(nvtx::EventAttributes{.message = text}));
  pushed_ = true;
}

void ProfileRange::pop() noexcept { profiler().pop(profiler().domain); }

} // namespace tegula
