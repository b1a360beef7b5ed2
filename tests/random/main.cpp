// SPDX-License-Identifier: MIT
// Generates programs at random and compares each target with an interpreter. Worker processes share the seeds, so that
// a crash of the compiler ends one of them only.
#include "random/attempt.h"
#include "random/build.h"
#include "random/generate.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tegula::random_programs {

namespace {

constexpr int kMaxJobs = 256;
constexpr int64_t kNone = -1;
constexpr int kDefect = 3; ///< Exit status of a worker whose seed shows a defect.

struct Options {
  Settings settings;
  int64_t first = 0, last = 100;
  int jobs = 1;
  std::string program; ///< Choices to repeat, instead of seeds.
  std::string print;   ///< Empty, or what to print instead of checks: "dsl" or "mlir".
  bool shrinks = true;
};

/// Memory that the processes share.
struct Shared {
  std::atomic<int64_t> next;
  std::atomic<int64_t> findings;
  struct Worker {
    std::atomic<int64_t> seed; ///< The seed that it checks.
    Counts counts;
  } workers[kMaxJobs];
};

std::vector<uint32_t> choicesOf(int64_t seed) {
  Choices choices{uint64_t(seed)};
  generate(choices);
  return choices.drawn();
}

/// Prints a defect as a program and the command that repeats it.
void report(const std::vector<uint32_t> &numbers, const std::string &origin, const Options &options) {
  std::string wrong = attempt(numbers, options.settings);
  if (wrong.empty())
    wrong = "unsteady: a second run found nothing wrong";
  const std::vector<uint32_t> small = options.shrinks ? shrink(numbers, wrong, options.settings) : numbers;
  if (std::string now = attempt(small, options.settings); !now.empty())
    wrong = now;
  Choices choices(small);
  const std::string text = "\n" + origin + "\n" + wrong + "\n" + toText(generate(choices)) +
                           "// Repeat: tegula_random_programs --program " + toText(small) + "\n";
  fwrite(text.data(), 1, text.size(), stdout);
  fflush(stdout);
}

/// Checks seeds until none is left, or until one shows a defect: then the process ends, because devices do not survive
/// the forks of report(). `defective` is the seed that ended the worker before this one, or kNone.
[[noreturn]] void work(Shared &shared, Shared::Worker &worker, int64_t defective, const Options &options) {
  if (defective != kNone) {
    ++shared.findings;
    report(choicesOf(defective), "seed " + std::to_string(defective), options);
  }
  for (int64_t seed; (seed = shared.next++) < options.last;) {
    worker.seed = seed;
    limitTime(options.settings.seconds);
    Choices choices{uint64_t(seed)};
    const std::string wrong = check(generate(choices), options.settings.targets, worker.counts);
    limitTime(0);
    if (!wrong.empty())
      _exit(kDefect);
    worker.seed = kNone;
  }
  _exit(0);
}

/// Runs workers until all seeds are checked. Returns the number of defects.
int64_t runSeeds(const Options &options) {
  void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Shared &shared = *new (memory) Shared();
  shared.next = options.first;
  std::vector<pid_t> workers(size_t(options.jobs), 0);
  auto start = [&](size_t i, int64_t defective) {
    shared.workers[i].seed = kNone;
    if ((workers[i] = fork()) == 0)
      work(shared, shared.workers[i], defective, options);
  };
  for (size_t i = 0; i < workers.size(); ++i)
    start(i, kNone);
  int status = 0;
  for (pid_t ended; (ended = wait(&status)) > 0;)
    for (size_t i = 0; i < workers.size(); ++i)
      if (workers[i] == ended && status != 0)
        start(i, shared.workers[i].seed);
  Counts counts;
  for (const Shared::Worker &worker : shared.workers)
    counts += worker.counts;
  printf("%lld programs, %lld launches, %lld refusals, %lld elements (%lld of them without a bound), %lld defects\n",
         (long long)counts.programs, (long long)counts.launches, (long long)counts.refusals, (long long)counts.elements,
         (long long)counts.vague, (long long)shared.findings.load());
  return shared.findings;
}

/// Prints a program in the language or, for "mlir", as the compiler reads it.
void print(const Case &program, std::string_view language) {
  printf("%s", (language == "mlir" ? build(program)->text : toText(program)).c_str());
}

void printSeeds(const Options &options) {
  for (int64_t seed = options.first; seed < options.last; ++seed) {
    Choices choices{uint64_t(seed)};
    printf("// seed %lld\n", (long long)seed);
    print(generate(choices), options.print);
  }
}

/// Prints one program and, unless the options ask only for that, checks it.
int runProgram(const Options &options) {
  const std::vector<uint32_t> numbers = parseChoices(options.program);
  Choices choices(numbers);
  print(generate(choices), options.print);
  if (!options.print.empty())
    return 0;
  const std::string wrong = attempt(numbers, options.settings);
  printf("%s\n", wrong.empty() ? "passed" : wrong.c_str());
  return wrong.empty() ? 0 : 1;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words(1);
  for (char letter : text)
    if (letter == ',')
      words.emplace_back();
    else
      words.back() += letter;
  return words;
}

/// Sets an option. Returns false if there is none of this name.
bool set(Options &options, std::string_view name, std::string_view value) {
  const size_t colon = value.find(':');
  if (name == "--seeds" && colon != std::string_view::npos) {
    std::from_chars(value.data(), value.data() + colon, options.first);
    std::from_chars(value.data() + colon + 1, value.data() + value.size(), options.last);
    return true;
  }
  if (name == "--jobs") {
    std::from_chars(value.data(), value.data() + value.size(), options.jobs);
    return options.jobs > 0 && options.jobs <= kMaxJobs;
  }
  if (name == "--targets")
    options.settings.targets = split(value);
  else if (name == "--program")
    options.program = value;
  else if (name == "--seconds")
    options.settings.seconds = std::max(1, std::atoi(std::string(value).c_str()));
  else if (name == "--shrink")
    options.shrinks = value == "1";
  else if (name == "--print")
    options.print = value;
  else
    return false;
  return true;
}

int run(int count, char **words) {
  Options options;
  options.jobs = std::max(1, std::min<int>(kMaxJobs, int(std::thread::hardware_concurrency())));
  for (int i = 1; i < count; i += 2)
    if (i + 1 == count || !set(options, words[i], words[i + 1])) {
      fprintf(
          stderr,
          "usage: %s [--seeds FIRST:LAST] [--jobs N] [--targets cpu,sm_80,sm_90a,unscheduled,ptx,cuda] [--seconds N]\n"
          "  [--shrink 0|1] [--print dsl|mlir] [--program CHOICES]\n",
          words[0]);
      return 2;
    }
  if (!options.program.empty())
    return runProgram(options);
  if (!options.print.empty()) {
    printSeeds(options);
    return 0;
  }
  return runSeeds(options) == 0 ? 0 : 1;
}

} // namespace
} // namespace tegula::random_programs

int main(int count, char **words) { return tegula::random_programs::run(count, words); }
