// SPDX-License-Identifier: MIT
// The messages between the tuner and tegula-measure, the process that runs candidates.
//
// Each frame from the tuner is one line of JSON with a verb as "do", and bytes after it for `kernel`; the answer is a
// line of JSON, with the members "code" and "message" if the request failed.
//
//   open     target, seed, task or plan -> {}        comes first: the target, and attention's task (a variant by its
//                                                    name) or a plan's scalars and tolerance
//   tensor   purpose, name              -> {}        plans: an input's bytes follow, for the purpose "check" or "time"
//   expected name                       -> {}        plans: the right values of an output follow, as f64
//   kernel   request_bytes              -> {}        a CompileRequest and its Artifact follow
//   load     id, schedule or plan       -> {}        begins to make a candidate of kernels that have come before
//   prepare  id                         -> {}        makes the tensors of all checks, with any candidate's plan
//   check    id                         -> error_ratio  runs it at a small shape, and compares; also "right" and "why"
//   time     id, launches               -> ms: [...]    runs it at the task's shape
#pragma once

#include "tegula/plan_run.h"
#include "tegula/tuner.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Compiles a program for a target and appends it. Returns the error of recording it.
Status add(Expected<Program> program, const Schedule &schedule, const Target &target, Compiler &compiler,
           std::vector<CompiledProgram> &programs);

std::string kernelMessage(const CompiledProgram &program);
/// Parses a `kernel` message; `bytes` are the bytes after the line `json`.
Expected<CompiledProgram> kernelOf(const Json &json, std::string_view bytes);

Json toJson(const TuningTask &task);
/// Parses a task. Throws nlohmann::json::exception for anything else.
TuningTask taskOf(const Json &json);

/// Describes a plan with the programs of one configuration for each kernel, in the order of the kernels. Returns the
/// errors of recording them.
Expected<Json> toJson(const PlanSpec &plan, std::span<const Configuration> configurations);
/// Parses a description. Its kernels have no tunables. Throws nlohmann::json::exception for anything else.
PlanSpec planOf(const Json &json);

Json toJson(const std::vector<ScalarValue> &scalars);
std::vector<ScalarValue> scalarsOf(const Json &json);

/// Returns the message that sends an input of a run.
std::string tensorMessage(std::string_view purpose, const HostTensor &tensor);
/// Returns the message that sends the right values of an output.
std::string expectedMessage(const HostTensor &tensor);
/// Parses the bytes of an `expected` message.
std::vector<double> valuesOf(std::string_view bytes);

/// Returns an object with a member for each size.
Json toJson(const Sizes &sizes);
/// Parses it. Throws nlohmann::json::exception for anything else.
Sizes sizesOf(const Json &json);

Json failure(const Status &status);
/// Returns the status of an answer: Ok unless the request failed.
Status statusOf(const Json &answer);

} // namespace tegula::tuning
