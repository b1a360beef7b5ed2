// SPDX-License-Identifier: MIT
#include "debug_records.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace tegula {
namespace {

using Words = std::span<const int32_t>;

constexpr size_t kSite = 0, kInstance = 1, kLoops = 4; // Words of a record.

std::string text(double value) {
  if (std::isnan(value))
    return "nan";
  char digits[32];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), static_cast<float>(value));
  return {digits, end};
}

/// Returns a text such as "[3, 5]".
std::string list(std::span<const int64_t> numbers) {
  std::string result = "[";
  for (const int64_t number : numbers)
    result += (result.size() > 1 ? ", " : "") + std::to_string(number);
  return result + "]";
}

int64_t elementsOf(const DebugSite &site) {
  int64_t count = 1;
  for (const int64_t size : site.shape)
    count *= size;
  return count;
}

std::string typeOf(const DebugSite &site) {
  return std::string(toString(site.dtype)) + (site.shape.empty() ? "" : " " + list(site.shape));
}

/// Returns the coordinates of the element with this row-major index.
std::vector<int64_t> coordinatesOf(const DebugSite &site, int64_t index) {
  std::vector<int64_t> coordinates(site.shape.size());
  for (size_t axis = site.shape.size(); axis-- > 0; index /= site.shape[axis])
    coordinates[axis] = index % site.shape[axis];
  return coordinates;
}

/// Returns a text such as "program instance 2, 0, 0, loop at attention.cpp:12 at 128".
std::string placeOf(const DebugSite &site, Words record) {
  std::string place = "program instance";
  for (size_t axis = 0; axis < 3; ++axis)
    place += (axis > 0 ? ", " : " ") + std::to_string(record[kInstance + axis]);
  for (size_t loop = 0; loop < site.loops.size(); ++loop)
    place += ", loop" + (site.loops[loop].empty() ? "" : " at " + site.loops[loop]) + " at " +
             std::to_string(record[kLoops + loop]);
  return place;
}

std::string lineOf(const DebugSite &site) { return site.location.empty() ? "" : site.location + ": "; }

//===-- Prints ---------------------------------------------------------------------------------------------------===//

/// The elements of a record.
class Elements {
public:
  Elements(const DebugSite &site, Words words) : site_(site), words_(words) {}

  std::string operator[](int64_t i) const {
    if (isFloat(site_.dtype))
      return text(std::bit_cast<float>(words_[i]));
    if (sizeOf(site_.dtype) < 8)
      return std::to_string(words_[i]);
    return std::to_string(int64_t{words_[2 * i + 1]} * (int64_t{1} << 32) + static_cast<uint32_t>(words_[2 * i]));
  }

  /// Returns a text such as "min -2.5, max 3, 2 nan" for floats, otherwise an empty one.
  std::string summary() const {
    if (!isFloat(site_.dtype))
      return "";
    float low = std::numeric_limits<float>::infinity(), high = -low;
    int64_t nans = 0;
    for (int64_t i = 0; i < elementsOf(site_); ++i) {
      const auto value = std::bit_cast<float>(words_[i]);
      nans += std::isnan(value);
      low = std::fmin(low, value);
      high = std::fmax(high, value);
    }
    const std::string numbers = low > high ? "" : ", min " + text(low) + ", max " + text(high);
    return numbers + (nans > 0 ? ", " + std::to_string(nans) + " nan" : "");
  }

  /// Returns one line for each row. Rows and columns in the middle of a large tile are left out.
  std::string rows() const {
    const int64_t columns = site_.shape.back(), rows = elementsOf(site_) / columns;
    std::string result;
    for (int64_t row = 0; row < rows; ++row) {
      if (isLeftOut(row, rows)) {
        result += "  ...\n";
        row = rows - kAtEdge;
      }
      std::vector<int64_t> first = coordinatesOf(site_, row * columns);
      result += "  " + list(first);
      for (int64_t column = 0; column < columns; ++column) {
        if (isLeftOut(column, columns)) {
          result += " ...";
          column = columns - kAtEdge;
        }
        result += " " + (*this)[row * columns + column];
      }
      result += "\n";
    }
    return result;
  }

private:
  static constexpr int64_t kAtEdge = 4, kMost = 16;
  static bool isLeftOut(int64_t i, int64_t count) { return count > kMost && i == kAtEdge; }

  const DebugSite &site_;
  Words words_;
};

/// Returns a text such as "n = 3 (program instance 2, 0, 0)"; that of a tile has its rows, too.
std::string named(const DebugSite &site, Words record) {
  const Elements elements(site, record.subspan(kLoops + site.loops.size()));
  const std::string place = "(" + placeOf(site, record) + ")";
  if (elementsOf(site) == 1)
    return site.name + " = " + elements[0] + " " + place + "\n";
  return site.name + ": " + typeOf(site) + elements.summary() + " " + place + "\n" + elements.rows();
}

std::string printed(const DebugSite &site, Words record) { return lineOf(site) + named(site, record); }

std::string failed(const DebugSite &site, Words record) {
  std::string text = lineOf(site) + "assertion failed: " + named(site, record);
  text.pop_back(); // The end of the line.
  return text;
}

//===-- Elements that are not finite -----------------------------------------------------------------------------===//

std::string reported(const DebugSite &site, Words record) {
  const Words words = record.subspan(kLoops + site.loops.size());
  const auto value = std::bit_cast<float>(words[1]);
  const bool isInput = site.name == "load" || site.name == "gather";
  return lineOf(site) + site.name + (isInput ? " reads" : " makes") + " the first " +
         (std::isnan(value) ? "NaN" : "infinity (" + text(value) + ")") + ": element " +
         list(coordinatesOf(site, words[0])) + " of " + typeOf(site) + " in " + placeOf(site, record);
}

} // namespace

DebugReport readRecords(const DebugLayout &layout, std::span<const int32_t> words) {
  DebugReport report;
  const auto size = static_cast<size_t>(layout.record_words);
  for (; words.size() >= size; words = words.subspan(size)) {
    const DebugSite &site = layout.sites[static_cast<size_t>(words[kSite])];
    if (site.kind == DebugSite::Kind::print)
      report.prints.push_back(printed(site, words.first(size)));
    else if (!report.error)
      report.error =
          site.kind == DebugSite::Kind::assertion ? failed(site, words.first(size)) : reported(site, words.first(size));
  }
  return report;
}

} // namespace tegula
