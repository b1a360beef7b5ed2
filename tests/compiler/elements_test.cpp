// SPDX-License-Identifier: MIT
// Tests the table of element types against what C++ knows about them.
#include "compiler/sm/Elements.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tegula::sm {
namespace {

struct ElementsTest : testing::Test {
  mlir::MLIRContext context;
  mlir::Builder b{&context};
};

TEST_F(ElementsTest, LargestPowerOfF32IsThatOfCpp) {
  EXPECT_EQ(largestPower(b.getF32Type()), std::ldexp(1.0, std::numeric_limits<float>::max_exponent - 1));
}

TEST_F(ElementsTest, LargestPowerOfNarrowNumbers) {
  EXPECT_EQ(largestPower(b.getF16Type()), 0x1p15); // The largest number is 65,504.
  EXPECT_EQ(largestPower(b.getBF16Type()), 0x1p127);
  EXPECT_EQ(largestPower(mlir::Float8E4M3FNType::get(&context)), 0x1p8); // The largest number is 448.
}

TEST_F(ElementsTest, OnlyEightBitsOfSignificandHideTheRoundingOfExponents) {
  EXPECT_TRUE(hidesRounding(b.getBF16Type()));
  EXPECT_FALSE(hidesRounding(b.getF16Type()));
  EXPECT_FALSE(hidesRounding(b.getF32Type()));
}

TEST_F(ElementsTest, AStepOfAnMmaReads32BytesOfEachRow) {
  for (mlir::Type type : std::initializer_list<mlir::Type>{b.getBF16Type(), b.getF16Type(), b.getF32Type(),
                                                           mlir::Float8E4M3FNType::get(&context)}) {
    std::optional<MmaElement> element = mmaElement(type);
    ASSERT_TRUE(element);
    EXPECT_EQ(8 * element->bytes, type.getIntOrFloatBitWidth());
    EXPECT_EQ(element->bytes * element->depth, 32);
    EXPECT_EQ(element->mustBeKMajor, element->bytes != 2);
  }
}

TEST_F(ElementsTest, OtherTypesHaveNoRow) {
  EXPECT_FALSE(mmaElement(b.getI8Type()));
  EXPECT_FALSE(mmaElement(b.getF64Type()));
}

} // namespace
} // namespace tegula::sm
