// SPDX-License-Identifier: MIT
#include "simt/fiber.h"

#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace tegula::simt {
namespace {

int mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    ++count;
  return count;
}

/// A process may have 65,530 mappings. Without any, memory cannot be allocated, and code cannot be loaded.
TEST(Stacks, OfManyLanesLeaveMappingsForOthers) {
  const int before = mappings();
  std::vector<std::unique_ptr<Stacks>> all;
  for (int n = 0; n < 200; ++n)
    all.push_back(std::make_unique<Stacks>(512));
  EXPECT_LT(mappings(), 40'000);
  all.clear();
  EXPECT_LT(mappings(), before + 100);
  const Stacks again(512);
  EXPECT_GT(mappings(), before + 512); // There are pages that trap again.
}

} // namespace
} // namespace tegula::simt
