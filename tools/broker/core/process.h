// A connected process: what it said, what it holds, and how it obeys.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_PROCESS_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_PROCESS_H_

#include <optional>

#include "runtime/base/units.h"
#include "tools/broker/core/amounts.h"
#include "tools/broker/core/lease.h"
#include "tools/broker/core/names.h"

namespace vramspan::broker {

enum class LeaseState : uint8_t {
  kAdmitted,  // It said hello, and was granted nothing yet.
  kSteady,
  kRecalling,  // A recall is out.
  kPartial,    // It gave less than it was asked for. It is asked again later.
  kOverdue,    // It did not answer a recall in time: its memory counts as fixed.
  kFenced,     // The same, and nothing is expected of it any more.
  kDying,      // It is gone, its memory may not be.
  kAdopted,    // It held memory when the broker began. Nothing changes until all such are there.
};

// What a process says. The broker keeps it within what it granted.
struct Said {
  PerPlace<Bytes> used;    // Of the grant.
  PerPlace<Bytes> wanted;  // Beyond what is used.
  // Of the used device memory. No two of them overlap.
  Bytes cached;  // In nobody's use: it can be given back as it is.
  Bytes clean;   // The host has the same: nothing need be copied.
  Bytes cold;    // Not touched for long. Clean memory may be cold; it counts as clean alone.
  // Of its work. Counts never go back.
  uint64_t works = 0;   // Pieces that it has submitted.
  Duration stalled{0};  // How long its work has waited for memory.
  bool runs = false;    // Some is submitted, and has not ended.
  bool holds = false;   // It can hold its work until its turn (gpu_turns.h),
  bool waits = false;   // and some waits for that now.
};

// What a process needed of the device at most, in this window of time and in the one before.
struct RememberedDemand {
  Bytes before;
  Bytes now;
  Instant end;  // Of this window.
};

// What was seen of a process's work in the last window of time, and when.
struct Activity {
  Instant from;  // Of the window that goes on, and what it had said by then.
  uint64_t works = 0;
  Duration stalled{0};
  uint64_t stalls = 0;          // Of a thousand parts of the last, how many its work waited.
  std::optional<Instant> seen;  // Its end.
  Instant worked;               // When it last had more work.
  // Since when it has had cause for turns without a pause, and what it had said by then.
  std::optional<Instant> contends;
  uint64_t contends_works = 0;
};

// Its part in the turns on the GPU.
struct TurnPart {
  bool takes = false;         // It has one.
  bool holds = false;         // It was told to hold its work,
  Instant held;               // and when first.
  bool had = false;           // It had the turn in this round.
  Wide served = 0;            // How long it had the turn, for its weight.
  uint64_t pace_before = 0;   // As Activity has it, before there were turns. 0: not known.
  uint64_t works_before = 0;  // What it had said when the round began,
  Instant from;               // and when that was.
};

// What a process asked for that is no chunk: a context, mostly.
struct RoomWish {
  Bytes bytes;
  Instant until;
};

struct Process {
  ProcessId id;
  TenantId tenant;
  LeaseState state = LeaseState::kAdmitted;
  bool stuck = false;    // It does not run: stopped, or hung.
  bool overran = false;  // It was seen to hold more than it was granted.
  bool drained = false;  // It is due nothing of the device, whatever its tenant is.
  bool drains = false;   // The same, or for a tenant around it. See SetDrains.
  Revision revision;     // The last it was told.
  PerPlace<Lease> leases;
  Said said;
  RememberedDemand demand;
  Activity activity;
  TurnPart part;
  PerPlace<Bytes> claimed;  // What it says it was granted, without proof. See Believe.
  Bytes room;               // Device memory beside the grant that it was allowed.
  // Room that it returned. It is kept for the process for a while: asking by turns moves nothing.
  Bytes room_kept;
  Instant room_kept_until;
  Bytes measured;  // Device memory that it was seen to hold. 0 where that is not known.
  std::optional<RoomWish> room_wish;
  Bytes host_wish;        // Host memory that its next recall lacks.
  Instant until;          // kFenced: its parole. kDying: its bytes are taken for gone.
  uint64_t fraction = 0;  // Of everything, by weights alone, in parts of kWhole.
  Instant last_turn;      // When it last held the turn to fetch.
};

inline constexpr uint64_t kWhole = uint64_t{1} << 40;

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_PROCESS_H_
