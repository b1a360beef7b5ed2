// SPDX-License-Identifier: MIT
#include "compiler/sm/RoleEvents.h"

#include "compiler/sm/Sm.h"

using namespace mlir;
using namespace tegula::sm;

using Events = SmallVector<RoleEvent, 2>;
using Kind = RoleEvent::Kind;

template <class Op> static RoleEvent eventOf(Kind kind, Op op) {
  return {kind, op.getChannel(), op.getSlot(), op.getPhase()};
}

Events ProducerLoadOp::getEvents() {
  Events events;
  if (fillsFirstPart() && !getTested())
    events.push_back(eventOf(Kind::waitEmpty, *this));
  if (fillsLastPart())
    events.push_back(eventOf(Kind::fill, *this));
  return events;
}
Events ProduceWorkOp::getEvents() { return {eventOf(Kind::waitEmpty, *this), eventOf(Kind::fill, *this)}; }
Events ProducerStoreOp::getEvents() {
  ChannelOp channel = channelOf(getChannel());
  if (channel && channel.getPerWarpgroup())
    return {eventOf(Kind::store, *this)};
  return {eventOf(Kind::waitEmpty, *this), eventOf(Kind::store, *this)};
}
Events ProducerAcquireOp::getEvents() { return {eventOf(Kind::waitEmpty, *this)}; }
Events ProducerCommitOp::getEvents() { return {{Kind::fill, getChannel(), getSlot()}}; }
Events WaitFullOp::getEvents() { return {eventOf(Kind::waitFull, *this)}; }
Events ConsumeWorkOp::getEvents() { return {eventOf(Kind::waitFull, *this)}; }
Events CloseOp::getEvents() { return {{Kind::waitEmpty, getChannel()}, {Kind::close, getChannel()}}; }
Events NextOp::getEvents() { return {{Kind::next, getChannel()}}; }
Events ReleaseOp::getEvents() { return {{Kind::release, getChannel(), getSlot()}}; }
Events SequenceWaitOp::getEvents() { return {eventOf(Kind::takeTurn, *this)}; }
Events SequenceArriveOp::getEvents() { return {{Kind::passTurn}}; }

Events ConsumerWaitOp::getEvents() {
  if (getAlreadyFull())
    return {};
  return {eventOf(Kind::waitFull, *this)};
}
