// SPDX-License-Identifier: MIT
// A damaged or unreadable file of a cache is a miss.
#include "cache/cache_fixture.h"

#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tegula;
using namespace tegula::test;
namespace fs = std::filesystem;

namespace {

class Damage : public CacheTest {
protected:
  void SetUp() override {
    ASSERT_TRUE(compiles(wanted));
    ASSERT_FALSE(compiles(wanted));
    path = entryFiles(folder.path()).at(0);
    bytes = readFile(path);
  }

  /// Opens a cache that reads the file at `path`. Expects a miss and one fault.
  ::testing::AssertionResult isMiss() {
    ArtifactCache cache(options());
    if (cache.get(compiler, wanted, {}, CompilePolicy::load_only).ok())
      return ::testing::AssertionFailure() << "found";
    return cache.counters().faults == 1 ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << "no fault";
  }

  CountingCompiler compiler;
  const CompileRequest wanted = request("program");
  std::string path, bytes;
};

TEST_F(Damage, EveryBitCounts) {
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    writeFile(path, damaged);
    chmod(path.c_str(), 0600);
    ASSERT_TRUE(isMiss()) << "bit " << bit;
  }
}

TEST_F(Damage, EveryLengthCounts) {
  for (size_t length = 0; length < bytes.size(); ++length) {
    writeFile(path, bytes.substr(0, length));
    chmod(path.c_str(), 0600);
    ASSERT_TRUE(isMiss()) << "length " << length;
  }
  writeFile(path, bytes + "x");
  chmod(path.c_str(), 0600);
  EXPECT_TRUE(isMiss());
}

TEST_F(Damage, WhatLacksADescriptorIsNotRemoved) {
  ArtifactCache cache(options());
  ASSERT_TRUE(cache.get(compiler, request("another")).ok()); // The cache has opened the folder.
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const bool found = cache.get(compiler, wanted, {}, CompilePolicy::load_only).ok();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(found);
  EXPECT_EQ(cache.counters().faults, 1);
  EXPECT_TRUE(cache.get(compiler, wanted, {}, CompilePolicy::load_only).ok());
}

TEST_F(Damage, AnEntryOfAnotherKeyIsForeign) {
  ASSERT_TRUE(compiles(request("another")));
  for (const std::string &file : entryFiles(folder.path()))
    if (file != path)
      fs::rename(file, path);
  EXPECT_TRUE(isMiss());
}

TEST_F(Damage, IsRepairedByTheNextCompilation) {
  writeFile(path, "garbage");
  chmod(path.c_str(), 0600);
  EXPECT_TRUE(compiles(wanted));
  EXPECT_FALSE(compiles(wanted));
}

TEST_F(Damage, DamagedFilesAreRemoved) {
  writeFile(path, "garbage");
  chmod(path.c_str(), 0600);
  EXPECT_TRUE(isMiss());
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Damage, FilesThatOthersMayWriteAreNotTrusted) {
  chmod(path.c_str(), 0622);
  EXPECT_TRUE(isMiss());
}

TEST_F(Damage, AFileOfAnotherUserIsNotTrusted) {
  if (chown(path.c_str(), 12345, 12345) != 0)
    GTEST_SKIP() << "only root can give a file away";
  EXPECT_TRUE(isMiss());
}

TEST_F(Damage, AFolderThatOthersMayWriteIsNotTrusted) {
  chmod(folder.path().c_str(), 0777);
  EXPECT_TRUE(isMiss());
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(Damage, ThingsThatAreNoFiles) {
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_TRUE(isMiss());
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(isMiss());
  fs::remove(path);
  writeFile(folder.path() + "/.target", bytes);
  fs::create_symlink(folder.path() + "/.target", path);
  EXPECT_TRUE(isMiss());
}

TEST_F(Damage, AFolderThatCannotBeMadeCostsNothingButTheCache) {
  for (const std::string &impossible : {path + "/below", std::string("/proc/nowhere"), std::string(5000, 'x')}) {
    ArtifactCache cache({.directory = impossible});
    EXPECT_TRUE(cache.get(compiler, wanted).ok());
    EXPECT_EQ(cache.counters().saved, 0);
    EXPECT_GE(cache.counters().faults, 1);
  }
}

TEST_F(Damage, AFolderMayDisappear) {
  ArtifactCache cache(options());
  ASSERT_TRUE(cache.get(compiler, wanted).ok());
  fs::remove_all(folder.path());
  EXPECT_TRUE(cache.get(compiler, wanted).ok());
  EXPECT_EQ(compiler.compilations, 1);
}

} // namespace
