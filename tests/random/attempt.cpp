// SPDX-License-Identifier: MIT
#include "random/attempt.h"

#include "random/generate.h"

#include <csignal>
#include <cstring>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tegula::random_programs {

namespace {

[[noreturn]] void checkAndExit(const std::vector<uint32_t> &numbers, const Settings &settings, int pipe) {
  limitTime(settings.seconds);
  Choices choices(numbers);
  Counts counts;
  const std::string wrong = check(generate(choices), settings.targets, counts);
  const ssize_t written = write(pipe, wrong.data(), wrong.size());
  _exit(written == ssize_t(wrong.size()) ? 0 : 1);
}

std::string readAll(int pipe) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(pipe, buffer, sizeof buffer)) > 0;)
    text.append(buffer, size_t(n));
  return text;
}

/// Returns the words by which two defects count as the same: kind and target.
std::string kindOf(const std::string &wrong) { return wrong.substr(0, wrong.find(':')); }

} // namespace

void limitTime(int seconds) {
  const itimerval limit{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
  alarm(unsigned(20 * seconds));
}

std::string attempt(const std::vector<uint32_t> &choices, const Settings &settings) {
  int ends[2];
  if (pipe(ends) != 0)
    return "no pipe";
  const pid_t child = fork();
  if (child == 0)
    checkAndExit(choices, settings, ends[1]);
  close(ends[1]);
  std::string wrong = readAll(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF))
    return "hang: more than " + std::to_string(settings.seconds) + " seconds";
  if (WIFSIGNALED(status))
    return std::string("crash: ") + strsignal(WTERMSIG(status));
  return wrong;
}

std::vector<uint32_t> shrink(std::vector<uint32_t> choices, const std::string &wrong, const Settings &settings) {
  const std::string kind = kindOf(wrong);
  int attempts = 0;
  auto keepIf = [&](std::vector<uint32_t> smaller) {
    if (++attempts > 600)
      return false;
    Choices drawn(smaller);
    generate(drawn);
    smaller = drawn.drawn();
    while (!smaller.empty() && smaller.back() == 0)
      smaller.pop_back();
    // Shorter comes first, then smaller numbers: each success is progress.
    if (smaller.size() > choices.size() || (smaller.size() == choices.size() && smaller >= choices))
      return false;
    if (kindOf(attempt(smaller, settings)) != kind)
      return false;
    choices = std::move(smaller);
    return true;
  };
  bool progress = true;
  while (progress && attempts < 600) {
    progress = false;
    for (size_t length : {64u, 32u, 16u, 8u, 4u, 2u, 1u})
      for (size_t at = 0; at + length <= choices.size();) {
        std::vector<uint32_t> smaller = choices;
        smaller.erase(smaller.begin() + ptrdiff_t(at), smaller.begin() + ptrdiff_t(at + length));
        if (keepIf(std::move(smaller)))
          progress = true;
        else
          at += length;
      }
    for (size_t at = 0; at < choices.size(); ++at)
      for (uint32_t number : {uint32_t{0}, choices[at] / 2}) {
        std::vector<uint32_t> smaller = choices;
        if (at >= smaller.size() || number >= smaller[at])
          continue;
        smaller[at] = number;
        progress |= keepIf(std::move(smaller));
      }
  }
  return choices;
}

} // namespace tegula::random_programs
