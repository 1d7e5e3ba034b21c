// What the mover's thread and the bus are at, in virtual time: one call on mappings after another,
// and copies both ways beside it.
#ifndef VRAMSPAN_TOOLS_REPLAY_MOVER_CALLS_H_
#define VRAMSPAN_TOOLS_REPLAY_MOVER_CALLS_H_

#include <absl/functional/function_ref.h>

#include <deque>
#include <vector>

#include "runtime/scheduler/action.h"
#include "tools/replay/replay_result.h"
#include "tools/replay/simulated_link.h"

namespace vramspan::replay {

class MoverCalls {
 public:
  explicit MoverCalls(const ReplayPrices& prices) : prices_(prices), link_(prices) {}

  // --- copies ---
  void StartIn(const ChunkMove& move) { link_.Start(/*in=*/true, move.size, move.place); }
  // Once the host memory for it is there, which takes so long to make.
  void StartOut(const ChunkMove& move, uint64_t now, uint64_t making);
  // Time passes up to `now`, no later than NextEvent. Calls `copied` with the places of the moves
  // whose copies have ended.
  void Advance(uint64_t now, absl::FunctionRef<void(uint32_t)> copied);
  bool copies_in() const { return link_.copies_in(); }
  bool copies_out() const { return link_.copies_out(); }
  void SetCrowd(const LinkCrowd& others) {
    link_.SetCrowd(others);
    crowd_ = others;
  }

  // --- the thread: calls that `action` takes, and so long, in nanoseconds, by the thread alone.
  // REQUIRES: it is at none. `running`: work runs beside it.
  // The calls for a fetch, which take so many microseconds. False: none do, and it is at none.
  bool BeginFetch(const Action& action, uint64_t now, double slot, int log2, bool running);
  void BeginRemap(const Action& action, uint64_t now, Remapping how, int log2, bool running);
  void BeginMapOnHost(const Action& action, uint64_t now, int log2, bool running);
  bool calling() const { return action_.kind != Action::Kind::kNothing; }
  // The call ends by now: what it was for. Else nothing.
  Action TakeEnded(uint64_t now);
  // Time that the thread spends beside calls.
  void Owe(double microseconds) { owed_ += Nanoseconds(microseconds); }

  // When the next of all that ends.
  uint64_t NextEvent() const;

 private:
  static uint64_t Nanoseconds(double microseconds) {
    return static_cast<uint64_t>(1e3 * microseconds);
  }
  // By how much calls on mappings take longer for what runs beside them.
  double Slower(bool running) const {
    const int others = (crowd_.in != 0) + (crowd_.out != 0);
    return (1 + prices_.beside * (running + link_.copies_in() + link_.copies_out())) *
           (1 + prices_.beside_others * others);
  }
  // The call takes so long, and longer by what the thread owes, or until the piece that is on its
  // way out has gone: to give access waits for that.
  void Begin(const Action& action, uint64_t now, uint64_t nanoseconds, bool gives_access);

  const ReplayPrices prices_;
  SimulatedLink link_;
  LinkCrowd crowd_;
  // A copy out, once there is memory to copy to.
  struct Waiting {
    uint64_t time;
    Bytes size;
    uint32_t place;
  };
  std::deque<Waiting> waiting_;
  uint64_t host_made_ = 0;  // When the host memory that was asked for is there.
  Action action_;
  uint64_t ends_ = 0;
  uint64_t owed_ = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_MOVER_CALLS_H_
