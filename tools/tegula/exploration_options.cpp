// SPDX-License-Identifier: MIT
#include "exploration_options.h"
#include "legal_values.h"

namespace tegula::tools {

constexpr int64_t kMaxSchedules = 100'000'000;

void addExplorationOptions(CLI::App &command, ExplorationOptions &o) {
  addNumber(command, "--schedules", o.schedules, 1, kMaxSchedules, "simt: orders of lanes to try (1)");
  addWord(command, "--scheduler", {"uniform", "priority", "eager", "lazy", "laggard", "runaway"}, o.scheduler,
          parseSimtScheduler,
          "simt: uniform, priority (one warp goes ahead), eager or lazy\n(copies land at once, or at the last moment), "
          "laggard (a\nlane of each warp falls behind) or runaway (four warps go ahead,\nturns or not) (uniform)");
  command
      .add_option("--mutate", o.mutate,
                  "simt: leave out, weaken or delay barriers, waits and fences,\none at a time: all, those of kernels, "
                  "or names, "
                  "with commas")
      ->type_name("LIST");
  command.add_flag("--traffic", o.traffic, "simt: count bank conflicts and sectors of memory");
}

bool isUsed(const ExplorationOptions &o) {
  return o.schedules != 1 || o.scheduler != SimtScheduler::uniform || !o.mutate.empty() || o.traffic;
}

} // namespace tegula::tools
