// SPDX-License-Identifier: MIT
#include "compiler/debug/Passes.h"
#include "compiler/debug/TileBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/StringSwitch.h"

namespace tegula::debug {
#define GEN_PASS_DEF_WRITERECORDS
#include "compiler/debug/Passes.h.inc"
} // namespace tegula::debug

using namespace mlir;
using namespace tegula;
using namespace tegula::debug;

static constexpr StringLiteral kWords = "tile.record_words", kSites = "tile.record_sites";

//===-- Description -----------------------------------------------------------------------------------------------===//

/// Returns a text such as "attention.cpp:17"; empty if the location has no line.
static std::string textOf(Location location) {
  auto line = location->findInstanceOf<FileLineColLoc>();
  return line ? line.getFilename().str() + ":" + std::to_string(line.getLine()) : "";
}

/// Returns the loops around `op`, from the outermost one on.
static SmallVector<LoopLikeOpInterface> loopsAround(Operation *op) {
  SmallVector<LoopLikeOpInterface> loops;
  for (auto loop = op->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>())
    loops.insert(loops.begin(), loop);
  return loops;
}

/// Returns the position of a loop's iteration.
static Value positionOf(LoopLikeOpInterface loop) {
  if (auto range = dyn_cast<scf::ForOp>(loop.getOperation()))
    return range.getInductionVar();
  return cast<scf::WhileOp>(loop.getOperation()).getAfterArguments().front();
}

static Attribute describe(Operation *op, StringRef kind, StringRef name, Type type) {
  Builder b(op->getContext());
  auto tile = dyn_cast<RankedTensorType>(type);
  std::string dtype;
  llvm::raw_string_ostream(dtype) << getElementTypeOrSelf(type);
  SmallVector<Attribute> loops;
  for (LoopLikeOpInterface loop : loopsAround(op))
    loops.push_back(b.getStringAttr(textOf(loop.getLoc())));
  return b.getDictionaryAttr(
      {b.getNamedAttr("kind", b.getStringAttr(kind)), b.getNamedAttr("name", b.getStringAttr(name)),
       b.getNamedAttr("location", b.getStringAttr(textOf(op->getLoc()))),
       b.getNamedAttr("dtype", b.getStringAttr(dtype)),
       b.getNamedAttr("shape", b.getDenseI64ArrayAttr(tile ? tile.getShape() : ArrayRef<int64_t>())),
       b.getNamedAttr("loops", b.getArrayAttr(loops))});
}

DebugLayout debug::layoutOf(ModuleOp module) {
  DebugLayout layout;
  auto sites = module->getAttrOfType<ArrayAttr>(kSites);
  if (!sites)
    return layout;
  layout.record_words = module->getAttrOfType<IntegerAttr>(kWords).getInt();
  for (auto site : sites.getAsRange<DictionaryAttr>()) {
    auto text = [&](StringRef name) { return site.getAs<StringAttr>(name).getValue().str(); };
    DebugSite described{.kind = llvm::StringSwitch<DebugSite::Kind>(text("kind"))
                                    .Case("print", DebugSite::Kind::print)
                                    .Case("assertion", DebugSite::Kind::assertion)
                                    .Default(DebugSite::Kind::element),
                        .name = text("name"),
                        .location = text("location"),
                        .dtype = parseMlirType(text("dtype")).value_or(DType::f32),
                        .shape = {},
                        .loops = {}};
    llvm::append_range(described.shape, site.getAs<DenseI64ArrayAttr>("shape").asArrayRef());
    for (auto loop : site.getAs<ArrayAttr>("loops").getAsRange<StringAttr>())
      described.loops.push_back(loop.getValue().str());
    layout.sites.push_back(std::move(described));
  }
  return layout;
}

//===-- Records ---------------------------------------------------------------------------------------------------===//

namespace {

/// Writes the records of one function.
class Writer {
public:
  explicit Writer(func::FuncOp function)
      : function_(function), b(function.getLoc(), OpBuilder::atBlockBegin(&function.front())) {}

  void write(tile::PrintOp print) { write(print, "print", print.getLabel(), print.getValue()); }

  void write(tile::AssertOp assertion) {
    b.setInsertionPoint(assertion);
    b.setLoc(assertion.getLoc());
    Value holds = assertion.getCondition();
    Value fails = arith::XOrIOp::create(b, holds, arith::ConstantIntOp::create(b, b.getI1Type(), 1));
    auto branch = scf::IfOp::create(b, fails, /*withElseRegion=*/false);
    branch->setAttr(tile::rare, b.getUnitAttr());
    assertion->moveBefore(branch.thenBlock()->getTerminator());
    write(assertion, "assertion", assertion.getLabel(), assertion.getValue());
  }

  void write(tile::ReportElementOp report) {
    begin(report, describe(report, "element", report.getMadeBy(), report.getChecked()));
    put(report.getIndex(), 0, 1);
    put(report.getBits(), 1, 1);
    end(report, 2);
  }

  void describeRecords() {
    if (sites_.empty())
      return;
    auto module = function_->getParentOfType<ModuleOp>();
    module->setAttr(kWords, b.getI64IntegerAttr(recordWords_));
    module->setAttr(kSites, b.getArrayAttr(sites_));
  }

private:
  /// Writes the elements of `value` in the place of `op`.
  void write(Operation *op, StringRef kind, StringRef label, Value value) {
    begin(op, describe(op, kind, label, value.getType()));
    Value tile = isa<RankedTensorType>(value.getType()) ? value : b.broadcast(value, 1);
    SmallVector<Value> words = wordsOf(tile);
    for (auto [number, word] : llvm::enumerate(words))
      put(word, number, words.size());
    end(op, words.size() * cast<RankedTensorType>(tile.getType()).getNumElements());
  }

  /// Returns the buffer, the last parameter.
  Value records() {
    if (!records_) {
      const unsigned last = function_.getNumArguments();
      auto attributes = b.getDictionaryAttr({b.getNamedAttr("tile.name", b.getStringAttr("debug records")),
                                             b.getNamedAttr("tile.written", b.getUnitAttr())});
      (void)function_.insertArgument(last, tile::ViewType::get(b.getContext(), 2, b.getI32Type()), attributes,
                                     function_.getLoc());
      records_ = function_.getArgument(last);
    }
    return records_;
  }

  /// Takes a row of the buffer and writes the head of a record.
  void begin(Operation *op, Attribute site) {
    b.setInsertionPoint(op);
    b.setLoc(op->getLoc());
    auto counterType = tile::ViewType::get(b.getContext(), 1, b.getI32Type());
    Value counter = tile::SliceOp::create(b, counterType, records(), ValueRange(b.index(0)));
    row_ = b.add(tile::NextWorkOp::create(b, counter), b.number(1));
    headWords_ = 0;
    putHead(b.number(static_cast<int32_t>(sites_.size())));
    for (int64_t axis = 0; axis < 3; ++axis)
      putHead(arith::IndexCastOp::create(b, b.getI32Type(), tile::ProgramIdOp::create(b, axis)));
    for (LoopLikeOpInterface loop : loopsAround(op)) {
      Value position = positionOf(loop);
      putHead(position.getType().isIndex() ? arith::IndexCastOp::create(b, b.getI32Type(), position).getResult()
                                           : position);
    }
    sites_.push_back(site);
  }

  void end(Operation *op, int64_t words) {
    recordWords_ = std::max(recordWords_, headWords_ + words);
    op->erase();
  }

  void putHead(Value number) {
    Value row = arith::IndexCastOp::create(b, b.getIndexType(), row_);
    tile::StoreOp::create(b, b.broadcast(number, {1, 1}), records(), ValueRange{row, b.index(headWords_++)});
  }

  /// Adds a tile of i32 to the words `first`, `first + stride`, ... of the record, which are 0.
  void put(Value tile, int64_t first, int64_t stride) {
    auto type = cast<RankedTensorType>(tile.getType());
    Value steps = arith::MulIOp::create(b, b.indices(type.getShape()), b.splat(type, stride));
    Value words = b.add(steps, b.splat(type, headWords_ + first));
    tile::ScatterAddOp::create(b, tile, records(), ValueRange{b.broadcast(row_, type.getShape()), words});
  }

  /// Returns the elements as tiles of i32: one tile, or the lower and the upper halves of elements of 64 bits.
  SmallVector<Value> wordsOf(Value tile) {
    auto like = [&](Type element) { return cast<RankedTensorType>(tile.getType()).clone(element); };
    Type element = getElementTypeOrSelf(tile.getType()), i32 = b.getI32Type(), i64 = b.getI64Type();
    if (isa<FloatType>(element)) {
      Value wide = element.isF32() ? tile : arith::ExtFOp::create(b, like(b.getF32Type()), tile).getResult();
      return {arith::BitcastOp::create(b, like(i32), wide)};
    }
    if (element.isInteger(32))
      return {tile};
    if (element.isInteger(1))
      return {arith::ExtUIOp::create(b, like(i32), tile)};
    if (element.isInteger(8))
      return {arith::ExtSIOp::create(b, like(i32), tile)};
    Value wide = element.isIndex() ? arith::IndexCastOp::create(b, like(i64), tile).getResult() : tile;
    Value upper = arith::ShRSIOp::create(b, wide, b.splat(cast<RankedTensorType>(wide.getType()), 32));
    return {arith::TruncIOp::create(b, like(i32), wide), arith::TruncIOp::create(b, like(i32), upper)};
  }

  func::FuncOp function_;
  TileBuilder b;
  Value records_, row_;
  int64_t headWords_ = 0, recordWords_ = 0;
  SmallVector<Attribute> sites_;
};

struct WriteRecords : debug::impl::WriteRecordsBase<WriteRecords> {
  using WriteRecordsBase::WriteRecordsBase;

  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      Writer writer(function);
      function.walk([&](Operation *op) {
        if (auto report = dyn_cast<tile::ReportElementOp>(op))
          writer.write(report);
        else if (auto written = dyn_cast<tile::PrintOp>(op))
          print ? writer.write(written) : written.erase();
        else if (auto assertion = dyn_cast<tile::AssertOp>(op))
          asserts ? writer.write(assertion) : assertion.erase();
      });
      writer.describeRecords();
    });
  }
};

} // namespace
