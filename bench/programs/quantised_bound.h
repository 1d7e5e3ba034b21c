// What must cross in a pass of quantised.cu.
#ifndef VRAMSPAN_BENCH_PROGRAMS_QUANTISED_BOUND_H_
#define VRAMSPAN_BENCH_PROGRAMS_QUANTISED_BOUND_H_

#include "quantised_model.h"

// A prompt reads each weight, but for experts that none of its tokens chose: `unused` were counted.
// Passes follow one another: what of S bytes was not on the device before comes in. Nothing of it
// is written.
inline double BoundOfPrompt(const Options& options, const Shape& shape, unsigned unused) {
  const double bytes =
      (static_cast<double>(shape.Blocks()) - 2.0 * shape.Matrix() * unused) * sizeof(Block);
  return options.Beyond(bytes) / options.link.in * 1e3;
}

// How often an item comes in at least, where `room` of them have room: Belady's choice, which may
// be to leave an item where it is. What fills the room at first is free.
inline size_t FewestFetches(const std::vector<int>& items, int count, int room) {
  std::vector<size_t> next(items.size()), upcoming(count, items.size());
  for (size_t i = items.size(); i-- > 0;) {
    next[i] = upcoming[items[i]];
    upcoming[items[i]] = i;
  }
  std::vector<bool> there(count, false);
  size_t fetches = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    upcoming[items[i]] = next[i];
    if (there[items[i]]) continue;
    there[items[i]] = true;
    if (room > 0) {
      --room;
      continue;
    }
    ++fetches;
    int last = items[i];
    for (int item = 0; item < count; ++item)
      if (there[item] && upcoming[item] > upcoming[last]) last = item;
    there[last] = false;
  }
  return fetches;
}

// A token reads the experts that were chosen, in a known order: so the fewest that come in are
// known too. This is the mean over the tokens from `first` on, the same whose median is printed, as
// far as they were kept. Dense, each layer has one expert.
inline double BoundOfToken(const Options& options, const Shape& shape, std::vector<int> kept,
                           size_t first) {
  if (shape.choices == 1) return BoundOfPrompt(options, shape, 0);
  const double expert = static_cast<double>(2 * shape.Matrix()) * sizeof(Block);
  const size_t a_token = 2 * static_cast<size_t>(shape.layers);
  kept.erase(kept.begin(), kept.begin() + std::min(kept.size(), first * a_token));
  std::vector<int> items(kept.size());
  for (size_t i = 0; i < kept.size(); ++i)
    items[i] = static_cast<int>(i % a_token / 2) * shape.experts + kept[i];
  const int room = static_cast<int>(options.limit * kGiB / expert) + 1;
  const size_t fetches = FewestFetches(items, shape.layers * shape.experts, room);
  return static_cast<double>(fetches) * expert / options.link.in * 1e3 /
         std::max<double>(1, static_cast<double>(kept.size() / a_token));
}

#endif  // VRAMSPAN_BENCH_PROGRAMS_QUANTISED_BOUND_H_
