// SPDX-License-Identifier: MIT
#include "tegula/plan_tuner.h"
#include "tegula/tuner.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace tegula {
namespace {

/// The number of failures that are shown one by one; the others are counted.
constexpr size_t kShownFailures = 12;

std::string onMachine(const TuningDevice &machine) {
  return fmt::format("{}{}{}\n\n", machine.device, machine.driver.empty() ? "" : ", ", machine.driver);
}

std::string textOf(const Candidate &candidate) {
  const std::string text = toString(candidate.configuration());
  return text.empty() ? "(the compiler's choice)" : text;
}

std::string row(const Candidate &c, double best_ms, const char *mark) {
  return fmt::format("{:>10.4f} {:>6.3f} {:>7} {:>5} {:>6} {:>7.1f} {:>6.2f}  {:<10} {}{}\n", c.ms, c.ms / best_ms,
                     c.samples, c.registers, c.spill_bytes, double(c.shared_bytes) / 1024, c.error_ratio,
                     toString(c.state), textOf(c), mark);
}

std::string timedRows(const SearchResult &tuning) {
  std::vector<const Candidate *> timed;
  for (const Candidate &candidate : tuning.candidates)
    if (candidate.timed())
      timed.push_back(&candidate);
  if (timed.empty())
    return "nothing was timed\n";
  // A few samples of a candidate that lost early may look better than the many samples of the winner.
  bool by_time = tuning.exhaustive.has_value();
  auto rank = [&](const Candidate *c) { return std::pair(!by_time && c->state != CandidateState::finalist, c->ms); };
  std::sort(timed.begin(), timed.end(), [&](const Candidate *a, const Candidate *b) { return rank(a) < rank(b); });
  std::string text = fmt::format("{:>10} {:>6} {:>7} {:>5} {:>6} {:>7} {:>6}  {:<10} {}\n", "ms", "ratio", "samples",
                                 "regs", "spill", "KiB", "error", "state", "schedule");
  for (const Candidate *candidate : timed) {
    bool untuned = candidate == &tuning.candidates.front() && !tuning.given, best = candidate == tuning.winner();
    const char *winner = tuning.given ? "  <- fastest" : "  <- chosen";
    text += row(*candidate, timed.front()->ms, best ? winner : untuned ? "  <- untuned" : "");
  }
  return text;
}

std::string failures(const SearchResult &tuning) {
  std::string text;
  size_t shown = 0;
  for (const Candidate &c : tuning.candidates) {
    bool failed = c.state >= CandidateState::refused && c.state <= CandidateState::wrong;
    if (failed && shown++ < kShownFailures)
      text += fmt::format("{:<8} {}: {}\n", toString(c.state), textOf(c), c.why);
  }
  return text.empty() ? "" : "\n" + text;
}

std::string counts(const SearchResult &tuning) {
  std::map<CandidateState, size_t> counts;
  for (const Candidate &candidate : tuning.candidates)
    ++counts[candidate.state];
  std::string text = fmt::format("\n{} schedules:", tuning.candidates.size());
  for (auto [state, count] : counts)
    text += fmt::format(" {} {},", count, toString(state));
  text.back() = ';';
  if (tuning.known)
    return text + fmt::format(" known from an earlier tuning of {:.1f} s\n", tuning.seconds);
  return text + fmt::format(" {:.1f} s{}\n", tuning.seconds, tuning.complete ? "" : ", stopped early");
}

std::string comparison(const SearchResult &tuning) {
  if (!tuning.exhaustive || !tuning.exhaustive->best || !tuning.best)
    return "";
  const Candidate &best = tuning.candidates[*tuning.exhaustive->best], &winner = *tuning.winner();
  return fmt::format("exhaustive: {} timed to the end; best {:.4f} ms ({}); chosen {:.4f} ms, {:.1f} % slower\n",
                     tuning.exhaustive->timed, best.ms, textOf(best), winner.ms, 100 * (winner.ms / best.ms - 1));
}

std::string body(const SearchResult &tuning) {
  return onMachine(tuning.machine) + timedRows(tuning) + failures(tuning) + counts(tuning) + comparison(tuning);
}

} // namespace

std::string toTable(const Tuning &tuning) {
  const AttentionShape &s = tuning.task.shape;
  return fmt::format("{} ({}), batch {}, heads {}, kv heads {}, queries {}, keys {}\n", tuning.task.program,
                     problemClass(tuning.task.problem), s.batch, s.heads, s.kv_heads, s.seqlen_q, s.seqlen_k) +
         body(tuning);
}

std::string toTable(const PlanTuning &tuning) {
  return fmt::format("{}, {}\n", tuning.kernel, toString(tuning.sizes)) + body(tuning);
}

} // namespace tegula
