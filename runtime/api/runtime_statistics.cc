// What a runtime counts, in the terms of the public header.
#include "runtime/api/runtime.h"

namespace vramspan {

vramspanStatistics Runtime::Statistics() {
  vramspanStatistics s{};
  s.struct_size = sizeof(s);
  const DevicePool& device = memory_->device_pool();
  const HostPool& host = memory_->host_pool();
  s.device_budget = device.budget().value;
  s.device_used = device.used().value;
  s.device_cached = device.cached().value;
  s.host_budget = host.budget().value;
  s.host_used = host.used().value;
  s.host_cached = host.cached().value;
  const MemoryCounts counts = memory_->counts();
  s.allocations = counts.allocations;
  s.allocated_bytes = counts.allocated.value;
  s.peak_allocated_bytes = counts.peak_allocated.value;
  s.chunks = counts.chunks;
  const MoverStatistics m = mover_->statistics();
  s.works = m.works;
  s.works_held = m.works_held;
  s.works_in_place = m.works_in_place;
  s.deadlines = m.deadlines;
  s.bytes_in = m.bytes_in.value;
  s.bytes_out = m.bytes_out.value;
  s.bytes_out_clean = m.bytes_out_clean.value;
  s.fetches = m.fetches;
  s.evictions = m.evictions;
  s.remaps = m.remaps;
  s.moves_failed = m.moves_failed;
  s.hold_ns = m.hold_ns;
  s.copy_in_ns = m.copy_in_ns;
  s.copy_out_ns = m.copy_out_ns;
  s.vmm_ns = m.vmm_ns;
  s.unsettled_streams = m.unsettled_streams;
  s.rests = m.rests;
  if (tracer_ != nullptr) {
    const TracerStatistics t = tracer_->statistics();
    s.launches = t.launches;
    s.copies = t.copies;
    s.launches_unknown = t.launches_unknown;
    s.launches_encoded = t.launches_encoded;
    s.launches_untried = t.launches_by_trust[static_cast<size_t>(Trust::kUntried)];
    s.launches_plausible = t.launches_by_trust[static_cast<size_t>(Trust::kPlausible)];
    s.launches_proven = t.launches_by_trust[static_cast<size_t>(Trust::kProven)];
    s.launches_known = t.launches_known;
    s.graphs_cut = t.graphs_cut;
    s.segments = t.segments;
    s.touches = t.touches;
    s.bytes_scanned = t.scanned.value;
  }
  s.bytes_in_place = m.bytes_in_place.value;
  s.trials = m.trials;
  s.returned = m.returned;
  s.forecast_hits = m.forecast_hits;
  s.forecast_misses = m.forecast_misses;
  s.stall_drain_ns = m.stall_drain_ns;
  s.stall_copy_ns = m.stall_copy_ns;
  s.stall_vmm_ns = m.stall_vmm_ns;
  s.fetches_unused = m.fetches_unused;
  if (lease_ != nullptr) {
    const LeaseNumbers lease = lease_->numbers();
    s.lease_state = lease.state;
    s.lease_grants = lease.grants;
    s.lease_recalls = lease.recalls;
    s.lease_reconnects = lease.reconnects;
  }
  s.mover_decide_ns = m.times.decide_ns;
  s.mover_begin_ns = m.times.begin_ns;
  s.mover_remap_ns = m.times.remap_ns;
  s.mover_map_ns = m.times.map_ns;
  return s;
}

}  // namespace vramspan
