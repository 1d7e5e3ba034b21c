#include "tools/reader/asks.h"

#include <absl/strings/numbers.h>
#include <absl/strings/strip.h>

#include <algorithm>

#include "runtime/base/clean_text.h"
#include "runtime/base/digits.h"
#include "runtime/observe/trust_list.h"

namespace vramspan::reader {
namespace {

constexpr size_t kMostGpu = 9999;
constexpr size_t kMostLine = TrustList::kMostName + 64;
static_assert(AskLines::kMostBytes == TrustList::kMostText);

std::string_view Word(std::string_view* text) {
  const size_t end = text->find(' ');
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return word;
}

}  // namespace

std::optional<uint64_t> ParseModule(std::string_view text) {
  uint64_t module = 0;
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string_view::npos ||
      !absl::SimpleHexAtoi(text, &module) || module == 0) {
    return std::nullopt;
  }
  return module;
}

std::optional<Ask> ParseAsk(std::string_view line) {
  if (!absl::ConsumePrefix(&line, "ask ")) return std::nullopt;
  uint64_t gpu = 0;
  if (!ParseDigits(Word(&line), &gpu) || gpu == 0 || gpu > kMostGpu) return std::nullopt;
  const std::optional<uint64_t> module = ParseModule(Word(&line));
  // What is more than one line as it is shown would be so in the answer, too.
  if (!module.has_value() || line.empty() || line.size() > TrustList::kMostName ||
      CleanText(line) != line) {
    return std::nullopt;
  }
  return Ask{{*module, static_cast<uint32_t>(gpu)}, std::string(line)};
}

void AskLines::Add(std::string_view bytes, std::vector<Ask>* asks) {
  bytes = bytes.substr(0, kMostBytes - taken_);
  taken_ += bytes.size();
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (open_.size() + piece.size() > kMostLine) too_long_ = true;
    if (too_long_) {
      open_.clear();
    } else {
      open_.append(piece);
    }
    if (end == std::string_view::npos) return;
    if (std::optional<Ask> ask = too_long_ ? std::nullopt : ParseAsk(open_)) {
      asks->push_back(*std::move(ask));
    }
    open_.clear();
    too_long_ = false;
  }
}

}  // namespace vramspan::reader
