// SPDX-License-Identifier: MIT
// The passes of roles handle a product of another dialect like sm.wgmma: they know an interface, not an op.
#include "compiler/Registration.h"
#include "compiler/sm/Sm.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <gmock/gmock.h>

namespace tegula::testing {

using namespace mlir;

/// A product of other hardware: two tiles in shared memory, perhaps accumulators, and the sum in flight.
class ProductOp : public Op<ProductOp, OpTrait::ZeroRegions, OpTrait::OneResult, OpTrait::ZeroSuccessors,
                            OpTrait::AtLeastNOperands<2>::Impl, MemoryEffectOpInterface::Trait,
                            sm::AsyncOpInterface::Trait, sm::AsyncProduct::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "test.product"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }

  void getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
    for (OpOperand &operand : getOperation()->getOpOperands().take_front(2))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
  sm::Engine getEngine() { return sm::Engine::tensorCores; }
  Value getLhs() { return getOperand(0); }
  Value getRhs() { return getOperand(1); }
  Value getAcc() { return getNumOperands() > 2 ? getOperand(2) : Value(); }
  uint64_t getDepth() { return 64; }
  bool getTransposeLhs() { return false; }
  bool getTransposeRhs() { return false; }
  Value getHandle() { return getOperation()->getResult(0); }
  RankedTensorType getSum() { return cast<sm::InflightType>(getHandle().getType()).getTile(); }
};

class TestDialect : public Dialect {
public:
  explicit TestDialect(MLIRContext *context) : Dialect(getDialectNamespace(), context, TypeID::get<TestDialect>()) {
    addOperations<ProductOp>();
  }
  static StringRef getDialectNamespace() { return "test"; }
};

namespace {

using ::testing::ContainsRegex, ::testing::HasSubstr;

/// Returns a loop with a product that only accumulates. `list` is its step list, as an attribute.
std::string loop(const std::string &list) {
  return R"(
#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:8:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
!tile = !sm.shared<64x64xbf16, 128>
!sums = tensor<64x64xf32, #c>
!f = !sm.inflight<tensor<64x64xf32, #c>>
func.func @loop(%n: index, %one: index, %a: !tile) {
  sm.roles {
    compute warps 4 registers 232 {
      %zero = arith.constant dense<0.0> : !sums
      %r = scf.for %i = %one to %n step %one iter_args(%o = %zero) -> !sums {
        %f = "test.product"(%a, %a, %o) {tile.label = "o"} : (!tile, !tile, !sums) -> !f
        %s = sm.await %f : !f
        scf.yield %s : !sums
      })" +
         list + R"(
    }
    load warps 1 registers 24 {
    }
  }
  return
})";
}

const std::string kRunsOn = R"( {tile.steps = "o o.end@1"})";

/// Returns the program after passes, or the error.
std::string after(const char *pipeline, const std::string &program) {
  [[maybe_unused]] static const bool registered = (registerTegulaPasses(), true);
  DialectRegistry registry;
  registerTegulaDialects(registry);
  registry.insert<TestDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string text;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) { text += diagnostic.str(); });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  PassManager passes = PassManager::on<ModuleOp>(&context);
  if (!module || failed(parsePassPipeline(pipeline, passes)) || failed(passes.run(*module)))
    return "error: " + text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

TEST(AsyncProduct, RunsOnIntoTheNextIteration) {
  const std::string text = after("pipeline-loops", loop(kRunsOn));
  EXPECT_THAT(text, ContainsRegex("scf.for .* iter_args\\(.*!sm.inflight<"));
  EXPECT_THAT(text, ContainsRegex("\"test.product\".*, !sm.inflight<"));
  EXPECT_THAT(text, HasSubstr("sm.await reads"));
}

TEST(AsyncProduct, HasAPlaceInAListOfTheCompiler) {
  EXPECT_THAT(after("plan-steps", loop("")), HasSubstr("tile.steps = \"o\""));
}

TEST(AsyncProduct, IsCountedAmongYoungerOnes) {
  EXPECT_THAT(after("pipeline-loops,count-waits", loop(kRunsOn)), HasSubstr("pending 1"));
}

TEST(AsyncProduct, NeedsWholeWarpgroups) {
  std::string program = loop("");
  program.replace(program.find("warps 4 registers"), 7, "warps 2");
  EXPECT_THAT(after("plan-steps", program),
              HasSubstr("gives the role 'compute' 2 warps; its MMAs need whole warpgroups of 4"));
}

} // namespace
} // namespace tegula::testing
