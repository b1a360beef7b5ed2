// SPDX-License-Identifier: MIT
#include "tegula/internal/argument_places.h"

#include <gtest/gtest.h>

namespace tegula {
namespace {

using Names = std::vector<std::string>;
using Places = std::vector<size_t>;

std::vector<Parameter> parameters(const Names &names) {
  std::vector<Parameter> list;
  for (const std::string &name : names)
    list.push_back({.name = name});
  return list;
}

TEST(ArgumentPlaces, AreFoundByName) {
  EXPECT_EQ(*argumentPlaces("program", parameters({"v", "q", "v"}), Names{"q", "k", "v"}), (Places{2, 0, 2}));
  EXPECT_EQ(*argumentPlaces("program", parameters({}), Names{"q"}), Places{});
}

TEST(ArgumentPlaces, AParameterThatIsNoArgumentIsAnError) {
  const Status status = argumentPlaces("flash2_forward", parameters({"q", "seed"}), Names{"q", "k"}).status();
  EXPECT_EQ(status.code(), ErrorCode::internal);
  EXPECT_EQ(status.message(),
            "program 'flash2_forward': its parameter 'seed' is no argument; the arguments of a launch "
            "are q, k");
}

TEST(ArgumentPlaces, TwoArgumentsOfOneNameAreAnError) {
  EXPECT_EQ(argumentPlaces("p", parameters({"q"}), Names{"q", "k", "q"}).status().message(),
            "program 'p': its parameter 'q' may be any of several arguments; the arguments of a launch are q, k, q");
}

} // namespace
} // namespace tegula
