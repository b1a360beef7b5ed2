// SPDX-License-Identifier: MIT
// Exchanges of memory between ranks.
#pragma once

#include <cstddef>
#include <vector>

/// Memory that goes to rank `to`, and memory of the same size that comes from rank `from`.
struct Transfer {
  const void *send;
  int to;
  void *receive;
  int from;
  size_t bytes;
};

/// Exchanges of one rank. They run in the order of their starts. All ranks start the same number, and what a rank sends
/// in one of them is received in the other rank's exchange of the same number. Each start() has a finish() before the
/// next start().
class Exchange {
public:
  virtual ~Exchange() = default;

  /// Lets memory travel once the device has done all work that it has been given so far. Later work may run at the same
  /// time, if it neither writes what is sent nor touches what is received.
  virtual void start(const std::vector<Transfer> &transfers) = 0;
  /// Lets work that the device is given from now on wait for the end of the exchange.
  virtual void finish() = 0;
  /// Ends the process if an exchange has failed. Does not wait.
  virtual void poll() {}
};
