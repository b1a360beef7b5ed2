// SPDX-License-Identifier: MIT
// Tests of the size limit, and of commands that maintain a cache's folder.
#include "cache/cache_fixture.h"

#include <chrono>
#include <filesystem>
#include <sys/stat.h>

using namespace tegula;
using namespace tegula::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

class Maintenance : public CacheTest {
protected:
  void fill(int count) {
    for (int i = 0; i < count; ++i)
      ASSERT_TRUE(compiles(request("program " + std::to_string(i))));
  }
  /// Makes the file of a program look as if it was last used `age` ago.
  void age(const std::string &program, std::chrono::hours age) {
    CountingCompiler compiler;
    const std::string name = artifactKey(request(program), compiler.build + ", driver ").digest;
    fs::last_write_time(folder.path() + "/" + name, fs::file_time_type::clock::now() - age);
  }
};

TEST_F(Maintenance, TheLeastRecentlyUsedGoFirst) {
  fill(4);
  const auto bytes = static_cast<int64_t>(fs::file_size(entryFiles(folder.path()).at(0)));
  for (int i = 0; i < 4; ++i)
    age("program " + std::to_string(i), std::chrono::hours(10 - i));
  EXPECT_FALSE(compiles(request("program 0"))); // Program 0 is then the most recently used.
  CountingCompiler compiler;
  ArtifactCache cache({.directory = folder.path(), .limit_bytes = 4 * bytes});
  ASSERT_TRUE(cache.get(compiler, request("program 4")).ok());
  EXPECT_EQ(cache.counters().evicted, 2); // Down to nine tenths of the limit.
  EXPECT_TRUE(compiles(request("program 1")));
  EXPECT_TRUE(compiles(request("program 2")));
  EXPECT_FALSE(compiles(request("program 0")));
  EXPECT_FALSE(compiles(request("program 3")));
  EXPECT_FALSE(compiles(request("program 4")));
}

TEST_F(Maintenance, LeftoversGoAfterAnHour) {
  fill(1);
  writeFile(folder.path() + "/.old", "x");
  writeFile(folder.path() + "/.new", "x");
  fs::last_write_time(folder.path() + "/.old", fs::file_time_type::clock::now() - 2h);
  ASSERT_TRUE(pruneCache(folder.path(), 1 << 20).ok());
  EXPECT_FALSE(fs::exists(folder.path() + "/.old"));
  EXPECT_TRUE(fs::exists(folder.path() + "/.new"));
  EXPECT_EQ(entryFiles(folder.path()).size(), 1u);
}

TEST_F(Maintenance, WritersLeaveNothingBehind) {
  fill(2);
  const fs::directory_iterator all(folder.path());
  EXPECT_EQ(std::distance(begin(all), end(all)), 2);
}

TEST_F(Maintenance, ListsWhatIsThere) {
  fill(2);
  age("program 0", 5h);
  const Expected<std::vector<CacheEntry>> entries = listCache(folder.path());
  ASSERT_TRUE(entries.ok() && entries->size() == 2);
  const CacheEntry &older = entries->at(1);
  EXPECT_EQ(older.artifact.kernel, "kernel");
  EXPECT_EQ(older.artifact.binary, "program 0");
  EXPECT_EQ(older.request, "target cpu  \nschedule block_m=32\nprogram 0");
  EXPECT_EQ(older.environment, "compiler 1, driver ");
  EXPECT_GT(std::chrono::system_clock::now() - older.used, 4h);
}

TEST_F(Maintenance, ListingDoesNotCountAsUse) {
  fill(1);
  age("program 0", 5h);
  ASSERT_TRUE(listCache(folder.path()).ok());
  EXPECT_GT(std::chrono::system_clock::now() - listCache(folder.path())->at(0).used, 4h);
}

TEST_F(Maintenance, FindsAndRemovesWhatIsDamaged) {
  fill(2);
  const std::string path = entryFiles(folder.path()).at(0);
  writeFile(path, "garbage");
  const Expected<std::vector<CacheEntry>> entries = listCache(folder.path());
  ASSERT_TRUE(entries.ok() && entries->size() == 2);
  EXPECT_NE(entries->at(0).status.ok(), entries->at(1).status.ok());
  const Expected<CacheRemoval> removal = removeDamaged(folder.path());
  ASSERT_TRUE(removal.ok());
  EXPECT_EQ(removal->files, 1);
  EXPECT_EQ(removal->bytes, 7);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Maintenance, CanClear) {
  fill(3);
  EXPECT_EQ(pruneCache(folder.path(), 0)->files, 3);
  EXPECT_TRUE(entryFiles(folder.path()).empty());
}

TEST_F(Maintenance, SaysWhyAFolderCannotBeUsed) {
  EXPECT_EQ(listCache("/nowhere").status().message(), "'/nowhere': there is no such folder");
  chmod(folder.path().c_str(), 0777);
  EXPECT_EQ(pruneCache(folder.path(), 0).status().message(),
            "'" + folder.path() + "': it is no folder of this user that nobody else may write to");
}

} // namespace
