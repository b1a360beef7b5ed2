// SPDX-License-Identifier: MIT
#include "tuned.h"

#include "compiler.h"
#include "tegula/tuning_store.h"
#include "workload/open_device.h"

namespace tegula::tools {

TunedConfigurations tunedConfigurations(std::string_view target, bool untuned) {
  if (untuned)
    return {};
  Expected<TuningDevice> machine = tuningDevice(resolveTarget(target), *makeCompiler());
  return machine ? TuningStore().configurations(*machine) : TunedConfigurations();
}

} // namespace tegula::tools
