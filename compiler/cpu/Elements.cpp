// SPDX-License-Identifier: MIT
// The value of a tile at one position, or at `lanes` adjacent positions. It is read from the tile's buffer, or computed
// at its use from the operands at the same position.
#include "compiler/cpu/Lowering.h"
#include "compiler/tile/Random.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tegula::cpu {

using namespace mlir;

namespace {

int deepest(ArrayRef<Element> elements) {
  int depth = 0;
  for (const Element &element : elements)
    depth = std::max(depth, element.depth);
  return depth;
}

SmallVector<Value, 4> valuesOf(ArrayRef<Element> elements) {
  return llvm::map_to_vector<4>(elements, [](const Element &element) { return element.value; });
}

SmallVector<int64_t> nonUnitDims(RankedTensorType type) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.getDimSize(dim) != 1)
      dims.push_back(dim);
  return dims;
}

} // namespace

Element Lowering::element(Nest &nest, Value tile, ArrayRef<Element> position, int vectorDim) {
  SmallVector<Value, 4> key = valuesOf(position);
  for (const Nest::Computed &known : nest.computed)
    if (known.tile == tile && known.vectorDim == vectorDim && known.position == key)
      return known.result;
  Element result = compute(nest, tile, position, vectorDim);
  nest.computed.push_back({tile, key, vectorDim, result});
  return result;
}

Element Lowering::compute(Nest &nest, Value tile, ArrayRef<Element> position, int vectorDim) {
  if (auto it = buffers_.find(tile); it != buffers_.end())
    return bufferElement(nest, it->second, tileType(tile), position, vectorDim);
  Operation *op = tile.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    builder_.setInsertionPoint(nest.before[0]);
    return constantElement(constant, vectorDim);
  }
  if (auto iota = dyn_cast<tile::IotaOp>(op))
    return iotaElement(nest, iota, position, vectorDim);
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
    return broadcastElement(nest, broadcast, position, vectorDim);
  if (auto reshape = dyn_cast<tile::ReshapeOp>(op))
    return reshapeElement(nest, reshape, position, vectorDim);
  if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
    SmallVector<Element, 4> source(position.size());
    int sourceVectorDim = kScalar;
    for (auto [dim, sourceDim] : llvm::enumerate(transpose.getPermutation())) {
      source[sourceDim] = position[dim];
      if (static_cast<int>(dim) == vectorDim)
        sourceVectorDim = static_cast<int>(sourceDim);
    }
    return element(nest, transpose.getSource(), source, sourceVectorDim);
  }
  return elementwise(nest, op, position, vectorDim);
}

Element Lowering::bufferElement(Nest &nest, const Buffer &buffer, RankedTensorType type, ArrayRef<Element> position,
                                int vectorDim) {
  int depth = deepest(position);
  builder_.setInsertionPoint(nest.before[depth]);
  auto physical = [&](ArrayRef<Value> logical) {
    SmallVector<Value, 4> result(logical);
    if (buffer.order == Order::Column)
      std::reverse(result.begin(), result.end());
    return result;
  };
  SmallVector<Value, 4> where = valuesOf(position);
  Type stored = cast<MemRefType>(buffer.memory.getType()).getElementType();
  Value value;
  if (vectorDim == kScalar) {
    value = memref::LoadOp::create(builder_, loc(), buffer.memory, physical(where));
  } else if (vectorDim == buffer.contiguousDim(type.getRank())) {
    value = vector::LoadOp::create(builder_, loc(), VectorType::get({lanes_}, stored), buffer.memory, physical(where));
  } else {
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      SmallVector<Value, 4> at = where;
      // Lanes past the tile's end repeat the last element. Their results are never used.
      Value shifted = arith::AddIOp::create(builder_, loc(), at[vectorDim], index(lane));
      at[vectorDim] = arith::MinSIOp::create(builder_, loc(), shifted, index(type.getDimSize(vectorDim) - 1));
      lanes.push_back(memref::LoadOp::create(builder_, loc(), buffer.memory, physical(at)));
    }
    value = vector::FromElementsOp::create(builder_, loc(), VectorType::get({lanes_}, stored), lanes);
  }
  if (type.getElementType().isInteger(1)) {
    Value zero = arith::ConstantOp::create(builder_, loc(), builder_.getZeroAttr(value.getType()));
    value = arith::CmpIOp::create(builder_, loc(), arith::CmpIPredicate::ne, value, zero);
  }
  return {value, depth};
}

Element Lowering::constantElement(arith::ConstantOp constant, int vectorDim) {
  auto dense = dyn_cast<SplatElementsAttr>(constant.getValue());
  if (!dense) {
    constant.emitError("a constant tile must have one value for all elements");
    failed_ = constant;
  }
  TypedAttr scalar = dense ? cast<TypedAttr>(dense.getSplatValue<Attribute>())
                           : builder_.getZeroAttr(tileType(constant).getElementType());
  if (auto number = dyn_cast<FloatAttr>(scalar); number && !number.getType().isF32())
    scalar = builder_.getF32FloatAttr(static_cast<float>(number.getValueAsDouble()));
  Value value = arith::ConstantOp::create(builder_, loc(), scalar);
  return {vectorDim == kScalar ? value : splat(value), 0};
}

Element Lowering::iotaElement(Nest &nest, tile::IotaOp iota, ArrayRef<Element> position, int vectorDim) {
  builder_.setInsertionPoint(nest.before[position[0].depth]);
  Type type = tileType(iota).getElementType();
  Value value = position[0].value;
  if (!type.isIndex())
    value = arith::IndexCastOp::create(builder_, loc(), type, value);
  if (vectorDim == kScalar)
    return {value, position[0].depth};
  auto vectorType = VectorType::get({lanes_}, type);
  SmallVector<Attribute> steps;
  for (int64_t lane = 0; lane < lanes_; ++lane)
    steps.push_back(builder_.getIntegerAttr(type, lane));
  Value offsets = arith::ConstantOp::create(builder_, loc(), DenseElementsAttr::get(vectorType, steps));
  return {arith::AddIOp::create(builder_, loc(), splat(value), offsets), position[0].depth};
}

Element Lowering::broadcastElement(Nest &nest, tile::BroadcastOp op, ArrayRef<Element> position, int vectorDim) {
  bool isVector = vectorDim != kScalar;
  auto sourceType = tileType(op.getSource());
  if (!sourceType) {
    Value scalar = scalars_.lookup(op.getSource());
    builder_.setInsertionPoint(nest.before[0]);
    return {isVector ? splat(scalar) : scalar, 0};
  }
  SmallVector<Element, 4> at(position);
  builder_.setInsertionPoint(nest.before[0]);
  for (auto [dim, size] : llvm::enumerate(sourceType.getShape()))
    if (size == 1)
      at[dim] = {index(0), 0};
  if (!isVector || sourceType.getDimSize(vectorDim) != 1)
    return element(nest, op.getSource(), at, vectorDim);
  Element repeated = element(nest, op.getSource(), at, kScalar);
  builder_.setInsertionPoint(nest.before[repeated.depth]);
  return {splat(repeated.value), repeated.depth};
}

Element Lowering::reshapeElement(Nest &nest, tile::ReshapeOp op, ArrayRef<Element> position, int vectorDim) {
  RankedTensorType from = tileType(op.getSource()), to = tileType(op.getResult());
  SmallVector<int64_t> fromDims = nonUnitDims(from), toDims = nonUnitDims(to);
  bool onlyUnits = llvm::equal(llvm::map_range(fromDims, [&](int64_t d) { return from.getDimSize(d); }),
                               llvm::map_range(toDims, [&](int64_t d) { return to.getDimSize(d); }));
  if (!onlyUnits)
    return reshapeLanes(nest, op, position, vectorDim);
  builder_.setInsertionPoint(nest.before[0]);
  SmallVector<Element, 4> at(from.getRank(), Element{index(0), 0});
  int sourceVectorDim = kScalar;
  for (auto [fromDim, toDim] : llvm::zip(fromDims, toDims)) {
    at[fromDim] = position[toDim];
    if (toDim == vectorDim)
      sourceVectorDim = static_cast<int>(fromDim);
  }
  Element source = element(nest, op.getSource(), at, sourceVectorDim);
  if (vectorDim == kScalar || sourceVectorDim != kScalar)
    return source;
  builder_.setInsertionPoint(nest.before[source.depth]);
  return {splat(source.value), source.depth};
}

// Emits a reshape that regroups elements. Each lane computes its own source position.
Element Lowering::reshapeLanes(Nest &nest, tile::ReshapeOp op, ArrayRef<Element> position, int vectorDim) {
  RankedTensorType from = tileType(op.getSource()), to = tileType(op.getResult());
  int depth = deepest(position);
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < (vectorDim == kScalar ? 1 : lanes_); ++lane) {
    builder_.setInsertionPoint(nest.before[depth]);
    Value linear = index(0);
    for (auto [dim, size] : llvm::enumerate(to.getShape())) {
      Value at = position[dim].value;
      if (static_cast<int>(dim) == vectorDim)
        at = arith::AddIOp::create(builder_, loc(), at, index(lane));
      linear = arith::MulIOp::create(builder_, loc(), linear, index(size));
      linear = arith::AddIOp::create(builder_, loc(), linear, at);
    }
    linear = arith::MinSIOp::create(builder_, loc(), linear, index(to.getNumElements() - 1));
    SmallVector<Element, 4> at(from.getRank());
    for (int64_t dim = from.getRank() - 1; dim >= 0; --dim) {
      at[dim] = {arith::RemSIOp::create(builder_, loc(), linear, index(from.getDimSize(dim))), depth};
      linear = arith::DivSIOp::create(builder_, loc(), linear, index(from.getDimSize(dim)));
    }
    lanes.push_back(element(nest, op.getSource(), at, kScalar).value);
  }
  if (vectorDim == kScalar)
    return {lanes.front(), depth};
  builder_.setInsertionPoint(nest.before[depth]);
  auto type = VectorType::get({lanes_}, lanes.front().getType());
  return {vector::FromElementsOp::create(builder_, loc(), type, lanes), depth};
}

Element Lowering::elementwise(Nest &nest, Operation *op, ArrayRef<Element> position, int vectorDim) {
  SmallVector<Value, 4> operands;
  int depth = 0;
  for (Value operand : op->getOperands()) {
    Element source =
        tileType(operand) ? element(nest, operand, position, vectorDim) : Element{scalars_.lookup(operand), 0};
    operands.push_back(source.value);
    depth = std::max(depth, source.depth);
  }
  builder_.setInsertionPoint(nest.before[depth]);
  return {arithmetic(op, operands, tileType(op->getResult(0)).getElementType(), vectorDim != kScalar), depth};
}

// Emits the same op on scalars or vectors. Narrow floats are f32 that have been rounded, so widening emits
// nothing and narrowing rounds.
Value Lowering::arithmetic(Operation *op, ArrayRef<Value> operands, Type resultElement, bool vector) {
  StringRef name = op->getName().getStringRef();
  bool narrowResult = tile::isNarrowFloat(resultElement);
  if (name == "arith.extf")
    return operands[0];
  if (name == "arith.truncf" && narrowResult)
    return roundTo(builder_, loc(), operands[0], resultElement);
  if (name == "math.exp2" || name == "math.tanh") {
    Value result = (name == "math.exp2" ? exp2 : tanh)(builder_, loc(), operands[0]);
    return narrowResult ? roundTo(builder_, loc(), result, resultElement) : result;
  }
  if (auto random = dyn_cast<tile::RandomOp>(op)) {
    auto ofElement = [&](Value x) { return vector && !isa<VectorType>(x.getType()) ? splat(x) : x; };
    return tile::expandRandom(builder_, random, llvm::map_to_vector(operands, ofElement));
  }
  Type element = computeType(resultElement);
  OperationState state(loc(), op->getName());
  state.addOperands(operands);
  state.addTypes(vector ? Type(VectorType::get({lanes_}, element)) : element);
  for (NamedAttribute attr : op->getAttrs())
    if (!attr.getName().strref().starts_with("tile."))
      state.addAttribute(attr.getName(), attr.getValue());
  Value result = builder_.create(state)->getResult(0);
  return narrowResult && name != "arith.select" ? roundTo(builder_, loc(), result, resultElement) : result;
}

} // namespace tegula::cpu
