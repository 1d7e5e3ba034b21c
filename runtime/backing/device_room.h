// Keeps a program's device budget within what the other programs of its user leave, where no broker
// shares the device out: by the rule of claim_rule.h, over the file of claims_file.h.
//
// The mover's thread looks every quarter of a second. Beside that it is looked where the budget has
// no room, and where the driver refused. A look tries the lock once. No call is on the launch path.
// An allocation that the budget has no room for waits until others have looked, where they have
// more than they keep. While the program is alone, with nothing refused, a look is at the time of
// the file alone. Who starts beside others gives them half a second to make room, by tries. The
// driver is not called while the file is locked.
//
// Threads: any. Errors: none; where the file or the driver do not answer the program is as alone. A
// file that is not to be used is let be for good.
#ifndef VRAMSPAN_RUNTIME_BACKING_DEVICE_ROOM_H_
#define VRAMSPAN_RUNTIME_BACKING_DEVICE_ROOM_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "runtime/backing/claim_rule.h"
#include "runtime/backing/claims_file.h"
#include "runtime/backing/leaves_at_exit.h"
#include "runtime/backing/recent_peak.h"
#include "runtime/backing/slot_pool.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"

namespace vramspan {

constexpr std::chrono::milliseconds kRoomPeriod{250};

struct DeviceRoomOptions {
  std::string folder;  // XDG_RUNTIME_DIR; empty: there is nobody to share with.
  std::string device_uuid;
  Bytes total;
  // What is free of the device now.
  std::function<StatusOr<Bytes>()> free;
  // A clock that nobody sets back.
  std::function<Instant()> now;
  // Waits a while, about 10 ms, for what others do.
  std::function<void()> pause;
};

class DeviceRoom final : private LeavesAtExit {
 public:
  explicit DeviceRoom(DeviceRoomOptions options);
  ~DeviceRoom() override;  // Nothing is announced any more.
  DeviceRoom(const DeviceRoom&) = delete;
  DeviceRoom& operator=(const DeviceRoom&) = delete;

  // From now on this program is seen. `alone`: its budget when alone; `given`: the user's, which
  // does not change by what others do. Once, before all others.
  struct Start {
    Bytes budget;
    Bytes expected;  // What it may reach once others have given way: things are sized by that.
    Status status;   // What kept it from seeing others.
  };
  Start Begin(Bytes alone, bool given);
  // Whose budget it is. Outlives all calls but these two; once, before those.
  void SetPool(SlotPool* pool) { pool_ = pool; }

  // The budget when alone, which is the most that it ever is.
  Bytes ceiling() const { return Bytes(ceiling_.load(std::memory_order_acquire)); }
  // What the budget would come to if more were asked for, as far as is known: others give up what
  // they do not use. No more than the budget where that was asked for lately.
  Bytes reach() const;
  // The user sets the budget: it does not change from here on.
  void Give(Bytes budget);
  // It is no more than that for a while, even where data leave the device for it; as much as there
  // was before ends that.
  void Limit(Bytes budget);

  // Others have a part of the device, as far as is known.
  bool shared() const { return beside_; }
  // So much is about to be asked for. Where the budget has no room for it, and others have more
  // than they keep, that is waited for: half a second at most, and not again soon where it was in
  // vain. The caller holds no lock that a mover's thread needs.
  void Await(Bytes more);
  // Memory was asked for that the budget had no room for or, `refused`, the driver. Whether there
  // is more now.
  bool Lacks(bool refused);
  // kRoomPeriod has passed, for the mover's thread. `lacks`: data are on the host for want of
  // memory.
  void Tick(bool lacks);
  // Is told by Tick that the budget has changed; it reads what it is now. None is under way any
  // more when this returns.
  void SetListener(std::function<void()> listener);

 private:
  struct Refusal {
    Bytes free;
    Instant lapses;
  };
  struct Ceilings {
    Bytes alone;
    std::optional<Bytes> limit;
    Bytes limited_from;  // What `alone` was when that was set.

    Bytes Get() const { return std::min(alone, limit.value_or(alone)); }
  };
  // What was asked before the file was locked, the driver last: what this program takes or gives
  // back in between is not counted twice.
  struct Sample {
    SlotPool::Use use;
    std::optional<StatusOr<Bytes>> free;  // None: it was not asked.
  };
  struct Times {
    Instant renew;          // The claim.
    Instant full_until;     // It was looked whether the budget may rise,
    Instant in_vain_until;  // or waited for.
    Instant settled;        // Since its start.
  };

  bool IsAlone() const VS_REQUIRES(looking_) { return !beside_ && !refusal_.has_value(); }
  bool Changed() const VS_REQUIRES(looking_);
  void TellDropped() VS_EXCLUDES(looking_);
  // One look of those that Await makes. Whether another one may be worth while.
  bool AskFor(Bytes more, bool last) VS_REQUIRES(looking_);
  void Lack();
  SlotPool::Use Use() VS_REQUIRES(looking_);
  void LeaveAtExit() override;
  void Look(int tries, bool refused = false) VS_REQUIRES(looking_);
  Status Exchange(int tries, ClaimsFile::Decide decide) VS_REQUIRES(looking_);
  // What to announce beside these. Less than until now the budget is at once. `again`: nothing
  // changes, because it takes another sample, behind what these have announced.
  OwnClaim Decide(const OtherClaims& others, const Sample& sample, bool* again)
      VS_REQUIRES(looking_);
  Sample TakeSample() VS_REQUIRES(looking_);
  void LookOnce(int tries, bool* again) VS_REQUIRES(looking_);
  void Apply(Bytes budget) VS_REQUIRES(looking_);
  void SetCeilings() VS_REQUIRES(looking_);
  // What exceeds the budget goes back to the driver. Without the lock: it may take other locks.
  void GiveBack() VS_EXCLUDES(looking_);

  const DeviceRoomOptions options_;
  SlotPool* pool_ = nullptr;
  std::atomic<uint64_t> ceiling_{0}, reach_{0};
  std::atomic<bool> given_{false};
  std::atomic<bool> beside_{false};  // There are others.
  std::atomic<bool> changed_{false}, lowered_{false};
  std::atomic<int64_t> lacks_until_{0}, asks_until_{0};
  Mutex looking_;
  ClaimsFile file_ VS_GUARDED_BY(looking_);
  Ceilings ceilings_ VS_GUARDED_BY(looking_);
  Bytes budget_ VS_GUARDED_BY(looking_);     // As it is to be.
  Bytes announced_ VS_GUARDED_BY(looking_);  // As others know it.
  bool usable_ VS_GUARDED_BY(looking_) = false;
  bool left_ VS_GUARDED_BY(looking_) = false;      // The process ends: nothing changes any more.
  Status dropped_ VS_GUARDED_BY(looking_);         // The file, and that is yet to be told.
  bool may_come_ VS_GUARDED_BY(looking_) = false;  // More, from others.
  RecentPeak peak_ VS_GUARDED_BY(looking_);        // Of what is used.
  Times times_ VS_GUARDED_BY(looking_);
  std::optional<Refusal> refusal_ VS_GUARDED_BY(looking_);
  Mutex listening_;
  std::function<void()> listener_ VS_GUARDED_BY(listening_);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_DEVICE_ROOM_H_
