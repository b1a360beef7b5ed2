// SPDX-License-Identifier: MIT
#include "local_exchange.h"

#include <algorithm>
#include <cstring>

void Mailbox::post(int from, int to, const void *data) {
  const std::lock_guard lock(mutex_);
  messages_.push_back({from, to, data});
  changed_.notify_all();
}

void Mailbox::take(int from, int to, void *data, size_t bytes) {
  std::unique_lock lock(mutex_);
  auto found = messages_.end();
  changed_.wait(lock, [&] {
    found = std::find_if(messages_.begin(), messages_.end(),
                         [&](const Message &message) { return message.from == from && message.to == to; });
    return found != messages_.end();
  });
  std::memcpy(data, found->data, bytes);
  messages_.erase(found);
  changed_.notify_all();
}

void Mailbox::waitUntilTaken(int from) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return std::none_of(messages_.begin(), messages_.end(),
                        [&](const Message &message) { return message.from == from; });
  });
}

void LocalExchange::start(const std::vector<Transfer> &transfers) {
  transfers_ = transfers;
  for (const Transfer &transfer : transfers_) {
    std::memset(transfer.receive, 0xff, transfer.bytes); // NaN: work that runs meanwhile must not touch it.
    mailbox_.post(rank_, transfer.to, transfer.send);
  }
}

void LocalExchange::finish() {
  for (const Transfer &transfer : transfers_)
    mailbox_.take(transfer.from, rank_, transfer.receive, transfer.bytes);
  mailbox_.waitUntilTaken(rank_);
}
