// SPDX-License-Identifier: MIT
// Lesson 7: the simt device runs the code of an H100 lane by lane, and finds races even if the result is right.
#include "matrix_product.h"
#include "tegula/simt_device.h"

using namespace tegula;

int main() {
  const std::shared_ptr<SimtDevice> device = valueOf(simtDevice({.arch = "sm_90a"}));
  Machine machine(device);
  const Schedule schedule{.num_warps = 8, .num_stages = 2, .roles = Roles::load};
  const std::shared_ptr<Kernel> kernel = valueOf(machine.cache.get(recordMatrixProduct().text, schedule));
  const Product product(machine, /*m=*/128, /*n=*/128, /*k=*/192);

  require(product.launch(*kernel));
  bool right = product.isRight();
  const SimtReport clean = device->takeReport();
  std::printf("findings: %zu; switches between lanes: %ld\n", clean.findings.size(), long(clean.switches));

  // Leave out each barrier of all threads, one at a time.
  for (const SimtSite &site : device->sites()) {
    if (site.instruction != "bar.sync")
      continue;
    device->setSchedule(
        {.mutation = SimtMutation{.kernel = site.kernel, .site = site.number, .change = SimtChange::remove}});
    const Status status = product.launch(*kernel); // Its error is the first finding.
    std::printf("\nwithout the %s of %s:\n", site.instruction.c_str(), site.location.c_str());
    product.isRight();
    const SimtReport report = device->takeReport();
    right &= status.code() == ErrorCode::launch_failed && !report.findings.empty();
    std::printf("findings: %zu; the first one:\n%s\n", report.findings.size(), status.message().c_str());
  }
  return right && clean.findings.empty() ? 0 : 1;
}
