// SPDX-License-Identifier: MIT
#include "worker/process_state.h"

#include <algorithm>
#include <clocale>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace tegula::test {
namespace {

std::vector<std::string> openDescriptors() {
  std::vector<std::string> entries;
  for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error);
    if (!error && target.find("/proc/") == std::string::npos) // The directory that is being read.
      entries.push_back(entry.path().filename().string() + " " + target);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

int threadCount() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

} // namespace

ProcessState ProcessState::now() {
  ProcessState state;
  for (int number = 1; number < SIGRTMIN; ++number) {
    struct sigaction action;
    if (sigaction(number, nullptr, &action) == 0)
      state.handlers[number] = reinterpret_cast<void *>(action.sa_handler);
  }
  state.directory = std::filesystem::current_path();
  state.locale = std::setlocale(LC_ALL, nullptr);
  state.descriptors = openDescriptors();
  state.threads = threadCount();
  return state;
}

std::vector<int> children(int pid) {
  std::vector<int> pids;
  const std::string process = pid == 0 ? "self" : std::to_string(pid);
  for (const auto &task : std::filesystem::directory_iterator("/proc/" + process + "/task")) {
    std::ifstream file(task.path() / "children");
    for (int child; file >> child;)
      pids.push_back(child);
  }
  return pids;
}

bool ends(int pid) {
  for (int i = 0; i < 500 && kill(pid, 0) == 0; ++i)
    usleep(10'000);
  return kill(pid, 0) != 0;
}

} // namespace tegula::test
