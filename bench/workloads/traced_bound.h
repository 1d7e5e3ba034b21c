// The fewest things that must cross the link for a known sequence of uses: Belady's MIN, where a
// thing that is not kept may be served from where it is.
#ifndef VRAMSPAN_BENCH_WORKLOADS_TRACED_BOUND_H_
#define VRAMSPAN_BENCH_WORKLOADS_TRACED_BOUND_H_

#include <cstddef>
#include <vector>

namespace vramspan::bench {

// Uses of things that were not here, among uses [from, to) of the sequence. Things are of one size,
// `room` of them fit; nothing is here at first.
size_t FewestMisses(const std::vector<int>& uses, size_t room, size_t from, size_t to);

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_TRACED_BOUND_H_
