// SPDX-License-Identifier: MIT
// tegula: run and measure attention, look at how a program is compiled.
#include "attention_command.h"
#include "bench_command.h"
#include "cache_command.h"
#include "compile_command.h"
#include "decode_command.h"
#include "devices_command.h"
#include "program_commands.h"
#include "tune_command.h"
#include "usage_error.h"

#include <csignal>
#include <cstdio>
#include <new>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

using namespace tegula;
using namespace tegula::tools;

namespace {

enum ExitCode { kSuccess = 0, kFailure = 1, kBadInput = 2, kLost = 3, kUntried = 4 };

constexpr const char *kFooter = R"(`tegula COMMAND --help` explains a command. For a first look:
  tegula attention --causal bottom_right --backward --check

Programs are compiled by tegula-cc, a process of its own: what it does not survive is an error that names a
file for `tegula-opt --replay`. TEGULA_CC names another tegula-cc.)";

/// Writes a message to standard error. Throws nothing if that is full, because no other place is left for it.
void complain(std::string_view message) { std::fputs(fmt::format("tegula: {}\n", message).c_str(), stderr); }

int report(const Status &status) {
  if (status.ok())
    return kSuccess;
  complain(status.message());
  bool bad_input = status.code() == ErrorCode::invalid_argument || status.code() == ErrorCode::unsupported;
  return bad_input ? kBadInput : kFailure;
}

int report(const Outcome &outcome) {
  for (const Status &error : outcome.lost)
    (void)report(error);
  if (!outcome.status.ok())
    return report(outcome.status);
  if (!outcome.lost.empty())
    return kLost;
  return report(outcome.untried) == kSuccess ? kSuccess : kUntried;
}

int run(int argc, char **argv) {
  CLI::App app("Attention kernels from tile programs: run, check, time and compile them.", "tegula");
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.footer(kFooter);

  AttentionOptions attention;
  CLI::App *attention_command = app.add_subcommand("attention", "Run flash attention on random inputs and time it.");
  addAttentionOptions(*attention_command, attention);
  BenchOptions bench;
  CLI::App *bench_command = app.add_subcommand("bench", "Measure attention over a grid of problems.");
  addBenchOptions(*bench_command, bench);
  CacheOptions cache;
  CLI::App *cache_command = app.add_subcommand("cache", "Look after the folder of compiled kernels.");
  addCacheOptions(*cache_command, cache);
  CompileOptions compile;
  CLI::App *compile_command = app.add_subcommand("compile", "Compile a tile program and print any phase of it.");
  addCompileOptions(*compile_command, compile);
  DecodeOptions decode;
  CLI::App *decode_command = app.add_subcommand("decode", "Run attention of new queries on a cache and time it.");
  addDecodeOptions(*decode_command, decode);
  app.add_subcommand("devices", "List what kernels can run on.");
  CompareOptions compare;
  CLI::App *compare_command = app.add_subcommand("compare", "Compare the results of a kernel under two schedules.");
  addCompareOptions(*compare_command, compare);
  SimtCommandOptions simt;
  CLI::App *simt_command = app.add_subcommand("simt", "Run a kernel's GPU code lane by lane, and look for races.");
  addSimtOptions(*simt_command, simt);
  TuneOptions tune;
  CLI::App *tune_command = app.add_subcommand("tune", "Find the fastest schedule of a kernel by measuring.");
  addTuneOptions(*tune_command, tune);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    complain(usageError(error, app));
    return kBadInput;
  }
  if (attention_command->parsed())
    return report(attentionCommand(attention));
  if (bench_command->parsed())
    return report(benchCommand(bench));
  if (compare_command->parsed())
    return report(compareCommand(compare));
  if (decode_command->parsed())
    return report(decodeCommand(decode));
  if (simt_command->parsed())
    return report(simtCommand(simt));
  if (cache_command->parsed())
    return report(cacheCommand(cache));
  if (tune_command->parsed())
    return report(tuneCommand(tune));
  return report(compile_command->parsed() ? compileCommand(compile) : devicesCommand());
}

} // namespace

int main(int argc, char **argv) {
  std::signal(SIGXFSZ, SIG_IGN); // A limit on the size of files is an error that names the file.
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc &) {
    return report({ErrorCode::resource_exhausted, "not enough memory"});
  } catch (const std::exception &error) {
    return report({ErrorCode::internal, fmt::format("internal error: {}", error.what())});
  }
}
