// SPDX-License-Identifier: MIT
#include "sass/listing.h"

#include <gmock/gmock.h>

namespace tegula::testing {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty, ::testing::SizeIs;

TEST(Sass, AnInstructionHasAGuardAnOpcodeAndOperands) {
  Sass sass = parsed("@!P1 HGMMA.64x128x16.F32.BF16 R88, R24, gdesc[UR12].tnspB, R88, gsb0\nEXIT");
  ASSERT_THAT(sass.code(), SizeIs(2));
  EXPECT_EQ(sass.code()[0].guard, "@!P1");
  EXPECT_TRUE(sass.code()[0].is("HGMMA"));
  EXPECT_TRUE(sass.code()[0].is("HGMMA.64x128x16"));
  EXPECT_FALSE(sass.code()[0].is("HGMM"));
  EXPECT_THAT(sass.code()[0].operands, ElementsAre("R88", "R24", "gdesc[UR12].tnspB", "R88", "gsb0"));
  EXPECT_THAT(sass.code()[1].operands, IsEmpty());
}

TEST(Sass, ControlFallsThroughOrBranches) {
  Sass sass = parsed("@P0 BRA `(.L_x_1)\n"
                     "BRA P2, `(.L_x_1)\n"
                     "@P0 EXIT\n"
                     "CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_s64)\n"
                     "BRA `(.L_x_1)\n"
                     ".L_x_1:\n"
                     "EXIT");
  EXPECT_THAT(sass.code()[0].next, ElementsAre(1, 5));
  EXPECT_THAT(sass.code()[1].next, ElementsAre(2, 5));
  EXPECT_THAT(sass.code()[2].next, ElementsAre(3));
  EXPECT_THAT(sass.code()[3].next, ElementsAre(4));
  EXPECT_THAT(sass.code()[4].next, ElementsAre(5));
  EXPECT_THAT(sass.code()[5].next, IsEmpty());
}

TEST(Sass, WhatIsNoInstructionIsRefused) {
  EXPECT_THAT(Sass::parse("        /*0010*/    oops\n").status().message(), HasSubstr("oops"));
  EXPECT_THAT(Sass::parse(listing("BRA `(.L_x_9)")).status().message(), HasSubstr(".L_x_9"));
}

/// The loop's wait for a tile tries again after the end of the code, as ptxas lays it out. An outer loop runs over
/// blocks.
constexpr const char *kLoops = ".L_x_0:\n"                                       //
                               ".L_x_1:\n"                                       //
                               "SYNCS.PHASECHK P0, [UR4], R1\n"                  // 0
                               "@!P0 BRA `(.L_x_4)\n"                            // 1
                               ".L_x_2:\n"                                       //
                               "@P1 BRA `(.L_x_3)\n"                             // 2
                               "MUFU.EX2 R1, R2\n"                               // 3
                               ".L_x_3:\n"                                       //
                               "HGMMA.64x64x16.F32 R24, gdesc[UR4], R24, gsb0\n" // 4
                               "@P2 BRA `(.L_x_1)\n"                             // 5
                               "@P3 BRA `(.L_x_0)\n"                             // 6
                               "EXIT\n"                                          // 7
                               ".L_x_4:\n"                                       //
                               "SYNCS.PHASECHK P0, [UR4], R1\n"                  // 8
                               "@!P0 BRA `(.L_x_4)\n"                            // 9
                               "BRA `(.L_x_2)";                                  // 10

TEST(Sass, ALoopHoldsWhatLeadsBackToItsHeader) {
  std::vector<SassLoop> loops = parsed(kLoops).productLoops();
  ASSERT_THAT(loops, SizeIs(1));
  EXPECT_EQ(loops[0].header, 0);
  EXPECT_THAT(loops[0].body, ElementsAre(0, 1, 2, 3, 4, 5, 6, 8, 9, 10)); // Both loops have one header.
}

TEST(Sass, OnlyInnermostLoopsWithProductsCount) {
  Sass sass = parsed(".L_x_0:\nMOV R1, R2\n.L_x_1:\nHGMMA.64x64x16.F32 R24, gdesc[UR4], R24, gsb0\n@P2 BRA `(.L_x_1)\n"
                     ".L_x_2:\nMOV R1, R2\n@P2 BRA `(.L_x_2)\n@P3 BRA `(.L_x_0)\nEXIT");
  std::vector<SassLoop> loops = sass.productLoops();
  ASSERT_THAT(loops, SizeIs(1));
  EXPECT_THAT(loops[0].body, ElementsAre(1, 2));
}

TEST(Sass, AnIterationTakesNoBranchThatStaysInside) {
  Sass sass = parsed(kLoops);
  EXPECT_THAT(sass.iteration(sass.productLoops()[0]), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

} // namespace
} // namespace tegula::testing
