// SPDX-License-Identifier: MIT
// The order of work on a device.
#pragma once

namespace tegula {

/// A host's handle of a queue of work. The runtime never creates or destroys one. The default value is the device's
/// default stream. The cpu device has only its default stream, and runs work inline: a call returns when its work is
/// done. On cuda, `Stream{handle}` takes a CUstream or a cudaStream_t.
struct Stream {
  void *handle = nullptr;
};

} // namespace tegula
