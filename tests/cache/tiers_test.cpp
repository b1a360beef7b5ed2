// SPDX-License-Identifier: MIT
// Tests where a cache looks, in which order, and what it counts.
#include "cache/cache_fixture.h"
#include "tegula/cache_directory.h"

#include <filesystem>
#include <map>
#include <mutex>
#include <sys/stat.h>

using namespace tegula;
using namespace tegula::test;

namespace {

class Tiers : public CacheTest {
protected:
  CountingCompiler compiler;
};

/// The storage of a host.
struct MapStore final : ArtifactStore {
  std::map<std::string, std::string> map;

  std::optional<std::string> load(const std::string &key) noexcept override {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }
  void save(const std::string &key, std::string_view bytes) noexcept override { map[key] = bytes; }
};

TEST_F(Tiers, TheSecondProcessCompilesNothing) {
  EXPECT_TRUE(compiles(request("p")));
  EXPECT_FALSE(compiles(request("p")));
  EXPECT_TRUE(compiles(request("q")));
}

TEST_F(Tiers, AnotherCompilerCompilesAnew) {
  ArtifactCache cache(options());
  ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  compiler.build = "compiler 2";
  ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  EXPECT_EQ(compiler.compilations, 2);
}

TEST_F(Tiers, AnotherDriverCompilesAnew) {
  ArtifactCache cache(options());
  ASSERT_TRUE(cache.get(compiler, request("p"), "13000").ok());
  ASSERT_TRUE(cache.get(compiler, request("p"), "13010").ok());
  ASSERT_TRUE(cache.get(compiler, request("p"), "13000").ok());
  EXPECT_EQ(compiler.compilations, 2);
}

TEST_F(Tiers, WhatAnUnknownCompilerMakesIsNotKept) {
  compiler.build = "";
  ArtifactCache cache(options());
  ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  EXPECT_EQ(compiler.compilations, 2);
  EXPECT_TRUE(entryFiles(folder.path()).empty());
}

TEST_F(Tiers, TextsOfPhasesAreNotKept) {
  CompileRequest loops = request("p");
  loops.emit = "loops";
  ArtifactCache cache(options());
  ASSERT_TRUE(cache.get(compiler, loops).ok());
  EXPECT_TRUE(entryFiles(folder.path()).empty());
}

TEST_F(Tiers, CountsWhatItDoes) {
  ArtifactCache cache(options());
  ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  const CacheCounters counters = cache.counters();
  EXPECT_EQ(counters.hits, 1);
  EXPECT_EQ(counters.misses, 1);
  EXPECT_EQ(counters.compilations, 1);
  EXPECT_EQ(counters.saved, 1);
  EXPECT_EQ(counters.faults, 0);
}

TEST_F(Tiers, AReadOnlyFolderIsASecondPlaceToLook) {
  ASSERT_TRUE(compiles(request("p")));
  const TemporaryFolder other;
  ArtifactCache cache({.directory = other.path(), .read_only = {folder.path()}});
  ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  EXPECT_EQ(cache.counters().read_only_hits, 1);
  EXPECT_EQ(compiler.compilations, 0);
  ASSERT_TRUE(cache.get(compiler, request("q")).ok());
  EXPECT_EQ(entryFiles(other.path()).size(), 1u);
  EXPECT_EQ(entryFiles(folder.path()).size(), 1u);
}

TEST_F(Tiers, AReadOnlyFolderIsNotRepaired) {
  ASSERT_TRUE(compiles(request("p")));
  const std::string path = entryFiles(folder.path()).at(0);
  writeFile(path, "garbage");
  chmod(path.c_str(), 0600);
  ArtifactCache cache({.directory = "", .read_only = {folder.path(), "/nowhere"}});
  ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  EXPECT_EQ(cache.counters().faults, 2);
  EXPECT_EQ(readFile(path), "garbage");
}

TEST_F(Tiers, ABundleWhoseManifestOthersMayWriteIsAFault) {
  TemporaryFolder other;
  const std::string manifest = other.path() + "/manifest.txt";
  writeFile(manifest, "anything");
  chmod(manifest.c_str(), 0666);
  ArtifactCache cache({.directory = "", .read_only = {other.path()}});
  ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  EXPECT_EQ(cache.counters().faults, 1);
}

TEST_F(Tiers, AHostCanKeepTheBytesItself) {
  const auto store = std::make_shared<MapStore>();
  {
    ArtifactCache cache({.directory = "", .store = store});
    ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  }
  ASSERT_EQ(store->map.size(), 1u);
  ArtifactCache cache({.directory = "", .store = store});
  ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  EXPECT_EQ(compiler.compilations, 1);
  EXPECT_EQ(cache.counters().store_hits, 1);
  store->map.begin()->second[40] ^= 1;
  ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  EXPECT_EQ(compiler.compilations, 2);
  EXPECT_EQ(cache.counters().faults, 1);
}

TEST_F(Tiers, FoldersAndFilesAreTheUsersAlone) {
  ArtifactCache cache({.directory = folder.path() + "/a/b"});
  ASSERT_TRUE(cache.get(compiler, request("p")).ok());
  struct stat status;
  stat((folder.path() + "/a/b").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  stat(entryFiles(folder.path() + "/a/b").at(0).c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(CacheDirectory, FollowsTheEnvironment) {
  setenv("HOME", "/home/me", 1);
  unsetenv("XDG_CACHE_HOME");
  unsetenv("TEGULA_CACHE_DIR");
  EXPECT_EQ(userCacheDirectory(), "/home/me/.cache/tegula");
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(userCacheDirectory(), "/xdg/tegula");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(userCacheDirectory(), "/home/me/.cache/tegula");
  setenv("TEGULA_CACHE_DIR", "/own", 1);
  EXPECT_EQ(userCacheDirectory(), "/own");
  unsetenv("HOME");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("TEGULA_CACHE_DIR");
  EXPECT_EQ(userCacheDirectory(), "");
}

} // namespace
