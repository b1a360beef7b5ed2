// SPDX-License-Identifier: MIT
// Tests that a module keeps the schedule that the driver writes.
#include "compiler/tile/Settings.h"

#include "compiler/tile/Tile.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

namespace tegula::tile {
namespace {

struct SettingsTest : testing::Test {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
};

constexpr const char *kAllFields = "num_warps=8 num_stages=3 roles=load overlap=pingpong optimistic_softmax=true "
                                   "lhs_in_registers=false add_by_tma=true steps=\"s o@1\" instances_per_sm=2";

TEST_F(SettingsTest, AModuleKeepsEachField) {
  const Expected<Schedule> schedule = parseSchedule(kAllFields);
  ASSERT_TRUE(schedule);
  setSchedule(*module, *schedule);
  EXPECT_EQ(toString(ownSchedule(*module)), kAllFields);
  EXPECT_EQ(toString(scheduleOf(*module)), kAllFields);
  setSchedule(*module, {.roles = Roles::none, .overlap = Overlap::none});
  EXPECT_EQ(ownSchedule(*module).roles, Roles::none);
  EXPECT_EQ(ownSchedule(*module).overlap, Overlap::none);
}

TEST_F(SettingsTest, FieldsThatNobodyDecidesHaveTheirUsualValues) {
  EXPECT_EQ(ownSchedule(*module), Schedule());
  EXPECT_EQ(toString(scheduleOf(*module)), "num_warps=4 num_stages=2 roles=none instances_per_sm=1");
}

TEST_F(SettingsTest, AChoiceNamesTheFieldsThatItAdds) {
  setSchedule(*module, {.num_warps = 8});
  setChoice(*module, {.num_warps = 4, .num_stages = 3});
  setChoice(*module, {.num_stages = 2, .roles = Roles::load});
  EXPECT_EQ(toString(ownSchedule(*module)), "num_warps=4 num_stages=2 roles=load");
  EXPECT_EQ(nameSetting(*module, "num_warps=4"), "num_warps=4");
  EXPECT_EQ(nameSetting(*module, "num_stages=2"), "num_stages=2, which the compiler chose,");
  EXPECT_EQ(nameSetting(*module, "roles=load"), "roles=load, which the compiler chose,");
}

/// A field that only the recorder obeys has no attribute, so that no pass can have chosen it.
TEST_F(SettingsTest, AChoiceDoesNotNameFieldsOfTheRecorder) {
  setChoice(*module, {.block_m = 64, .num_stages = 3});
  const auto names = (*module)->getAttrOfType<mlir::ArrayAttr>(chosen);
  ASSERT_TRUE(names);
  EXPECT_EQ(names, mlir::Builder(*module).getStrArrayAttr({"num_stages"}));
}

TEST_F(SettingsTest, FieldsThatAreNotSetStay) {
  setSchedule(*module, {.num_warps = 8, .add_by_tma = true});
  setSchedule(*module, {.num_stages = 3});
  EXPECT_EQ(toString(ownSchedule(*module)), "num_warps=8 num_stages=3 add_by_tma=true");
}

} // namespace
} // namespace tegula::tile
