#include "runtime/observe/parameters.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace vramspan {

absl::Span<const char> Parameters::Block(std::vector<char>* block) const {
  if (layout == nullptr) return buffer;
  // Of those that there are: the value, where it begins, and its bytes.
  const auto each = [&](auto visit) {
    for (size_t i = 0; i < layout->places.size(); ++i) {
      const auto [offset, size] = layout->places[i];
      if (values[i] == nullptr || offset > kMostParameterBytes) continue;
      visit(values[i], offset, std::min(size, kMostParameterBytes - offset));
    }
  };
  size_t end = 0;
  each([&](const void*, size_t offset, size_t taken) { end = std::max(end, offset + taken); });
  block->assign(end, 0);
  each([&](const void* value, size_t offset, size_t taken) {
    // Most are of this size, and a call takes longer.
    if (taken == sizeof(uint64_t)) {
      std::memcpy(block->data() + offset, value, sizeof(uint64_t));
    } else {
      std::memcpy(block->data() + offset, value, taken);
    }
  });
  return *block;
}

bool Parameters::Equal(absl::Span<const char> block) const {
  if (layout == nullptr) {
    return buffer.size() == block.size() &&
           (buffer.empty() || std::memcmp(buffer.data(), block.data(), buffer.size()) == 0);
  }
  for (size_t i = 0; i < layout->places.size(); ++i) {
    const auto [offset, size] = layout->places[i];
    const auto* const value = static_cast<const char*>(values[i]);
    if (value == nullptr) return false;
    if (offset > kMostParameterBytes) continue;
    const size_t taken = std::min(size, kMostParameterBytes - offset);
    if (offset + taken > block.size()) return false;
    const char* const known = block.data() + offset;
    if (taken == sizeof(uint64_t)) {
      uint64_t a, b;
      std::memcpy(&a, value, sizeof(a));
      std::memcpy(&b, known, sizeof(b));
      if (a != b) return false;
    } else if (std::memcmp(value, known, taken) != 0) {
      return false;
    }
  }
  return true;
}

bool Parameters::Has(const ParameterRange& range) const {
  uint32_t word = 0;
  const char* from = nullptr;
  if (range.bytes > sizeof(word)) return false;
  if (layout == nullptr) {
    if (size_t{range.at} + range.bytes > buffer.size()) return false;
    from = buffer.data() + range.at;
  } else {
    const std::optional<size_t> parameter = layout->ParameterWith(range.at, range.bytes);
    if (!parameter.has_value() || values[*parameter] == nullptr) return false;
    from =
        static_cast<const char*>(values[*parameter]) + range.at - layout->places[*parameter].first;
  }
  // The lower bytes, as all machines with such GPUs have them.
  std::memcpy(&word, from, range.bytes);
  return range.Has(word);
}

bool Parameters::Hold(const ParameterCases& cases) const {
  return AnyHolds(cases, [this](const ParameterRange& range) { return Has(range); });
}

}  // namespace vramspan
