// SPDX-License-Identifier: MIT
// The part of NCCL that the ring uses. It is declared here, and the library is loaded at run time, so that building
// needs no NCCL. https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html describes each function.
#pragma once

#include <cstddef>

struct Nccl {
  using Result = int; // ncclResult_t
  using Communicator = struct ncclComm *;
  using Stream = struct CUstream_st *; // cudaStream_t

  static constexpr Result kSuccess = 0, kInProgress = 7; // ncclSuccess, ncclInProgress
  static constexpr int kBytes = 0;                       // ncclInt8

  Result (*ncclCommInitAll)(Communicator *communicators, int count, const int *devices);
  Result (*ncclCommDestroy)(Communicator communicator);
  Result (*ncclCommGetAsyncError)(Communicator communicator, Result *error);
  const char *(*ncclGetErrorString)(Result result);
  Result (*ncclGroupStart)();
  Result (*ncclGroupEnd)();
  Result (*ncclSend)(const void *data, size_t count, int type, int peer, Communicator communicator, Stream stream);
  Result (*ncclRecv)(void *data, size_t count, int type, int peer, Communicator communicator, Stream stream);
};
