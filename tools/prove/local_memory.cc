#include "tools/prove/local_memory.h"

#include <algorithm>

namespace vramspan::prove {

void LocalMemory::Store(uint64_t offset, Origin origin, bool whole) {
  const uint64_t word = offset / 4;
  if (word >= kMostWords) return StoreSomewhere(origin);
  if (words_.size() <= word) words_.resize(word + 1);
  words_[word] = whole ? origin : EitherOf(origin, words_[word]);
}

Origin LocalMemory::Load(uint64_t offset) const {
  const uint64_t word = offset / 4;
  return word < words_.size() ? EitherOf(somewhere_, words_[word]) : somewhere_;
}

Origin LocalMemory::LoadAny() const {
  Origin all = somewhere_;
  for (const Origin word : words_) all = EitherOf(all, word);
  return all;
}

void LocalMemory::Move() {
  somewhere_ = LoadAny();
  words_.clear();
}

bool LocalMemory::Join(const LocalMemory& other) {
  bool changed = JoinOne(other.somewhere_, &somewhere_);
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
  for (size_t i = 0; i < other.words_.size(); ++i) changed |= JoinOne(other.words_[i], &words_[i]);
  return changed;
}

}  // namespace vramspan::prove
