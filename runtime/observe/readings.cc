#include "runtime/observe/readings.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <limits>
#include <utility>

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

void Readings::AddWhen(const ParameterCases& when, uint64_t module, std::string_view name,
                       uint32_t source) {
  std::vector<ReadWhen>& known = images_[module].when[name];
  const bool again = std::any_of(known.begin(), known.end(),
                                 [&](const ReadWhen& proof) { return proof.ranges == when; });
  if (!again && known.size() < kMostWhen) known.push_back({when, source});
}

void Readings::Add(const Readings& others) {
  for (const auto& [module, from] : others.images_) {
    for (const auto& [name, source] : from.read) Add(module, name, source);
    if (from.all.has_value()) AddImage(module, from.count, *from.all);
    for (const std::string& name : from.unread) AddUnread(module, name);
    for (const auto& [name, proofs] : from.when) {
      for (const ReadWhen& proof : proofs) AddWhen(proof.ranges, module, name, proof.source);
    }
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

std::vector<ReadWhen> Readings::ProofsWhen(uint64_t module, std::string_view name) const {
  const auto known = images_.find(module);
  if (known == images_.end() || ProofOf(module, name).has_value()) return {};
  const auto when = known->second.when.find(name);
  return when != known->second.when.end() ? when->second : std::vector<ReadWhen>();
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
  std::vector<std::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
  const std::string_view kind = words[0];
  ReadingOfKernel reading{.proven = kind != "unread"};
  if (words.size() != 2 || (kind != "read" && kind != "read-when" && kind != "unread")) {
    return std::nullopt;
  }
  std::string_view rest = words[1];
  if (kind == "read-when") {
    const size_t end = std::min(rest.find(' '), rest.size());
    std::optional<ParameterCases> when = ParseParameterCases(rest.substr(0, end));
    if (!when.has_value()) return std::nullopt;
    reading.when = *std::move(when);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  words = absl::StrSplit(rest, absl::MaxSplits(' ', 1));
  if (words.size() != 2 || words[0].size() != 16 ||
      !absl::SimpleHexAtoi(words[0], &reading.module) || reading.module == 0 || words[1].empty()) {
    return std::nullopt;
  }
  reading.name = words[1];
  return reading;
}

std::string ReadLine(uint64_t module, std::string_view name, const ParameterCases& when) {
  return absl::StrFormat("read%s %016x %s\n",
                         when.empty() ? "" : absl::StrCat("-when ", ParameterCasesText(when)),
                         module, name);
}

std::string ImageLine(uint64_t module, uint64_t count) {
  return absl::StrFormat("image %016x %d\n", module, count);
}

std::string UnreadLine(uint64_t module, std::string_view name) {
  return absl::StrFormat("unread %016x %s\n", module, name);
}

}  // namespace vramspan
