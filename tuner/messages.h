// SPDX-License-Identifier: MIT
// The messages between the tuner and tegula-measure, the process that runs candidates.
//
// Each frame from the tuner is one line of JSON with a verb as "do", and bytes after it for `kernel`; the answer is a
// line of JSON, with the members "code" and "message" if the request failed.
//
//   open     target, task, seed   -> {}            comes first: the task and the target; a variant by its name
//   kernel   request_bytes        -> {}            a CompileRequest and its Artifact follow
//   load     id, schedule         -> {}            begins to make a candidate of kernels that have come before
//   prepare  id                   -> {}            computes the reference for all checks, with any candidate's plan
//   check    id                   -> error_ratio   runs it at a small shape, and compares; also "right" and "why"
//   time     id, launches         -> ms: [...]     runs it at the task's shape
#pragma once

#include "tegula/tuner.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace tegula::tuning {

using Json = nlohmann::ordered_json;

/// The descriptor of the socket in the process that runs candidates.
inline constexpr int kMeasurerSocket = 0;

/// A compiled program of a plan, with the request that it was compiled from.
struct CompiledProgram {
  CompileRequest request;
  Artifact artifact;
};

std::string kernelMessage(const CompiledProgram &program);
/// Parses a `kernel` message; `bytes` are the bytes after the line `json`.
Expected<CompiledProgram> kernelOf(const Json &json, std::string_view bytes);

Json toJson(const TuningTask &task);
/// Parses a task. Throws nlohmann::json::exception for anything else.
TuningTask taskOf(const Json &json);

Json failure(const Status &status);
/// Returns the status of an answer: Ok unless the request failed.
Status statusOf(const Json &answer);

} // namespace tegula::tuning
