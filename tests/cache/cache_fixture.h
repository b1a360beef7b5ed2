// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/artifact_cache.h"

#include <atomic>
#include <gtest/gtest.h>
#include <string>

namespace tegula::test {

/// A folder that disappears with this object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

std::string readFile(const std::string &path);
void writeFile(const std::string &path, const std::string &bytes);
/// Returns the paths of the entries in a folder.
std::vector<std::string> entryFiles(const std::string &folder);

CompileRequest request(const std::string &program);
/// Returns the artifact that CountingCompiler makes of a request: its binary is the program.
Artifact artifactOf(const CompileRequest &request);

class CountingCompiler final : public Compiler {
public:
  Expected<Artifact> compile(const CompileRequest &request) override {
    ++compilations;
    return artifactOf(request);
  }
  std::string identity(const Target &) const override { return build; }

  std::string build = "compiler 1";
  std::atomic<int> compilations{0};
};

/// A test with a cache in its own folder.
class CacheTest : public ::testing::Test {
protected:
  ArtifactCacheOptions options() const { return {.directory = folder.path()}; }
  /// Opens a cache, gets the artifact of `request`, and returns true if the compiler was needed.
  bool compiles(const CompileRequest &request) const;

  TemporaryFolder folder;
};

} // namespace tegula::test
