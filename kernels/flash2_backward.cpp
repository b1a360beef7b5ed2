// SPDX-License-Identifier: MIT
// FlashAttention-2, backward (Dao 2023, Algorithm 2). A program instance works on a block of keys of one kv head. It
// keeps dK and dV while it visits the queries of all query heads that share the kv head.
#include "arguments.h"
#include "blocks.h"
#include "scores.h"
#include "spaces.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <optional>

namespace tegula {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Returns the variant's tensors with their gradients.
std::vector<ViewGradient> gradientsOf(const Variant &variant, const ListedViews &views) {
  std::vector<ViewGradient> pairs;
  size_t next = 0;
  for (size_t t = 0; t < variant.tensors.size(); ++t)
    if (variant.tensors[t].wants_gradient)
      pairs.push_back({views.tensors[t], views.gradients[next++]});
  return pairs;
}

/// Returns the gradient of one head of a product's operand, the tensor `index`; none if the variant does not want it.
std::optional<View> gradientOf(const Variant &variant, const ListedViews &views, size_t index, Value batch,
                               Value head) {
  size_t before = 0; // Gradients of other tensors.
  for (size_t t = 0; t < index; ++t)
    before += variant.tensors[t].wants_gradient;
  if (!variant.tensors[index].wants_gradient)
    return std::nullopt;
  return views.gradients[before].at(batch, head);
}

/// Returns the gradients of one head of the operands that all products have on a side.
std::vector<std::optional<View>> operandGradients(const Variant &variant, const ListedViews &views,
                                                  size_t ScoreProduct::*side, Value batch, Value head) {
  std::vector<std::optional<View>> gradients;
  for (const ScoreProduct &product : variant.products)
    gradients.push_back(gradientOf(variant, views, product.*side, batch, head));
  return gradients;
}

/// Returns true if the scores' accumulators start from -lse / scale, so that p = exp(scale * product). A variant that
/// modifies scores needs scale q k^T by itself, and if NaN is contained, so do the rows whose lse is NaN. f32 products
/// are sums of large and small parts, and the small ones would be lost beside a large lse.
bool startsFromLse(const AttentionConfig &c) {
  return !c.variant.score && !c.contain_nonfinite && sizeOf(c.dtype) == 2;
}

/// Returns the factor on q k^T in P. In 16 bits a scale nearer to 0 than 2^-100 counts as 2^-100, because lse / scale
/// must be finite. It changes no P unless q k^T exceeds 2^80.
Value factorOfP(const AttentionConfig &c, Value scale) {
  constexpr double smallest = 0x1p-100;
  return startsFromLse(c) ? select(abs(scale) < smallest, smallest, scale) : scale;
}

/// Returns -lse / factor if `startsFromLse`, else lse, as lseOfP() has it.
Value lseTerm(const AttentionConfig &c, View L, Value i, Value factor) {
  Value lse = lseOfP(c, L, i); // [block_m]
  return startsFromLse(c) ? -lse / factor : lse;
}

/// The tensors of one query head.
struct Head {
  OperandViews Q;
  View dO;
  View lse_term; ///< As `lseTerm` computes it.
  View dp_init, dQ;
  std::vector<std::optional<View>> more_dQ; ///< For each product, if it is wanted.
};

/// A block of keys and its values.
struct KeyBlock {
  Operands k; ///< [block_n, head_dim]
  Value v;    ///< [block_n, value_dim]
};

/// The block of keys on which a program instance works.
struct KeyPlace {
  Value block, kv_head, batch;
  /// The number of the instance among those of its kv head, if they have an order, and that of the next one; i32.
  Value number, next;
};

/// Returns the place of this instance in the grid.
KeyPlace placeInGrid() { return {programId(0), programId(1), programId(2), constant(i32, 0), constant(i32, 0)}; }

/// Returns the place of this instance in the grid if kv heads alternate. It is number `number` of its kv head.
KeyPlace placeAmongHeads(Value block, Value number, Value kv_heads) {
  Value together = numPrograms(0), groups = cast(i32, kv_heads) / cast(i32, together);
  Value group = cast(i32, programId(2));
  return {block, programId(0) + group % groups * together, cast(DType::index, group / groups), number, number + 1};
}

/// Returns the place of this instance in the grid if instances add to dQ one after another (GridRows::ordered_keys).
/// The instances of a kv head take its blocks from the last one to the first. With a diagonal, an instance begins with
/// the queries that only it and the instances after it visit. Instances that start together then visit each tile one
/// step after each other, and wait for none if their steps take the same time.
KeyPlace placeInOrder(Value kv_heads) {
  return placeAmongHeads(numPrograms(1) - 1 - programId(1), cast(i32, programId(1)), kv_heads);
}

/// Returns the place of this instance in the grid of the program (GridRows).
KeyPlace placeOf(const AttentionConfig &c, Value kv_heads) {
  if (c.deterministic)
    return placeInOrder(kv_heads);
  return c.strips ? placeAmongHeads(programId(1), constant(i32, 0), kv_heads) : placeInGrid();
}

/// Returns the turn of an instance at the tile from query `i` on. `before` are the tiles that the instance before it
/// visits: it passes the turn on if it visits the tile. Otherwise this instance is the first one of the tile. Instance
/// 0 has number 0 in either case.
Turn turnAt(View turns, const KeyPlace &instance, Value i, const Visits &before) {
  return {turns, i, select(before.contains(i), instance.number, 0), instance.next};
}

/// Returns the turn of an instance at the tile from query `i` on, if tiles are listed. `ranks` has how many blocks of
/// keys list each tile before, one row for each block of keys.
Turn turnAt(const AttentionConfig &c, View turns, View ranks, Value batch, Value head, Value block, Value i) {
  Value rank = listsOfHead(ranks, c.list_axes, batch, head).gather(block, i / c.block_m);
  return {turns, i, rank, rank + 1};
}

/// A block of queries against a block of keys.
struct Tile {
  Operands q;   ///< [block_m, head_dim]
  Value do_i;   ///< [block_m, value_dim]
  Value seen;   ///< i1, broadcasts to [block_m, block_n]: false where there is no score.
  Value p_seen; ///< The same, and false where dropout has dropped P.
  /// [block_m, block_n], rounded. With dropout, p is 0 where it is dropped, and the sums have factors (dvFactor,
  /// dsFactor).
  Value p, ds;
  std::optional<Turn> turn = std::nullopt; ///< The turn of the addition to dQ, if additions have a fixed order.
};

/// Returns scale * (q k^T + products + c), where c is `lse_term`, which is -lse / scale, if the accumulators start from
/// it, and otherwise 0.
Value scaledProduct(const AttentionConfig &c, const Operands &q, const Operands &k, Value lse_term, Value scale) {
  if (!startsFromLse(c))
    return productOf(q, k) * scale;                                                       // [block_m, block_n]
  Value product = productOf(q, k, broadcast(asColumn(lse_term), {c.block_m, c.block_n})); // [block_m, block_n]
  return product * factorOfP(c, scale);
}

/// Returns exp(s - lse), and 0 where there is no score. If NaN is contained, this also holds for rows whose lse is NaN.
Value probabilities(const AttentionConfig &c, Value seen, Value s, Value lse_term) {
  if (startsFromLse(c))
    return exp(select(seen, s, -infinity));
  if (c.contain_nonfinite)
    return select(seen, exp(s - asColumn(lse_term)), 0.0);
  return exp(select(seen, s, -infinity) - asColumn(lse_term));
}

/// A score modification's result for scores `s`.
struct Modification {
  Value modified, s; ///< [block_m, block_n]
};

/// Returns true if the score modification may add to gradients of tensors.
bool wantsGradients(const Variant &variant) {
  return variant.score && std::ranges::any_of(variant.tensors, &VariantTensor::wants_gradient);
}

/// Returns true if the main program computes dP by itself, because the variant modifies probabilities. dP then has all
/// factors of dropout.
bool differentiatesP(const AttentionConfig &c) { return bool(c.variant.probability); }

// Dropout computes O = (P M / k) V with M = 1 for kept elements, otherwise 0, and the probability k of keeping. Then
// dV = (P M)^T dO / k, and dS = P (M dP / k - D) with the same D = rowsum(dO O). `initial` is -k D, so that
// k dS = P M dP + P initial. 1 / k becomes a factor of the sums, except of gradients of tensors.
// If the variant modifies P to g(P), then O = (g(P) M / k) V, dP = g'(P) M (dO V^T) / k, and D = rowsum(P dP).

/// Returns the factor on the sum of P^T dO.
double dvFactor(const AttentionConfig &c) { return c.keptFactor(); }
/// Returns the factor that dS = ProbabilityGradient::times(P) lacks.
double missingFactor(const AttentionConfig &c) { return differentiatesP(c) ? 1 : c.keptFactor(); }
/// Returns the factor on sums of dS.
double dsFactor(const AttentionConfig &c) { return wantsGradients(c.variant) ? 1 : missingFactor(c); }

Value times(Value x, double factor) { return factor == 1 ? x : x * factor; }

/// The gradient of the loss with respect to the elements of softmax(S), less D.
struct ProbabilityGradient {
  Value dp;                                ///< dP - D; dP if there is dropout.
  std::optional<Value> kept, initial = {}; ///< With dropout: where P is kept, and -k D.

  /// Returns the gradient times `p`.
  Value times(Value p) const { return kept ? select(*kept, p, 0.0) * dp + p * *initial : dp * p; }
};

/// Returns dS = dP P times the slope of the modification, which is 0 where there is no score. Adds to the gradients of
/// tensors. If the variant has none, P times the slope comes first: P, the slope and `seen` then need no registers
/// while dP is computed. A tile that is computed twice, once without gradients, has the same bits.
Value scoreGradient(const AttentionConfig &c, const ProbabilityGradient &dp, Value p, Value seen,
                    const Modification &of, std::span<const ViewGradient> gradients) {
  if (!c.variant.score)
    return dp.times(p);
  if (wantsGradients(c.variant))
    return differentiate(of.modified, of.s, select(seen, times(dp.times(p), missingFactor(c)), 0.0), gradients);
  return dp.times(select(seen, differentiate(of.modified, of.s, p, {}), 0.0));
}

/// P and the gradient of the loss with respect to it, for a variant that modifies P. All are [block_m, block_n].
struct ModifiedP {
  Value p; ///< After the modification; 0 where there is no score that dropout keeps.
  ProbabilityGradient gradient;
};

/// `seen` is true where there is a score that dropout keeps. Adds to the gradients of tensors.
ModifiedP modifiedP(const AttentionConfig &c, const ScoreStrip &strip, const Visit &tile, Value p, Value seen,
                    Value product_dp, Value initial, std::span<const ViewGradient> gradients) {
  Value modified = strip.modifyProbability(p, tile);
  Value incoming = select(seen, times(product_dp, c.keptFactor()), 0.0);
  Value dp = select(seen, differentiate(modified, p, incoming, gradients), 0.0);
  return {select(seen, modified, 0.0), {dp + times(initial, c.keptFactor()), std::nullopt}};
}

/// Computes a tile of block_m queries. Adds to the gradients of tensors that score modifications gather.
Tile tileAt(const AttentionConfig &c, const Head &at, const KeyBlock &keys, const ScoreStrip &strip, const Visit &tile,
            Value scale, std::span<const ViewGradient> gradients) {
  Value i = tile.position;
  const Operands q = at.Q.load(i, c.block_m);                           // [block_m, head_dim]
  Value do_i = at.dO.load(i, {c.block_m, c.value_dim});                 // [block_m, value_dim]
  Value dp_init = at.dp_init.load(i, {c.block_m});                      // [block_m]
  Value initial = broadcast(asColumn(dp_init), {c.block_m, c.block_n}); // [block_m, block_n]
  std::optional<Value> kept = strip.kept(tile);                         // [block_m, block_n]
  // If NaN is contained, a score modification gets and returns only numbers. Hidden scores, the results of the
  // modification for them, and their derivatives must not leave it.
  const bool contains = c.contain_nonfinite, modifies = (contains || differentiatesP(c)) && c.variant.score;
  Value product_dp = kept || differentiatesP(c) ? dot(do_i, transpose(keys.v)) : dot(do_i, transpose(keys.v), initial);
  const ProbabilityGradient dp = {kept && contains ? select(*kept, product_dp, 0.0) : product_dp, kept, initial};
  // Where there is no row, q, do and dp_init are 0, so any finite P does; a score modification may not be finite.
  Value lse_term = at.lse_term.load(i, {c.block_m}, startsFromLse(c) ? 0.0 : infinity); // [block_m]
  Value allowed = strip.allowed(tile);                                                  // [block_m, block_n]
  Value exists = contains ? allowed & asColumn(lse_term != infinity) : allowed;         // [block_m, block_n]
  Value product = scaledProduct(c, q, keys.k, lse_term, scale);                         // [block_m, block_n]
  Value s = modifies ? select(exists, product, 0.0) : product;                          // [block_m, block_n]
  Value modified = strip.modify(s, tile);                                               // [block_m, block_n]
  Value seen = modifies ? exists & (modified != -infinity) : exists;                    // [block_m, block_n]
  Value p = probabilities(c, seen, modified, lse_term);                                 // [block_m, block_n]
  const auto p_seen = [&] { return kept ? seen & *kept : seen; };
  std::optional<ModifiedP> modified_p;
  if (differentiatesP(c))
    modified_p.emplace(modifiedP(c, strip, tile, p, p_seen(), product_dp, initial, gradients));
  const ProbabilityGradient &gradient = modified_p ? modified_p->gradient : dp;
  Value ds = scoreGradient(c, gradient, p, seen, {modified, s}, gradients); // [block_m, block_n]
  const auto kept_p = [&] { return kept ? select(*kept, p, 0.0) : p; };
  return {.q = q,
          .do_i = do_i,
          .seen = seen,
          .p_seen = p_seen(),
          .p = cast(c.dtype, modified_p ? modified_p->p : kept_p()),
          .ds = cast(c.dtype, contains ? select(seen, ds, 0.0) : ds)};
}

/// Adds dS K to dQ in the turn of the tile. A product that is not finite is computed again, as below.
void addToDqInTurn(const AttentionConfig &c, View dQ, Value i, const Tile &tile, Value k) {
  Var dq = dot(tile.ds, k); // [block_m, head_dim]
  if (c.contain_nonfinite)
    when(!allFinite(dq), [&] { dq = dotWhere(tile.seen, tile.ds, k, 0.0); });
  dQ.orderedAdd(i, dq, *tile.turn);
}

/// Adds dS K to dQ, multiplied by `factor` if there is one. If a key that a query does not see has a NaN or an
/// infinity, 0 times it is NaN. A product that is not finite is therefore computed again without hidden keys.
void addToDq(const AttentionConfig &c, View dQ, Value i, const Tile &tile, Value k,
             const std::optional<Value> &factor = std::nullopt) {
  if (tile.turn)
    return addToDqInTurn(c, dQ, i, tile, k);
  const auto add = [&](Value dq) { dQ.atomicAdd(i, factor ? dq * *factor : dq); };
  Value dq = dot(tile.ds, k); // [block_m, head_dim]
  if (!c.contain_nonfinite)
    return add(dq);
  when(
      allFinite(dq), [&] { add(dq); }, [&] { add(dotWhere(tile.seen, tile.ds, k, 0.0)); });
}

void flash2Backward(const AttentionConfig &c, View Q, View K, View V, View dO, View lse_term, View dp_init, View dQ,
                    View dK, View dV, Value scale, const ListedViews &views) {
  const KeyPlace instance = placeOf(c, K.dim(1));
  const BlockRows rows =
      c.strips ? rowsOfStrip(views.strips.front(), instance.block) : BlockRows{instance.block * c.block_n};
  Value j = rows.first, kv_head = instance.kv_head, batch = instance.batch;
  Value group = queryHeadsPerKvHead(Q, K);

  const OperandViews K_h = keysOf(c, K, views.tensors, batch, kv_head);
  KeyBlock keys = {K_h.load(j, c.block_n), V.at(batch, kv_head).load(j, {c.block_n, c.value_dim})};
  const auto more_dK = operandGradients(c.variant, views, &ScoreProduct::keys, batch, kv_head);
  std::deque<Var> dk; // For each operand of the scores: [block_n, head_dim]
  for (int dim : K_h.dims)
    dk.emplace_back(fill({c.block_n, dim}, 0.0));
  Var dv = fill({c.block_n, c.value_dim}, 0.0); // [block_n, value_dim]
  auto forEachTile = [&](std::span<const ViewGradient> gradients, auto add) {
    for (Value member : range(0, group)) {
      Value head = kv_head * group + member;
      Scores scores(c, Q, K, batch, head, views.tensors, views.lists);
      ScoreStrip strip = scores.ofKeys(rows);
      std::optional<Visits> before; // The tiles of the instance that adds before this one.
      if (c.deterministic && !c.block_mask.exists())
        before.emplace(visitsOfKeys(c, scores.ofKeys(j + c.block_n)));
      visitsOfKeys(c, strip).forEach([&](const Visit &visit) {
        Value i = visit.position;
        Head at = {queriesOf(c, Q, views.tensors, batch, head),
                   dO.at(batch, head),
                   lse_term.at(batch, head),
                   dp_init.at(batch, head),
                   dQ.at(batch, head),
                   operandGradients(c.variant, views, &ScoreProduct::queries, batch, head)};
        Tile tile = tileAt(c, at, keys, strip, visit, scale, gradients);
        if (before)
          tile.turn.emplace(turnAt(views.rest.back().at(batch, head), instance, i, *before));
        else if (c.deterministic)
          tile.turn.emplace(
              turnAt(c, views.rest.back().at(batch, head), views.rest.front(), batch, head, instance.block, i));
        add(at, i, tile);
      });
    }
  };
  forEachTile(gradientsOf(c.variant, views), [&](const Head &at, Value i, const Tile &tile) {
    dv = dot(transpose(tile.p), tile.do_i, dv); // [block_n, value_dim]
    for (size_t n = 0; n < dk.size(); ++n)
      dk[n] = dot(transpose(tile.ds), tile.q[n], dk[n]); // [block_n, head_dim]
    addToDq(c, at.dQ, i, tile, keys.k[0]);
    for (size_t n = 0; n < at.more_dQ.size(); ++n)
      if (at.more_dQ[n])
        addToDq(c, *at.more_dQ[n], i, tile, keys.k[n + 1], times(scale, dsFactor(c)));
  });
  auto store = [&] {
    rows.of(dK.at(batch, kv_head)).store(j, times(dk[0] * scale, dsFactor(c))); // [block_n, head_dim]
    rows.of(dV.at(batch, kv_head)).store(j, times(dv, dvFactor(c)));            // [block_n, value_dim]
  };
  store();
  if (c.contain_nonfinite) {
    Var finite = allFinite(dk[0]) & allFinite(dv);
    for (size_t n = 1; n < dk.size(); ++n)
      finite = finite & allFinite(dk[n]);
    when(!finite, [&] {
      for (size_t n = 0; n < dk.size(); ++n)
        dk[n] = fill({c.block_n, K_h.dims[n]}, 0.0);
      dv = fill({c.block_n, c.value_dim}, 0.0);
      forEachTile({}, [&](const Head &, Value, const Tile &tile) {
        dv = dotWhere(transpose(tile.p_seen), transpose(tile.p), tile.do_i, dv);
        for (size_t n = 0; n < dk.size(); ++n)
          dk[n] = dotWhere(transpose(tile.seen), transpose(tile.ds), tile.q[n], dk[n]);
      });
      store();
    });
  }
  for (size_t n = 0; n < more_dK.size(); ++n)
    if (more_dK[n])
      rows.of(*more_dK[n]).atomicAdd(j, times(dk[n + 1] * scale, dsFactor(c)));
}

/// Returns the part of dL in dS = P (dP - D) + P dL = P (dP - (D - dL)). A row that sees no key has P = 0, and its dL
/// may be infinite; it gives 0.
Value lseGradient(View L, View dL, Value i, int block_m) {
  Value lse = L.load(i, {block_m});   // [block_m]
  Value dlse = dL.load(i, {block_m}); // [block_m]
  return select(lse == -infinity, 0.0, dlse);
}

/// Stores the part of a block of queries in the gradient of their head's sink t. The row's gradient is P_t (dP_t - D)
/// with P_t = exp(t - lse), and dP_t = 0 because the sink has the value 0. If lse is -inf, the sink is, too.
void storeSinkPart(Value sink, View L, View part, Value delta, Value i, int block_m) {
  Value lse = L.load(i, {block_m}, infinity);               // [block_m]
  Value p = select(lse == -infinity, 0.0, exp(sink - lse)); // [block_m]
  part.store(programId(0), reduceSum(-p * delta, /*axis=*/0));
}

/// Returns D of a block of queries without dLSE: rowsum(dO O), or what flash2_backward_delta has written.
Value deltaOf(const AttentionConfig &c, View O, View dO, Value i, const std::optional<View> &delta) {
  if (delta)
    return delta->load(i, {c.block_m});
  Value o = O.load(i, {c.block_m, c.value_dim});     // [block_m, value_dim]
  Value do_i = dO.load(i, {c.block_m, c.value_dim}); // [block_m, value_dim]
  return rowSum(do_i * o);
}

/// Computes the row statistics of the main program, and clears dQ and the turns. `views` are preprocessTensors().
void preprocess(const AttentionConfig &c, View O, View dO, View L, View lse_term, View dp_init, View dQ, Value scale,
                VariantViews views) {
  Value i = programId(0) * c.block_m;
  Value head = programId(1);
  Value batch = programId(2);
  auto view = views.begin();
  std::optional<View> modified;
  if (differentiatesP(c))
    modified.emplace(view++->at(batch, head));
  Value sum = deltaOf(c, O.at(batch, head), dO.at(batch, head), i, modified); // [block_m]
  Value delta =                                                               // [block_m]
      c.lse_gradient ? sum - lseGradient(L.at(batch, head), view++->at(batch, head), i, c.block_m) : sum;
  dp_init.at(batch, head).store(i, times(-delta, 1 / c.keptFactor()));                      // [block_m]
  lse_term.at(batch, head).store(i, lseTerm(c, L.at(batch, head), i, factorOfP(c, scale))); // [block_m]
  dQ.at(batch, head).store(i, fill({c.block_m, c.head_dim}, 0.0));                          // [block_m, head_dim]
  if (c.sinks) {
    Value sink = view++->gather(head);
    storeSinkPart(sink, L.at(batch, head), view++->at(head, batch), delta, i, c.block_m);
  }
  if (c.deterministic)
    view->at(batch, head).store(i, fill({c.block_m}, 0)); // [block_m]
}

/// Adds the parts of a head, [batch, blocks of queries], in a fixed order.
void sumOfSinkParts(View parts, View dSinks) {
  constexpr int rows = 16, columns = 64;
  Value head = programId(0);
  View P = parts.at(head);
  Var sum = fill({rows, columns}, 0.0);
  for (Value b : range(0, P.dim(0), rows))
    for (Value i : range(0, P.dim(1), columns))
      sum += P.load({b, i}, {rows, columns});
  dSinks.store(head, reduceSum(rowSum(sum), /*axis=*/0));
}

void postprocess(const AttentionConfig &c, View dQ_acc, View dQ, Value scale) {
  Value i = programId(0) * c.block_m;
  Value head = programId(1);
  Value batch = programId(2);
  Value dq = dQ_acc.at(batch, head).load(i, {c.block_m, c.head_dim}); // [block_m, head_dim]
  dQ.at(batch, head).store(i, times(dq * scale, dsFactor(c)));        // [block_m, head_dim]
}

std::vector<ScheduleSpace> boxes(const Target &target, const AttentionProblem &problem) {
  if (target.name == "cpu")
    return {{{&Schedule::block_m, {32, 48, 64, 96, 128}}, {&Schedule::block_n, {32, 48, 64, 96, 128}}}};
  std::vector<ScheduleSpace> boxes = {{{&Schedule::block_m, {32, 64, 96, 128}},
                                       {&Schedule::block_n, {32, 64, 96, 128, 192}},
                                       {&Schedule::num_warps, {4, 8}},
                                       {&Schedule::num_stages, {1, 2}},
                                       {&Schedule::roles, {Roles::none}}}};
  if (target.arch == "sm_90a" && sizeOf(problem.dtype) == 2)
    boxes.push_back({{&Schedule::block_m, {64, 80, 96, 128}},
                     {&Schedule::block_n, {64, 128}},
                     {&Schedule::num_warps, {4, 8}},
                     {&Schedule::num_stages, {1, 2}},
                     {&Schedule::roles, {Roles::load}},
                     {&Schedule::overlap, {Overlap::none, Overlap::pingpong}},
                     {&Schedule::add_by_tma, {false, true}}});
  return boxes;
}

/// Returns the number of tiles of scores that a thread block keeps in shared memory: P and dS, or three tiles of dS
/// that warpgroups exchange.
int64_t scoreTiles(const Schedule &s) { return s.overlap == Overlap::pingpong ? 3 : 2; }

ResourceEstimate estimate(const AttentionProblem &problem, const ModelledLaunch &launch, const Schedule &s) {
  const AttentionShape &shape = launch.shape;
  int64_t bytes = int64_t(sizeOf(problem.dtype));
  int64_t qk = problem.head_dim + problem.variant.productDims(), v = problem.value_dim,
          scores = int64_t(s.block_m) * s.block_n;
  double row = double(qk + v);
  const int64_t operands = (s.block_n + s.num_stages * s.block_m) * (qk + v); // K, V; Q, dO.
  const int64_t added = s.add_by_tma.value_or(false) ? s.block_m * qk * int64_t(sizeof(float)) : 0;
  return {.shared_bytes = bytes * (operands + scoreTiles(s) * scores) + added,
          .register_words = 2 * scores + s.block_n * (qk + v) + s.block_m * qk, // S, dP; dK, dV; dQ.
          .instances = blocks(shape.seqlen_k, s.block_n) * shape.kv_heads * shape.batch,
          .iterations = TileCounts(problem, launch, s).averageOfKeys() * double(shape.heads / shape.kv_heads),
          .mma_flops = 2 * double(scores) * (3 * double(qk) + 2 * double(v)),
          .shared_traffic = double(bytes) * double(s.num_warps) * (s.block_m + s.block_n) * row,
          .exponentials = double(scores)};
}

} // namespace

const SearchSpace kFlash2BackwardSpace = {boxes, estimate};

/// Returns the counters of the turns in which instances add to dQ.
static TensorArg turns() { return {"turns", i32, 3}; }

/// Returns the tensors of flash2_backward_preprocess that only some problems have.
static std::vector<TensorArg> preprocessTensors(const AttentionConfig &config) {
  std::vector<TensorArg> list;
  if (differentiatesP(config))
    list.push_back(statistic("delta"));
  if (config.lse_gradient)
    list.push_back(statistic("d_lse"));
  if (config.sinks)
    list.insert(list.end(), {{"sinks", f32, 1}, {"sink_parts", f32, 3}});
  if (config.deterministic)
    list.push_back(turns());
  return list;
}

Expected<Program> recordFlash2BackwardPreprocess(const AttentionConfig &config) {
  auto kernel = [&config](View o, View d_o, View lse, View lse_term, View dp_init, View dq_acc, Value scale,
                          VariantViews views) {
    preprocess(config, o, d_o, lse, lse_term, dp_init, dq_acc, scale, views);
  };
  return recordList("flash2_backward_preprocess", kernel, preprocessTensors(config), tensor(config, "o"),
                    tensor(config, "d_o"), statistic("lse"), statistic("lse_term"), statistic("dp_init"),
                    accumulator("dq_acc"), ScalarArg{"scale", f32});
}

Expected<Program> recordFlash2Backward(const AttentionConfig &config) {
  auto kernel = [&config](View q, View k, View v, View d_o, View lse_term, View dp_init, View dq_acc, View dk, View dv,
                          Value scale, VariantViews views) {
    flash2Backward(config, q, k, v, d_o, lse_term, dp_init, dq_acc, dk, dv, scale, splitBackward(config, views));
  };
  std::vector<TensorArg> list = scoreTensorsAndGradients(config);
  std::ranges::copy(listTensors(config), std::back_inserter(list));
  std::ranges::copy(stripTensors(config, Pass::backward), std::back_inserter(list));
  if (config.deterministic && config.block_mask.exists())
    list.push_back({"visit_ranks", i32, 4});
  if (config.deterministic)
    list.push_back(turns());
  return recordList("flash2_backward", kernel, list, tensor(config, "q"), tensor(config, "k"), tensor(config, "v"),
                    tensor(config, "d_o"), statistic("lse_term"), statistic("dp_init"), accumulator("dq_acc"),
                    tensor(config, "dk"), tensor(config, "dv"), ScalarArg{"scale", f32});
}

Expected<Program> recordFlash2BackwardPostprocess(const AttentionConfig &config) {
  auto kernel = [&config](View dq_acc, View dq, Value scale) { postprocess(config, dq_acc, dq, scale); };
  return record("flash2_backward_postprocess", kernel, accumulator("dq_acc"), tensor(config, "dq"),
                ScalarArg{"scale", f32});
}

Expected<Program> recordFlash2BackwardSink(const AttentionConfig &) {
  return record("flash2_backward_sink", sumOfSinkParts, TensorArg{"sink_parts", f32, 3}, TensorArg{"d_sinks", f32, 1});
}

} // namespace tegula
