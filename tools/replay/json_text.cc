#include "tools/replay/json_text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace vramspan::replay {
namespace {

constexpr size_t kBuffer = 16 << 10;
constexpr size_t kBegin = 16;

// What stands between tokens, or ends one.
constexpr std::array<bool, 256> Delimiters() {
  std::array<bool, 256> is{};
  for (const char c : std::string_view(" \t\r\n,:[]{}\"")) is[static_cast<unsigned char>(c)] = true;
  return is;
}
constexpr std::array<bool, 256> kDelimiter = Delimiters();

constexpr char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

enum class Fit { kNone, kBegins, kWhole };

// How a token fits what is no number and no word of JSON.
Fit FitOf(std::string_view token) {
  if (token.starts_with('-') || token.starts_with('+')) token.remove_prefix(1);
  Fit best = Fit::kNone;
  for (const std::string_view word : {"nan", "inf", "infinity"}) {
    const bool begins =
        token.size() <= word.size() && std::equal(token.begin(), token.end(), word.begin(),
                                                  [](char a, char b) { return Lower(a) == b; });
    if (begins && token.size() == word.size()) return Fit::kWhole;
    if (begins) best = Fit::kBegins;
  }
  return best;
}

bool MayBegin(char c) {
  return c == 'n' || c == 'N' || c == 'i' || c == 'I' || c == '-' || c == '+';
}

}  // namespace

JsonText::int_type JsonText::underflow() {
  out_.clear();
  raw_.resize(kBuffer);
  while (out_.empty()) {
    if (too_long()) return traits_type::eof();
    const std::streamsize got = text_->sgetn(raw_.data(), static_cast<std::streamsize>(kBuffer));
    if (got <= 0) {
      if (word_.empty()) {
        ended_ = true;
        return traits_type::eof();
      }
      // It is cut, or there would be something behind it: as any value that does not end.
      word_.clear();
      out_.push_back('"');
      break;
    }
    const std::string_view raw(raw_.data(), static_cast<size_t>(got));
    begin_.append(raw.substr(0, kBegin - std::min(kBegin, begin_.size())));
    for (const char c : raw) {
      if (c == '\0') {
        ++zeros_;
        continue;
      }
      // Not the end, which the parser takes a zero for; no control character is JSON.
      if (zeros_ != 0) Take('\1');
      zeros_ = 0;
      Take(c);
      if (too_long()) break;
    }
  }
  setg(out_.data(), out_.data(), out_.data() + out_.size());
  return traits_type::to_int_type(out_.front());
}

void JsonText::Take(char c) {
  if (!in_string_) {
    TakePlain(c);
    return;
  }
  ++length_;
  out_.push_back(c);
  if (escaped_) {
    escaped_ = false;
  } else if (c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    in_string_ = false;
    length_ = 0;
  }
}

void JsonText::TakePlain(char c) {
  if (!kDelimiter[static_cast<unsigned char>(c)]) {
    ++length_;
    if (length_ == 1 ? MayBegin(c) : !word_.empty()) {
      word_.push_back(c);
      if (FitOf(word_) == Fit::kNone) Put(std::exchange(word_, {}));
    } else {
      out_.push_back(c);
    }
    return;
  }
  if (!word_.empty()) {
    if (FitOf(word_) == Fit::kWhole) {
      out_.append("\"\"").append(word_.size() - 2, ' ');
      word_.clear();
    } else {
      Put(std::exchange(word_, {}));
    }
  }
  length_ = 0;
  in_string_ = c == '"';
  out_.push_back(c);
}

}  // namespace vramspan::replay
