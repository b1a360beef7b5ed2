// SPDX-License-Identifier: MIT
// Tests of the keys under which artifacts are kept.
#include "cache/cache_fixture.h"
#include "cache/key.h"
#include "tegula/internal/program_text.h"

#include <set>

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr const char *kProgram = R"mlir(func.func @f(%x: !tile.view<2xf32> {tile.name = "loc(x)"}) {
  %0 = tile.iota : tensor<8xi32> loc("a.cpp":109:0)
  "x.y"() {s = "it's \" loc(\"b\":1:2)"} : () -> () loc("c d.cpp":7:0)
  return
})mlir";

TEST(Key, HasNoLocations) {
  EXPECT_EQ(withoutLocations(kProgram), R"mlir(func.func @f(%x: !tile.view<2xf32> {tile.name = "loc(x)"}) {
  %0 = tile.iota : tensor<8xi32>
  "x.y"() {s = "it's \" loc(\"b\":1:2)"} : () -> ()
  return
})mlir");
}

TEST(Key, KeepsWhatOnlyLooksLikeALocation) {
  for (const char *text : {" loc(", " loc(\"", " loc(\"a", " loc(\"a\")", " loc(\"a\":1)", " loc(\"a\":1:2",
                           " loc(#loc1)", "loc(\"a\":1:2)", " loc(unknown)"})
    EXPECT_EQ(withoutLocations(text), text);
}

TEST(Key, IsTheSameWhereverTheSourceStands) {
  std::string moved = kProgram;
  moved.replace(moved.find("a.cpp"), 5, "another folder/a.cpp");
  EXPECT_EQ(artifactKey(request(kProgram)).digest, artifactKey(request(moved)).digest);
}

TEST(Key, DependsOnEverythingElse) {
  std::set<std::string> digests = {artifactKey(request("p"), "compiler 1").digest};
  auto expectAnother = [&](const CompileRequest &other, const char *environment = "compiler 1") {
    EXPECT_TRUE(digests.insert(artifactKey(other, environment).digest).second);
  };
  CompileRequest other = request("p");
  expectAnother(other, "compiler 2");
  other.schedule.block_m = 64;
  expectAnother(other);
  other = request("p");
  other.schedule = {.block_n = 32};
  expectAnother(other);
  for (const char *steps : {"p0 p1", "p0 p1@1"}) {
    other.schedule = {.steps = steps};
    expectAnother(other);
  }
  other = request("p");
  other.target.name = "simt";
  expectAnother(other);
  other = request("p");
  other.target.arch = "x";
  expectAnother(other);
  other = request("p");
  other.target.features = "x"; // Not the key of arch "x".
  expectAnother(other);
  expectAnother(request("q"));
}

TEST(Key, HasADigestOfTheRequestAlone) {
  const ArtifactKey a = artifactKey(request("p"), "compiler 1"), b = artifactKey(request("p"), "compiler 2");
  EXPECT_EQ(a.request_digest, b.request_digest);
  EXPECT_NE(a.digest, b.digest);
  EXPECT_EQ(a.digest.size(), 32u);
}

} // namespace
