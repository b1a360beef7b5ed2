// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"
#include "compiler/sm/Roles.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PRINTCHANNELS
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

static std::string counted(int64_t number, StringRef noun) {
  return (Twine(number) + " " + noun + (number == 1 ? "" : "s")).str();
}

static std::string slotsOf(sm::ChannelOp channel) {
  const std::string slots = counted(channel.getType().getSlots(), "slot");
  if (channel.getRings().empty())
    return slots + " of work indices";
  SmallVector<std::string> sizes;
  for (Type ring : channel.getRings().getTypes())
    sizes.push_back(std::to_string(cast<sm::SharedType>(ring).slotBytes()));
  return slots + " of " + llvm::join(sizes, " and ") + " bytes";
}

/// Returns what makes a slot full, and what makes it empty again.
static std::string handoverOf(sm::ChannelOp channel) {
  if (channel.getByBarriers())
    return "handed over by named barriers";
  const sm::Protocol protocol = sm::protocolOf(channel);
  std::string text = "full after " + counted(protocol.full, "arrival");
  if (protocol.fullMbarriers > 1)
    text += " at each of " + counted(protocol.fullMbarriers, "mbarrier");
  if (protocol.empty == 0)
    return text + "; never released";
  return text + "; empty after " + counted(protocol.empty, "arrival");
}

namespace {
struct PrintChannels : cuda::impl::PrintChannelsBase<PrintChannels> {
  void runOnOperation() override {
    getOperation()->walk([](sm::ChannelOp channel) {
      auto readers = llvm::join(channel.getTo().getAsValueRange<StringAttr>(), " and ");
      channel.emitRemark("filled by ") << channel.getFrom() << ", read by " << readers << "; " << slotsOf(channel)
                                       << "; " << handoverOf(channel);
    });
  }
};
} // namespace
