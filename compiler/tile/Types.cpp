// SPDX-License-Identifier: MIT
// `!tile.view<2xbf16>`: text form and verifier. Also: where a view comes from, and attributes of the module.
#include "compiler/tile/Tile.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tegula::tile;

/// Returns the place that `place` is a view of; null if it is no view.
static Value sourceOf(Value place) {
  if (auto parts = place.getDefiningOp<PartsOpInterface>())
    return parts.getSourceOf(cast<OpResult>(place));
  auto view = place.getDefiningOp<ViewLikeOpInterface>();
  return view ? view.getViewSource() : Value();
}

Value tegula::tile::rootOf(Value place) {
  while (Value source = sourceOf(place))
    place = source;
  return place;
}

template <class T> static T attributeOfModule(Operation *op, StringRef name) {
  ModuleOp module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<T>(name) : T();
}

void tegula::tile::inheritAttributes(Operation *product, Operation *replaced, ArrayRef<StringRef> obeyed) {
  for (NamedAttribute attribute : replaced->getDiscardableAttrs())
    if (!llvm::is_contained(obeyed, attribute.getName()))
      product->setDiscardableAttr(attribute.getName(), attribute.getValue());
}

int64_t tegula::tile::setting(Operation *op, StringRef name, int64_t otherwise) {
  auto attribute = attributeOfModule<IntegerAttr>(op, name);
  return attribute ? attribute.getInt() : otherwise;
}

bool tegula::tile::isOn(Operation *op, StringRef name) {
  auto attribute = attributeOfModule<BoolAttr>(op, name);
  return attribute && attribute.getValue();
}

bool tegula::tile::isWord(Operation *op, StringRef name, StringRef word) {
  auto attribute = attributeOfModule<StringAttr>(op, name);
  return attribute && attribute.getValue() == word;
}

std::string tegula::tile::nameSetting(Operation *op, StringRef setting) {
  auto names = attributeOfModule<ArrayAttr>(op, chosen);
  const bool isChosen = names && llvm::is_contained(names.getAsValueRange<StringAttr>(), setting.split('=').first);
  return setting.str() + (isChosen ? ", which the compiler chose," : "");
}

bool tegula::tile::wantsRoles(Operation *op) { return isWord(op, "tile.roles", "load"); }

bool tegula::tile::isNarrowFloat(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32; }

bool tegula::tile::isReadOnly(Value view) {
  auto argument = dyn_cast<BlockArgument>(rootOf(view));
  auto function = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : FunctionOpInterface();
  return function && !function.getArgAttr(argument.getArgNumber(), "tile.written");
}

void GatherOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (!isReadOnly(getView()))
    effects.emplace_back(MemoryEffects::Read::get(), &getViewMutable());
}

Type ViewType::parse(AsmParser &parser) {
  SmallVector<int64_t> dims;
  Type elementType;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(dims, /*allowDynamic=*/false) || parser.parseType(elementType) ||
      parser.parseGreater())
    return {};
  if (dims.size() != 1)
    return parser.emitError(where, "expected a rank and an element type, such as '<2xbf16>'"), Type();
  auto rank = static_cast<unsigned>(std::min<int64_t>(dims.front(), std::numeric_limits<unsigned>::max()));
  return parser.getChecked<ViewType>(where, parser.getContext(), rank, elementType);
}

void ViewType::print(AsmPrinter &printer) const { printer << '<' << getRank() << 'x' << getElementType() << '>'; }

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError, unsigned rank, Type elementType) {
  if (rank < 1 || rank > 5)
    return emitError() << "a view of rank " << rank << "; views have rank 1 to 5";
  bool storable = isa<Float32Type, Float16Type, BFloat16Type, Float8E4M3FNType>(elementType) ||
                  elementType.isInteger(64) || elementType.isInteger(32) || elementType.isInteger(8);
  if (!storable)
    return emitError() << "a view of " << elementType
                       << "; tensors in memory hold f32, f16, bf16, f8E4M3FN, i64, i32 or i8";
  return success();
}
