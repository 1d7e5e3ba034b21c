// The figures of the broker's rules. Where a figure is a choice and no measurement, it says so.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_SETTINGS_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_SETTINGS_H_

#include <algorithm>
#include <chrono>

#include "runtime/base/units.h"
#include "tools/broker/core/amounts.h"

namespace vramspan::broker {

// Turns on the GPU, where working sets do not fit together (gpu_turns.h).
struct TurnSettings {
  bool on = true;
  // Choices: how much of a thousand parts of their time the work of two has to wait, and for how
  // long; and how long what was seen counts.
  uint64_t stalls = 300;
  Duration after = std::chrono::seconds(3);
  Duration window = std::chrono::seconds(1);
  Duration fresh = std::chrono::milliseconds(2500);
  // A turn is as long as moving memory for it takes three parts of a hundred, within bounds; in one
  // whose memory does not come together, as long as here. Choices.
  int per_change = 33;
  Duration least = std::chrono::seconds(2);
  Duration most = std::chrono::seconds(50);
  Duration scattered = std::chrono::seconds(10);
  // However much its weight, nobody has more turns in a row, nor is ahead of others by more once it
  // wants its turn again. A choice.
  int most_longer = 8;
  // Who lacks less than one part of so many of what it needs has no cause for turns. A choice.
  uint64_t least_lack = 16;
  // What was submitted before goes on, and keeps its memory: for so long no refusal counts. A
  // choice.
  Duration drain = std::chrono::seconds(30);
  // The turn of who does nothing ends early, where another waits.
  Duration idle = std::chrono::milliseconds(300);
  // All together are to do so much more in a hundred than without turns. Else there are none for a
  // time, and for twice as long each time.
  uint64_t gain = 110;
  Duration least_back_off = std::chrono::seconds(30);
  Duration most_back_off = std::chrono::minutes(10);
};

struct Settings {
  Bytes chunk = kGranularity;
  // What one recall has copied at most: 5.7 ms of an H100's link, well inside a stall of 50 ms.
  Bytes slice = MiB(256);
  // A slice whose host memory must be pinned first takes 41 ms. The rest is for what runs.
  Duration deadline = std::chrono::milliseconds(250);
  // Choices: how long a process may be silent, and how often unwilling, before it is fenced; and
  // when it is asked again.
  Duration fence_after = std::chrono::seconds(2);
  Duration retry = std::chrono::milliseconds(100);
  int most_refusals = 8;
  Duration parole = std::chrono::seconds(5);
  // Programs free in bursts: GPUswap's 50 ms.
  Duration gather = std::chrono::milliseconds(50);
  // A shortage below the hysteresis is served after this. A choice.
  Duration patience = std::chrono::seconds(1);
  uint64_t hysteresis_percent = 2;
  // What a process may be seen to hold beyond its grant, as the kernel's limits will allow it.
  Bytes overrun = MiB(256);
  // A giver is given nothing back for twice the time of its move, and no longer than this.
  Duration longest_rest = std::chrono::seconds(1);
  // What a caller of ROOM waits at most, and how long dead processes' bytes are waited for.
  Duration room_wait = std::chrono::seconds(1);
  Duration death_wait = std::chrono::seconds(2);
  Duration adoption = std::chrono::seconds(2);
  // How long a slice has the link for itself: what a victim may stall at most. Who takes longer
  // goes on beside the next, so that nobody holds the others' memory up by being slow.
  Duration evict_turn = std::chrono::milliseconds(50);
  // How long one process fetches while another waits to. A choice: some ten slices.
  Duration fetch_turn = std::chrono::milliseconds(50);
  TurnSettings turns;
  // For one to two of these a process keeps its share though it no longer needs it. Moving half of
  // an 80 GiB card takes 0.9 s, there and back twice as long.
  Duration demand_window = std::chrono::seconds(2);
  // What one process, and all of one tenant, may have as rooms, since no recall gets them back. A
  // context has 0.5 GiB, and so has a mover's; each of them twice. The rest is a choice.
  Bytes most_room = GiB(2);
  Bytes most_rooms = GiB(8);
  // Device memory that is never granted, so that a newcomer's context fits.
  Bytes least_reserve = GiB(1);
  uint64_t reserve_percent = 2;

  // Host memory that nobody has for the asking, but by a guarantee: victims evict to it at once,
  // and who wants all of it does not sit on it. A choice.
  uint64_t host_kept_percent = 25;

  Bytes Reserve(Bytes capacity) const {
    return std::max(least_reserve, PartOf(capacity, reserve_percent, 100));
  }
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_SETTINGS_H_
