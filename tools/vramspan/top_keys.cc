#include "tools/vramspan/top_keys.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace vramspan::top {
namespace {

constexpr char kEscapeByte = '\x1b';
constexpr size_t kLongest = 16;

std::optional<Key> KeyOf(char byte) {
  switch (byte) {
    case 'q':
    case 'Q':
      return Key::kQuit;
    case 'k':
      return Key::kUp;
    case 'j':
      return Key::kDown;
    case 'g':
      return Key::kFirst;
    case 'G':
      return Key::kLast;
    case 's':
      return Key::kSort;
    case 'p':
    case ' ':
      return Key::kHold;
    case 'h':
    case '?':
      return Key::kHelp;
    case '\r':
    case '\n':
      return Key::kEnter;
    default:
      return std::nullopt;
  }
}

struct Sequence {
  std::string_view bytes;
  Key key;
};
constexpr std::array<Sequence, 18> kSequences = {{
    {"\x1b[A", Key::kUp},
    {"\x1bOA", Key::kUp},
    {"\x1b[B", Key::kDown},
    {"\x1bOB", Key::kDown},
    {"\x1b[H", Key::kFirst},
    {"\x1bOH", Key::kFirst},
    {"\x1b[1~", Key::kFirst},
    {"\x1b[5~", Key::kFirst},
    {"\x1b[F", Key::kLast},
    {"\x1bOF", Key::kLast},
    {"\x1b[4~", Key::kLast},
    {"\x1b[6~", Key::kLast},
    {"\x1b[17~", Key::kSort},  // F6.
    {"\x1bOP", Key::kHelp},    // F1.
    {"\x1b[11~", Key::kHelp},
    {"\x1b[21~", Key::kQuit},  // F10.
    {"\x1bOM", Key::kEnter},
    {"\x1b\x1b", Key::kEscape},
}};

// Whether the sequence ends with its last byte.
bool IsWhole(std::string_view sequence) {
  if (sequence.size() < 2) return false;
  if (sequence[1] != '[' && sequence[1] != 'O') return true;
  const char last = sequence.back();
  return sequence.size() > 2 && last >= '@' && last <= '~';
}

}  // namespace

std::vector<Key> KeyReader::Feed(std::string_view bytes) {
  std::vector<Key> keys;
  for (const char byte : bytes) {
    if (begun_.empty() && byte != kEscapeByte) {
      if (const std::optional<Key> key = KeyOf(byte)) keys.push_back(*key);
      continue;
    }
    begun_ += byte;
    if (!IsWhole(begun_)) {
      // No key of a terminal's is so long.
      if (begun_.size() > kLongest) begun_.clear();
      continue;
    }
    const std::string sequence = std::exchange(begun_, {});
    const auto* const known = std::find_if(kSequences.begin(), kSequences.end(),
                                           [&](const Sequence& s) { return s.bytes == sequence; });
    if (known != kSequences.end()) keys.push_back(known->key);
  }
  return keys;
}

std::vector<Key> KeyReader::Wait() {
  const std::string sequence = std::exchange(begun_, {});
  if (sequence.size() == 1) return {Key::kEscape};
  return {};
}

}  // namespace vramspan::top
