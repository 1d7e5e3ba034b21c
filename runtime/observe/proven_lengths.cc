#include "runtime/observe/proven_lengths.h"

#include <absl/hash/hash.h>

#include <algorithm>

namespace vramspan {

uint64_t ProvenLengths::KeyOf(const Submission& s, const Touch& touch, uint64_t length) {
  return absl::HashOf(s.code, s.shape, touch.slot, length, s.words.size());
}

bool ProvenLengths::ForEach(const Submission& s, uint64_t same,
                            absl::FunctionRef<bool(uint64_t key, uint64_t number)> visit) {
  // A sum: each can be left out.
  uint64_t all = 0;
  for (size_t i = 0; i < s.words.size(); ++i) all += absl::HashOf(i, s.words[i]);
  for (size_t i = 0; i < s.words.size(); ++i) {
    const uint64_t others = all - absl::HashOf(i, s.words[i]);
    if (visit(absl::HashOf(same, i, others), s.words[i])) return true;
  }
  return false;
}

bool ProvenLengths::Number::OnLine(Seen now) const {
  // In two's complement, so that it may fall as well.
  const auto value = static_cast<int64_t>(seen[1].value - seen[0].value);
  const auto offset = static_cast<int64_t>(seen[1].offset - seen[0].offset);
  if (value == 0 || offset == 0 || offset % value != 0) return false;
  const auto now_value = static_cast<int64_t>(now.value - seen[0].value);
  const auto now_offset = static_cast<int64_t>(now.offset - seen[0].offset);
  if (now_value == 0) return now_offset == 0;
  return now_offset % now_value == 0 && now_offset / now_value == offset / value;
}

void ProvenLengths::Number::Add(Seen now) {
  const auto same = [&](const Seen& s) { return s.offset == now.offset && s.value == now.value; };
  const auto end = seen.begin() + static_cast<ptrdiff_t>(count);
  if (std::any_of(seen.begin(), end, same)) return;
  if (count >= 2) placed = placed && OnLine(now);
  if (count < seen.size()) seen[count++] = now;
}

bool ProvenLengths::Number::Allows(Seen now) const { return Enough() && OnLine(now); }

void ProvenLengths::Note(const Submission& s, const Touch& touch, Piece piece) {
  if (numbers_.size() + s.words.size() > kMost) {
    numbers_.clear();
    enough_.clear();
  }
  const uint64_t same = KeyOf(s, touch, piece.length);
  ForEach(s, same, [&](uint64_t key, uint64_t number) {
    Number& seen = numbers_[key];
    seen.Add({piece.offset, number});
    if (seen.Enough()) enough_.insert(same);
    return false;
  });
}

bool ProvenLengths::Hold(const Submission& s, const Touch& touch, Piece piece) const {
  if (enough_.empty()) return false;
  const uint64_t same = KeyOf(s, touch, piece.length);
  if (!enough_.contains(same)) return false;
  return ForEach(s, same, [&](uint64_t key, uint64_t number) {
    const auto it = numbers_.find(key);
    return it != numbers_.end() && it->second.Allows({piece.offset, number});
  });
}

}  // namespace vramspan
