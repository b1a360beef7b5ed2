// SPDX-License-Identifier: MIT
#include "bench.h"
#include "workload/timing.h"

#include <cblas.h>

namespace tegula::bench {

double sgemmGflops(int size) {
  std::vector<float> a(size_t(size) * size, 0.5f), b(a), c(a);
  Expected<double> ms = tools::medianMs([&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, a.data(), size, b.data(), size, 0,
                c.data(), size);
    return Status();
  });
  return 2.0 * size * size * size / *ms * 1e-6;
}

} // namespace tegula::bench
