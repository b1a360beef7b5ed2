// SPDX-License-Identifier: MIT
#include "debug_kernel.h"

#include "checks.h"
#include "debug_records.h"

#include <algorithm>

namespace tegula {
namespace {

constexpr int64_t kBufferBytes = 16 << 20, kMostRecords = 4096;

/// Returns the number of records that a launch keeps.
int64_t recordsOf(const DebugLayout &layout) {
  const int64_t bytes = layout.record_words * static_cast<int64_t>(sizeof(int32_t));
  return std::clamp<int64_t>(kBufferBytes / bytes, 1, kMostRecords);
}

std::vector<Parameter> withoutRecords(std::vector<Parameter> parameters) {
  parameters.pop_back();
  return parameters;
}

/// The buffer of one launch.
class Records {
public:
  static Expected<Records> make(Device &device, const DebugLayout &layout, Stream stream) {
    std::vector<int32_t> words((1 + recordsOf(layout)) * layout.record_words);
    Expected<Buffer> buffer = device.allocate(static_cast<int64_t>(words.size() * sizeof(int32_t)));
    if (!buffer)
      return buffer.status();
    Records records(std::move(*buffer), std::move(words), layout.record_words);
    TEGULA_RETURN_IF_ERROR(
        device.copyToDevice(records.buffer_.data(), records.words_.data(), records.buffer_.bytes(), stream));
    return records;
  }

  TensorRef tensor() const {
    return contiguous(buffer_.data(), DType::i32, {static_cast<int64_t>(words_.size()) / recordWords_, recordWords_});
  }

  /// Waits for the kernel and reads what it has written.
  Status read(Device &device, Stream stream) {
    TEGULA_RETURN_IF_ERROR(device.copyToHost(words_.data(), buffer_.data(), buffer_.bytes(), stream));
    return device.synchronize(stream);
  }

  /// Returns the number of records, those that had no room included.
  int64_t count() const { return words_.front(); }
  std::span<const int32_t> records() const {
    const int64_t kept = std::min(count() * recordWords_, static_cast<int64_t>(words_.size()) - recordWords_);
    return std::span(words_).subspan(recordWords_, kept);
  }

private:
  Records(Buffer buffer, std::vector<int32_t> words, int64_t recordWords)
      : buffer_(std::move(buffer)), words_(std::move(words)), recordWords_(recordWords) {}

  Buffer buffer_;
  std::vector<int32_t> words_;
  int64_t recordWords_;
};

class DebugKernel final : public Kernel {
public:
  DebugKernel(const Artifact &artifact, std::shared_ptr<Kernel> loaded, std::shared_ptr<Device> device,
              PrintHandler print)
      : Kernel(artifact.kernel, withoutRecords(artifact.parameters), loaded->concurrency()), layout_(artifact.debug),
        loaded_(std::move(loaded)), device_(std::move(device)), print_(std::move(print)) {}

protected:
  Status run(Grid grid, std::span<const Argument> arguments, Stream stream) const override {
    Expected<Records> records = Records::make(*device_, layout_, stream);
    if (!records)
      return records.status();
    std::vector<Argument> all(arguments.begin(), arguments.end());
    all.emplace_back(records->tensor());
    TEGULA_RETURN_IF_ERROR(launchUnnamed(*loaded_, grid, all, stream));
    TEGULA_RETURN_IF_ERROR(records->read(*device_, stream));
    return report(*records);
  }

  /// The loaded kernel clears its counters itself.
  Status clear(void *, size_t, Stream) const override { return {}; }

private:
  Status report(const Records &records) const {
    const DebugReport report = readRecords(layout_, records.records());
    if (print_) {
      for (const std::string &text : report.prints)
        print_(text);
      if (const int64_t lost = records.count() - recordsOf(layout_); lost > 0)
        print_(name() + ": " + std::to_string(lost) + " more records had no room in the buffer\n");
    }
    if (!report.error && records.count() > recordsOf(layout_) && mayFail())
      return {ErrorCode::launch_failed, "prints left no room in the buffer for a report of an element that is not "
                                        "finite, or of an assertion; print in fewer program instances"};
    return report.error ? Status(ErrorCode::launch_failed, *report.error) : Status();
  }

  bool mayFail() const {
    return std::ranges::any_of(layout_.sites,
                               [](const DebugSite &site) { return site.kind != DebugSite::Kind::print; });
  }

  DebugLayout layout_;
  std::shared_ptr<Kernel> loaded_;
  std::shared_ptr<Device> device_;
  PrintHandler print_;
};

} // namespace

std::shared_ptr<Kernel> makeDebugKernel(const Artifact &artifact, std::shared_ptr<Kernel> loaded,
                                        std::shared_ptr<Device> device, PrintHandler print) {
  return std::make_shared<DebugKernel>(artifact, std::move(loaded), std::move(device), std::move(print));
}

} // namespace tegula
