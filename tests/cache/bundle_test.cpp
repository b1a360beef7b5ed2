// SPDX-License-Identifier: MIT
// Tests of bundles, whose kernels are compiled ahead of time.
#include "cache/cache_fixture.h"
#include "tegula/bundle.h"

#include <filesystem>
#include <sys/stat.h>

using namespace tegula;
using namespace tegula::test;
namespace fs = std::filesystem;

namespace {

/// The error about a kernel that is not in the bundle.
const char *const kNoCompiler = "no compiler\ntarget cpu\nschedule block_m=32";

/// A compiler that refuses every request.
struct NoCompiler final : Compiler {
  Expected<Artifact> compile(const CompileRequest &) override { return Status(ErrorCode::unsupported, "no compiler"); }
};

class Bundle : public CacheTest {
protected:
  static BundledKernel kernel(const std::string &program) { return {request(program), artifactOf(request(program))}; }

  Expected<Artifact> load(const CompileRequest &request) {
    ArtifactCache cache({.directory = "", .read_only = {folder.path()}});
    return cache.get(compiler, request);
  }

  NoCompiler compiler;
};

TEST_F(Bundle, LoadsWithoutACompiler) {
  ASSERT_TRUE(addToBundle(folder.path(), {kernel("p"), kernel("q")}).ok());
  const Expected<Artifact> artifact = load(request("q"));
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ(artifact->binary, "q");
  EXPECT_EQ(artifact->parameters, artifactOf(request("q")).parameters);
  EXPECT_EQ(artifact->scratch_bytes, 64);
  EXPECT_EQ(artifact->instances_per_sm, 3);
  EXPECT_EQ(load(request("other")).status().message(), kNoCompiler);
}

TEST_F(Bundle, HasOneFileForEachKernel) {
  CompileRequest gpu = request("\x7f"
                               "ELF");
  gpu.target.name = "cuda";
  ASSERT_TRUE(addToBundle(folder.path(), {kernel("p"), {gpu, artifactOf(gpu)}}).ok());
  std::vector<std::string> kinds;
  for (const auto &entry : fs::directory_iterator(folder.path()))
    kinds.push_back(entry.path().extension());
  std::sort(kinds.begin(), kinds.end());
  EXPECT_EQ(kinds, (std::vector<std::string>{".cubin", ".so", ".txt"}));
}

TEST_F(Bundle, Grows) {
  ASSERT_TRUE(addToBundle(folder.path(), {kernel("p")}).ok());
  ASSERT_TRUE(addToBundle(folder.path(), {kernel("q")}).ok());
  EXPECT_TRUE(load(request("p")).ok());
  EXPECT_TRUE(load(request("q")).ok());
}

TEST_F(Bundle, TheLaterKernelOfARequestCounts) {
  BundledKernel newer = kernel("p");
  newer.artifact.binary = "newer";
  ASSERT_TRUE(addToBundle(folder.path(), {kernel("p")}).ok());
  ASSERT_TRUE(addToBundle(folder.path(), {newer}).ok());
  EXPECT_EQ(load(request("p"))->binary, "newer");
}

TEST_F(Bundle, EveryByteOfItsKernelsCounts) {
  ASSERT_TRUE(addToBundle(folder.path(), {kernel("program")}).ok());
  for (const std::string &path : entryFiles(folder.path()))
    if (fs::path(path).extension() == ".so") {
      writeFile(path, "Program");
      EXPECT_EQ(load(request("program")).status().message(), kNoCompiler);
    }
}

TEST_F(Bundle, ABrokenManifestIsAMiss) {
  ASSERT_TRUE(addToBundle(folder.path(), {kernel("p")}).ok());
  const std::string path = folder.path() + "/manifest.txt", text = readFile(path);
  for (const std::string &broken : {std::string("{"), text.substr(0, text.size() / 2), text + "x", text + "1 2 3 4\n",
                                    "tegula-bundle 2\n" + text.substr(text.find('\n') + 1)}) {
    writeFile(path, broken);
    EXPECT_EQ(load(request("p")).status().message(), kNoCompiler) << broken.substr(0, 50);
  }
}

TEST_F(Bundle, ReplacesNothingThatItDidNotWrite) {
  writeFile(folder.path() + "/manifest.txt", "{\"name\": \"a web page\"}");
  const Status status = addToBundle(folder.path(), {kernel("p")});
  EXPECT_EQ(status.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(status.message(), "bundle '" + folder.path() + "': manifest.txt is not one of this version");
  EXPECT_EQ(addToBundle("/proc/nowhere", {}).message(),
            "bundle '/proc/nowhere': it is no folder of this user that nobody else may write to");
}

} // namespace
