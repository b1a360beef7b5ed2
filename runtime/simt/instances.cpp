// SPDX-License-Identifier: MIT
#include "simt/instances.h"

namespace tegula::simt {
namespace {

/// Returns true if `one` happens before `other`.
bool isBefore(const Touch &one, const Touch &other) {
  if (other.known == nullptr)
    return false;
  const auto arrivals = other.known->find(one.instance - 1);
  return arrivals != other.known->end() && arrivals->second > one.arrivals;
}

} // namespace

bool Instances::conflict(const Touch &earlier, const Touch &later) {
  if (earlier.instance == 0 || earlier.instance == later.instance)
    return false;
  if (isAtomic(earlier.kind) && isAtomic(later.kind))
    return false;
  return (isWrite(earlier.kind) || isWrite(later.kind)) && !isBefore(earlier, later) && !isBefore(later, earlier);
}

void Instances::remember(Byte &byte, const Touch &touch) {
  if (isWrite(touch.kind) && !isAtomic(touch.kind))
    byte[2] = touch;
  else if (byte[0].instance == 0)
    byte[0] = touch;
  else
    byte[1] = touch;
}

} // namespace tegula::simt
