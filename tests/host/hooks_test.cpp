// SPDX-License-Identifier: MIT
// Tests of the hooks by which a host does work itself.
#include "host/host_fixture.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tegula::host;
using namespace tegula::test;

namespace {

/// A host that uses all hooks.
struct Host {
  std::mutex mutex;
  std::map<std::string, std::string> kept;
  std::vector<tegula_compilation> compilations;
  std::vector<std::string> kernels, schedules; ///< The names and schedules of finished compilations.
  std::vector<std::thread> threads;
  int64_t allocated = 0, released = 0;
  bool hasMemory = true;

  tegula_hooks hooks = make<tegula_hooks>();

  Host() {
    hooks.user = this;
    hooks.compilation = [](void *user, const tegula_compilation *compilation) {
      const std::lock_guard lock(of(user).mutex);
      of(user).compilations.push_back(*compilation);
      if (compilation->finished) {
        of(user).kernels.push_back(compilation->kernel);
        of(user).schedules.push_back(compilation->schedule);
      }
    };
    hooks.submit = [](void *user, void (*task)(void *), void *data) { of(user).threads.emplace_back(task, data); };
    hooks.allocate = [](void *user, int64_t bytes, void *) -> void * {
      of(user).allocated += bytes;
      return of(user).hasMemory ? std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64)) : nullptr;
    };
    hooks.release = [](void *user, void *memory, int64_t bytes, void *) {
      of(user).released += bytes;
      std::free(memory);
    };
    hooks.save = [](void *user, const char *key, const void *bytes, size_t size) {
      const std::lock_guard lock(of(user).mutex);
      of(user).kept[key].assign(static_cast<const char *>(bytes), size);
    };
    hooks.load = [](void *user, const char *key, void (*receive)(void *, const void *, size_t), void *to) {
      const std::lock_guard lock(of(user).mutex);
      const auto found = of(user).kept.find(key);
      if (found != of(user).kept.end())
        receive(to, found->second.data(), found->second.size());
    };
  }
  Host(const Host &) = delete;
  Host &operator=(const Host &) = delete;
  ~Host() {
    for (std::thread &thread : threads)
      thread.join();
  }

  static Host &of(void *user) { return *static_cast<Host *>(user); }

  tegula_context_options options() {
    tegula_context_options result = tegula::test::options();
    result.cache_directory = "";
    result.hooks = &hooks;
    return result;
  }
};

TEST(Hooks, SeeEveryCompilation) {
  Host host;
  const Context context = makeContext(host.options());
  ASSERT_TRUE(isOk(context.plan(problem()).status()));
  EXPECT_EQ(host.compilations.size(), 8u);
  EXPECT_EQ(std::count_if(host.compilations.begin(), host.compilations.end(),
                          [](const auto &c) { return c.finished && c.status == TEGULA_OK && c.milliseconds > 0; }),
            4);
}

TEST(Hooks, NameEachKernelAndItsSchedule) {
  Host host;
  const Context context = makeContext(host.options());
  ASSERT_TRUE(isOk(context.plan(problem()).status()));
  EXPECT_EQ(std::count(host.kernels.begin(), host.kernels.end(), "flash2_forward"), 1);
  for (const std::string &schedule : host.schedules)
    EXPECT_NE(schedule.find("block_m="), std::string::npos) << schedule;
}

TEST(Hooks, SeeTheScheduleOfTheProblem) {
  Host host;
  const Context context = makeContext(host.options());
  tegula_attention_problem scheduled = problem();
  scheduled.schedule = "block_m=32 block_n=16";
  ASSERT_TRUE(isOk(context.plan(scheduled).status()));
  EXPECT_EQ(host.schedules, std::vector<std::string>(host.schedules.size(), "block_m=32 block_n=16"));
  ASSERT_TRUE(isOk(context.plan(problem()).status()));
  EXPECT_EQ(context.counters()->plans, 2);
  EXPECT_EQ(host.schedules.size(), 8u);
}

TEST(Hooks, HaveASize) {
  tegula_context_options options = tegula::test::options();
  const tegula_hooks hooks{};
  options.hooks = &hooks;
  EXPECT_EQ(Context::create(options).status().message(),
            "argument 'hooks': its struct_size is 0; this library knows " + std::to_string(sizeof hooks) + " bytes");
}

/// A forked child has none of the executor's threads, and would wait for their work.
TEST(Hooks, ForAForkedChildNothingIsSubmitted) {
  Host host;
  host.hooks.submit = [](void *, void (*)(void *), void *) {};
  const Context context = makeContext(host.options());
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(static_cast<int>(context.plan(problem()).status().code()));
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == TEGULA_FORKED_CHILD);
}

TEST(Hooks, RunTheCompilationsSideBySide) {
  Host host;
  ASSERT_TRUE(isOk(makeContext(host.options()).plan(problem()).status()));
  EXPECT_EQ(host.threads.size(), 4u);
}

TEST(Hooks, KeepCompiledKernels) {
  Host host;
  ASSERT_TRUE(isOk(makeContext(host.options()).plan(problem()).status()));
  EXPECT_EQ(host.kept.size(), 4u);
  const Context second = makeContext(host.options());
  ASSERT_TRUE(isOk(second.plan(problem()).status()));
  EXPECT_EQ(second.counters()->store_hits, 4);
  EXPECT_EQ(second.counters()->compilations, 0);
}

TEST(Hooks, AllocateWorkspaces) {
  Host host;
  const Context context = makeContext(host.options());
  Sequence sequence(30);
  ASSERT_TRUE(isOk(context.forward(problem(), sequence.forward())));
  EXPECT_EQ(host.allocated, 0);
  ASSERT_TRUE(isOk(context.backward(problem(), sequence.backward())));
  EXPECT_GT(host.allocated, 0);
  EXPECT_EQ(host.allocated, host.released);
  host.hasMemory = false;
  EXPECT_EQ(context.backward(problem(), sequence.backward()).code(), ErrorCode::resource_exhausted);
}

} // namespace
