#include "tools/replay/report_text.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <cmath>

namespace vramspan::replay {
namespace {

// Three digits that matter, and no zeros after the point.
std::string Short(double value) {
  const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::string text = absl::StrFormat("%.*f", digits, value);
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string SizeWords(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrCat(Short(bytes), " ", kUnits[unit]);
}

std::string TimeWords(double ms) {
  if (ms >= 120'000) return absl::StrCat(Short(ms / 60'000), " min");
  if (ms >= 1'000) return absl::StrCat(Short(ms / 1'000), " s");
  if (ms > 0 && ms < 0.1) return absl::StrCat(Short(ms * 1'000), " µs");
  return absl::StrCat(Short(ms), " ms");
}

std::string TimesWords(double factor) {
  if (factor >= 9.995) return absl::StrCat(Short(factor), " times");
  return absl::StrFormat("%.2f times", factor);
}

std::string PercentWords(double part) { return absl::StrCat(Short(100 * part), " %"); }

std::string ChunkWords(double bytes) {
  if (bytes == 0) return "chunks chosen by size";
  return absl::StrCat(SizeWords(bytes), " chunks");
}

std::string ShortName(const std::string& name) {
  constexpr size_t kMost = 60, kEnd = 20;
  if (name.size() <= kMost) return name;
  // Not between the bytes of one character.
  const auto boundary = [&](size_t at) {
    while (at < name.size() && (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80) ++at;
    return at;
  };
  return absl::StrCat(name.substr(0, boundary(kMost - kEnd)), "…",
                      name.substr(boundary(name.size() - kEnd)));
}

std::string BudgetWords(double bytes, std::optional<double> percent) {
  if (!percent) return SizeWords(bytes);
  return absl::StrCat(SizeWords(bytes), " (", Short(*percent), " %)");
}

}  // namespace vramspan::replay
