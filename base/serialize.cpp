// SPDX-License-Identifier: MIT
#include "tegula/serialize.h"

#include "tegula/dtype.h"

#include <exception>

#include <nlohmann/json.hpp>

namespace tegula {

using nlohmann::json;

// What serialisation looks up in DType's namespace.
static void to_json(json &j, DType dtype) { j = toString(dtype); }

static void from_json(const json &j, DType &dtype) {
  std::optional<DType> known = parseDType(j.get<std::string>());
  if (!known)
    throw std::invalid_argument("unknown element type");
  dtype = *known;
}

static void to_json(json &j, const Parameter &parameter) {
  j = {{"name", parameter.name},
       {"tensor", parameter.kind == Parameter::Kind::Tensor},
       {"dtype", parameter.dtype},
       {"rank", parameter.rank},
       {"written", parameter.written}};
}

static void from_json(const json &j, Parameter &parameter) {
  j.at("name").get_to(parameter.name);
  parameter.kind = j.at("tensor").get<bool>() ? Parameter::Kind::Tensor : Parameter::Kind::Scalar;
  j.at("dtype").get_to(parameter.dtype);
  j.at("rank").get_to(parameter.rank);
  j.at("written").get_to(parameter.written);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Target, name, arch, features)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AssemblerReport, assembler, registers, spill_bytes, stack_bytes, notes)

namespace {

constexpr std::string_view kRequest = "// tegula-request ", kArtifact = "tegula-artifact ", kStatus = "tegula-status ";

/// Changes whenever the meaning of what is serialised does.
constexpr int kVersion = 1;

/// A line of JSON between its first word and whatever follows.
struct Document {
  json header;
  std::string_view rest;
};

std::string line(std::string_view word, json header) {
  header["version"] = kVersion;
  // A message may hold any bytes, JSON may not.
  return std::string(word) + header.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Status malformed(std::string_view word, std::string_view problem) {
  return {ErrorCode::Internal, "not a " + std::string(word) + "of this version: " + std::string(problem)};
}

Expected<Document> parseLine(std::string_view word, std::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (!bytes.starts_with(word) || end == std::string_view::npos)
    return malformed(word, "it begins otherwise");
  json header = json::parse(bytes.substr(word.size(), end - word.size()), nullptr, false);
  if (!header.is_object() || header.value("version", json()) != kVersion)
    return malformed(word, "its first line is another");
  return Document{std::move(header), bytes.substr(end + 1)};
}

/// Reads a document with `read(header, rest)`; JSON of another form than it expects is malformed.
template <class T, class Read> Expected<T> parse(std::string_view word, std::string_view bytes, Read read) {
  const Expected<Document> document = parseLine(word, bytes);
  if (!document)
    return document.status();
  try {
    return read(document->header, document->rest);
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::exception &error) {
    return malformed(word, error.what());
  }
}

Expected<CompileRequest> readRequest(const json &header, std::string_view program) {
  Expected<Schedule> schedule = parseSchedule(header.at("schedule").get<std::string>());
  if (!schedule)
    return schedule.status();
  return CompileRequest{.program = std::string(program),
                        .schedule = *schedule,
                        .target = header.at("target").get<Target>(),
                        .emit = header.at("emit").get<std::string>()};
}

Expected<Artifact> readArtifact(const json &header, std::string_view rest) {
  const size_t binaryBytes = header.at("binary_bytes").get<size_t>();
  if (binaryBytes > rest.size() || header.at("text_bytes").get<size_t>() != rest.size() - binaryBytes)
    return malformed(kArtifact, "it is cut off");
  Artifact artifact;
  header.at("target").get_to(artifact.target);
  header.at("kernel").get_to(artifact.kernel);
  header.at("parameters").get_to(artifact.parameters);
  header.at("scratch_bytes").get_to(artifact.scratch_bytes);
  header.at("threads").get_to(artifact.threads);
  header.at("shared_bytes").get_to(artifact.shared_bytes);
  header.at("report").get_to(artifact.report);
  artifact.binary = rest.substr(0, binaryBytes);
  artifact.text = rest.substr(binaryBytes);
  return artifact;
}

Expected<Artifact> readStatus(const json &header, std::string_view) {
  const Status status(header.at("code").get<ErrorCode>(), header.at("message").get<std::string>());
  return status.ok() ? malformed(kStatus, "it is ok, but no artifact") : status;
}

} // namespace

std::string serialize(const CompileRequest &request) {
  return line(kRequest,
              {{"target", request.target}, {"schedule", toString(request.schedule)}, {"emit", request.emit}}) +
         request.program;
}

Expected<CompileRequest> parseCompileRequest(std::string_view bytes) {
  return parse<CompileRequest>(kRequest, bytes, readRequest);
}

std::string serialize(const Artifact &artifact) {
  return line(kArtifact, {{"target", artifact.target},
                          {"kernel", artifact.kernel},
                          {"parameters", artifact.parameters},
                          {"scratch_bytes", artifact.scratch_bytes},
                          {"threads", artifact.threads},
                          {"shared_bytes", artifact.shared_bytes},
                          {"report", artifact.report},
                          {"binary_bytes", artifact.binary.size()},
                          {"text_bytes", artifact.text.size()}}) +
         artifact.binary + artifact.text;
}

Expected<Artifact> parseArtifact(std::string_view bytes) { return parse<Artifact>(kArtifact, bytes, readArtifact); }

std::string serialize(const Expected<Artifact> &result) {
  if (result)
    return serialize(*result);
  return line(kStatus, {{"code", result.status().code()}, {"message", result.status().message()}});
}

Expected<Artifact> parseResult(std::string_view bytes) {
  return bytes.starts_with(kStatus) ? parse<Artifact>(kStatus, bytes, readStatus) : parseArtifact(bytes);
}

} // namespace tegula
