// SPDX-License-Identifier: MIT
#include "context.h"

#include "hooks.h"
#include "tegula/cuda_device.h"
#include "tegula/tuning_store.h"
#include "tegula/worker_compiler.h"

#include <bit>
#include <mutex>
#include <utility>

namespace tegula {
namespace {

Status checkOneOf(const char *name, int32_t value, int32_t last) {
  if (value >= 0 && value <= last)
    return {};
  return {ErrorCode::invalid_argument, "argument '" + std::string(name) + "': it is " + std::to_string(value) +
                                           "; it must be from 0 to " + std::to_string(last)};
}

Status checkOptions(const tegula_context_options &options) {
  TEGULA_RETURN_IF_ERROR(checkOneOf("device", options.device, TEGULA_CUDA));
  TEGULA_RETURN_IF_ERROR(checkOneOf("policy", options.policy, TEGULA_LOADED_ONLY));
  TEGULA_RETURN_IF_ERROR(checkOneOf("check_finite", options.check_finite, TEGULA_FINITE_INF));
  for (auto [name, value] :
       {std::pair("workers", int64_t{options.workers}), std::pair("cache_limit_bytes", options.cache_limit_bytes),
        std::pair("compile_time_limit_ms", options.compile_time_limit_ms),
        std::pair("compile_memory_bytes", options.compile_memory_bytes)})
    if (value < 0)
      return {ErrorCode::invalid_argument,
              "argument '" + std::string(name) + "': it is " + std::to_string(value) + "; it must be 0 or more"};
  for (size_t i = 0; i < options.read_only_count; ++i)
    if (options.read_only == nullptr || options.read_only[i] == nullptr)
      return nullArgument("read_only");
  return {};
}

static_assert(TEGULA_FINITE_UNCHECKED == int(FiniteCheck::none) && TEGULA_FINITE_NAN == int(FiniteCheck::nan) &&
              TEGULA_FINITE_INF == int(FiniteCheck::inf));

KernelCacheOptions kernelOptions(const tegula_context_options &options, const tegula_hooks &hooks,
                                 std::shared_ptr<ArtifactCache> artifacts) {
  KernelCacheOptions result{.artifacts = std::move(artifacts),
                            .policy = static_cast<CompilePolicy>(options.policy),
                            .check_finite = static_cast<FiniteCheck>(options.check_finite),
                            .device_asserts = options.device_asserts != 0};
  if (hooks.print != nullptr)
    result.print = [print = hooks.print, user = hooks.user](std::string_view text) {
      print(user, std::string(text).c_str());
    };
  return result;
}

std::string orEmpty(const char *text) { return text != nullptr ? text : ""; }

WorkerOptions workerOptions(const tegula_context_options &options) {
  WorkerOptions result;
  result.program = orEmpty(options.compiler);
  result.reproducers = orEmpty(options.reproducer_directory);
  if (options.workers > 0)
    result.workers = options.workers;
  if (options.compile_time_limit_ms > 0)
    result.time_limit = std::chrono::milliseconds(options.compile_time_limit_ms);
  if (options.compile_memory_bytes > 0)
    result.memory_bytes = options.compile_memory_bytes;
  return result;
}

ArtifactCacheOptions cacheOptions(const tegula_context_options &options, const tegula_hooks &hooks) {
  ArtifactCacheOptions result;
  if (options.cache_directory != nullptr)
    result.directory = options.cache_directory;
  if (options.cache_limit_bytes > 0)
    result.limit_bytes = options.cache_limit_bytes;
  for (size_t i = 0; i < options.read_only_count; ++i)
    result.read_only.emplace_back(options.read_only[i]);
  result.store = makeHostStore(hooks);
  return result;
}

/// Returns the length for which a plan is made, because schedules are kept for it. Returns a length that is not
/// positive unchanged; the check of the problem reports it.
int64_t lengthClass(int64_t length) {
  return length > 0 ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length))) : length;
}

/// Returns the bytes of the fields, and the texts instead of their addresses. The structure has no gaps, whose bytes
/// could differ between equal problems.
ProblemKey keyOf(tegula_attention_problem problem) {
  static_assert(sizeof(tegula_attention_problem) ==
                        24 * sizeof(int32_t) + 6 * sizeof(int64_t) + 4 * sizeof(tegula_key_set) + 2 * sizeof(char *) &&
                    sizeof(tegula_key_set) == 2 * sizeof(int32_t) + 3 * sizeof(int64_t),
                "there are no gaps");
  const std::string schedule = orEmpty(std::exchange(problem.schedule, nullptr)),
                    text = orEmpty(std::exchange(problem.variant_text, nullptr));
  return std::string(reinterpret_cast<const char *>(&problem), sizeof problem) + schedule + '\n' + text;
}

} // namespace

HostContext::HostContext(const tegula_context_options &options, const tegula_hooks &hooks,
                         std::shared_ptr<Device> device)
    : hooks_(hooks), device_(std::move(device)),
      artifacts_(std::make_shared<ArtifactCache>(cacheOptions(options, hooks))),
      worker_(makeWorkerCompiler(workerOptions(options))),
      compiler_(hooks.compilation != nullptr ? makeObservedCompiler(*worker_, hooks_) : nullptr),
      kernels_(compiler_ ? *compiler_ : *worker_, device_, kernelOptions(options, hooks, artifacts_)) {}

Expected<std::shared_ptr<HostContext>> HostContext::make(const tegula_context_options &options) {
  TEGULA_RETURN_IF_ERROR(checkOptions(options));
  Expected<tegula_hooks> hooks{tegula_hooks{}};
  if (options.hooks != nullptr)
    hooks = readStruct("hooks", options.hooks);
  if (!hooks)
    return hooks.status();
  Expected<std::shared_ptr<Device>> device = options.device == TEGULA_CUDA ? cudaDevice({.ordinal = options.ordinal})
                                                                           : cpuDevice({.threads = options.threads});
  if (!device)
    return device.status();
  std::shared_ptr<HostContext> context(new HostContext(options, *hooks, std::move(*device)));
  context->readTuned(options);
  return context;
}

void HostContext::readTuned(const tegula_context_options &options) {
  const Expected<TuningDevice> machine = tuningDevice(device_->target().name, *worker_, options.ordinal);
  if (machine)
    tuned_ =
        TuningStore(options.schedule_directory != nullptr ? options.schedule_directory : TuningStore::userDirectory())
            .configurations(*machine);
}

Expected<AttentionPlan> HostContext::plan(const tegula_attention_problem *from) {
  TEGULA_RETURN_IF_ERROR(fork_.check()); // A child lacks the executor's threads and the thread that holds the mutex.
  Expected<tegula_attention_problem> fields = readStruct("problem", from);
  if (!fields)
    return fields.status();
  fields->struct_size = sizeof *fields;
  fields->seqlen_q = lengthClass(fields->seqlen_q);
  fields->seqlen_k = lengthClass(fields->seqlen_k);
  const ProblemKey key = keyOf(*fields);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = plans_.find(key); found != plans_.end())
      return found->second;
  }
  const Expected<AttentionProblem> problem = readProblem(&*fields);
  const Expected<Schedule> schedule = readSchedule(*fields);
  if (!problem || !schedule)
    return problem ? schedule.status() : problem.status();
  compileAhead(*problem, *schedule);
  Expected<AttentionPlan> plan = AttentionPlan::make(*problem, kernels_, *schedule, &tuned_);
  if (!plan)
    return plan;
  const std::lock_guard lock(mutex_);
  made_ += plans_.emplace(key, *plan).second;
  return plan;
}

void HostContext::compileAhead(const AttentionProblem &problem, const Schedule &schedule) {
  if (hooks_.submit == nullptr || kernels_.policy() != CompilePolicy::compile)
    return;
  std::vector<std::function<void()>> tasks;
  for (std::string_view name : programsOf(problem))
    tasks.push_back([this, name, &problem, &schedule] {
      (void)guarded([&]() -> Status {
        const Expected<RecordedKernel> kernel = recordKernel(problem, name, kernels_.target(), schedule, &tuned_);
        return kernel ? kernels_.get(kernel->program.text, kernel->schedule).status() : kernel.status();
      });
    });
  runOnHost(hooks_, tasks);
}

Status HostContext::supports(const tegula_attention_problem *from) const {
  const Expected<tegula_attention_problem> fields = readStruct("problem", from);
  if (!fields)
    return fields.status();
  const Expected<AttentionProblem> problem = readProblem(&*fields);
  const Expected<Schedule> schedule = readSchedule(*fields);
  if (!problem || !schedule)
    return problem ? schedule.status() : problem.status();
  for (std::string_view name : programsOf(*problem))
    TEGULA_RETURN_IF_ERROR(recordKernel(*problem, name, device_->target(), *schedule).status());
  return {};
}

tegula_counters HostContext::counters() const noexcept {
  const CacheCounters cache = artifacts_->counters();
  tegula_counters counters{};
  counters.plans = made_;
  counters.compilations = cache.compilations;
  counters.hits = cache.hits;
  counters.read_only_hits = cache.read_only_hits;
  counters.store_hits = cache.store_hits;
  counters.misses = cache.misses;
  counters.faults = cache.faults;
  return counters;
}

} // namespace tegula

using namespace tegula;

extern "C" {

tegula_status tegula_context_create(const tegula_context_options *options, tegula_context **context,
                                    tegula_error **error) {
  return answer(error, [&]() -> Status {
    if (context == nullptr)
      return nullArgument("context");
    tegula_context_options usual{};
    usual.struct_size = sizeof usual;
    const Expected<tegula_context_options> all = readStruct("options", options != nullptr ? options : &usual);
    if (!all)
      return all.status();
    Expected<std::shared_ptr<HostContext>> host = HostContext::make(*all);
    if (!host)
      return host.status();
    *context = new tegula_context{std::move(*host)};
    return {};
  });
}

void tegula_context_destroy(tegula_context *context) { delete context; }

tegula_status tegula_context_set_policy(tegula_context *context, int32_t policy, tegula_error **error) {
  return answer(error, [&]() -> Status {
    if (context == nullptr)
      return nullArgument("context");
    TEGULA_RETURN_IF_ERROR(checkOneOf("policy", policy, TEGULA_LOADED_ONLY));
    context->host->setPolicy(static_cast<CompilePolicy>(policy));
    return {};
  });
}

tegula_status tegula_context_counters(const tegula_context *context, tegula_counters *counters, tegula_error **error) {
  return answer(error, [&]() -> Status {
    if (context == nullptr)
      return nullArgument("context");
    TEGULA_RETURN_IF_ERROR(readStruct("counters", counters).status());
    tegula_counters all = context->host->counters();
    all.struct_size = counters->struct_size;
    std::memcpy(counters, &all, std::min<size_t>(counters->struct_size, sizeof all));
    return {};
  });
}

tegula_status tegula_supports(tegula_context *context, const tegula_attention_problem *problem, tegula_error **error) {
  return answer(error, [&]() -> Status {
    return context != nullptr ? context->host->supports(problem) : nullArgument("context");
  });
}
}
