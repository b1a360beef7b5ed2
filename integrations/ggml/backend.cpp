// SPDX-License-Identifier: MIT
// The backend "Tegula" of ggml: a device for the memory of the cpu that computes FLASH_ATTN_EXT. ggml's scheduler gives
// all other operations to other backends.
#include "attention.h"

#include "ggml-backend-impl.h"
#include "ggml-impl.h"

#include <new>
#include <optional>

using tegula::ggml::Attention;
namespace host = tegula::host;

namespace {

constexpr const char *kName = "Tegula";

host::Expected<host::Context> makeContext(int threads) {
  auto options = host::make<tegula_context_options>();
  options.device = TEGULA_CPU;
  options.threads = threads;
  return host::Context::create(options);
}

/// Returns the context that tells what is supported, or the error that made it fail.
const host::Expected<host::Context> &sharedContext() {
  static const host::Expected<host::Context> context = makeContext(0);
  return context;
}

/// A tensor that takes no time to compute: it is a view, or has its data already.
bool isFree(ggml_op op) {
  return op == GGML_OP_NONE || op == GGML_OP_RESHAPE || op == GGML_OP_VIEW || op == GGML_OP_PERMUTE ||
         op == GGML_OP_TRANSPOSE;
}

//===-- Backend --------------------------------------------------------------------------------------------------===//

struct BackendState {
  int threads = 0; ///< 0: one for each core.
  std::optional<Attention> attention = {};
};

BackendState &stateOf(ggml_backend_t backend) { return *static_cast<BackendState *>(backend->context); }

host::Status compute(BackendState &state, const ggml_tensor &op) {
  if (!state.attention) {
    host::Expected<host::Context> context = makeContext(state.threads);
    if (!context.ok())
      return context.status();
    state.attention.emplace(*context);
  }
  return state.attention->compute(op);
}

ggml_status computeGraph(ggml_backend_t backend, ggml_cgraph *graph) {
  for (int i = 0; i < graph->n_nodes; ++i) {
    const ggml_tensor &node = *graph->nodes[i];
    if (isFree(node.op) || (node.flags & GGML_TENSOR_FLAG_COMPUTE) == 0)
      continue;
    const host::Status status = compute(stateOf(backend), node);
    if (!status.ok()) {
      GGML_LOG_ERROR("%s: %s\n", kName, status.message().c_str());
      return GGML_STATUS_FAILED;
    }
  }
  return GGML_STATUS_SUCCESS;
}

const char *nameOfBackend(ggml_backend_t) { return kName; }

void freeBackend(ggml_backend_t backend) {
  delete &stateOf(backend);
  delete backend;
}

/// llama.cpp calls it before each graph, mostly with the same number.
void setThreads(ggml_backend_t backend, int threads) {
  BackendState &state = stateOf(backend);
  if (threads == state.threads)
    return;
  state.threads = threads;
  state.attention.reset();
}

ggml_guid_t guid() {
  static ggml_guid bytes = {0x74, 0x65, 0x67, 0x75, 0x6c, 0x61, 0x2d, 0x67,
                            0x67, 0x6d, 0x6c, 0x2d, 0x63, 0x70, 0x75, 0x31};
  return &bytes;
}

ggml_backend_t makeBackend(ggml_backend_dev_t device, const char *) {
  ggml_backend_i functions = {};
  functions.get_name = nameOfBackend;
  functions.free = freeBackend;
  functions.graph_compute = computeGraph;
  return new ggml_backend{guid(), functions, device, new BackendState};
}

//===-- Device ---------------------------------------------------------------------------------------------------===//

const char *nameOfDevice(ggml_backend_dev_t) { return kName; }
const char *describeDevice(ggml_backend_dev_t) { return "attention by Tegula"; }
enum ggml_backend_dev_type typeOfDevice(ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_ACCEL; }

void memoryOfDevice(ggml_backend_dev_t, size_t *free, size_t *total) { *free = *total = 0; }

void describe(ggml_backend_dev_t device, ggml_backend_dev_props *properties) {
  *properties = {};
  properties->name = nameOfDevice(device);
  properties->description = describeDevice(device);
  properties->type = typeOfDevice(device);
  properties->caps.buffer_from_host_ptr = true;
}

ggml_backend_buffer_type_t bufferType(ggml_backend_dev_t) { return ggml_backend_cpu_buffer_type(); }

ggml_backend_buffer_t bufferFrom(ggml_backend_dev_t, void *memory, size_t bytes, size_t) {
  return ggml_backend_cpu_buffer_from_ptr(memory, bytes);
}

bool supportsOperation(ggml_backend_dev_t, const ggml_tensor *op) {
  if (op->op != GGML_OP_FLASH_ATTN_EXT)
    return isFree(op->op);
  return sharedContext().ok() && tegula::ggml::supports(*sharedContext(), *op);
}

bool supportsBuffer(ggml_backend_dev_t, ggml_backend_buffer_type_t type) { return ggml_backend_buft_is_host(type); }

//===-- Registration ---------------------------------------------------------------------------------------------===//

const char *nameOfRegistration(ggml_backend_reg_t) { return kName; }
size_t countDevices(ggml_backend_reg_t) { return 1; }

ggml_backend_dev_t deviceAt(ggml_backend_reg_t registration, size_t) {
  static ggml_backend_device device = [registration] {
    ggml_backend_device_i functions = {};
    functions.get_name = nameOfDevice;
    functions.get_description = describeDevice;
    functions.get_memory = memoryOfDevice;
    functions.get_type = typeOfDevice;
    functions.get_props = describe;
    functions.init_backend = makeBackend;
    functions.get_buffer_type = bufferType;
    functions.buffer_from_host_ptr = bufferFrom;
    functions.supports_op = supportsOperation;
    functions.supports_buft = supportsBuffer;
    return ggml_backend_device{functions, registration, nullptr};
  }();
  return &device;
}

void *functionNamed(ggml_backend_reg_t, const char *name) {
  if (std::string(name) == "ggml_backend_set_n_threads")
    return reinterpret_cast<void *>(setThreads);
  return nullptr;
}

ggml_backend_reg_t registration() {
  static ggml_backend_reg backend = {
      GGML_BACKEND_API_VERSION, {nameOfRegistration, countDevices, deviceAt, functionNamed}, nullptr};
  return &backend;
}

} // namespace

GGML_BACKEND_DL_IMPL(registration)
