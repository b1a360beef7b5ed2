// SPDX-License-Identifier: MIT
#include "tegula/view.h"

#include "convert.h"
#include "tegula/ops.h"
#include "text.h"

namespace tegula {
namespace {

/// Returns the operands of `view[position...]`; missing positions are 0. Empty after an error.
std::vector<NodeId> placeIn(const Converter &convert, NodeId view, const std::vector<Operand> &coordinates) {
  Recorder &r = convert.r;
  size_t rank = r.type(view).view_rank;
  if (r.poisoned(view))
    return {};
  if (coordinates.size() > rank) {
    convert.fail(std::to_string(coordinates.size()) + " positions are given, but this is " + describe(r.type(view)));
    return {};
  }
  std::vector<NodeId> operands = {view};
  for (const Operand &coordinate : coordinates)
    operands.push_back(convert.position(r.use(coordinate)));
  Term zero{.kind = Term::Kind::Integer, .made = convert.where};
  while (operands.size() < rank + 1)
    operands.push_back(convert.constant(DType::index, zero));
  return operands;
}

/// Returns true if an element of dtype `from` may be written as `to`: floats are rounded, integers may only widen.
bool canStore(DType from, DType to) {
  if (isFloat(from) || isFloat(to))
    return isFloat(from) && isFloat(to);
  if (from == DType::index)
    return isInteger(to);
  return from == to || (isInteger(from) && sizeOf(from) <= sizeOf(to));
}

/// Returns the dtype of a literal that is written to a view.
DType storedType(const Converter &convert, const Term &term, DType to) {
  bool fits = term.kind == Term::Kind::Integer ? to != DType::i1 : term.kind == Term::Kind::Floating && isFloat(to);
  return term.literal() && fits ? to : convert.naturalType(term);
}

/// Returns what is read from a view with elements of type `dtype`: the elements themselves, or if they are not 0.
Value readValue(const Converter &convert, NodeId elements, DType dtype) {
  Recorder &r = convert.r;
  if (dtype != DType::i1 || r.poisoned(elements))
    return r.value(elements, convert.where);
  return Operand(r.value(elements, convert.where), convert.where) != Operand(0, convert.where);
}

/// Returns the tile in the view's dtype, with `rank` dimensions; poison after an error.
NodeId tileFor(const Converter &convert, const Term &term, DType to, size_t rank) {
  Recorder &r = convert.r;
  if (convert.poisoned(term))
    return term.id;
  if (!canStore(storedType(convert, term, to), to))
    return convert.fail(
        convert.describe(term) + " does not go into elements of type " + std::string(toString(to)) +
            (to == DType::i1 ? "; write x != 0" : "; write cast(" + std::string(toString(to)) + ", ...)"),
        {term});
  Shape shape = term.literal() ? Shape() : r.type(term.id).shape;
  if (shape.empty() || shape == Shape{1})
    shape = Shape(rank, 1);
  if (shape.size() != rank)
    return convert.fail(convert.describe(term) + " has " + std::to_string(shape.size()) +
                            " dimensions, but the view has " + std::to_string(rank) +
                            "; reshape the tile or fix leading dimensions by at(...)",
                        {term});
  return convert.cast(convert.to(term, to, shape), inMemory(to));
}

bool checkAddable(const Converter &convert, NodeId view) {
  DType dtype = convert.r.type(view).dtype;
  if (convert.r.poisoned(view) || dtype == DType::f32 || dtype == DType::i32)
    return !convert.r.poisoned(view);
  convert.fail("this is " + describe(convert.r.type(view)) + "; only f32 and i32 elements can be added to");
  return false;
}

/// Returns `tile`, repeated to `shape` if it is a single element.
NodeId repeated(const Converter &convert, NodeId tile, const Shape &shape) {
  Recorder &r = convert.r;
  const bool isSingle = !r.poisoned(tile) && r.type(tile).shape == Shape(shape.size(), 1);
  return isSingle ? convert.broadcast(tile, shape) : tile;
}

/// Returns the operands of an effect that writes `tile` to a tensor at `coordinates`. Empty after an error.
std::vector<NodeId> written(const Converter &convert, Op op, NodeId view, const std::vector<Operand> &coordinates,
                            const Operand &tile) {
  Recorder &r = convert.r;
  Term term = r.use(tile);
  const bool adds = op == Op::AtomicAdd || op == Op::OrderedAdd;
  if (adds && !checkAddable(convert, view))
    return {};
  std::vector<NodeId> operands = placeIn(convert, view, coordinates);
  if (!operands.empty())
    operands.insert(operands.begin(), tileFor(convert, term, r.type(view).dtype, r.type(view).view_rank));
  return operands;
}

void write(Op op, const char *name, NodeId view, const std::vector<Operand> &coordinates, const Operand &tile,
           Location where) {
  Recorder &r = Recorder::current();
  if (std::vector<NodeId> operands = written(Converter(r, name, where), op, view, coordinates, tile); !operands.empty())
    r.effect(op, std::move(operands), where);
}

/// Returns true if `op` makes the view from another one, directly or through others.
bool isMadeBy(const Recorder &r, NodeId view, Op op) {
  while (makesView(r.node(view).op) && r.node(view).op != op)
    view = r.node(view).operands[0];
  return r.node(view).op == op;
}

/// Returns true if rows of the view lie in pages.
bool isInPages(const Recorder &r, NodeId view) {
  const auto keepsFirstDimension = [](const Node &node) {
    return node.op == Op::Rows || (node.op == Op::Slice && node.number > 0);
  };
  while (keepsFirstDimension(r.node(view)))
    view = r.node(view).operands[0];
  return r.node(view).op == Op::Pages;
}

/// Returns the node of a view with a number for each page, which the program must not write.
NodeId numbersOfPages(const Converter &convert, View numbers, const std::string &what) {
  Recorder &r = convert.r;
  const NodeId node = r.use(numbers, convert.where);
  if (r.poisoned(node))
    return node;
  if (r.type(node) != Type{i32, {}, 1})
    return convert.fail("the " + what + " " + describe(r.type(node)) + "; it must be a view of type i32 and rank 1");
  r.markTable(node, convert.where);
  return node;
}

/// Returns the view whose first dimension is made of the first two of `view`. `operands` are the view, then a table of
/// pages if there is one, then lengths of pages if there are any.
View inPages(const Converter &convert, std::vector<NodeId> operands, std::optional<int> rows) {
  Recorder &r = convert.r;
  const Type type = r.type(operands[0]);
  Type result{type.dtype, {}, std::max(type.view_rank - 1, 1)};
  auto fail = [&](const std::string &message) { return r.view(convert.fail(message, {}, result)); };
  if (r.poisoned(operands[0]))
    return r.view(r.poison(result));
  if (type.view_rank < 2)
    return fail("this is " + describe(type) + "; it must have pages and their rows, which are two dimensions");
  if (isInPages(r, operands[0]))
    return fail("the first dimension of this view lies in pages already");
  if (rows && *rows < 1)
    return fail("a page has " + std::to_string(*rows) + " rows; it must have at least 1");
  return r.view(r.pure(Op::Pages, result, std::move(operands), convert.where, {}, rows.value_or(0)));
}

/// Returns true if instances can take turns at the counters or arrive there, and here: all threads must reach this
/// place. `instead` says what to do after a branch.
bool checkCounters(const Converter &convert, NodeId counters, const char *instead) {
  Recorder &r = convert.r;
  if (r.poisoned(counters))
    return false;
  if (r.type(counters) != Type{i32, {}, 1})
    convert.fail("the counters are " + describe(r.type(counters)) + "; they must be a view of type i32 and rank 1");
  else if (isMadeBy(r, counters, Op::Rows))
    convert.fail("the counters are rows(begin, end) of a tensor; take the tensor, and add begin to the place");
  else if (isMadeBy(r, counters, Op::Pages))
    convert.fail("the counters lie in pages; take counters that follow each other in a tensor");
  else if (r.inBranch())
    convert.fail(std::string("the call is inside when(...), which some threads of the program instance may skip; ") +
                 instead);
  else
    return true;
  return false;
}

bool isScalar(const Recorder &r, const Term &term) { return term.literal() || r.type(term.id).scalar(); }

/// Fixes the dimensions that leading scalars index, as long as one dimension is left. Removes those scalars from
/// `terms`.
NodeId sliceScalars(const Converter &convert, NodeId view, std::vector<Term> &terms) {
  Recorder &r = convert.r;
  std::vector<NodeId> operands = {view};
  while (terms.size() > 1 && isScalar(r, terms[0])) {
    operands.push_back(convert.position(terms[0]));
    terms.erase(terms.begin());
  }
  Type type{r.type(view).dtype, {}, static_cast<int>(terms.size())};
  return operands.size() == 1 ? view : r.pure(Op::Slice, type, std::move(operands), convert.where);
}

bool checkIndices(const Converter &convert, NodeId view, const std::vector<Term> &terms) {
  Recorder &r = convert.r;
  if (convert.poisoned(terms) || r.poisoned(view))
    return false;
  for (const Term &term : terms)
    if (!isInteger(convert.naturalType(term))) {
      convert.fail(convert.describe(term) + " is not an index; indices are integers", {term});
      return false;
    }
  if (static_cast<int>(terms.size()) == r.type(view).view_rank)
    return true;
  convert.fail(std::to_string(terms.size()) + " indices are given, but this is " + describe(r.type(view)));
  return false;
}

/// Returns a view and one index per dimension. The indices are all tiles of one shape or all scalars. Empty after an
/// error.
std::vector<NodeId> elementsAt(const Converter &convert, NodeId view, const std::vector<Operand> &indices) {
  std::vector<Term> terms;
  for (const Operand &index : indices)
    terms.push_back(convert.r.use(index));
  if (!checkIndices(convert, view, terms))
    return {};
  std::vector<NodeId> operands = {sliceScalars(convert, view, terms)};
  std::optional<Shape> shape = convert.commonShape(terms);
  if (!shape)
    return {};
  for (const Term &term : terms)
    operands.push_back(convert.to(term, widened(convert.naturalType(term)), *shape));
  return operands;
}

/// Records a store of single elements, or an addition of single elements.
void writeElements(Op op, const Converter &convert, NodeId view, const Operand &tile,
                   const std::vector<Operand> &indices) {
  Recorder &r = convert.r;
  Term term = r.use(tile);
  if ((op == Op::ScatterAdd && !checkAddable(convert, view)) || convert.poisoned(term))
    return;
  std::vector<NodeId> operands = elementsAt(convert, view, indices);
  if (operands.empty())
    return;
  if (r.type(operands[1]).scalar())
    for (size_t index = 1; index < operands.size(); ++index)
      operands[index] = convert.broadcast(operands[index], {1});
  const Shape &shape = r.type(operands[1]).shape;
  NodeId source = repeated(convert, tileFor(convert, term, r.type(view).dtype, shape.size()), shape);
  if (!r.poisoned(source) && r.type(source).shape != shape)
    source = convert.fail(
        "the tile is " + convert.describe(term) + ", but the indices have the shape " + listText(shape), {term});
  operands.insert(operands.begin(), source);
  r.effect(op, std::move(operands), convert.where);
}

} // namespace

DType View::dtype() const { return Recorder::current().type(*this).dtype; }
int View::rank() const { return Recorder::current().type(*this).view_rank; }

Value View::dim(int axis, Location where) const {
  Recorder &r = Recorder::current();
  NodeId view = r.use(*this, where);
  Type type{DType::index, {}};
  if (!r.poisoned(view) && (axis < 0 || axis >= rank()))
    return r.value(
        r.fail(where,
               "dim: axis " + std::to_string(axis) + " is not one of the dimensions of " + describe(r.type(view)), {},
               type),
        where);
  return r.value(r.pure(Op::Dim, type, {view}, where, {}, axis), where);
}

View View::slice(const std::vector<Operand> &indices, int axis) const {
  Recorder &r = Recorder::current();
  Converter convert(r, axis == 0 ? "at" : "atAxis", indices[0].where());
  NodeId view = r.use(*this, convert.where);
  const int count = static_cast<int>(indices.size()), left = rank() - count;
  Type type{dtype(), {}, left > 0 ? left : 1};
  const auto fail = [&](const std::string &message) { return r.view(convert.fail(message, {}, type)); };
  if (!r.poisoned(view) && left < 1)
    return fail(std::to_string(count) + " indices are given, but this is " + describe(r.type(view)) +
                ", and one dimension must remain");
  if (!r.poisoned(view) && (axis < 0 || axis > left))
    return fail("axes " + std::to_string(axis) + " to " + std::to_string(int64_t{axis} + count - 1) +
                " are not all dimensions of " + describe(r.type(view)));
  std::vector<NodeId> operands = {view};
  for (const Operand &index : indices)
    operands.push_back(convert.position(r.use(index)));
  return r.view(r.pure(Op::Slice, type, std::move(operands), convert.where, {}, axis));
}

View View::rows(Operand begin, Operand end) const {
  Recorder &r = Recorder::current();
  Converter convert(r, "rows", begin.where());
  NodeId view = r.use(*this, convert.where);
  std::vector<NodeId> operands = {view, convert.position(r.use(begin)), convert.position(r.use(end))};
  return r.view(r.pure(Op::Rows, r.type(view), std::move(operands), convert.where));
}

View paged(View pool, View table, int page, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "paged", where);
  return inPages(convert, {r.use(pool, where), numbersOfPages(convert, table, "table is")}, page);
}

View paged(View pool, View table, View lengths, int page, Location where) {
  Recorder &r = Recorder::current();
  Converter convert(r, "paged", where);
  const NodeId of_table = numbersOfPages(convert, table, "table is");
  return inPages(convert, {r.use(pool, where), of_table, numbersOfPages(convert, lengths, "lengths are")}, page);
}

View packed(View view, std::optional<int> group, Location where) {
  Recorder &r = Recorder::current();
  return inPages(Converter(r, "packed", where), {r.use(view, where)}, group);
}

Value View::load(Position position, Shape shape, double fill, Location where) const {
  Recorder &r = Recorder::current();
  Converter convert(r, "load", where);
  NodeId view = r.use(*this, where);
  Type type{dtype(), shape};
  if (r.poisoned(view) || !convert.checkShape(shape))
    return r.value(r.poison(type), where);
  if (static_cast<int>(shape.size()) != rank())
    return r.value(convert.fail("the shape " + listText(shape) + " has " + std::to_string(shape.size()) +
                                    " dimensions, but this is " + describe(r.type(view)),
                                {}, type),
                   where);
  std::vector<NodeId> operands = placeIn(convert, view, position.coordinates_);
  if (operands.empty())
    return r.value(r.poison(type), where);
  std::string text;
  if (fill != 0) {
    const DType legal = type.dtype == DType::i8 || type.dtype == DType::i1 ? type.dtype : DType::i32;
    if (!isFloat(type.dtype) && !isValueOf(legal, fill))
      return r.value(convert.fail("fill is " + numberText(f32, fill) + "; it must be an " +
                                      std::string(toString(legal)) + " value for " + describe(r.type(view)),
                                  {}, type),
                     where);
    const DType dtype = inMemory(type.dtype);
    text = "fill = " + numberText(dtype, fill) + " : " + std::string(toMlir(dtype));
  }
  const Type loaded{inMemory(type.dtype), type.shape};
  return readValue(convert, r.read(Op::Load, loaded, std::move(operands), where, std::move(text)), type.dtype);
}

void View::store(Position position, Operand tile, Location where) const {
  Recorder &r = Recorder::current();
  write(Op::Store, "store", r.use(*this, where), position.coordinates_, tile, where);
}

void View::storeWhere(Operand condition, Position position, Operand tile, Location where) const {
  Recorder &r = Recorder::current();
  Converter convert(r, "storeWhere", where);
  Term holds = r.use(condition);
  std::vector<NodeId> operands = written(convert, Op::StoreWhere, r.use(*this, where), position.coordinates_, tile);
  if (operands.empty() || convert.poisoned(holds) || r.poisoned(operands[0]))
    return;
  if (Shape shape = convert.guess({holds}).shape; shape.size() == r.type(operands[0]).shape.size())
    operands[0] = repeated(convert, operands[0], shape);
  operands.push_back(convert.condition(holds, r.type(operands[0]).shape, "the condition", "the tile"));
  r.effect(Op::StoreWhere, std::move(operands), where);
}

void View::atomicAdd(Position position, Operand tile, Location where) const {
  Recorder &r = Recorder::current();
  write(Op::AtomicAdd, "atomicAdd", r.use(*this, where), position.coordinates_, tile, where);
}

void View::orderedAdd(Position position, Operand tile, const Turn &turn, Location where) const {
  Recorder &r = Recorder::current();
  Converter convert(r, "orderedAdd", where);
  NodeId counters = r.use(turn.counters, where);
  std::vector<NodeId> operands = written(convert, Op::OrderedAdd, r.use(*this, where), position.coordinates_, tile);
  if (operands.empty() || !checkCounters(convert, counters, "compute the tile there and add it afterwards"))
    return;
  operands.insert(operands.end(), {counters, convert.position(r.use(turn.place)),
                                   convert.cast(convert.position(r.use(turn.number)), i32),
                                   convert.cast(convert.position(r.use(turn.next)), i32)});
  r.markWritten(counters);
  r.effect(Op::OrderedAdd, std::move(operands), where);
}

Value View::arrive(Operand place, Operand count, Location where) const {
  Recorder &r = Recorder::current();
  Converter convert(r, "arrive", where);
  const Type isLast{DType::i1, {}};
  NodeId counters = r.use(*this, where);
  if (!checkCounters(convert, counters, "arrive after it"))
    return r.value(r.poison(isLast), where);
  return r.value(
      r.effect(Op::Arrive, isLast, {counters, convert.position(r.use(place)), convert.count(r.use(count))}, where),
      where);
}

Value View::gatherAt(const std::vector<Operand> &indices) const {
  Recorder &r = Recorder::current();
  Converter convert(r, "gather", indices[0].where());
  NodeId view = r.use(*this, convert.where);
  std::vector<NodeId> operands = elementsAt(convert, view, indices);
  if (operands.empty())
    return r.value(r.poison({dtype(), {}}), convert.where);
  Type type{inMemory(dtype()), r.type(operands[1]).shape};
  return readValue(convert, r.read(Op::Gather, type, std::move(operands), convert.where), dtype());
}

void View::scatterAt(Operand tile, const std::vector<Operand> &indices) const {
  Recorder &r = Recorder::current();
  Converter convert(r, "scatter", tile.where());
  writeElements(Op::Scatter, convert, r.use(*this, convert.where), tile, indices);
}

void View::scatterAddAt(Operand tile, const std::vector<Operand> &indices) const {
  Recorder &r = Recorder::current();
  Converter convert(r, "scatterAdd", tile.where());
  writeElements(Op::ScatterAdd, convert, r.use(*this, convert.where), tile, indices);
}

} // namespace tegula
