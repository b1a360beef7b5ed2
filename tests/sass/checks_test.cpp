// SPDX-License-Identifier: MIT
// The checks of assembled code find the errors that they are made for.
#include "sass/checks.h"
#include "sass/listing.h"

#include <gmock/gmock.h>

namespace tegula::testing {
namespace {

using ::testing::HasSubstr, ::testing::IsEmpty, ::testing::Not;

const std::string kFirst = "HGMMA.64x16x16.F32.BF16 R24, gdesc[UR4], R24\n";
const std::string kLast = "HGMMA.64x16x16.F32.BF16 R24, gdesc[UR8], R24, gsb0\n";
const std::string kWait = "WARPGROUP.DEPBAR.LE gsb0, 0x0\n";

TEST(InterruptedProducts, BetweenTheInstructionsOfOneProduct) {
  EXPECT_THAT(interruptedMmas(parsed("R2UR UR4, R2\n" + kFirst + "UMOV UR8, UR9\n" + kLast + "R2UR UR4, R2\n")),
              IsEmpty());
  EXPECT_THAT(interruptedMmas(parsed(kFirst + "R2UR UR8, R2\n" + kLast)), HasSubstr("1: R2UR UR8 R2"));
  EXPECT_THAT(interruptedMmas(parsed(kFirst + "BRA `(.L_x_0)\n.L_x_0:\n" + kLast)), HasSubstr("BRA"));
}

TEST(TouchedInFlight, SumsAreReadBehindTheWait) {
  EXPECT_THAT(touchedInFlight(parsed(kFirst + kLast + kWait + "FADD R1, R31, R2\n")), IsEmpty());
  EXPECT_THAT(touchedInFlight(parsed(kFirst + kLast + "FADD R1, R31, R2\n" + kWait)), HasSubstr("2: FADD"));
  EXPECT_THAT(touchedInFlight(parsed(kFirst + kLast + "FADD R1, R32, R2\n" + kWait)), IsEmpty()); // 16 / 2 registers.
  EXPECT_THAT(touchedInFlight(parsed(kFirst + kLast + "FADD R1, -R31.reuse, R2\n")), Not(IsEmpty()));
}

TEST(TouchedInFlight, AWaitMayLeaveTheNewestProducts) {
  const std::string other = "HGMMA.64x16x16.F32.BF16 R88, gdesc[UR4], R88, gsb0\n";
  const std::string both = kFirst + kLast + other + "WARPGROUP.DEPBAR.LE gsb0, 0x1\n";
  EXPECT_THAT(touchedInFlight(parsed(both + "FADD R1, R24, R2\n")), IsEmpty());
  EXPECT_THAT(touchedInFlight(parsed(both + "FADD R1, R88, R2\n")), HasSubstr("FADD"));
  EXPECT_THAT(touchedInFlight(parsed(both + kWait + "FADD R1, R88, R2\n")), IsEmpty());
}

TEST(TouchedInFlight, FragmentsAreReadButNotWritten) {
  const std::string product = "HGMMA.64x16x16.F32.BF16 R24, R40, gdesc[UR8].tnspB, R24, gsb0\n";
  EXPECT_THAT(touchedInFlight(parsed(product + "FADD R1, R43, R2\nSTS [R43], R42\n")), IsEmpty());
  EXPECT_THAT(touchedInFlight(parsed(product + "F2FP.BF16.F32.PACK_AB R43, R1, R2\n")), HasSubstr("F2FP"));
  EXPECT_THAT(touchedInFlight(parsed(product + "F2FP.BF16.F32.PACK_AB R44, R1, R2\n")), IsEmpty());
  EXPECT_THAT(touchedInFlight(parsed(product + kWait + "F2FP.BF16.F32.PACK_AB R43, R1, R2\n")), IsEmpty());
}

TEST(TouchedInFlight, OnAnyPath) {
  const std::string branch = kLast + "@P0 BRA `(.L_x_0)\n" + kWait + ".L_x_0:\nFADD R1, R24, R2\nEXIT";
  EXPECT_THAT(touchedInFlight(parsed(branch)), HasSubstr("FADD"));
  const std::string loop = ".L_x_0:\nFADD R1, R24, R2\n" + kLast + "@P0 BRA `(.L_x_0)\n" + kWait + "EXIT";
  EXPECT_THAT(touchedInFlight(parsed(loop)), HasSubstr("FADD"));
}

/// The code that ptxas 13.0 made of Q in registers: P overwrites Q, and the next iteration multiplies P.
TEST(SharedFragments, TwoTilesThatLiveAtTheSameTime) {
  const std::string keys = "HGMMA.64x16x16.F32.BF16 R24, R152, gdesc[UR4], RZ, !UPT, gsb0\n" + kWait;
  const std::string values = "HGMMA.64x16x16.F32.BF16 R88, R152, gdesc[UR4].tnspB, R88, gsb0\n" + kWait;
  auto loop = [&](const std::string &query, const std::string &body) {
    return parsed(query + ".L_x_0:\n" + body + "@P0 BRA `(.L_x_0)\nEXIT");
  };
  const std::string load = "LDSM.16.M88.4 R152, [R2]\n", weights = "F2FP.BF16.F32.PACK_AB R153, R24, R25\n";
  EXPECT_THAT(sharedFragments(loop(load, keys + weights + values)), HasSubstr("R152 gdesc"));
  EXPECT_THAT(sharedFragments(loop(load, "LDSM.16.M88.4 R153, [R2]\n" + keys + weights + values)), Not(IsEmpty()));
  EXPECT_THAT(sharedFragments(loop(load, keys)), IsEmpty());
  EXPECT_THAT(sharedFragments(loop("", load + keys)), IsEmpty());
  EXPECT_THAT(sharedFragments(loop("", weights + values)), IsEmpty());
}

TEST(Order, IsThatOfOneIteration) {
  std::string exponentials;
  for (int n = 0; n < 8; ++n)
    exponentials += "MUFU.EX2 R1, R2\n";
  Sass sass = parsed(".L_x_0:\nSYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R1\nBAR.SYNC.DEFER_BLOCKING R157, 0x100\n" +
                     kFirst + kLast + "BAR.ARV R157, 0x100\nMUFU.EX2 R1, R2\nWARPGROUP.DEPBAR.LE gsb0, 0x1\n" +
                     exponentials + kWait + "@!P1 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4], RZ\n@P0 BRA `(.L_x_0)\nEXIT");
  ASSERT_EQ(sass.productLoops().size(), 1);
  const SassLoop loop = sass.productLoops()[0];
  EXPECT_EQ(orderOf(sass, loop),
            "consumer_wait, sequence_wait, product, sequence_arrive, wait 1, exponentials, wait 0, release");
  EXPECT_EQ(countOf(sass, loop, "MUFU.EX2"), 9);
  EXPECT_EQ(countOf(sass, loop, "BAR"), 2);
}

} // namespace
} // namespace tegula::testing
