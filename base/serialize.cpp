// SPDX-License-Identifier: MIT
// Lines of a name and a value, in a fixed order. (No JSON: the destructors of its library allocate, and a host that has
// no memory left must not end in one.)
#include "tegula/serialize.h"

#include "tegula/dtype.h"

#include <charconv>

namespace tegula {
namespace {

// Each number changes whenever the meaning of the lines after it changes.
constexpr std::string_view kRequest = "// tegula-request 3\n", kArtifact = "tegula-artifact 8\n",
                           kStatus = "tegula-status 1\n";

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text)
    if (c == '\n')
      result += "\\n";
    else
      result.append(c == '\\' ? 2 : 1, c);
  return result;
}

std::string unescaped(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size();
    i += escape;
    result += escape && text[i] == 'n' ? '\n' : text[i];
  }
  return result;
}

class Writer {
public:
  Writer(std::string_view first, std::string_view prefix) : text_(first), prefix_(prefix) {}

  void field(std::string_view name, std::string_view value) {
    text_.append(prefix_).append(name).append(" ").append(escaped(value)).append("\n");
  }
  void field(std::string_view name, int64_t value) { field(name, std::to_string(value)); }

  std::string take() { return std::move(text_); }

private:
  std::string text_;
  std::string_view prefix_;
};

/// Reads fields in the order in which they were written. After a field that is missing, good() is false.
class Reader {
public:
  Reader(std::string_view bytes, std::string_view first, std::string_view prefix)
      : rest_(bytes), prefix_(prefix), good_(bytes.starts_with(first)) {
    rest_.remove_prefix(good_ ? first.size() : 0);
  }

  std::string text(std::string_view name) { return unescaped(value(name)); }

  template <class T = int64_t> T number(std::string_view name) {
    const std::string_view digits = value(name);
    T result = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
    good_ &= error == std::errc() && end == digits.data() + digits.size();
    return result;
  }

  std::string_view bytes(size_t count) {
    good_ &= count <= rest_.size();
    const std::string_view result = rest_.substr(0, count);
    rest_.remove_prefix(result.size());
    return result;
  }

  /// Returns the bytes that have not been read.
  std::string_view rest() const { return rest_; }
  bool good() const { return good_; }
  void refuse() { good_ = false; }

private:
  std::string_view value(std::string_view name) {
    const size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    const size_t before = prefix_.size() + name.size();
    good_ &= end != std::string_view::npos && line.starts_with(prefix_) &&
             line.substr(std::min(prefix_.size(), line.size()), name.size()) == name && line.size() > before &&
             line[before] == ' ';
    if (!good_)
      return {};
    rest_.remove_prefix(end + 1);
    return line.substr(before + 1);
  }

  std::string_view rest_, prefix_;
  bool good_;
};

Status malformed(const char *what) {
  return {ErrorCode::internal, std::string("not ") + what + " that this version of Tegula has written"};
}

constexpr std::string_view kComment = "// ";

void write(Writer &writer, const Parameter &parameter) {
  writer.field("parameter", parameter.name);
  writer.field("dtype", toString(parameter.dtype));
  writer.field("tensor", parameter.kind == Parameter::Kind::tensor);
  writer.field("rank", parameter.rank);
  writer.field("written", parameter.written);
  writer.field("counter", parameter.counter);
}

DType readDType(Reader &reader) {
  const std::optional<DType> dtype = parseDType(reader.text("dtype"));
  if (!dtype)
    reader.refuse();
  return dtype.value_or(f32);
}

Parameter readParameter(Reader &reader) {
  Parameter parameter;
  parameter.name = reader.text("parameter");
  parameter.dtype = readDType(reader);
  parameter.kind = reader.number("tensor") != 0 ? Parameter::Kind::tensor : Parameter::Kind::scalar;
  parameter.rank = reader.number<int>("rank");
  parameter.written = reader.number("written") != 0;
  parameter.counter = reader.number("counter") != 0;
  return parameter;
}

void write(Writer &writer, const TensorMap &map) {
  writer.field("tensor_map", map.parameter);
  writer.field("dtype", toString(map.dtype));
  writer.field("dimensions", static_cast<int64_t>(map.box.size()));
  for (const int size : map.box)
    writer.field("box", size);
  writer.field("swizzle", map.swizzle);
  writer.field("columns", map.columns);
  writer.field("ends_inside", map.ends_inside);
  writer.field("joined", map.joined);
}

TensorMap readTensorMap(Reader &reader) {
  TensorMap map;
  map.parameter = reader.number<int>("tensor_map");
  map.dtype = readDType(reader);
  for (int64_t count = reader.number("dimensions"); count > 0 && reader.good(); --count)
    map.box.push_back(reader.number<int>("box"));
  map.swizzle = reader.number<int>("swizzle");
  map.columns = reader.number("columns");
  map.ends_inside = reader.number("ends_inside") != 0;
  map.joined = reader.number<int>("joined");
  return map;
}

void write(Writer &writer, const DebugSite &site) {
  writer.field("site", static_cast<int64_t>(site.kind));
  writer.field("name", site.name);
  writer.field("location", site.location);
  writer.field("dtype", toString(site.dtype));
  writer.field("dimensions", static_cast<int64_t>(site.shape.size()));
  for (const int64_t size : site.shape)
    writer.field("size", size);
  writer.field("loops", static_cast<int64_t>(site.loops.size()));
  for (const std::string &loop : site.loops)
    writer.field("loop", loop);
}

DebugSite::Kind readKind(Reader &reader) {
  const int64_t kind = reader.number("site");
  return kind == 0 ? DebugSite::Kind::print : kind == 1 ? DebugSite::Kind::assertion : DebugSite::Kind::element;
}

DebugSite readSite(Reader &reader) {
  DebugSite site;
  site.kind = readKind(reader);
  site.name = reader.text("name");
  site.location = reader.text("location");
  site.dtype = readDType(reader);
  for (int64_t count = reader.number("dimensions"); count > 0 && reader.good(); --count)
    site.shape.push_back(reader.number("size"));
  for (int64_t count = reader.number("loops"); count > 0 && reader.good(); --count)
    site.loops.push_back(reader.text("loop"));
  return site;
}

void write(Writer &writer, const AssemblerReport &report) {
  writer.field("assembler", report.assembler);
  writer.field("registers", report.registers);
  writer.field("spill_bytes", report.spill_bytes);
  writer.field("stack_bytes", report.stack_bytes);
  writer.field("notes", report.notes);
}

AssemblerReport readReport(Reader &reader) {
  AssemblerReport report;
  report.assembler = reader.text("assembler");
  report.registers = reader.number<int>("registers");
  report.spill_bytes = reader.number<int>("spill_bytes");
  report.stack_bytes = reader.number<int>("stack_bytes");
  report.notes = reader.text("notes");
  return report;
}

Expected<Artifact> readStatus(Reader reader) {
  const int code = reader.number<int>("code");
  const bool known = code > static_cast<int>(ErrorCode::ok) && code <= static_cast<int>(ErrorCode::internal);
  if (!reader.good() || !known)
    return malformed("a status");
  return Status(static_cast<ErrorCode>(code), std::string(reader.rest()));
}

} // namespace

std::string serialize(const CompileRequest &request) {
  Writer writer(kRequest, kComment);
  writer.field("target", request.target.name);
  writer.field("arch", request.target.arch);
  writer.field("features", request.target.features);
  writer.field("schedule", toString(request.schedule));
  writer.field("print", request.debug.print);
  writer.field("check_finite", toString(request.debug.check_finite));
  writer.field("device_asserts", request.debug.device_asserts);
  writer.field("emit", request.emit);
  return writer.take() + request.program;
}

Expected<CompileRequest> parseCompileRequest(std::string_view bytes) {
  Reader reader(bytes, kRequest, kComment);
  CompileRequest request;
  request.target.name = reader.text("target");
  request.target.arch = reader.text("arch");
  request.target.features = reader.text("features");
  const Expected<Schedule> schedule = parseSchedule(reader.text("schedule"));
  request.debug.print = reader.number("print") != 0;
  const std::optional<FiniteCheck> check = parseFiniteCheck(reader.text("check_finite"));
  request.debug.device_asserts = reader.number("device_asserts") != 0;
  request.emit = reader.text("emit");
  if (!reader.good() || !schedule || !check)
    return malformed("a request");
  request.debug.check_finite = *check;
  request.schedule = *schedule;
  request.program = reader.rest();
  return request;
}

std::string serialize(const Artifact &artifact) {
  Writer writer(kArtifact, "");
  writer.field("target", artifact.target);
  writer.field("kernel", artifact.kernel);
  writer.field("schedule", artifact.schedule);
  writer.field("scratch_bytes", artifact.scratch_bytes);
  writer.field("threads", artifact.threads);
  writer.field("shared_bytes", artifact.shared_bytes);
  writer.field("instances_per_sm", artifact.instances_per_sm);
  writer.field("parameters", static_cast<int64_t>(artifact.parameters.size()));
  for (const Parameter &parameter : artifact.parameters)
    write(writer, parameter);
  writer.field("tensor_maps", static_cast<int64_t>(artifact.tensor_maps.size()));
  for (const TensorMap &map : artifact.tensor_maps)
    write(writer, map);
  write(writer, artifact.report);
  writer.field("record_words", artifact.debug.record_words);
  writer.field("sites", static_cast<int64_t>(artifact.debug.sites.size()));
  for (const DebugSite &site : artifact.debug.sites)
    write(writer, site);
  writer.field("remarks", artifact.remarks);
  writer.field("binary_bytes", static_cast<int64_t>(artifact.binary.size()));
  writer.field("text_bytes", static_cast<int64_t>(artifact.text.size()));
  return writer.take() + artifact.binary + artifact.text;
}

Expected<Artifact> parseArtifact(std::string_view bytes) {
  Reader reader(bytes, kArtifact, "");
  Artifact artifact;
  artifact.target = reader.text("target");
  artifact.kernel = reader.text("kernel");
  artifact.schedule = reader.text("schedule");
  artifact.scratch_bytes = reader.number("scratch_bytes");
  artifact.threads = reader.number<int>("threads");
  artifact.shared_bytes = reader.number("shared_bytes");
  artifact.instances_per_sm = reader.number<int>("instances_per_sm");
  for (int64_t count = reader.number("parameters"); count > 0 && reader.good(); --count)
    artifact.parameters.push_back(readParameter(reader));
  for (int64_t count = reader.number("tensor_maps"); count > 0 && reader.good(); --count)
    artifact.tensor_maps.push_back(readTensorMap(reader));
  artifact.report = readReport(reader);
  artifact.debug.record_words = reader.number("record_words");
  for (int64_t count = reader.number("sites"); count > 0 && reader.good(); --count)
    artifact.debug.sites.push_back(readSite(reader));
  artifact.remarks = reader.text("remarks");
  const auto binaryBytes = reader.number<size_t>("binary_bytes"), textBytes = reader.number<size_t>("text_bytes");
  artifact.binary = reader.bytes(binaryBytes);
  artifact.text = reader.bytes(textBytes);
  if (!reader.good() || !reader.rest().empty())
    return malformed("an artifact");
  return artifact;
}

std::string serialize(const Expected<Artifact> &result) {
  if (result)
    return serialize(*result);
  Writer writer(kStatus, "");
  writer.field("code", static_cast<int64_t>(result.status().code()));
  return writer.take() + result.status().message();
}

Expected<Artifact> parseResult(std::string_view bytes) {
  return bytes.starts_with(kStatus) ? readStatus(Reader(bytes, kStatus, "")) : parseArtifact(bytes);
}

} // namespace tegula
