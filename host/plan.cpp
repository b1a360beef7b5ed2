// SPDX-License-Identifier: MIT
#include "plan.h"

#include "kernel.h"
#include "plan_description.h"

#include <vector>

namespace tegula {
namespace {

/// The arguments of a call in C++. They must not be copied, because `call` refers to the vectors.
struct Forward {
  AttentionForward call;
  std::vector<TensorRef> variant_tensors;
  Workspace workspace;
  Stream stream;
};

struct Backward {
  AttentionBackward call;
  std::vector<TensorRef> variant_tensors, gradients;
  Workspace workspace;
  Stream stream;
};

Status readInto(TensorRef &to, const char *name, const tegula_tensor &from) {
  const Expected<TensorRef> tensor = readTensor(name, from);
  if (tensor)
    to = *tensor;
  return tensor.status();
}

Status readList(std::vector<TensorRef> &to, const char *name, const tegula_tensor *from, size_t count) {
  if (from == nullptr && count > 0)
    return nullArgument(name);
  to.resize(count);
  for (size_t i = 0; i < count; ++i)
    TEGULA_RETURN_IF_ERROR(readInto(to[i], (std::string(name) + "[" + std::to_string(i) + "]").c_str(), from[i]));
  return {};
}

Status readBlocks(BlockMaskTensors &to, const tegula_block_mask *from) {
  if (from == nullptr)
    return {};
  TEGULA_RETURN_IF_ERROR(readInto(to.kv_num_blocks, "blocks.kv_num_blocks", from->kv_num_blocks));
  TEGULA_RETURN_IF_ERROR(readInto(to.kv_indices, "blocks.kv_indices", from->kv_indices));
  TEGULA_RETURN_IF_ERROR(readInto(to.full_kv_num_blocks, "blocks.full_kv_num_blocks", from->full_kv_num_blocks));
  return readInto(to.full_kv_indices, "blocks.full_kv_indices", from->full_kv_indices);
}

/// Reads the arguments that both passes have.
template <class CArgs, class Args> Status readShared(const CArgs &from, Args &to) {
  TEGULA_RETURN_IF_ERROR(readInto(to.call.q, "q", from.q));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.k, "k", from.k));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.v, "v", from.v));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.o, "o", from.o));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.lse, "lse", from.lse));
  TEGULA_RETURN_IF_ERROR(
      readList(to.variant_tensors, "variant_tensors", from.variant_tensors, from.variant_tensor_count));
  TEGULA_RETURN_IF_ERROR(readBlocks(to.call.block_mask, from.blocks));
  to.call.lists = {from.lists, from.lists_bytes};
  TEGULA_RETURN_IF_ERROR(readInto(to.call.dropout_state, "dropout_state", from.dropout_state));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.sinks, "sinks", from.sinks));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.diagonal_offset, "diagonal_offset", from.diagonal_offset));
  to.call.scale = from.scale;
  to.call.variant_tensors = to.variant_tensors;
  to.workspace = {from.workspace, from.workspace_bytes};
  to.stream = {from.stream};
  return {};
}

Status read(const tegula_forward_args *from, Forward &to) {
  const Expected<tegula_forward_args> args = readStruct("args", from);
  if (!args)
    return args.status();
  TEGULA_RETURN_IF_ERROR(readShared(*args, to));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.page_table, "page_table", args->page_table));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.page_lengths, "page_lengths", args->page_lengths));
  return readInto(to.call.scores, "scores", args->scores);
}

Status read(const tegula_backward_args *from, Backward &to) {
  const Expected<tegula_backward_args> args = readStruct("args", from);
  if (!args)
    return args.status();
  TEGULA_RETURN_IF_ERROR(readShared(*args, to));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.d_o, "d_o", args->d_o));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.d_lse, "d_lse", args->d_lse));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.dq, "dq", args->dq));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.dk, "dk", args->dk));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.dv, "dv", args->dv));
  TEGULA_RETURN_IF_ERROR(readInto(to.call.d_sinks, "d_sinks", args->d_sinks));
  TEGULA_RETURN_IF_ERROR(
      readList(to.gradients, "variant_gradients", args->variant_gradients, args->variant_gradient_count));
  to.call.variant_gradients = to.gradients;
  return {};
}

Status launch(const AttentionPlan &plan, const Forward &args) {
  return plan.forward(args.call, args.workspace, args.stream);
}

Status launch(const AttentionPlan &plan, const Backward &args) {
  return plan.backward(args.call, args.workspace, args.stream);
}

/// Returns the shape of a call without a check. The launch itself finds what is wrong with the tensors.
template <class Call> AttentionShape shapeOf(const Call &call) {
  const int64_t *q = call.q.shape, *k = call.k.shape;
  return {.batch = q[0], .heads = q[1], .kv_heads = k[1], .seqlen_q = q[2], .seqlen_k = k[2]};
}

Expected<int64_t> workspaceBytes(const AttentionPlan &plan, const Forward &args) {
  return plan.forwardWorkspace(shapeOf(args.call));
}

Expected<int64_t> workspaceBytes(const AttentionPlan &plan, const Backward &args) {
  return plan.backwardWorkspace(shapeOf(args.call));
}

template <class Args> Status launchWithHostMemory(const tegula_hooks &hooks, const AttentionPlan &plan, Args &args) {
  void *memory = hooks.allocate(hooks.user, args.workspace.bytes, args.stream.handle);
  if (memory == nullptr)
    return {ErrorCode::resource_exhausted,
            "the host's allocate() has no " + std::to_string(args.workspace.bytes) + " bytes"};
  args.workspace.data = memory;
  const Status status = launch(plan, args);
  if (hooks.release != nullptr)
    hooks.release(hooks.user, memory, args.workspace.bytes, args.stream.handle);
  return status;
}

/// Launches a plan. Brings the workspace if the caller did not.
template <class Args> Status launchAnyhow(const HostContext &host, const AttentionPlan &plan, Args &args) {
  const Expected<int64_t> bytes = args.workspace.data == nullptr ? workspaceBytes(plan, args) : Expected<int64_t>(0);
  if (!bytes || *bytes == 0)
    return launch(plan, args); // launch() says what is wrong with the shape.
  args.workspace.bytes = *bytes;
  if (host.hooks().allocate != nullptr)
    return launchWithHostMemory(host.hooks(), plan, args);
  if (host.device().target().name != "cpu")
    return {ErrorCode::invalid_argument,
            "argument 'workspace': it is null, and there is no allocate() among the hooks; " + std::to_string(*bytes) +
                " bytes are needed"};
  const Expected<Buffer> memory = host.device().allocate(*bytes);
  if (!memory)
    return memory.status();
  args.workspace.data = memory->data();
  return launch(plan, args);
}

template <class Args, class CArgs>
tegula_status runOnce(tegula_context *context, const tegula_attention_problem *problem, const CArgs *cArgs,
                      tegula_error **error) noexcept {
  return answer(error, [&]() -> Status {
    if (context == nullptr)
      return nullArgument("context");
    Args args;
    TEGULA_RETURN_IF_ERROR(read(cArgs, args));
    const Expected<AttentionPlan> plan = context->host->plan(problem);
    return plan ? launchAnyhow(*context->host, *plan, args) : plan.status();
  });
}

/// Calls `function` with the plan of the kind that it takes.
template <class Kind, class Function> Status withPlan(const tegula_plan *plan, Function function) {
  if (plan == nullptr)
    return nullArgument("plan");
  if (const Kind *found = std::get_if<Kind>(&plan->plan))
    return function(*found);
  return {ErrorCode::invalid_argument,
          std::is_same_v<Kind, Plan>
              ? "argument 'plan': tegula_plan_create made it, for tegula_plan_forward and tegula_plan_backward; this "
                "call needs one of tegula_plan_create_from_kernels, _create_merge, _create_decode, _create_append, "
                "_create_rotary, _create_packed or _create_packed_pages"
              : "argument 'plan': tegula_plan_create_from_kernels, _create_merge, _create_decode, _create_append, "
                "_create_rotary, _create_packed or _create_packed_pages made it, for tegula_plan_launch; this call "
                "needs one of "
                "tegula_plan_create"};
}

Expected<Sizes> readSizes(const tegula_size *sizes, size_t count) {
  if (sizes == nullptr && count > 0)
    return nullArgument("sizes");
  Sizes result;
  for (size_t i = 0; i < count; ++i) {
    if (sizes[i].name == nullptr)
      return nullArgument(("sizes[" + std::to_string(i) + "].name").c_str());
    result.push_back({sizes[i].name, sizes[i].value});
  }
  return result;
}

Expected<AttentionShape> readShape(const tegula_attention_shape *from) {
  const Expected<tegula_attention_shape> shape = readStruct("shape", from);
  if (!shape)
    return shape.status();
  return AttentionShape{.batch = shape->batch,
                        .heads = shape->heads,
                        .kv_heads = shape->kv_heads,
                        .seqlen_q = shape->seqlen_q,
                        .seqlen_k = shape->seqlen_k};
}

/// Writes two numbers of bytes to where the caller wants them.
Status answerBytes(const Expected<int64_t> &first, int64_t *to_first, const Expected<int64_t> &second,
                   int64_t *to_second) {
  if (!first || !second)
    return (first ? second : first).status();
  if (to_first != nullptr)
    *to_first = *first;
  if (to_second != nullptr)
    *to_second = *second;
  return {};
}

/// Makes the plan that `describe` describes for a problem of the C interface, which `read` reads.
template <class Read, class Describe> Expected<Plan> makeFrom(HostContext &host, Read read, Describe describe) {
  const auto problem = read();
  if (!problem)
    return problem.status();
  const Expected<PlanSpec> spec = describe(*problem);
  return spec ? Plan::make(*spec, host.kernels()) : spec.status();
}

/// Gives *plan the plan that `make(context)` makes.
template <class Make>
tegula_status createPlan(tegula_context *context, tegula_plan **plan, tegula_error **error, Make make) noexcept {
  return answer(error, [&]() -> Status {
    if (context == nullptr || plan == nullptr)
      return nullArgument(context == nullptr ? "context" : "plan");
    Expected<Plan> made = make(*context->host);
    if (!made)
      return made.status();
    *plan = new tegula_plan{context->host, std::move(*made)};
    return {};
  });
}

Status makeLists(const AttentionPlan &plan, const tegula_lists_args &args) {
  const Expected<AttentionShape> shape = readShape(&args.shape);
  if (!shape)
    return shape.status();
  std::vector<TensorRef> variant_tensors;
  TEGULA_RETURN_IF_ERROR(readList(variant_tensors, "variant_tensors", args.variant_tensors, args.variant_tensor_count));
  AttentionLists call{.shape = *shape, .variant_tensors = variant_tensors};
  TEGULA_RETURN_IF_ERROR(readBlocks(call.block_mask, args.blocks));
  TEGULA_RETURN_IF_ERROR(readInto(call.diagonal_offset, "diagonal_offset", args.diagonal_offset));
  return plan.makeLists(call, {args.lists, args.lists_bytes}, {args.workspace, args.workspace_bytes}, {args.stream});
}

/// Calls `function(plan, arguments, args)` with the arguments of a launch.
template <class Function>
tegula_status withArguments(const tegula_plan *plan, const tegula_launch_args *from, tegula_error **error,
                            Function function) noexcept {
  return answer(error, [&]() -> Status {
    return withPlan<Plan>(plan, [&](const Plan &kernels) -> Status {
      const Expected<tegula_launch_args> args = readStruct("args", from);
      if (!args)
        return args.status();
      ArgumentList list;
      TEGULA_RETURN_IF_ERROR(list.read(args->arguments, args->argument_count));
      return function(kernels, list.all(), *args);
    });
  });
}

template <class Args, class CArgs>
tegula_status run(const tegula_plan *plan, const CArgs *cArgs, tegula_error **error) noexcept {
  return answer(error, [&]() -> Status {
    Args args;
    return withPlan<AttentionPlan>(plan, [&](const AttentionPlan &attention) -> Status {
      TEGULA_RETURN_IF_ERROR(read(cArgs, args));
      return launch(attention, args);
    });
  });
}

} // namespace
} // namespace tegula

using namespace tegula;

extern "C" {

tegula_status tegula_plan_create(tegula_context *context, const tegula_attention_problem *problem, tegula_plan **plan,
                                 tegula_error **error) {
  return answer(error, [&]() -> Status {
    if (context == nullptr || plan == nullptr)
      return nullArgument(context == nullptr ? "context" : "plan");
    Expected<AttentionPlan> made = context->host->plan(problem);
    if (!made)
      return made.status();
    *plan = new tegula_plan{context->host, std::move(*made)};
    return {};
  });
}

void tegula_plan_destroy(tegula_plan *plan) { delete plan; }

tegula_status tegula_plan_workspace(const tegula_plan *plan, const tegula_attention_shape *from, int64_t *forward_bytes,
                                    int64_t *backward_bytes, tegula_error **error) {
  return answer(error, [&]() -> Status {
    return withPlan<AttentionPlan>(plan, [&](const AttentionPlan &attention) -> Status {
      const Expected<AttentionShape> shape = readShape(from);
      if (!shape)
        return shape.status();
      return answerBytes(attention.forwardWorkspace(*shape), forward_bytes, attention.backwardWorkspace(*shape),
                         backward_bytes);
    });
  });
}

tegula_status tegula_plan_lists(const tegula_plan *plan, const tegula_attention_shape *from, int64_t *lists_bytes,
                                int64_t *workspace_bytes, tegula_error **error) {
  return answer(error, [&]() -> Status {
    return withPlan<AttentionPlan>(plan, [&](const AttentionPlan &attention) -> Status {
      const Expected<AttentionShape> shape = readShape(from);
      if (!shape)
        return shape.status();
      return answerBytes(attention.listBytes(*shape), lists_bytes, attention.listWorkspace(*shape), workspace_bytes);
    });
  });
}

tegula_status tegula_plan_make_lists(const tegula_plan *plan, const tegula_lists_args *from, tegula_error **error) {
  return answer(error, [&]() -> Status {
    return withPlan<AttentionPlan>(plan, [&](const AttentionPlan &attention) -> Status {
      const Expected<tegula_lists_args> args = readStruct("args", from);
      return args ? makeLists(attention, *args) : args.status();
    });
  });
}

tegula_status tegula_plan_forward(const tegula_plan *plan, const tegula_forward_args *args, tegula_error **error) {
  return run<Forward>(plan, args, error);
}

tegula_status tegula_plan_backward(const tegula_plan *plan, const tegula_backward_args *args, tegula_error **error) {
  return run<Backward>(plan, args, error);
}

tegula_status tegula_attention_forward(tegula_context *context, const tegula_attention_problem *problem,
                                       const tegula_forward_args *args, tegula_error **error) {
  return runOnce<Forward>(context, problem, args, error);
}

tegula_status tegula_attention_backward(tegula_context *context, const tegula_attention_problem *problem,
                                        const tegula_backward_args *args, tegula_error **error) {
  return runOnce<Backward>(context, problem, args, error);
}

tegula_status tegula_plan_create_from_kernels(tegula_context *context, const tegula_plan_description *description,
                                              tegula_plan **plan, tegula_error **error) {
  return createPlan(context, plan, error, [&](HostContext &host) -> Expected<Plan> {
    const Expected<tegula_plan_description> fields = readStruct("description", description);
    return fields ? makePlan(host, *fields) : fields.status();
  });
}

tegula_status tegula_plan_create_merge(tegula_context *context, const tegula_merge_problem *problem, tegula_plan **plan,
                                       tegula_error **error) {
  return createPlan(context, plan, error, [&](HostContext &host) {
    const Target target = host.kernels().target();
    return makeFrom(
        host, [&] { return readMergeProblem(problem); },
        [&](const MergeProblem &merge) {
          return problem->backward != 0 ? mergeAttentionBackward(merge, target) : mergeAttention(merge, target);
        });
  });
}

tegula_status tegula_plan_create_decode(tegula_context *context, const tegula_decode_problem *problem,
                                        tegula_plan **plan, tegula_error **error) {
  return createPlan(context, plan, error, [&](HostContext &host) {
    return makeFrom(
        host, [&] { return readDecodeProblem(problem); },
        [&](const DecodeProblem &decode) { return decodeAttention(decode, host.kernels().target()); });
  });
}

tegula_status tegula_plan_create_append(tegula_context *context, const tegula_append_problem *problem,
                                        tegula_plan **plan, tegula_error **error) {
  return createPlan(context, plan, error, [&](HostContext &host) {
    return makeFrom(host, [&] { return readAppendProblem(problem); }, appendToCache);
  });
}

tegula_status tegula_plan_create_rotary(tegula_context *context, const tegula_rotary_problem *problem,
                                        tegula_plan **plan, tegula_error **error) {
  return createPlan(context, plan, error, [&](HostContext &host) {
    return makeFrom(host, [&] { return readRotaryProblem(problem); }, rotaryEmbedding);
  });
}

tegula_status tegula_plan_create_packed(tegula_context *context, tegula_plan **plan, tegula_error **error) {
  return createPlan(context, plan, error, [](HostContext &host) {
    const Expected<PlanSpec> spec = packedIntervals();
    return spec ? Plan::make(*spec, host.kernels()) : spec.status();
  });
}

tegula_status tegula_plan_create_packed_pages(tegula_context *context, const tegula_packed_pages_problem *problem,
                                              tegula_plan **plan, tegula_error **error) {
  return createPlan(context, plan, error, [&](HostContext &host) {
    return makeFrom(host, [&] { return readPackedPagesProblem(problem); }, packedPages);
  });
}

size_t tegula_plan_argument_count(const tegula_plan *plan) {
  const Plan *found = plan != nullptr ? std::get_if<Plan>(&plan->plan) : nullptr;
  return found != nullptr ? found->arguments().size() : 0;
}

tegula_status tegula_plan_argument(const tegula_plan *plan, size_t index, tegula_parameter *parameter,
                                   tegula_error **error) {
  return answer(error, [&]() -> Status {
    return withPlan<Plan>(plan, [&](const Plan &kernels) { return describe(kernels.arguments(), index, parameter); });
  });
}

tegula_status tegula_plan_workspace_bytes(const tegula_plan *plan, const tegula_size *sizes, size_t size_count,
                                          int64_t *bytes, tegula_error **error) {
  return answer(error, [&]() -> Status {
    return withPlan<Plan>(plan, [&](const Plan &kernels) -> Status {
      const Expected<Sizes> named = readSizes(sizes, size_count);
      if (!named || bytes == nullptr)
        return named ? nullArgument("bytes") : named.status();
      const Expected<int64_t> needed = kernels.workspaceBytes(*named);
      if (needed)
        *bytes = *needed;
      return needed.status();
    });
  });
}

tegula_status tegula_plan_launch(const tegula_plan *plan, const tegula_launch_args *from, tegula_error **error) {
  return withArguments(plan, from, error, [](const Plan &kernels, auto arguments, const tegula_launch_args &args) {
    return kernels.launch(arguments, {args.workspace, args.workspace_bytes}, {args.stream},
                          {args.prepared, args.prepared_bytes});
  });
}

tegula_status tegula_plan_prepared(const tegula_plan *plan, const tegula_size *sizes, size_t size_count, int64_t *bytes,
                                   size_t *argument_count, tegula_error **error) {
  return answer(error, [&]() -> Status {
    return withPlan<Plan>(plan, [&](const Plan &kernels) -> Status {
      const Expected<Sizes> named = readSizes(sizes, size_count);
      const Expected<int64_t> needed = named ? kernels.preparedBytes(*named) : named.status();
      if (!needed)
        return needed.status();
      if (bytes != nullptr)
        *bytes = *needed;
      if (argument_count != nullptr)
        *argument_count = kernels.preparedArguments();
      return {};
    });
  });
}

tegula_status tegula_plan_prepare(const tegula_plan *plan, const tegula_launch_args *from, tegula_error **error) {
  return withArguments(plan, from, error, [](const Plan &kernels, auto arguments, const tegula_launch_args &args) {
    return kernels.prepare(arguments, {args.prepared, args.prepared_bytes}, {args.stream});
  });
}
}
