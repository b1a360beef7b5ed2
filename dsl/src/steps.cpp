// SPDX-License-Identifier: MIT
// Labels of operations, and the step lists that name them.
#include "steps.h"

#include "recorder.h"
#include "tegula/ops.h"

#include <algorithm>
#include <cctype>

namespace tegula {

static bool isLabel(std::string_view name) {
  auto isOfName = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(), isOfName);
}

/// Gives an operation a label, if it may have one.
static void setLabel(Recorder &r, std::string_view name, NodeId id, Location where) {
  constexpr Op named[] = {Op::Dot, Op::Load, Op::Gather, Op::Store, Op::StoreWhere, Op::AtomicAdd, Op::OrderedAdd};
  if (!isLabel(name))
    r.fail(where, "label: '" + std::string(name) +
                      "' is no label; legal are letters, digits and underscores, with no digit first");
  else if (std::find(std::begin(named), std::end(named), r.node(id).op) == std::end(named))
    r.fail(where, "label: only dots, loads, gathers, stores and additions have a label");
  else
    r.setLabel(id, std::string(name));
}

Value label(std::string_view name, Operand result, Location where) {
  Recorder &r = Recorder::current();
  const Term term = r.use(result);
  if (term.literal())
    return r.value(r.fail(where, "label: a literal has no label"), where);
  if (!r.poisoned(term.id))
    setLabel(r, name, term.id, where);
  return r.value(term.id, where);
}

void label(std::string_view name, Block effect, Location where) {
  Recorder &r = Recorder::current();
  const size_t before = r.effects().size();
  effect();
  if (const size_t count = r.effects().size() - before; count == 1)
    setLabel(r, name, r.effects().back(), where);
  else if (count > 1 || r.diagnostics().empty()) // A store that is wrong is no effect.
    r.fail(where,
           "label: '" + std::string(name) + "' is for one store or addition, and there are " + std::to_string(count));
}

std::string attributesOf(Recorder &r, const std::vector<Steps> &lists, Location where) {
  std::string own, others;
  for (const Steps &steps : lists) {
    if (steps.list.find_first_of("\"\\\n") != std::string::npos)
      r.fail(where, "range: a step list has labels, @1, .end@1, < and >, and no quotes");
    else if (!isLabel(steps.role))
      r.fail(where, "range: '" + steps.role + "' is no name of a role");
    else if (steps.role != "compute")
      others += (others.empty() ? "" : ", ") + steps.role + " = \"" + steps.list + "\"";
    else if (!steps.list.empty())
      own = "tile.steps = \"" + steps.list + "\"";
  }
  if (others.empty())
    return own;
  return "tile.role_steps = {" + others + "}" + (own.empty() ? "" : ", " + own);
}

} // namespace tegula
