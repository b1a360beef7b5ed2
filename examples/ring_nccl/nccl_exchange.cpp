// SPDX-License-Identifier: MIT
#include "nccl_exchange.h"

#include "dynamic_library.h"
#include "team.h"

#include <cstdlib>
#include <numeric>

namespace {

void requireNccl(const Nccl &nccl, Nccl::Result result, const char *call) {
  if (result != Nccl::kSuccess)
    fail(std::string(call) + ": " + nccl.ncclGetErrorString(result) + " (NCCL_DEBUG=WARN tells more)");
}

} // namespace

NcclTeam::NcclTeam(const std::string &file, int ranks) : communicators_(ranks) {
  setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/0); // NVLink multicast is for collectives, which a ring does not use.
  const DynamicLibrary library(file);
  library.find(nccl_.ncclCommInitAll, "ncclCommInitAll");
  library.find(nccl_.ncclCommDestroy, "ncclCommDestroy");
  library.find(nccl_.ncclCommGetAsyncError, "ncclCommGetAsyncError");
  library.find(nccl_.ncclGetErrorString, "ncclGetErrorString");
  library.find(nccl_.ncclGroupStart, "ncclGroupStart");
  library.find(nccl_.ncclGroupEnd, "ncclGroupEnd");
  library.find(nccl_.ncclSend, "ncclSend");
  library.find(nccl_.ncclRecv, "ncclRecv");
  std::vector<int> gpus(ranks);
  std::iota(gpus.begin(), gpus.end(), 0);
  requireNccl(nccl_, nccl_.ncclCommInitAll(communicators_.data(), ranks, gpus.data()), "ncclCommInitAll");
}

NcclExchange::~NcclExchange() { require(nccl_.ncclCommDestroy(communicator_), "ncclCommDestroy"); }

void NcclExchange::start(const std::vector<Transfer> &transfers) {
  device_.beginExchanges();
  // A group: otherwise each rank's send would wait for a receive that the other rank enqueues after its own send.
  require(nccl_.ncclGroupStart(), "ncclGroupStart");
  for (const Transfer &transfer : transfers) {
    require(
        nccl_.ncclSend(transfer.send, transfer.bytes, Nccl::kBytes, transfer.to, communicator_, device_.exchanges()),
        "ncclSend");
    require(nccl_.ncclRecv(transfer.receive, transfer.bytes, Nccl::kBytes, transfer.from, communicator_,
                           device_.exchanges()),
            "ncclRecv");
  }
  require(nccl_.ncclGroupEnd(), "ncclGroupEnd");
}

void NcclExchange::poll() {
  Nccl::Result error = Nccl::kSuccess;
  require(nccl_.ncclCommGetAsyncError(communicator_, &error), "ncclCommGetAsyncError");
  if (error != Nccl::kInProgress)
    require(error, "an exchange that NCCL had started");
}

void NcclExchange::require(Nccl::Result result, const char *call) const { requireNccl(nccl_, result, call); }
