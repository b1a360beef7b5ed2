// SPDX-License-Identifier: MIT
#include "simt/instances.h"

namespace tegula::simt {

bool Instances::conflict(const Touch &earlier, const Touch &later) {
  if (earlier.instance == 0 || earlier.instance == later.instance)
    return false;
  if (isAtomic(earlier.kind) && isAtomic(later.kind))
    return false;
  return isWrite(earlier.kind) || isWrite(later.kind);
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
