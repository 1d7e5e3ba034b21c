#include "runtime/observe/readings.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace vramspan {

void Readings::Add(uint64_t module, std::string_view name, uint32_t source) {
  images_[module].read.try_emplace(name, source);
}

void Readings::AddImage(uint64_t module, uint64_t count, uint32_t source) {
  Image& image = images_[module];
  if (!image.all.has_value()) image.all = source;
  image.count = std::max(image.count, count);
}

void Readings::AddUnread(uint64_t module, std::string_view name) {
  images_[module].unread.emplace(name);
}

void Readings::Add(const Readings& others) {
  for (const auto& [module, from] : others.images_) {
    for (const auto& [name, source] : from.read) Add(module, name, source);
    if (from.all.has_value()) AddImage(module, from.count, *from.all);
    for (const std::string& name : from.unread) AddUnread(module, name);
  }
}

std::optional<uint32_t> Readings::ProofOf(uint64_t module, std::string_view name) const {
  const auto known = images_.find(module);
  if (known == images_.end()) return std::nullopt;
  const Image& image = known->second;
  const auto read = image.read.find(name);
  if (read != image.read.end()) return read->second;
  return image.unread.contains(name) ? std::nullopt : image.all;
}

uint64_t Readings::proven() const {
  uint64_t proven = 0;
  for (const auto& [module, image] : images_) {
    uint64_t here = image.all.has_value()
                        ? image.count - std::min<uint64_t>(image.count, image.unread.size())
                        : 0;
    for (const auto& [name, source] : image.read) {
      here += image.all.has_value() && !image.unread.contains(name) ? 0 : 1;
    }
    // A count is anybody's.
    proven += std::min(here, std::numeric_limits<uint64_t>::max() - proven);
  }
  return proven;
}

std::optional<ReadingOfKernel> ParseReadingOfKernel(std::string_view line) {
  const std::vector<std::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 2));
  ReadingOfKernel reading;
  if (words.size() != 3 || (words[0] != "read" && words[0] != "unread") || words[1].size() != 16 ||
      !absl::SimpleHexAtoi(words[1], &reading.module) || reading.module == 0 || words[2].empty()) {
    return std::nullopt;
  }
  reading.proven = words[0] == "read";
  reading.name = words[2];
  return reading;
}

std::string ReadLine(uint64_t module, std::string_view name) {
  return absl::StrFormat("read %016x %s\n", module, name);
}

std::string ImageLine(uint64_t module, uint64_t count) {
  return absl::StrFormat("image %016x %d\n", module, count);
}

std::string UnreadLine(uint64_t module, std::string_view name) {
  return absl::StrFormat("unread %016x %s\n", module, name);
}

}  // namespace vramspan
