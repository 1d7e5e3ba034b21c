#include "tools/metrics/exposition.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>

#include "runtime/base/clean_text.h"

namespace vramspan::metrics {
namespace {

constexpr size_t kMostOfAValue = 200;

std::string SecondsText(Duration time) {
  const auto nanoseconds = static_cast<uint64_t>(std::max<Duration>(time, Duration(0)).count());
  return absl::StrFormat("%d.%09d", nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000);
}

}  // namespace

std::string LabelText(std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    absl::StrAppend(&text, text.empty() ? "" : ",", name, "=\"");
    // No control character is left, so no new line either.
    for (const char c : CleanText(value, kMostOfAValue)) {
      if (c == '\\' || c == '"') text += '\\';
      text += c;
    }
    text += '"';
  }
  return text;
}

std::string Joined(std::string_view labels, std::string_view more) {
  return absl::StrCat(labels, labels.empty() || more.empty() ? "" : ",", more);
}

void Exposition::Begin(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  absl::StrAppend(&text_, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

void Exposition::Add(std::string_view labels, uint64_t value) {
  Write("", labels, absl::StrCat(value));
}

void Exposition::Add(std::string_view labels, Duration seconds) {
  Write("", labels, SecondsText(seconds));
}

void Exposition::Add(std::string_view labels, double value) {
  Write("", labels, absl::StrFormat("%.9g", value));
}

void Exposition::AddPart(std::string_view suffix, std::string_view labels, uint64_t value) {
  Write(suffix, labels, absl::StrCat(value));
}

void Exposition::AddPart(std::string_view suffix, std::string_view labels, Duration seconds) {
  Write(suffix, labels, SecondsText(seconds));
}

void Exposition::Write(std::string_view suffix, std::string_view labels, std::string_view value) {
  absl::StrAppend(&text_, name_, suffix);
  if (!labels.empty()) absl::StrAppend(&text_, "{", labels, "}");
  absl::StrAppend(&text_, " ", value, "\n");
}

}  // namespace vramspan::metrics
