// SPDX-License-Identifier: MIT
// Exchanges between threads that share memory, for the cpu.
#pragma once

#include "exchange.h"

#include <condition_variable>
#include <mutex>

/// Messages that have been sent and not yet received.
class Mailbox {
public:
  void post(int from, int to, const void *data);
  /// Waits for a message, and copies it.
  void take(int from, int to, void *data, size_t bytes);
  /// Waits until all messages of a rank have been received.
  void waitUntilTaken(int from);

private:
  struct Message {
    int from, to;
    const void *data;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Message> messages_;
};

/// Copies memory in finish(), so that results are wrong if work between start() and finish() touches what travels.
class LocalExchange : public Exchange {
public:
  LocalExchange(Mailbox &mailbox, int rank) : mailbox_(mailbox), rank_(rank) {}

  void start(const std::vector<Transfer> &transfers) override;
  void finish() override;

private:
  Mailbox &mailbox_;
  const int rank_;
  std::vector<Transfer> transfers_;
};
