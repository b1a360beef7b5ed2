// SPDX-License-Identifier: MIT
#include "cache/cache_fixture.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tegula::test {

TemporaryFolder::TemporaryFolder() : path_(::testing::TempDir() + "tegula-cache-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr)
    std::abort();
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path_); }

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::vector<std::string> entryFiles(const std::string &folder) {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().front() != '.')
      paths.push_back(entry.path());
  return paths;
}

CompileRequest request(const std::string &program) {
  return {.program = program,
          .schedule = {.block_m = 32},
          .target = {.name = "cpu", .arch = "", .features = ""},
          .emit = ""};
}

Artifact artifactOf(const CompileRequest &request) {
  Artifact artifact;
  artifact.target = request.target.name;
  artifact.kernel = "kernel";
  artifact.binary = request.program;
  artifact.parameters = {{.name = "x", .kind = Parameter::Kind::tensor, .dtype = bf16, .rank = 2, .written = true}};
  artifact.scratch_bytes = 64;
  artifact.instances_per_sm = 3;
  artifact.report.notes = "note\n";
  artifact.schedule = "num_warps=4 steps=\"s o@1\"";
  artifact.remarks = "no loop\n";
  return artifact;
}

bool CacheTest::compiles(const CompileRequest &request) const {
  CountingCompiler compiler;
  ArtifactCache cache(options());
  const Expected<Artifact> artifact = cache.get(compiler, request);
  EXPECT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->binary, request.program);
  EXPECT_EQ(artifact->parameters, artifactOf(request).parameters);
  EXPECT_EQ(cache.counters().compilations, compiler.compilations);
  return compiler.compilations == 1;
}

} // namespace tegula::test
