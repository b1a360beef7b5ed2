// SPDX-License-Identifier: MIT
#include "tune_options.h"
#include "legal_values.h"

namespace tegula::tools {
namespace {

constexpr const char *kExamples = R"(Examples:
  tegula tune --dtype bf16 --head-dim 128 --heads 16 --seqlen-q 4096
  tegula tune --target cpu --backward --html landscape.html
  tegula tune --dtype bf16 --head-dim 128 --heads 16 --seqlen-q 4096 --variant softcap
  tegula tune --dtype bf16 --seqlen-q 8192 --exhaustive     measures everything, to show what the tuner missed
  tegula tune --schedule "block_m=64 block_n=64" --schedule "block_m=96 block_n=96"     compares two schedules
  tegula tune matmul.mlir --arg a=bf16[4096,4096] --arg b=bf16[4096,4096] --arg c=f32[4096,4096] --grid \
    'ceildiv(c.0,128),ceildiv(c.1,128)'      tunes a kernel of your own

The results of PROGRAM are compared with those of the same program on the cores of this machine, without a schedule.
What is found is kept in the folder `schedules` of $TEGULA_CACHE_DIR, $XDG_CACHE_HOME/tegula or ~/.cache/tegula,
for this device, driver and compiler. `tegula attention` and `tegula bench` use it for the same variant and lengths
that differ by a factor of 2 at most; with --untuned they do not. Ctrl-C ends a tuning within a second and keeps what
it has found so far, unless the result that is kept already is better.
Exit code: 0 if a schedule was found, 1 if none or something failed, 2 for bad input, 3 if one was found, but it could
not be kept, or a file could not be written.)";

constexpr int kMaxCandidates = 100000;
constexpr int kMaxRounds = 1000;

/// Adds the options that time schedules which are given.
void addGiven(CLI::App &command, TuneOptions &o) {
  addSchedules(command, o.schedules,
               "Do not search: time this schedule and others that are given, in\ninterleaved rounds, and keep no "
               "result; may be repeated")
      ->excludes("--exhaustive");
  addNumber(command, "--rounds", o.rounds, 1, kMaxRounds, "Rounds of --schedule (5)");
  addSeconds(command, "--seconds", o.seconds, "Time for each --schedule in a round (0.1)");
}

} // namespace

void addTuneOptions(CLI::App &command, TuneOptions &o) {
  addProgramOptions(command, o.program, /*required=*/false);
  addProblemOptions(command, o.attention);
  addVariantOption(command, o.attention.kernel);
  command
      .add_option("--target", o.attention.target,
                  "What to tune for: cpu, cuda (a GPU), or auto for the best there is (auto)")
      ->check(oneOf({"auto", "cpu", "cuda"}))
      ->type_name("WORD");
  command.add_flag("--backward", o.attention.backward, "Tune the backward pass instead of the forward pass");
  addSeconds(command, "--budget", o.budget, "Seconds to spend (60)");
  addNumber(command, "--candidates", o.candidates, 1, kMaxCandidates, "Schedules to compile at most (192)");
  addNoCache(command, o.attention.no_cache);
  command.add_flag("--again", o.again, "Measure even if the result is known");
  command.add_flag("--exhaustive", o.exhaustive, "Then time every schedule to the end and compare; takes minutes");
  addGiven(command, o);
  addReportFiles(command, o.files, "Draw the landscape there, as a page for a browser");
  command.footer(kExamples);
}

} // namespace tegula::tools
