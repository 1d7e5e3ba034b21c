#include "tools/replay/other_formats.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace vramspan::replay {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kLcsMark = 0x123456789abcdef0;
// So many records that fit are no accident.
constexpr size_t kEnoughRecords = 8;

template <typename T>
T At(std::string_view bytes, size_t at) {
  T value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Whether all of it is records of that size: each fits by itself, and times do not run backwards.
template <typename Fits, typename Time>
bool AreRecords(std::string_view begin, size_t size, Fits fits, Time time) {
  if (begin.size() < size * kEnoughRecords) return false;
  uint64_t last = 0;
  for (; begin.size() >= size; begin.remove_prefix(size)) {
    const uint64_t now = time(begin);
    if (!fits(begin) || now < std::exchange(last, now)) return false;
  }
  return true;
}

uint64_t Seconds(std::string_view r) { return At<uint32_t>(r, 0); }

std::string_view BinaryFormat(std::string_view begin) {
  if (begin.size() >= 8 && At<uint64_t>(begin, 0) == kLcsMark) return "lcs";
  // Of one time and one object a file of zeros could be made.
  const bool varied = begin.find_first_not_of('\0') < 64;
  if (!varied) return {};
  // A version in the upper half of a field, and the command is one byte.
  const auto vscsi = [](size_t version_at, size_t command_at, uint16_t version) {
    return [=](std::string_view r) {
      return At<uint16_t>(r, version_at) >> 8 == version && At<uint16_t>(r, command_at) < 256;
    };
  };
  if (AreRecords(begin, 32, vscsi(14, 12, 1), [](auto r) { return At<uint64_t>(r, 24); }) ||
      AreRecords(begin, 40, vscsi(2, 0, 2), [](auto r) { return At<uint64_t>(r, 24); })) {
    return "vscsi";
  }
  // The operation is one of a dozen.
  const auto twr = [](std::string_view r) {
    const uint32_t operation = At<uint32_t>(r, 16) >> 24;
    return operation >= 1 && operation <= 12;
  };
  if (AreRecords(begin, 20, twr, Seconds)) return "twr";
  const auto iqi = [](std::string_view r) { return At<uint32_t>(r, 12) >> 30 == 0; };
  if (AreRecords(begin, 16, iqi, Seconds)) return "standardBinIQI";
  return {};
}

// Of lines of numbers, with a line of names before them or without.
std::string_view TextFormat(std::string_view begin) {
  size_t lines = 0, rows = 0;
  bool columns = false;
  for (size_t end; (end = begin.find('\n')) != std::string_view::npos;
       begin.remove_prefix(end + 1)) {
    std::string_view line = begin.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (const char c : line) {
      if (static_cast<unsigned char>(c) < 0x20 && c != '\t') return {};
    }
    ++lines;
    const bool numbers = !line.empty() && line.front() >= '0' && line.front() <= '9';
    if (numbers) ++rows;
    columns = columns || line.find_first_of(",;\t") != std::string_view::npos;
    if (!numbers && lines > 1) return {};
  }
  if (rows < 2) return {};
  return columns ? "csv" : "txt";
}

}  // namespace

std::string OtherFormat(std::string_view begin) {
  std::string_view name = BinaryFormat(begin);
  if (name.empty()) name = TextFormat(begin);
  if (name.empty()) return {};
  return absl::StrCat(
      "it looks like a cache trace in libCacheSim's format ", name,
      ", which vramspan does not read; convert it to oracleGeneral with libCacheSim's traceConv");
}

}  // namespace vramspan::replay
