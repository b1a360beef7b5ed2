// SPDX-License-Identifier: MIT
// Exchanges between the GPUs of one process through NCCL.
#pragma once

#include "cuda_device.h"
#include "exchange.h"
#include "nccl.h"

#include <string>

/// The communicators of all ranks, where rank r has GPU r.
class NcclTeam {
public:
  /// Loads the library and connects the ranks. May change the calling thread's current GPU.
  NcclTeam(const std::string &library, int ranks);

  const Nccl &nccl() const { return nccl_; }
  Nccl::Communicator communicator(int rank) const { return communicators_[rank]; }

private:
  Nccl nccl_{};
  std::vector<Nccl::Communicator> communicators_;
};

/// The rank's thread makes, uses and destroys it, while the device is current. Takes over the communicator.
class NcclExchange : public Exchange {
public:
  NcclExchange(const NcclTeam &team, int rank, CudaDevice &device)
      : nccl_(team.nccl()), communicator_(team.communicator(rank)), device_(device) {}
  ~NcclExchange() override;

  void start(const std::vector<Transfer> &transfers) override;
  void finish() override { device_.endExchanges(); }
  void poll() override;

private:
  void require(Nccl::Result result, const char *call) const;

  const Nccl &nccl_;
  const Nccl::Communicator communicator_;
  CudaDevice &device_;
};
