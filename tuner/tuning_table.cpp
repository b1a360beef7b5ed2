// SPDX-License-Identifier: MIT
#include "tuning_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

namespace tegula {
namespace {

/// The number of failures that are shown one by one; the others are counted.
constexpr size_t kShownFailures = 12;

/// Returns a row. A time of few samples is rounded, and has a `~`.
std::string row(const Tuning &tuning, const Candidate &c, double best_ms, bool isRough, const char *mark) {
  const std::string ms = isRough ? fmt::format("~{:.2g}", c.ms) : fmt::format("{:.4f}", c.ms);
  const std::string ratio = isRough ? fmt::format("~{:.1f}", c.ms / best_ms) : fmt::format("{:.3f}", c.ms / best_ms);
  return fmt::format("{:>10} {:>6} {:>7} {:>5} {:>6} {:>7.1f} {:>6.2f}  {:<10} {}{}\n", ms, ratio, c.samples,
                     c.registers, c.spill_bytes, double(c.shared_bytes) / 1024, c.error_ratio, toString(c.state),
                     tuning::textOf(tuning, c), mark);
}

const char *markOf(const Tuning &tuning, const Candidate &candidate) {
  if (&candidate == tuning.winner())
    return tuning.given ? "  <- fastest" : "  <- chosen";
  return &candidate == &tuning.candidates.front() && !tuning.given ? "  <- untuned" : "";
}

/// Returns the candidates that were timed, to the end or not, the fastest first.
std::vector<const Candidate *> timedCandidates(const Tuning &tuning, bool toTheEnd) {
  std::vector<const Candidate *> timed;
  // The exhaustive comparison has timed all of them to the end, whatever the search made of them before.
  const bool isExhaustive = tuning.exhaustive && tuning.exhaustive->best;
  for (const Candidate &candidate : tuning.candidates)
    if (candidate.timed() && (isExhaustive || candidate.timedToTheEnd()) == toTheEnd)
      timed.push_back(&candidate);
  std::ranges::sort(timed, {}, &Candidate::ms);
  return timed;
}

std::string timedRows(const Tuning &tuning) {
  const std::vector<const Candidate *> end = timedCandidates(tuning, true), few = timedCandidates(tuning, false);
  if (end.empty() && few.empty())
    return "nothing was timed\n";
  const Candidate *fastest = !end.empty() ? end.front() : tuning.winner() != nullptr ? tuning.winner() : few.front();
  const double best_ms = fastest->ms;
  std::string text = fmt::format("{:>10} {:>6} {:>7} {:>5} {:>6} {:>7} {:>6}  {:<10} {}\n", "ms", "ratio", "samples",
                                 "regs", "spill", "KiB", "error", "state", "schedule");
  for (const Candidate *candidate : end)
    text += row(tuning, *candidate, best_ms, /*isRough=*/false, markOf(tuning, *candidate));
  if (!few.empty())
    text += "not timed to the end; times of few samples are rough:\n";
  for (const Candidate *candidate : few)
    text += row(tuning, *candidate, best_ms, /*isRough=*/true, markOf(tuning, *candidate));
  return text;
}

std::string failures(const Tuning &tuning) {
  std::string text;
  size_t shown = 0;
  for (const Candidate &c : tuning.candidates) {
    bool failed = c.state >= CandidateState::refused && c.state <= CandidateState::wrong;
    if (failed && shown++ < kShownFailures)
      text += fmt::format("{:<8} {}: {}\n", toString(c.state), tuning::textOf(tuning, c), c.why);
  }
  return text.empty() ? "" : "\n" + text;
}

std::string counts(const Tuning &tuning) {
  std::map<CandidateState, size_t> counts;
  for (const Candidate &candidate : tuning.candidates)
    ++counts[candidate.state];
  std::string text = fmt::format("\n{} schedules:", tuning.candidates.size());
  for (auto [state, count] : counts)
    text += fmt::format(" {} {},", count, toString(state));
  text.back() = ';';
  if (tuning.known)
    return text + fmt::format(" known from an earlier tuning of {:.1f} s\n", tuning.seconds);
  text += fmt::format(" {:.1f} s{}\n", tuning.seconds, tuning.complete ? "" : ", stopped early");
  return text + (tuning.outranked ? "the result that is kept already is better, and stays\n" : "");
}

std::string comparison(const Tuning &tuning) {
  if (!tuning.exhaustive || !tuning.best)
    return "";
  if (!tuning.exhaustive->best)
    return "exhaustive: stopped early; the figures are those of the search\n";
  const Candidate &best = tuning.candidates[*tuning.exhaustive->best], &winner = *tuning.winner();
  return fmt::format("exhaustive: {} timed to the end; best {:.4f} ms ({}); chosen {:.4f} ms, {:.1f} % slower\n",
                     tuning.exhaustive->timed, best.ms, tuning::textOf(tuning, best), winner.ms,
                     100 * (winner.ms / best.ms - 1));
}

} // namespace

std::string tuning::titleOf(const Tuning &tuning) {
  // The class of a described kernel is a digest, which tells people nothing.
  const std::string kernel_class = tuning.task.empty() ? "" : " (" + tuning.kernel_class + ")";
  return fmt::format("{}{}, {}", tuning.kernel, kernel_class, toString(tuning.sizes));
}

std::string tuning::machineText(const TuningDevice &machine) {
  return machine.device + (machine.driver.empty() ? "" : ", ") + machine.driver;
}

std::string tuning::textOf(const Tuning &tuning, const Candidate &candidate) {
  const std::string text = tuning.nameOf(candidate);
  return text.empty() ? "(the compiler's choice)" : text;
}

std::string toTable(const Tuning &tuning) {
  return tuning::titleOf(tuning) + "\n" + tuning::machineText(tuning.machine) + "\n\n" + timedRows(tuning) +
         failures(tuning) + counts(tuning) + comparison(tuning);
}

} // namespace tegula
