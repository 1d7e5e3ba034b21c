// What streaming a cycle costs at the least: Belady's MIN on N things used one after the other,
// round and round, with room for some of them.
#ifndef VRAMSPAN_BENCH_WORKLOADS_CYCLE_H_
#define VRAMSPAN_BENCH_WORKLOADS_CYCLE_H_

namespace vramspan::bench {

// Fetches a pass in the long run, by simulation. A thing must be there to be used. Where `room` is
// less than `things`, n (n - room) / (n - 1); the hard bound for a single pass is n - room.
double MinFetchesAPass(int things, int room);

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_CYCLE_H_
