// SPDX-License-Identifier: MIT
// From a function of Python to a program, and from a program to launches.
#include "names.h"
#include "operands.h"

#include "tegula/record.h"
#include "tegula/tegula.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <map>
#include <mutex>
#include <tuple>
#include <variant>

namespace tegula_python {

using namespace tegula;
using namespace nb::literals;

//===-- Recording ------------------------------------------------------------------------------------------------===//

namespace {

/// A parameter of a program: its name, its type, and the rank of a tensor.
using ParameterOf = std::tuple<std::string, std::string, std::optional<int>>;
using ParameterSpec = std::variant<TensorArg, ScalarArg>;

ParameterSpec specOf(const ParameterOf &parameter) {
  const auto &[name, dtype, rank] = parameter;
  if (rank)
    return TensorArg{name, dtypeOf(dtype), *rank};
  return ScalarArg{name, dtypeOf(dtype)};
}

/// Adds the errors of the program to an exception that ended its function, because they may be the reason.
void addNote(nb::python_error &error, const std::string &note) {
  if (nb::hasattr(error.value(), "add_note"))
    error.value().attr("add_note")(note);
}

std::string recordFunction(const std::string &name, const std::string &file, uint32_t line,
                           const std::vector<ParameterOf> &parameters, nb::callable function) {
  std::vector<ParameterSpec> specs;
  for (const ParameterOf &parameter : parameters)
    specs.push_back(specOf(parameter));
  std::optional<nb::python_error> thrown;
  const Expected<Program> program = record(KernelName(name, locationOf(file, line)), [&] {
    try {
      const EndedNames ended;
      nb::list arguments;
      for (const ParameterSpec &spec : specs)
        arguments.append(
            std::visit([](const auto &of) { return nb::object(nb::cast(record_details::parameter(of))); }, spec));
      function(*arguments);
    } catch (nb::python_error &error) {
      thrown.emplace(std::move(error));
    }
  });
  if (thrown) {
    if (!program)
      addNote(*thrown, program.status().message());
    throw std::move(*thrown);
  }
  if (!program)
    throw std::runtime_error(program.status().message());
  return program->text;
}

//===-- Contexts -------------------------------------------------------------------------------------------------===//

template <class Function> void check(Function call) {
  tegula_error *error = nullptr;
  tegula_status status = TEGULA_OK;
  {
    const nb::gil_scoped_release released; // A call may compile, compute, or print through Python.
    status = call(&error);
  }
  if (status == TEGULA_OK)
    return;
  const std::string message = tegula_error_message(error);
  tegula_error_free(error);
  throw std::runtime_error(message);
}

/// Writes what a kernel prints to sys.stdout.
void printText(void *, const char *text) {
  const nb::gil_scoped_acquire acquired;
  try {
    nb::module_::import_("sys").attr("stdout").attr("write")(text);
  } catch (nb::python_error &error) {
    error.discard_as_unraisable("tegula.language.print");
  }
}

/// Returns the context of a device, which lives as long as the process. The device -1 is the CPU.
tegula_context *contextOf(int32_t ordinal, int32_t threads, int32_t check_finite, bool device_asserts) {
  static std::mutex mutex;
  static auto &contexts = *new std::map<std::tuple<int32_t, int32_t, bool>, tegula_context *>;
  tegula_context *context = nullptr;
  check([&](tegula_error **error) -> tegula_status {
    const std::lock_guard lock(mutex);
    tegula_context *&entry = contexts[{ordinal, check_finite, device_asserts}];
    tegula_context_options options{};
    options.struct_size = sizeof options;
    options.device = ordinal < 0 ? TEGULA_CPU : TEGULA_CUDA;
    options.ordinal = ordinal < 0 ? 0 : ordinal;
    options.threads = ordinal < 0 ? threads : 0;
    options.check_finite = check_finite;
    options.device_asserts = device_asserts;
    tegula_hooks hooks{};
    hooks.struct_size = sizeof hooks;
    hooks.print = printText;
    options.hooks = &hooks;
    const tegula_status status = entry != nullptr ? TEGULA_OK : tegula_context_create(&options, &entry, error);
    context = entry;
    return status;
  });
  return context;
}

//===-- Launches -------------------------------------------------------------------------------------------------===//

struct Parameter {
  std::string name;
  int32_t kind;
};

[[noreturn]] void refuse(const Parameter &parameter, nb::handle object, const char *expected) {
  throw nb::type_error(("argument '" + parameter.name + "': expected " + expected + ", got " +
                        nb::cast<std::string>(object.type().attr("__name__")))
                           .c_str());
}

template <size_t Size> void readSizes(const std::string &name, nb::handle sizes, int64_t (&to)[Size]) {
  const size_t rank = nb::len(sizes);
  if (rank > Size)
    throw std::runtime_error("argument '" + name + "': it has " + std::to_string(rank) + " dimensions; it may have 5");
  for (size_t i = 0; i < rank; ++i)
    to[i] = nb::cast<int64_t>(sizes[i]);
}

tegula_tensor tensorOf(const Parameter &parameter, nb::handle object, const nb::dict &types) {
  if (!nb::hasattr(object, "data_ptr"))
    refuse(parameter, object, "a tensor");
  const nb::object dtype = object.attr("dtype");
  if (!types.contains(dtype))
    throw std::runtime_error("argument '" + parameter.name + "': kernels have no type " + nb::str(dtype).c_str());
  tegula_tensor tensor{};
  tensor.data = reinterpret_cast<void *>(nb::cast<uintptr_t>(object.attr("data_ptr")()));
  tensor.dtype = nb::cast<int32_t>(types[dtype]);
  const nb::object shape = object.attr("shape");
  tensor.rank = int32_t(nb::len(shape));
  readSizes(parameter.name, shape, tensor.shape);
  readSizes(parameter.name, object.attr("stride")(), tensor.strides);
  return tensor;
}

/// Converts a number without changing its value, except that f32 rounds.
tegula_argument scalarOf(const Parameter &parameter, nb::handle object) {
  tegula_argument argument{};
  argument.kind = parameter.kind;
  if (PyBool_Check(object.ptr()) || nb::hasattr(object, "data_ptr"))
    refuse(parameter, object, "a number");
  if (parameter.kind == TEGULA_SCALAR_F32) {
    const double number = PyFloat_AsDouble(object.ptr());
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      refuse(parameter, object, "a number");
    }
    argument.value.f32 = float(number);
    return argument;
  }
  const long long number = PyIndex_Check(object.ptr()) ? PyLong_AsLongLong(object.ptr()) : -1;
  if (!PyIndex_Check(object.ptr()) || PyErr_Occurred() != nullptr ||
      (parameter.kind == TEGULA_SCALAR_I32 && number != int32_t(number))) {
    PyErr_Clear();
    refuse(parameter, object, parameter.kind == TEGULA_SCALAR_I32 ? "an integer of 32 bits" : "an integer of 64 bits");
  }
  if (parameter.kind == TEGULA_SCALAR_I32)
    argument.value.i32 = int32_t(number);
  else
    argument.value.i64 = number;
  return argument;
}

/// A compiled kernel. Its context keeps it loaded, so that it outlives its launches.
class CompiledKernel {
public:
  CompiledKernel(tegula_context *context, const std::string &text, const std::string &schedule) {
    check([&](tegula_error **error) {
      return tegula_kernel_create(context, text.data(), text.size(), schedule.c_str(), &kernel_, error);
    });
    for (size_t i = 0; i < tegula_kernel_parameter_count(kernel_); ++i) {
      tegula_parameter parameter{};
      parameter.struct_size = sizeof parameter;
      check([&](tegula_error **error) { return tegula_kernel_parameter(kernel_, i, &parameter, error); });
      parameters_.push_back({parameter.name, parameter.kind});
    }
  }
  CompiledKernel(const CompiledKernel &) = delete;
  ~CompiledKernel() { tegula_kernel_destroy(kernel_); }

  void launch(const std::array<int64_t, 3> &grid, nb::sequence arguments, const nb::dict &types,
              uintptr_t stream) const {
    std::vector<tegula_tensor> tensors(parameters_.size());
    std::vector<tegula_argument> all(parameters_.size());
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const nb::object argument = arguments[i];
      if (parameters_[i].kind != TEGULA_TENSOR) {
        all[i] = scalarOf(parameters_[i], argument);
        continue;
      }
      tensors[i] = tensorOf(parameters_[i], argument, types);
      all[i].kind = TEGULA_TENSOR;
      all[i].value.tensor = &tensors[i];
    }
    check([&](tegula_error **error) {
      return tegula_kernel_launch(kernel_, grid.data(), all.data(), all.size(), reinterpret_cast<void *>(stream),
                                  error);
    });
  }

private:
  tegula_kernel *kernel_ = nullptr;
  std::vector<Parameter> parameters_;
};

} // namespace

void bindKernels(nb::module_ &module) {
  module.def("_record", recordFunction, "name"_a, "file"_a, "line"_a, "parameters"_a, "function"_a);
  nb::class_<CompiledKernel>(module, "_CompiledKernel")
      .def(
          "__init__",
          [](CompiledKernel *self, const std::string &text, const std::string &schedule, int32_t device,
             int32_t threads, int32_t check_finite, bool device_asserts) {
            new (self) CompiledKernel(contextOf(device, threads, check_finite, device_asserts), text, schedule);
          },
          "text"_a, "schedule"_a, "device"_a, "threads"_a, "check_finite"_a, "device_asserts"_a)
      .def(
          "launch",
          [](const CompiledKernel &self, std::tuple<int64_t, int64_t, int64_t> grid, nb::sequence arguments,
             const nb::dict &types, uintptr_t stream) {
            self.launch({std::get<0>(grid), std::get<1>(grid), std::get<2>(grid)}, arguments, types, stream);
          },
          "grid"_a, "arguments"_a, "types"_a, "stream"_a);
}

} // namespace tegula_python
