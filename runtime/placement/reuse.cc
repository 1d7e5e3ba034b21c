#include "runtime/placement/reuse.h"

#include <algorithm>

#include "runtime/base/grow.h"

namespace vramspan {

Reuse::Entry& Reuse::Find(uint64_t signature) {
  // Signatures are hashes, and others take their low digits.
  return entries_[signature >> 32 & (kMost - 1)];
}

Reuse::Set Reuse::Launch(uint64_t signature) {
  current_ = signature;
  began_ = touched_;
  if (signature == 0) return {};
  Entry& entry = Find(signature);
  if (entry.signature != signature) entry = {.signature = signature};
  entry.before = entry.now;
  entry.now = {};
  return entry.before;
}

void Reuse::Touch(ChunkIndex chunk, Bytes size, bool needs) {
  touched_ += size;
  if (chunk.value >= since_.size()) GrowTo(since_, size_t{chunk.value} + 1);
  Since& since = since_[chunk.value];
  if (needs) {
    for (size_t i = 0; i < std::min<size_t>(since.count, kTouches); ++i) {
      const Touched& touched = since.touched[i];
      if (touched.signature == current_ || began_ - touched.at > soon_) continue;
      Entry& entry = Find(touched.signature);
      if (entry.signature == touched.signature) entry.now.Add(chunk);
    }
    since.count = 0;
  }
  if (current_ != 0) since.touched[since.count++ % kTouches] = {current_, began_};
}

}  // namespace vramspan
