// SPDX-License-Identifier: MIT
#include "names.h"

#include "operands.h"

#include <algorithm>

namespace tegula_python {
namespace {

thread_local EndedNames *ended = nullptr;

bool isDeviceValue(nb::handle object) { return nb::isinstance<Value>(object) || nb::isinstance<Var>(object); }

/// Returns the names of the running function that have a Value or a Var.
std::vector<std::pair<nb::object, nb::object>> boundNames() {
  std::vector<std::pair<nb::object, nb::object>> names;
  PyFrameObject *frame = PyEval_GetFrame(); // Borrowed.
  if (frame == nullptr)
    return names;
  const nb::object locals = nb::handle(reinterpret_cast<PyObject *>(frame)).attr("f_locals");
  for (nb::handle item : nb::steal(PyMapping_Items(locals.ptr())))
    if (isDeviceValue(item[1]))
      names.emplace_back(item[0], item[1]);
  return names;
}

} // namespace

EndedNames::EndedNames() : outer_(std::exchange(ended, this)) {}
EndedNames::~EndedNames() { ended = outer_; }

void LoopNames::begin() {
  if (ended == nullptr)
    return;
  before_ = boundNames();
  std::erase_if(before_, [](const auto &name) {
    return std::any_of(ended->objects_.begin(), ended->objects_.end(),
                       [&](const nb::object &object) { return object.is(name.second); });
  });
}

void LoopNames::end() {
  if (ended == nullptr)
    return;
  const auto before = std::move(before_);
  before_.clear();
  for (auto &[name, object] : boundNames()) {
    const auto old =
        std::find_if(before.begin(), before.end(), [&](const auto &other) { return name.equal(other.first); });
    if (old == before.end()) {
      ended->objects_.push_back(object);
    } else if (!old->second.is(object)) {
      const std::string text = nb::str(name).c_str();
      throw nb::type_error(("'" + text +
                            "' is bound to another value inside this loop, which the next iteration does not "
                            "see; make it a Var before the loop and write " +
                            text + ".assign(...), or take another name")
                               .c_str());
    }
  }
}

} // namespace tegula_python
