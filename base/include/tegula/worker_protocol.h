// SPDX-License-Identifier: MIT
// The protocol between the compile worker (tegula-cc) and the process that starts it.
//
// `tegula-cc MEMORY_BYTES` is started with a stream socket as its standard input. Until the other end closes, it
// answers each frame that holds a CompileRequest (serialize.h) with a frame that holds an artifact or a status.
#pragma once

namespace tegula {

inline constexpr int kWorkerSocket = 0;

/// The exit status of a worker that ran into its limit of memory. No other way of ending gives it.
inline constexpr int kWorkerOutOfMemory = 113;

} // namespace tegula
