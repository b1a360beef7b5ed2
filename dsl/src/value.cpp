// SPDX-License-Identifier: MIT
#include "recorder.h"

namespace tegula {

DType Value::dtype() const { return Recorder::current().type(*this).dtype; }
const Shape &Value::shape() const { return Recorder::current().type(*this).shape; }

Operand::Operand(const Var &variable, Location where) : Operand(Value(variable), where) {}

Var::Var(Value initial, Location where) : recording_(Recorder::current().recording()) {
  Recorder &r = Recorder::current();
  slot_ = r.declare(r.use(initial, where), where);
}

Var::Var(const Var &other, Location where) : Var(Value(other), where) {}

Var::~Var() {
  Recorder &r = Recorder::current();
  if (r.owns(recording_))
    r.release(slot_);
}

Var &Var::operator=(Value value) {
  Recorder &r = Recorder::current();
  if (r.owns(recording_))
    r.assign(slot_, value);
  return *this;
}

Var::operator Value() const {
  Recorder &r = Recorder::current();
  return r.owns(recording_) ? r.current(slot_) : r.foreign(recording_);
}

} // namespace tegula
