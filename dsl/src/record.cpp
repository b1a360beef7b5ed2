// SPDX-License-Identifier: MIT
#include "tegula/record.h"

#include "print.h"
#include "recorder.h"
#include "text.h"

#include <exception>
#include <new>

namespace tegula {

DType inMemory(DType dtype) { return dtype == DType::i1 ? DType::i8 : dtype; }

namespace record_details {
namespace {

/// Makes a recorder the current one while the object lives, then restores the previous one.
class Activation {
public:
  explicit Activation(Recorder &recorder) : outer_(Recorder::exchange(&recorder)) {}
  ~Activation() { Recorder::exchange(outer_); }

private:
  Recorder *outer_;
};

void checkName(Recorder &r, const std::string &kind, const std::string &name) {
  if (!isIdentifier(name))
    r.fail(r.where(), kind + " name '" + name + "' is not an identifier of letters, digits and _");
  for (const Parameter &other : r.parameters())
    if (other.name == name)
      r.fail(r.where(), "two parameters have the name '" + name + "'");
}

Expected<Program> run(Recorder &r, const KernelName &name, Block body) {
  {
    Activation activation(r);
    checkName(r, "the kernel", std::string(name.text()));
    try {
      body();
    } catch (const std::exception &exception) {
      r.fail(r.where(), std::string("the kernel function threw an exception: ") + exception.what());
    } catch (...) {
      r.fail(r.where(), "the kernel function threw an exception");
    }
    r.checkTables();
  }
  if (!r.diagnostics().empty())
    return r.diagnostics().status();
  std::string text = print(r, name.text());
  return Program{std::string(name.text()), std::move(text), r.parameters()};
}

} // namespace

View parameter(const TensorArg &tensor) {
  Recorder &r = Recorder::current();
  checkName(r, "the parameter", tensor.name);
  Type type{tensor.dtype, {}, tensor.rank};
  if (tensor.rank < 1 || tensor.rank > 5) {
    type.view_rank = 1;
    return r.view(r.fail(r.where(),
                         "the tensor '" + tensor.name + "' has rank " + std::to_string(tensor.rank) +
                             "; the rank must be from 1 to 5",
                         {}, type));
  }
  if (tensor.dtype == DType::index)
    return r.view(r.fail(r.where(),
                         "the tensor '" + tensor.name +
                             "' has elements of type index; legal are f32, f16, bf16, e4m3, i64, i32, i8 and i1",
                         {}, type));
  return r.view(r.parameter(tensor.name, type, r.where()));
}

Value parameter(const ScalarArg &scalar) {
  Recorder &r = Recorder::current();
  checkName(r, "the parameter", scalar.name);
  Type type{scalar.dtype, {}};
  if (scalar.dtype != DType::f32 && scalar.dtype != DType::i32 && scalar.dtype != DType::i64)
    return r.value(r.fail(r.where(),
                          "the scalar '" + scalar.name + "' has type " + std::string(toString(scalar.dtype)) +
                              "; legal are f32, i32 and i64",
                          {}, type),
                   r.where());
  return r.value(r.parameter(scalar.name, type, r.where()), r.where());
}

Expected<Program> record(const KernelName &name, Block body) {
  try {
    Recorder recorder(name.where());
    return run(recorder, name, body);
  } catch (const std::bad_alloc &) {
    return Status(ErrorCode::resource_exhausted, "record: out of memory");
  }
}

} // namespace record_details
} // namespace tegula
