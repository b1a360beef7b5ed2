// SPDX-License-Identifier: MIT
// The part of NVTX 3's binary interface between programs and profilers that ranges need. Building needs no CUDA
// headers.
//
// A profiler names a library in NVTX_INJECTION64_PATH. A program that has ranges loads the library once and calls its
// InitializeInjectionNvtx2. The library asks for tables of pointers to functions, and fills in the functions that it
// has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tegula::nvtx {

using Domain = struct DomainRegistration *;
using Function = void (*)();

/// The struct nvtxEventAttributes_t with a text.
struct EventAttributes {
  uint16_t version = 3;
  uint16_t size = sizeof(EventAttributes);
  uint32_t category = 0;
  int32_t color_type = 0;
  uint32_t color = 0;
  int32_t payload_type = 0;
  int32_t reserved = 0;
  uint64_t payload = 0;
  int32_t message_type = 1; ///< ASCII.
  const char *message = nullptr;
};
static_assert(sizeof(EventAttributes) == 48);

using DomainCreate = Domain (*)(const char *name);
using DomainRangePush = int (*)(Domain domain, const EventAttributes *attributes);
using DomainRangePop = int (*)(Domain domain);

/// The number of functions of each module, plus one: none, ranges, CUDA, OpenCL, CUDA's runtime, domains, locks. The
/// functions are numbered from 1.
inline constexpr unsigned kModuleSizes[] = {0, 16, 9, 15, 7, 16, 7};
inline constexpr unsigned kModules = 7;
inline constexpr unsigned kMaxModuleFunctions = 16;

/// Functions of the module of domains.
inline constexpr unsigned kDomains = 5;
inline constexpr unsigned kDomainRangePush = 4;
inline constexpr unsigned kDomainRangePop = 5;
inline constexpr unsigned kDomainCreate = 12;

/// Tables that a profiler may ask for.
inline constexpr uint32_t kCallbacksTable = 1;
inline constexpr uint32_t kVersionTable = 3;

struct Callbacks {
  size_t size;
  /// Sets `functions` to the module's array of pointers to functions. Returns 0 if there is no such module.
  int (*module_functions)(int module, Function ***functions, unsigned *count);
};

struct Version {
  size_t size;
  uint32_t version;
  uint32_t reserved;
  void (*set_profiler_version)(uint32_t version);
};

using ExportTable = const void *(*)(uint32_t table);
/// The type of InitializeInjectionNvtx2, which returns 0 if the profiler refuses.
using Initialize = int (*)(ExportTable exports);

} // namespace tegula::nvtx
