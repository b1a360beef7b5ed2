// SPDX-License-Identifier: MIT
#include "program_options.h"
#include "files.h"
#include "legal_values.h"
#include "workload/device_tensor.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

Status wrong(std::string_view option, const std::string &text, const std::string &problem) {
  return {ErrorCode::invalid_argument, fmt::format("{}: '{}' {}", option, text, problem)};
}

/// Splits a text at commas that are in no parentheses.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else if (c != ' ' || !parts.back().empty())
      parts.back() += c;
  }
  return parts;
}

/// Returns the value that `text` spells in a scalar's own type; nullopt if the type cannot hold it.
std::optional<double> scalarValue(DType dtype, const std::string &text) {
  constexpr int64_t most = int64_t(1) << 53; // Beyond it, a double does not hold every whole number.
  if (dtype == f32)
    return parseNumber<float>(text);
  if (dtype == i32)
    return parseNumber<int>(text);
  const std::optional<int64_t> value = parseNumber<int64_t>(text);
  return value && *value >= -most && *value <= most ? std::optional<double>(double(*value)) : std::nullopt;
}

const char *legalScalars(DType dtype) {
  return dtype == f32   ? "a number that f32 holds, such as 0.125"
         : dtype == i32 ? "a whole number from -2^31 to 2^31 - 1"
                        : "a whole number from -2^53 to 2^53";
}

Expected<Program> programOf(const std::string &file, Compiler &compiler) {
  Expected<std::string> text = readFile("PROGRAM", file);
  if (!text)
    return text.status();
  Expected<Artifact> artifact = compiler.compile({.program = *text, .target = {"cpu", "", ""}, .emit = "tile"});
  if (!artifact)
    return artifact.status();
  constexpr std::string_view function = "func.func @";
  const size_t name = text->find(function);
  std::string kernel = text->substr(std::min(text->size(), name + function.size()));
  kernel = kernel.substr(0, kernel.find('('));
  return Program{.name = std::move(kernel), .text = std::move(*text), .parameters = std::move(artifact->parameters)};
}

/// Returns the name of a file without its directory, unless another file has the same one.
std::string nameOf(const std::string &file, const std::vector<std::string> &files) {
  const auto last = [](const std::string &path) { return std::filesystem::path(path).filename().string(); };
  const auto isSame = [&](const std::string &other) { return last(other) == last(file); };
  return std::ranges::count_if(files, isSame) == 1 ? last(file) : file;
}

Expected<std::vector<NamedProgram>> programsOf(const ProgramOptions &options, Compiler &compiler) {
  std::vector<NamedProgram> programs;
  for (const std::string &file : options.files) {
    Expected<Program> program = programOf(file, compiler);
    if (!program)
      return program.status();
    if (!programs.empty() && program->parameters != programs.front().program.parameters)
      return wrong("PROGRAM", file, fmt::format("has other parameters than '{}'", options.files.front()));
    NamedProgram named{.name = nameOf(file, options.files), .program = std::move(*program)};
    const auto same = std::ranges::find(programs, identityOf(named).value,
                                        [](const NamedProgram &other) { return identityOf(other).value; });
    if (same != programs.end())
      return wrong("PROGRAM", file, fmt::format("is the same program as '{}'", same->name));
    programs.push_back(std::move(named));
  }
  return programs;
}

/// Reads "m=4096,n=4096" lists.
Expected<Sizes> sizesOf(const std::vector<std::string> &lists) {
  Sizes sizes;
  for (const std::string &list : lists)
    for (const std::string &word : split(list)) {
      const size_t equals = word.find('=');
      const std::optional<int64_t> value =
          equals == std::string::npos ? std::nullopt : parseNumber<int64_t>(std::string_view(word).substr(equals + 1));
      if (!value || *value < 0)
        return wrong("--size", word, "is not a name and a whole number, such as m=4096");
      sizes.push_back({word.substr(0, equals), *value});
    }
  return sizes;
}

/// Makes the task from the options, argument by argument.
class TaskMaker {
public:
  TaskMaker(const ProgramOptions &options, std::vector<NamedProgram> programs, Sizes sizes)
      : options_(options), programs_(std::move(programs)) {
    inputs_.sizes = std::move(sizes);
    inputs_.seed = options.seed;
  }

  Expected<PlanTask> make(const Schedule &schedule) {
    for (const std::string &argument : options_.arguments)
      if (std::ranges::find(parameters(), argument.substr(0, argument.find('=')), &Parameter::name) ==
          parameters().end())
        return wrong("--arg", argument, fmt::format("is no parameter of the program; it has {}", namesOfParameters()));
    std::vector<ArgumentSpec> arguments;
    for (const Parameter &parameter : parameters()) {
      Expected<ArgumentSpec> argument = argumentOf(parameter);
      if (!argument)
        return argument.status();
      arguments.push_back(std::move(*argument));
    }
    TEGULA_RETURN_IF_ERROR(setGrids());
    TEGULA_RETURN_IF_ERROR(setRowGaps());
    KernelSpec kernel = KernelSpec::ofPrograms(programs_, std::move(arguments)).defaults(schedule);
    // What a kernel writes begins with 0, because it may add to it.
    inputs_.fill = [written = written_](HostTensor &tensor, uint64_t) {
      if (std::ranges::find(written, tensor.name) == written.end())
        return false;
      std::ranges::fill(tensor.values, 0.0);
      return true;
    };
    return PlanTask{.plan = std::move(kernel), .inputs = inputs_, .tolerance = options_.tolerance.value_or(0)};
  }

private:
  const std::vector<Parameter> &parameters() const { return programs_.front().program.parameters; }

  std::string namesOfParameters() const {
    return namesOf([](const Parameter &) { return true; });
  }
  std::string namesOfTensors() const { return namesOf(isTensor); }

  template <class Has> std::string namesOf(Has has) const {
    std::string names;
    for (const Parameter &parameter : parameters())
      if (has(parameter))
        names += (names.empty() ? "" : ", ") + parameter.name;
    return names;
  }

  std::optional<std::string> valueOf(const std::string &name) const {
    for (const std::string &argument : options_.arguments)
      if (argument.starts_with(name + "="))
        return argument.substr(name.size() + 1);
    return std::nullopt;
  }

  Expected<ArgumentSpec> argumentOf(const Parameter &parameter) {
    if (parameter.counter) // Each launch sets it to 0.
      return ArgumentSpec(workspace(parameter.name, parameter.dtype, {1}));
    const std::optional<std::string> text = valueOf(parameter.name);
    const bool isTensor = parameter.kind == Parameter::Kind::tensor;
    if (!text)
      return Status(ErrorCode::invalid_argument,
                    fmt::format("--arg: the program needs {}={}", parameter.name,
                                isTensor
                                    ? fmt::format("{}[SIZES], of rank {}", toString(parameter.dtype), parameter.rank)
                                    : "NUMBER"));
    return isTensor ? tensorOf(parameter, *text) : scalarOf(parameter, *text);
  }

  Expected<ArgumentSpec> scalarOf(const Parameter &parameter, const std::string &text) {
    const std::optional<double> value = scalarValue(parameter.dtype, text);
    if (!value)
      return wrong("--arg", parameter.name + "=" + text,
                   fmt::format("needs {} after '=', because the argument is {}", legalScalars(parameter.dtype),
                               toString(parameter.dtype)));
    inputs_.scalars.push_back({parameter.name, *value});
    return ArgumentSpec(scalar(parameter.name, parameter.dtype));
  }

  Expected<ArgumentSpec> tensorOf(const Parameter &parameter, const std::string &text) {
    const size_t bracket = text.find('[');
    const std::string type(toString(parameter.dtype));
    if (text.substr(0, bracket) != type || bracket == std::string::npos || text.back() != ']')
      return wrong("--arg", parameter.name + "=" + text, fmt::format("is not of the form {}[4,128]", type));
    const std::vector<std::string> words = split(text.substr(bracket + 1, text.size() - bracket - 2));
    if (words.size() != size_t(parameter.rank))
      return wrong("--arg", parameter.name + "=" + text,
                   fmt::format("has {} sizes; the tensor has rank {}", words.size(), parameter.rank));
    std::vector<Size> shape = freeShape(parameter.name, parameter.rank);
    for (size_t axis = 0; axis < words.size(); ++axis) {
      Expected<Size> size = parseSize(words[axis]);
      if (!size)
        return Status(ErrorCode::invalid_argument, "--arg: " + size.status().message());
      if (size->isNumber()) // It has the name "q.0".
        inputs_.sizes.push_back({shape[axis].terms().front().name, size->terms().front().number});
      else
        shape[axis] = *size;
    }
    if (parameter.written)
      written_.push_back(parameter.name);
    return ArgumentSpec(parameter.written ? inout(parameter.name, parameter.dtype, shape)
                                          : input(parameter.name, parameter.dtype, shape));
  }

  Expected<std::array<Size, 3>> gridOf(const std::string &text) const {
    std::array<Size, 3> grid = {1, 1, 1};
    const std::vector<std::string> words = split(text);
    if (words.size() > grid.size())
      return wrong("--grid", text, "has more than three axes");
    for (size_t axis = 0; axis < words.size(); ++axis) {
      Expected<Size> size = parseSize(words[axis]);
      if (!size)
        return Status(ErrorCode::invalid_argument, "--grid: " + size.status().message());
      const Expected<int64_t> value = evaluate(substituted(*size, {{"concurrency", 1}}), inputs_.sizes);
      if (!value)
        return wrong("--grid", words[axis], "cannot be computed: " + value.status().message());
      grid[axis] = *size;
    }
    return grid;
  }

  Status setGrids() {
    if (options_.grids.size() != 1 && options_.grids.size() != programs_.size())
      return {ErrorCode::invalid_argument,
              fmt::format("--grid: there are {} for {} programs; give one, or one for each", options_.grids.size(),
                          programs_.size())};
    for (size_t n = 0; n < programs_.size(); ++n) {
      Expected<std::array<Size, 3>> grid = gridOf(options_.grids[options_.grids.size() == 1 ? 0 : n]);
      if (!grid)
        return grid.status();
      programs_[n].grid = *grid;
    }
    return {};
  }

  static bool isTensor(const Parameter &parameter) {
    return parameter.kind == Parameter::Kind::tensor && !parameter.counter;
  }

  /// Reads one number for all tensors, or a list such as "q=3,k=1".
  Status setRowGaps() {
    if (options_.row_gaps.empty())
      return {};
    for (const std::string &word : split(options_.row_gaps)) {
      const size_t equals = word.find('=');
      const bool forAll = equals == std::string::npos;
      const std::optional<int64_t> gap = parseNumber<int64_t>(std::string_view(word).substr(forAll ? 0 : equals + 1));
      if (!gap || *gap < 0 || *gap > kMaxRowGap)
        return wrong("--row-gaps", word,
                     fmt::format("is not a number from 0 to {}, or a tensor and a number, such as {}=3", kMaxRowGap,
                                 parameters().front().name));
      const size_t before = inputs_.row_gaps.size();
      for (const Parameter &parameter : parameters())
        if (isTensor(parameter) && (forAll || parameter.name == word.substr(0, equals)))
          inputs_.row_gaps.push_back({parameter.name, *gap});
      if (inputs_.row_gaps.size() == before)
        return wrong("--row-gaps", word, fmt::format("names no tensor of the program; it has {}", namesOfTensors()));
    }
    return {};
  }

  const ProgramOptions &options_;
  std::vector<NamedProgram> programs_;
  PlanInputs inputs_;
  std::vector<std::string> written_;
};

} // namespace

void addProgramOptions(CLI::App &command, ProgramOptions &o, bool required) {
  CLI::Option *files =
      command.add_option("PROGRAM", o.files,
                         "Files with the text of a kernel of your own, each recorded with\nother block "
                         "sizes, perhaps; - is standard input");
  files->type_name(" ")->required(required);
  const auto addList = [&](const char *name, std::vector<std::string> &values, const char *type, const char *help) {
    command.add_option(name, values, help)
        ->type_name(type)
        ->expected(1)
        ->allow_extra_args(false) // The word after its value may be a PROGRAM.
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->needs(files);
  };
  addList("--arg", o.arguments, "TEXT",
          "An argument of PROGRAM: a tensor such as q=bf16[4,16,2048,128], with\nnumbers or expressions of sizes, or a "
          "scalar such as scale=0.125");
  addList("--size", o.sizes, "LIST", "Sizes by name, for --arg and --grid: m=4096,n=4096");
  addList("--grid", o.grids, "TEXT",
          "Program instances of PROGRAM, such as \"ceildiv(q.2,64),q.1,q.0\";\nq.2 is dimension 2 of q, if --arg gives "
          "a number; one for all\nfiles, or one for each");
  addNumber(command, "--tolerance", o.tolerance, 1e-30, 1e6,
            "The error of PROGRAM's outputs, as a part of their largest number\n(e4m3: 2^-3, bf16: 2^-7, f16: 2^-10, "
            "f32: 2^-16)");
}

void addRowGaps(CLI::App &command, ProgramOptions &o) {
  command
      .add_option(
          "--row-gaps", o.row_gaps,
          "Elements between the rows of PROGRAM's tensors: a number for all,\nor a list such as q=3,k=1. With 3, "
          "rows do not start at multiples\nof 16 bytes, and TMA cannot address the tensor (0)")
      ->type_name("LIST");
}

Expected<PlanTask> planTask(const ProgramOptions &options, const Schedule &schedule, Compiler &compiler) {
  Expected<Sizes> sizes = sizesOf(options.sizes);
  if (!sizes)
    return sizes.status();
  Expected<std::vector<NamedProgram>> programs = programsOf(options, compiler);
  if (!programs)
    return programs.status();
  return TaskMaker(options, std::move(*programs), std::move(*sizes)).make(schedule);
}

} // namespace tegula::tools
