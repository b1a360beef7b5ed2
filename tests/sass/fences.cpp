// SPDX-License-Identifier: MIT
#include "sass/fences.h"

#include "compiler/emit/Emit.h"
#include "sass/sass.h"

namespace tegula::testing {

Expected<Assembled> assemble(const std::string &ptx) {
  Expected<emit::GpuTarget> hopper = emit::resolveGpu("sm_90a");
  if (!hopper)
    return hopper.status();
  Assembled assembled;
  Expected<std::string> cubin = emit::assemble(ptx, *hopper, assembled.report);
  if (!cubin)
    return cubin.status();
  assembled.cubin = std::move(*cubin);
  return assembled;
}

bool hasAssembler() {
  Expected<Assembled> empty = assemble(".version 8.1\n.target sm_90a\n.address_size 64\n");
  return empty && !empty->report.assembler.empty();
}

Expected<std::vector<std::string>> sharedOpcodes(const std::string &ptx) {
  Expected<Assembled> assembled = assemble(ptx);
  if (!assembled)
    return assembled.status();
  Expected<std::string> listing = disassemble(assembled->cubin);
  Expected<Sass> sass = listing ? Sass::parse(*listing) : listing.status();
  if (!sass)
    return sass.status();
  std::vector<std::string> opcodes;
  for (const SassInstruction &instruction : sass->code())
    for (std::string_view name :
         {"SYNCS", "UTMA", "HGMMA", "WARPGROUP", "LDS", "STS", "BAR", "WARPSYNC", "FENCE", "MEMBAR"})
      if (instruction.opcode.starts_with(name))
        opcodes.push_back(instruction.opcode);
  return opcodes;
}

std::vector<std::string> withoutAFence(const std::string &ptx) {
  const std::string fence = "wgmma.fence.sync.aligned;", commit = "wgmma.commit_group", wait = "wgmma.wait_group";
  std::vector<std::string> texts;
  for (size_t at = 0; (at = ptx.find(commit, at)) != std::string::npos; ++at)
    if (const size_t next = ptx.find(fence, at); next < ptx.find(wait, at))
      texts.push_back(std::string(ptx).replace(next, fence.size(), ""));
  return texts;
}

Expected<FenceLoss> lossOf(const std::string &ptx, const std::string &withoutFence) {
  Expected<Assembled> assembled = assemble(withoutFence);
  if (!assembled)
    return assembled.status();
  if (assembled->report.notes.find("C7519") != std::string::npos)
    return FenceLoss::noticed;
  Expected<std::vector<std::string>> before = sharedOpcodes(ptx), after = sharedOpcodes(withoutFence);
  if (!before || !after)
    return before ? after.status() : before.status();
  const bool isOneLess = std::erase(*before, "WARPGROUP.ARRIVE") == std::erase(*after, "WARPGROUP.ARRIVE") + 1;
  return isOneLess && *before == *after ? FenceLoss::oneArrivalLess : FenceLoss::unnoticed;
}

} // namespace tegula::testing
