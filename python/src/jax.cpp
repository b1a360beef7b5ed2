// SPDX-License-Identifier: MIT
// Attention as custom calls of XLA, a forward and a backward one, for CPUs and for CUDA devices. tegula/jax.py
// registers them with JAX, checks what it passes, and makes a differentiable function of them.
#include "tegula/tegula.h"

#include "xla/ffi/api/ffi.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tegula_jax {
namespace {

namespace ffi = xla::ffi;

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<Buffer>;

/// The attributes of both calls.
struct Options {
  float scale; ///< 0: the default of the library.
  bool causal;
  int64_t window_left, window_right; ///< TEGULA_NO_BOUND: none.
  bool deterministic;
  bool documents, bias, mask;       ///< The call has these tensors of variants.
  bool lse_gradient, bias_gradient; ///< The backward call has d_lse, or writes dbias.
};

/// Where a call runs.
struct Place {
  int32_t device = TEGULA_CPU, ordinal = 0;
  void *stream = nullptr;
  ffi::ScratchAllocator *scratch = nullptr; ///< Null on a CPU.
};

Place placeOf() { return {}; }

Place placeOf(void *&stream, ffi::ScratchAllocator &scratch, int32_t &ordinal) {
  return {TEGULA_CUDA, ordinal, stream, &scratch};
}

//===-- Tensors --------------------------------------------------------------------------------------------------===//

/// Returns TEGULA_F32, ... for the types that jax.py passes. The library refuses -1.
int32_t typeOf(ffi::DataType type) {
  switch (type) {
  case ffi::DataType::F32:
    return TEGULA_F32;
  case ffi::DataType::F16:
    return TEGULA_F16;
  case ffi::DataType::BF16:
    return TEGULA_BF16;
  case ffi::DataType::F8E4M3FN:
    return TEGULA_E4M3;
  case ffi::DataType::S32:
    return TEGULA_I32;
  case ffi::DataType::PRED:
    return TEGULA_I8;
  default:
    return -1;
  }
}

/// Returns the memory of a buffer, which is dense.
tegula_tensor view(const Buffer &buffer) {
  const auto sizes = buffer.dimensions();
  tegula_tensor result{buffer.untyped_data(), typeOf(buffer.element_type()), int32_t(sizes.size()), {}, {}};
  int64_t stride = 1;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    result.shape[axis] = sizes[axis];
    result.strides[axis] = stride;
    stride *= sizes[axis];
  }
  return result;
}

/// Returns a buffer [batch, length, heads, dim] as [batch, heads, length, dim].
tegula_tensor headsFirst(const Buffer &buffer) {
  tegula_tensor result = view(buffer);
  std::swap(result.shape[1], result.shape[2]);
  std::swap(result.strides[1], result.strides[2]);
  return result;
}

/// Returns `count` arguments from `first` on.
std::vector<tegula_tensor> views(ffi::RemainingArgs arguments, size_t first, size_t count) {
  std::vector<tegula_tensor> result;
  for (size_t n = first; n < first + count; ++n)
    result.push_back(view(*arguments.get<Buffer>(n)));
  return result;
}

/// Returns the number of tensors that the variants read. They come in the order of tegula.h.
size_t variantTensorCount(const Options &options) { return (options.documents ? 4 : 0) + options.bias + options.mask; }

//===-- Contexts and errors --------------------------------------------------------------------------------------===//

/// The memory of the call that this thread makes.
thread_local ffi::ScratchAllocator *scratch_of_call = nullptr;

/// XLA aligns its memory, but promises less than 64 bytes.
void *allocate(void *, int64_t bytes, void *) {
  constexpr uintptr_t kAlignment = 64;
  const auto memory = scratch_of_call->Allocate(size_t(bytes) + kAlignment - 1);
  if (!memory)
    return nullptr;
  return reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(*memory) + kAlignment - 1) / kAlignment * kAlignment);
}

/// Finds the context of a device, which lives as long as the process.
tegula_status findContext(const Place &place, tegula_context *&context, tegula_error *&error) {
  static std::mutex mutex;
  static std::map<std::pair<int32_t, int32_t>, tegula_context *> contexts;
  const std::lock_guard lock(mutex);
  tegula_context *&found = contexts[{place.device, place.ordinal}];
  tegula_status status = TEGULA_OK;
  if (found == nullptr) {
    tegula_context_options options{};
    options.struct_size = sizeof options;
    tegula_hooks hooks{};
    hooks.struct_size = sizeof hooks;
    hooks.allocate = allocate; // XLA frees the memory after the call, in the order of the stream.
    options.device = place.device;
    options.ordinal = place.ordinal;
    options.hooks = place.scratch != nullptr ? &hooks : nullptr;
    status = tegula_context_create(&options, &found, &error);
  }
  context = found;
  return status;
}

ffi::ErrorCode codeOf(tegula_status status) {
  switch (status) {
  case TEGULA_INVALID_ARGUMENT:
    return ffi::ErrorCode::kInvalidArgument;
  case TEGULA_UNSUPPORTED:
    return ffi::ErrorCode::kUnimplemented;
  case TEGULA_RESOURCE_EXHAUSTED:
    return ffi::ErrorCode::kResourceExhausted;
  default:
    return ffi::ErrorCode::kInternal;
  }
}

/// Runs a pass, and returns an error with the library's message if it fails.
template <class Args, class Pass>
ffi::Error run(const Place &place, const tegula_attention_problem &problem, const Args &args, Pass pass) {
  tegula_context *context = nullptr;
  tegula_error *error = nullptr;
  tegula_status status = findContext(place, context, error);
  if (status == TEGULA_OK) {
    scratch_of_call = place.scratch;
    status = pass(context, &problem, &args, &error);
    scratch_of_call = nullptr;
  }
  if (status == TEGULA_OK)
    return ffi::Error::Success();
  const std::string message = tegula_error_message(error);
  tegula_error_free(error);
  return ffi::Error(codeOf(status), message);
}

//===-- Calls ----------------------------------------------------------------------------------------------------===//

tegula_attention_problem problemOf(const Options &options, const tegula_tensor &q, const tegula_tensor &k,
                                   const tegula_tensor &v, const std::vector<tegula_tensor> &variant_tensors) {
  tegula_attention_problem problem{};
  problem.struct_size = sizeof problem;
  problem.dtype = q.dtype;
  problem.head_dim = int32_t(q.shape[3]);
  problem.value_dim = int32_t(v.shape[3]);
  problem.seqlen_q = q.shape[2];
  problem.seqlen_k = k.shape[2];
  problem.causal = options.causal ? TEGULA_CAUSAL_TOP_LEFT : TEGULA_CAUSAL_NONE;
  if (options.window_left != TEGULA_NO_BOUND || options.window_right != TEGULA_NO_BOUND) {
    problem.variants |= TEGULA_WINDOW;
    problem.window_left = options.window_left;
    problem.window_right = options.window_right;
  }
  problem.variants |= options.documents ? TEGULA_DOCUMENTS : 0;
  problem.variants |= options.bias ? TEGULA_BIAS : 0;
  problem.variants |= options.mask ? TEGULA_MASK : 0;
  problem.bias_f32 = options.bias && variant_tensors[options.documents ? 4 : 0].dtype == TEGULA_F32;
  return problem;
}

template <class Args>
Args argsOf(const Place &place, const Options &options, Buffer q, Buffer k, Buffer v,
            const std::vector<tegula_tensor> &variant_tensors) {
  Args args{};
  args.struct_size = sizeof args;
  args.scale = options.scale;
  args.q = headsFirst(q);
  args.k = headsFirst(k);
  args.v = headsFirst(v);
  args.variant_tensors = variant_tensors.data();
  args.variant_tensor_count = variant_tensors.size();
  args.stream = place.stream;
  return args;
}

/// `variants` are the tensors of the variants.
template <class... Contexts>
ffi::Error forward(Buffer q, Buffer k, Buffer v, ffi::RemainingArgs variants, Result o, Result lse, Options options,
                   Contexts... contexts) {
  const Place place = placeOf(contexts...);
  const std::vector<tegula_tensor> variant_tensors = views(variants, 0, variantTensorCount(options));
  auto args = argsOf<tegula_forward_args>(place, options, q, k, v, variant_tensors);
  args.o = headsFirst(*o);
  args.lse = view(*lse);
  return run(place, problemOf(options, args.q, args.k, args.v, variant_tensors), args, tegula_attention_forward);
}

/// `more` has d_lse if lse has a gradient, then the tensors of the variants. If the bias has a gradient, the last of
/// `more` is a tensor of zeros, and the only one of `dbias` is in the same memory.
template <class... Contexts>
ffi::Error backward(Buffer q, Buffer k, Buffer v, Buffer o, Buffer lse, Buffer d_o, ffi::RemainingArgs more, Result dq,
                    Result dk, Result dv, ffi::RemainingRets dbias, Options options, Contexts... contexts) {
  const Place place = placeOf(contexts...);
  const std::vector<tegula_tensor> variant_tensors = views(more, options.lse_gradient, variantTensorCount(options));
  auto args = argsOf<tegula_backward_args>(place, options, q, k, v, variant_tensors);
  args.o = headsFirst(o);
  args.lse = view(lse);
  args.d_o = headsFirst(d_o);
  args.dq = headsFirst(*dq);
  args.dk = headsFirst(*dk);
  args.dv = headsFirst(*dv);
  if (options.lse_gradient)
    args.d_lse = view(*more.get<Buffer>(0));
  tegula_tensor gradient{};
  if (options.bias_gradient) {
    gradient = view(**dbias.get<Buffer>(0));
    args.variant_gradients = &gradient;
    args.variant_gradient_count = 1;
  }
  tegula_attention_problem problem = problemOf(options, args.q, args.k, args.v, variant_tensors);
  problem.backward = 1;
  problem.deterministic = options.deterministic;
  problem.lse_gradient = options.lse_gradient;
  problem.constant_bias = options.bias && !options.bias_gradient;
  return run(place, problem, args, tegula_attention_backward);
}

auto forwardBinding() {
  return ffi::Ffi::Bind()
      .Arg<Buffer>()
      .Arg<Buffer>()
      .Arg<Buffer>()
      .RemainingArgs()
      .Ret<Buffer>()
      .Ret<Buffer>()
      .Attrs<Options>();
}

auto backwardBinding() {
  return ffi::Ffi::Bind()
      .Arg<Buffer>()
      .Arg<Buffer>()
      .Arg<Buffer>()
      .Arg<Buffer>()
      .Arg<Buffer>()
      .Arg<Buffer>()
      .RemainingArgs()
      .Ret<Buffer>()
      .Ret<Buffer>()
      .Ret<Buffer>()
      .RemainingRets()
      .Attrs<Options>();
}

/// Adds what a call on a CUDA device needs besides its tensors.
template <class Binding> auto onCuda(Binding binding) {
  return std::move(binding)
      .template Ctx<ffi::PlatformStream<void *>>()
      .template Ctx<ffi::ScratchAllocator>()
      .template Ctx<ffi::DeviceOrdinal>();
}

} // namespace
} // namespace tegula_jax

XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(
    tegula_jax::Options, xla::ffi::StructMember<float>("scale"), xla::ffi::StructMember<bool>("causal"),
    xla::ffi::StructMember<int64_t>("window_left"), xla::ffi::StructMember<int64_t>("window_right"),
    xla::ffi::StructMember<bool>("deterministic"), xla::ffi::StructMember<bool>("documents"),
    xla::ffi::StructMember<bool>("bias"), xla::ffi::StructMember<bool>("mask"),
    xla::ffi::StructMember<bool>("lse_gradient"), xla::ffi::StructMember<bool>("bias_gradient"));

namespace tegula_jax {

/// The version of XLA's interface that the calls below speak.
extern "C" const int tegula_xla_ffi_version[2] = {XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR};

XLA_FFI_DEFINE_HANDLER_SYMBOL(tegula_attention_forward_cpu, forward<>, forwardBinding());
XLA_FFI_DEFINE_HANDLER_SYMBOL(tegula_attention_forward_cuda, (forward<void *, ffi::ScratchAllocator, int32_t>),
                              onCuda(forwardBinding()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(tegula_attention_backward_cpu, backward<>, backwardBinding());
XLA_FFI_DEFINE_HANDLER_SYMBOL(tegula_attention_backward_cuda, (backward<void *, ffi::ScratchAllocator, int32_t>),
                              onCuda(backwardBinding()));

} // namespace tegula_jax
