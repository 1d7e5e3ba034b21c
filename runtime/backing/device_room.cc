#include "runtime/backing/device_room.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "runtime/base/log.h"

namespace vramspan {
namespace {

// Where somebody waits anyway. In milliseconds, about.
constexpr int kPatientTries = 100;
constexpr int kOneTry = 1;
constexpr int kExitTries = 100;
// So often the driver is asked in one look: again where others have announced something meanwhile.
constexpr int kMostSamples = 3;
// How often a start, or who waits for more, looks whether others have made room: two periods of
// theirs.
constexpr int kStartLooks = 50;
constexpr Duration kWait = kRoomPeriod * 2;
// Who lacked memory lacks it for so long.
constexpr Duration kLacksFor = std::chrono::seconds(5);
// Whoever finds the budget full looks whether it may rise, but no more often in vain.
constexpr Duration kFullFor = std::chrono::milliseconds(100);
// So long after a start others may not have said yet what they have taken before.
constexpr Duration kUnsettled = std::chrono::seconds(5);
// What was refused is asked for again then, whatever seems to be free.
constexpr Duration kRefusalLapse = std::chrono::seconds(60);

}  // namespace

DeviceRoom::DeviceRoom(DeviceRoomOptions options)
    : options_(std::move(options)), file_(options_.folder, options_.device_uuid) {}

DeviceRoom::~DeviceRoom() {
  Gone();
  // In a child of fork somebody may hold it for ever.
  if (!looking_.TryLock()) return;
  if (usable_) file_.Leave();
  looking_.Unlock();
}

DeviceRoom::Start DeviceRoom::Begin(Bytes alone, bool given) {
  MutexLock lock(looking_);
  given_.store(given, std::memory_order_release);
  Start start;
  bool may_rise = false, again = false, last = false;
  std::optional<StatusOr<Bytes>> free;
  ceilings_.alone = alone;
  times_.settled = options_.now() + kUnsettled;
  // The analysis does not see the lock from inside a lambda.
  const auto decide = [&](const OtherClaims& others) VS_NO_THREAD_SAFETY_ANALYSIS {
    beside_ = !others.None();
    again = may_rise = false;
    if (given || !beside_ || (free.has_value() && !free->ok())) {
      start = {alone, alone, absl::OkStatus()};
    } else if (!free.has_value() || (others.news && !last)) {
      again = true;
    } else {
      DeviceView view{.total = options_.total, .free = **free, .others = others};
      ceilings_.alone = std::max(alone, AloneBudget(view));
      start.budget = std::min(ceilings_.alone, StartBudget(view));
      start.expected = std::min(ceilings_.alone, std::max(start.budget, FairShare(view)));
      view.ceiling = ceilings_.alone;
      reach_ = ClaimReach(view).value;
      may_rise = start.budget < start.expected && others.spare != Bytes(0);
    }
    return OwnClaim{.budget = start.budget, .keeps = given ? start.budget : Bytes(0)};
  };
  Status status = Exchange(kPatientTries, decide);
  for (int i = 1; status.ok() && (again || may_rise) && i < kStartLooks; ++i) {
    const bool must = again;
    if (!must) options_.pause();
    free = options_.free();
    last = i + 1 == kStartLooks;
    const Status next = Exchange(must ? kPatientTries : kOneTry, decide);
    // What was announced holds where the lock is not to be had.
    if (must || !absl::IsUnavailable(next)) status = next;
  }
  if (!status.ok()) {
    beside_ = false;
    ceilings_.alone = alone;
    start = {alone, alone, std::move(status)};
    dropped_ = absl::OkStatus();  // Who calls this tells.
  }
  SetCeilings();
  budget_ = announced_ = start.budget;
  if (!options_.folder.empty()) Joined();
  return start;
}

void DeviceRoom::LeaveAtExit() {
  for (int i = 0; !looking_.TryLock(); ++i) {
    if (i == kExitTries) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (usable_) file_.Leave();
  left_ = true;
  looking_.Unlock();
}

Status DeviceRoom::Exchange(int tries, ClaimsFile::Decide decide) {
  const Instant now = options_.now();
  if (options_.folder.empty() || times_.renew == Instant::max()) {
    return absl::FailedPreconditionError("there is no folder for it");
  }
  Status status = file_.Exchange(now, tries, decide);
  usable_ = status.ok() || absl::IsUnavailable(status);
  if (usable_ || absl::IsResourceExhausted(status)) {
    // Who did not get the lock tries again soon.
    times_.renew = absl::IsUnavailable(status) ? now : now + kClaimRenewal;
  } else {
    // For good: what is not as it should be may hang the next time.
    times_.renew = Instant::max();
    dropped_ = status;
  }
  return status;
}

DeviceRoom::Sample DeviceRoom::TakeSample() {
  Sample sample{.use = Use(), .free = std::nullopt};
  if (!IsAlone() && !given_) sample.free = options_.free();
  return sample;
}

OwnClaim DeviceRoom::Decide(const OtherClaims& others, const Sample& sample, bool* again) {
  beside_ = !others.None();
  *again = false;
  const Instant now = options_.now();
  if (refusal_.has_value() && now >= refusal_->lapses) refusal_.reset();
  DeviceView view{.total = options_.total,
                  .ceiling = ceiling(),
                  .budget = budget_,
                  .taken = sample.use.taken,
                  .used = sample.use.used,
                  .peak = sample.use.peak,
                  .lacks = now.time_since_epoch().count() < asks_until_.load(),
                  .others = others};
  const bool wants = !given_ && Wants(view);
  Bytes next = std::min(budget_, view.ceiling);
  if (given_) {
    next = view.ceiling;
  } else if (IsAlone()) {
    next = NextBudget(view);
  } else if (!sample.free.has_value() || others.news) {
    *again = true;
  } else if (sample.free->ok()) {
    view.free = **sample.free;
    if (beside_ && now < times_.settled) {
      ceilings_.alone = std::max(ceilings_.alone, AloneBudget(view));
      SetCeilings();
      view.ceiling = ceiling();
    }
    if (refusal_.has_value()) view.refused_at = refusal_->free;
    next = NextBudget(view);
  }
  // Before others may count on it. What rises does so when they know.
  if (next < budget_) Apply(next);
  view.budget = std::max(next, budget_);
  if (!*again) {
    const bool lacks = now.time_since_epoch().count() < lacks_until_.load();
    reach_ = given_ || lacks ? 0 : ClaimReach(view).value;
    may_come_ = !given_ && !refusal_.has_value() && MayCome(view);
  }
  return {.budget = view.budget,
          .taken = view.taken,
          .keeps = given_ ? view.budget : ClaimKeeps(view),
          .wants = wants};
}

void DeviceRoom::Apply(Bytes budget) {
  if (budget == budget_) return;
  if (budget < budget_) lowered_ = true;
  budget_ = pool_->Follow(budget, ceiling());
  changed_ = true;
}

void DeviceRoom::Look(int tries, bool refused) {
  if (left_) return;
  try {
    if (refused) {
      refusal_ = {options_.free().value_or(options_.total), options_.now() + kRefusalLapse};
    }
    bool again = true;
    for (int i = 0; again && i < kMostSamples; ++i) LookOnce(tries, &again);
  } catch (const std::exception&) {
    // There is no memory for it now. The next look may have it.
  }
}

void DeviceRoom::LookOnce(int tries, bool* again) {
  *again = false;
  const Sample sample = TakeSample();
  const bool news = beside_ || options_.now() >= times_.renew || Changed();
  OwnClaim claim{.budget = Bytes(~uint64_t{0})};
  if (!news) claim = Decide({}, sample, again);
  if (news || claim.budget != announced_) {
    const auto decide = [&](const OtherClaims& others) VS_NO_THREAD_SAFETY_ANALYSIS {
      return claim = Decide(others, sample, again);
    };
    const Status status = Exchange(tries, decide);
    if (absl::IsUnavailable(status)) {
      // Nothing rises by what is not known, but for the user.
      claim.budget = given_ ? ceiling() : std::min(budget_, ceiling());
    } else {
      if (!status.ok()) claim = Decide({}, sample, again);
      announced_ = claim.budget;
    }
  }
  Apply(claim.budget);
}

void DeviceRoom::TellDropped() {
  Status dropped;
  {
    if (!looking_.TryLock()) return;
    dropped = std::exchange(dropped_, absl::OkStatus());
    looking_.Unlock();
  }
  if (dropped.ok()) return;
  Log(LogLevel::kInfo,
      absl::StrCat("other programs of this user are not seen from here on: ", dropped.message()));
}

bool DeviceRoom::Changed() const { return usable_ && file_.Changed(); }

SlotPool::Use DeviceRoom::Use() {
  SlotPool::Use use = pool_->use();
  const Instant now = options_.now();
  peak_.Note(use.peak, now);
  use.peak = peak_.Get(now);
  return use;
}

void DeviceRoom::Lack() {
  asks_until_ = lacks_until_ = (options_.now() + kLacksFor).time_since_epoch().count();
  reach_ = 0;
}

Bytes DeviceRoom::reach() const {
  return std::max(pool_->budget(), std::min(ceiling(), Bytes(reach_.load())));
}

void DeviceRoom::GiveBack() {
  if (lowered_.exchange(false)) pool_->TrimToBudget();
}

void DeviceRoom::SetCeilings() { ceiling_.store(ceilings_.Get().value, std::memory_order_release); }

void DeviceRoom::Give(Bytes budget) {
  {
    MutexLock lock(looking_);
    ceilings_.alone = budget;
    ceilings_.limit.reset();
    given_ = true;
    SetCeilings();
    Look(kPatientTries);
    changed_ = false;  // Who calls this knows.
  }
  GiveBack();
}

void DeviceRoom::Limit(Bytes budget) {
  {
    MutexLock lock(looking_);
    if (!ceilings_.limit.has_value()) ceilings_.limited_from = ceilings_.alone;
    ceilings_.limit = budget < ceilings_.limited_from ? std::optional<Bytes>(budget) : std::nullopt;
    SetCeilings();
    Look(kPatientTries);
    changed_ = false;
  }
  GiveBack();
}

void DeviceRoom::Await(Bytes more) {
  if (given_) return;
  const Instant until = options_.now() + kWait;
  bool waits = true;
  for (int i = 0; waits && pool_->available() < more && i < kStartLooks; ++i) {
    if (i != 0) options_.pause();
    // Whoever has it looks.
    if (!looking_.TryLock()) continue;
    waits = AskFor(more, /*last=*/i + 1 == kStartLooks || options_.now() >= until);
    looking_.Unlock();
    GiveBack();
  }
}

bool DeviceRoom::AskFor(Bytes more, bool last) {
  const Instant now = options_.now();
  if (left_ || now < times_.in_vain_until || !beside_ || budget_ >= ceiling()) return false;
  asks_until_ = (now + kLacksFor).time_since_epoch().count();
  Look(kOneTry);
  if (pool_->available() >= more) return true;
  if (may_come_ && !last) return true;
  // What may come has not in all this time; else it is cheap to look again.
  times_.in_vain_until = now + (last ? kLacksFor : kFullFor);
  return false;
}

bool DeviceRoom::Lacks(bool refused) {
  if (given_) return false;
  Lack();
  if (!looking_.TryLock()) return false;
  const Bytes before = budget_;
  const Instant now = options_.now();
  const bool may_rise = now >= times_.full_until && !(IsAlone() && budget_ == ceiling());
  if (refused || may_rise) Look(kOneTry, refused);
  const bool rose = budget_ > before;
  if (!rose) times_.full_until = now + kFullFor;
  looking_.Unlock();
  GiveBack();
  return rose;
}

void DeviceRoom::Tick(bool lacks) {
  if (lacks) Lack();
  if (looking_.TryLock()) {
    if (!IsAlone() || options_.now() >= times_.renew || Changed()) Look(kOneTry);
    looking_.Unlock();
  }
  GiveBack();
  TellDropped();
  if (!changed_) return;
  MutexLock lock(listening_);
  // What changes while it is told is told again. Until somebody listens it is kept.
  if (listener_ != nullptr && changed_.exchange(false)) listener_();
}

void DeviceRoom::SetListener(std::function<void()> listener) {
  MutexLock lock(listening_);
  listener_ = std::move(listener);
}

}  // namespace vramspan
