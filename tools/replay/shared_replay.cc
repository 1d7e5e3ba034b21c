#include "tools/replay/shared_replay.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/log.h"
#include "tools/broker/core/decide.h"
#include "tools/replay/simulated_mover.h"
#include "tools/replay/tenant_lease.h"

namespace vramspan::replay {
namespace {

// As far as anybody goes.
constexpr Bytes kHostMemory{uint64_t{1} << 50};
// The daemon looks at what processes show this often.
constexpr uint64_t kRound = 200'000'000;
// The driver shows a dead process's memory for so long: 158 to 199 ms on an H100.
constexpr uint64_t kDying = 160'000'000;
// Steps at one moment; far more than anything settles in.
constexpr uint64_t kMostStillShared = 1'000'000;

broker::Settings WithoutReserve() {
  broker::Settings settings;
  settings.least_reserve = Bytes(0);
  settings.reserve_percent = 0;
  return settings;
}

class Sharing {
 public:
  Sharing(absl::Span<const SharedProgram> programs, const ReplayPrices& prices, Bytes device_memory)
      : programs_(programs),
        prices_(prices),
        device_memory_(device_memory),
        state_(WithoutReserve()),
        tenants_(programs.size()) {
    result_.tenants.resize(programs.size());
  }

  Status Admit();
  SharedResult Run();

 private:
  struct Tenant {
    std::unique_ptr<ChunkedRun> chunks;
    std::unique_ptr<TenantLease> lease;
    std::unique_ptr<SimulatedMover> mover;
    bool came = false, alive = false;
    bool touched = false;    // Something has changed for its program.
    uint64_t next = kNever;  // Its next event, of the clock of all.
    uint64_t gone_at = kNever;
    double share = 1;
    LinkCrowd crowd;
    uint64_t recalled_at = 0;
    Bytes recalled, out_before;
  };

  // The broker has been there for a while when the first program comes.
  static constexpr uint64_t kBefore = 1'000'000'000;
  Instant At() const { return InstantOf(now_ + kBefore); }
  static uint64_t ClockOf(Instant t) { return std::max(NanosecondsOf(t), kBefore) - kBefore; }
  static broker::ProcessId IdOf(size_t i) { return broker::ProcessId(i + 1); }
  static broker::TenantId TenantOf(size_t i) { return broker::TenantId(i + 1); }

  void Tell(const broker::Event& event);
  void Do(const broker::Action& action);
  void Come(size_t i);
  void Leave(size_t i);
  void SettleAll();
  // Whether anything came of it.
  bool Exchange();
  void ShareTime();
  void PassTo(size_t i, uint64_t time);
  uint64_t Next() const;
  void Measure(uint64_t until);
  void Sample();

  const absl::Span<const SharedProgram> programs_;
  const ReplayPrices prices_;
  const Bytes device_memory_;
  broker::State state_;
  std::vector<Tenant> tenants_;
  SharedResult result_;
  uint64_t now_ = 0;
  uint64_t next_round_ = 0;
  double fair_ = 0, fair_time_ = 0;
};

Status Sharing::Admit() {
  broker::Decide(state_, {Instant(), broker::CapacityIs{broker::Place::kDevice, device_memory_}});
  broker::Decide(state_, {Instant(), broker::CapacityIs{broker::Place::kHost, kHostMemory}});
  for (auto due = broker::Due(state_); due && *due <= At(); due = broker::Due(state_)) {
    broker::Decide(state_, {*due, broker::TimePasses{}});
  }
  for (size_t i = 0; i < programs_.size(); ++i) {
    const broker::Actions actions = broker::Decide(
        state_,
        {Instant(), broker::TenantAppears{TenantOf(i), broker::kRoot, programs_[i].policy}});
    for (const broker::Action& action : actions) {
      if (action.kind != broker::Action::Kind::kRefuse) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("tenant ", i + 1, ": ",
                       action.refusal == broker::Refusal::kGuarantee
                           ? absl::StrCat("the guarantees would be more than the device memory, ",
                                          device_memory_.value >> 20, " MiB")
                           : "its guarantee is more than its limit"));
    }
  }
  return absl::OkStatus();
}

void Sharing::Tell(const broker::Event& event) {
  for (const broker::Action& action : broker::Decide(state_, event)) Do(action);
}

void Sharing::Do(const broker::Action& action) {
  const size_t i = action.process.value - 1;
  if (action.process.value == 0 || i >= tenants_.size() || !tenants_[i].lease) return;
  Tenant& t = tenants_[i];
  const bool device = action.place == broker::Place::kDevice;
  t.lease->Told(action, At());
  if (action.kind == broker::Action::Kind::kGiveTurn &&
      action.direction == broker::Direction::kFetch) {
    ++result_.tenants[i].turns;
  }
  if (action.kind == broker::Action::Kind::kRecall && device) {
    ++result_.tenants[i].recalls;
    t.recalled_at = now_;
    t.recalled = t.lease->recalled_bytes();
    if (t.mover) t.out_before = t.mover->moves().out;
  }
  if (!t.mover || t.mover->memory().budget() == t.lease->budget()) return;
  PassTo(i, now_);
  t.mover->SetBudget(t.lease->budget());
  t.touched = true;
}

void Sharing::Come(size_t i) {
  Tenant& t = tenants_[i];
  t.came = t.alive = t.touched = true;
  t.lease = std::make_unique<TenantLease>(IdOf(i), programs_[i].policy, device_memory_);
  Tell({At(), broker::Joins{IdOf(i), TenantOf(i), {}}});
  ReplaySetting setting = programs_[i].setting;
  setting.device_memory = t.lease->budget();
  // As a runtime does that joins a broker.
  const Bytes expected = std::max(setting.device_memory, ExpectedShare(device_memory_));
  t.chunks = std::make_unique<ChunkedRun>(programs_[i].run, setting.chunk_log2, expected);
  t.mover =
      std::make_unique<SimulatedMover>(*t.chunks, *programs_[i].timing, prices_, setting, nullptr);
}

void Sharing::Leave(size_t i) {
  Tenant& t = tenants_[i];
  TenantResult& r = result_.tenants[i];
  t.alive = t.touched = false;
  t.next = kNever;
  r.end = now_;
  r.last_grant = t.lease->grant();
  r.result = t.mover->Finish();
  t.lease.reset();
  t.mover.reset();
  t.chunks.reset();
  t.gone_at = now_ + kDying;
  Tell({At(), broker::Dies{IdOf(i)}});
}

void Sharing::PassTo(size_t i, uint64_t time) {
  const uint64_t local = time - programs_[i].start;
  SimulatedMover& mover = *tenants_[i].mover;
  if (local > mover.now()) mover.Pass(local);
}

void Sharing::SettleAll() {
  for (size_t i = 0; i < tenants_.size(); ++i) {
    Tenant& t = tenants_[i];
    if (!t.alive || !t.touched) continue;
    t.touched = false;
    if (!t.mover->Settle()) Leave(i);
  }
}

bool Sharing::Exchange() {
  const bool page = now_ >= next_round_;
  if (page) next_round_ = now_ + kRound;
  bool any = false;
  for (size_t i = 0; i < tenants_.size(); ++i) {
    Tenant& t = tenants_[i];
    if (t.gone_at <= now_) {
      t.gone_at = kNever;
      any = true;
      Tell({At(), broker::BytesGone{IdOf(i)}});
    }
    if (!t.alive) continue;
    const bool open = t.lease->recalled();
    const auto events = t.lease->LookRound(At(), t.mover->memory(), page);
    if (open && !t.lease->recalled()) {
      TenantResult& r = result_.tenants[i];
      r.recall_time += now_ - t.recalled_at;
      r.out_recalled += std::min(t.recalled, t.mover->moves().out - t.out_before);
    }
    for (const broker::Event& event : events) Tell(event);
    any |= !events.empty();
  }
  const std::optional<Instant> due = broker::Due(state_);
  if (due && *due <= At()) {
    Tell({At(), broker::TimePasses{}});
    any = true;
  }
  return any;
}

void Sharing::ShareTime() {
  LinkCrowd all;
  uint32_t computing = 0;
  for (size_t i = 0; i < tenants_.size(); ++i) {
    Tenant& t = tenants_[i];
    if (!t.alive) continue;
    // Whose kernel begins now is there.
    const uint64_t begins = t.mover->NextStart();
    if (begins != kNever && begins + programs_[i].start <= now_) PassTo(i, now_);
    computing += t.mover->computes();
    all.in += t.mover->Copies(/*in=*/true);
    all.out += t.mover->Copies(/*in=*/false);
  }
  for (size_t i = 0; i < tenants_.size(); ++i) {
    Tenant& t = tenants_[i];
    if (!t.alive) continue;
    const double share = computing > 1 && t.mover->computes() ? kTimeShared / computing : 1;
    const LinkCrowd others = {all.in - t.mover->Copies(true), all.out - t.mover->Copies(false)};
    if (share != t.share || !(others == t.crowd)) {
      PassTo(i, now_);
      t.share = share;
      t.crowd = others;
      t.mover->SetShare(share);
      t.mover->SetCrowd(others);
    }
    const uint64_t next = t.mover->NextEvent();
    t.next = next == kNever ? kNever : std::max(now_, next + programs_[i].start);
  }
}

uint64_t Sharing::Next() const {
  uint64_t next = kNever;
  size_t alive = 0;
  for (const Tenant& t : tenants_) alive += t.alive;
  for (size_t i = 0; i < tenants_.size(); ++i) {
    const Tenant& t = tenants_[i];
    next = std::min({next, t.next, t.gone_at});
    if (!t.came) next = std::min(next, programs_[i].start);
    if (!t.alive) continue;
    if (alive > 1 && t.mover->NextStart() != kNever) {
      next = std::min(next, t.mover->NextStart() + programs_[i].start);
    }
    if (const auto due = t.lease->Due()) next = std::min(next, ClockOf(*due));
  }
  if (const auto due = broker::Due(state_)) next = std::min(next, ClockOf(*due));
  return std::max(now_, std::min(next, alive != 0 ? next_round_ : kNever));
}

void Sharing::Measure(uint64_t until) {
  const auto time = static_cast<double>(until - now_);
  double sum = 0, squares = 0;
  int count = 0;
  for (size_t i = 0; i < tenants_.size(); ++i) {
    if (!tenants_[i].alive) continue;
    const auto grant = static_cast<double>(tenants_[i].lease->grant().value);
    result_.tenants[i].mean_grant += grant * time;
    const auto process = state_.processes.find(IdOf(i));
    if (process == state_.processes.end()) continue;
    const auto due =
        static_cast<double>(process->second.leases[broker::Place::kDevice].target.value);
    const double part = due == 0 ? 1 : std::min(1.0, grant / due);
    sum += part;
    squares += part * part;
    ++count;
  }
  if (count < 2 || squares == 0) return;
  fair_ += time * sum * sum / (count * squares);
  fair_time_ += time;
}

void Sharing::Sample() {
  ShareSample sample{now_, {}};
  for (const Tenant& t : tenants_) {
    sample.grants.push_back(t.alive ? t.lease->grant() : Bytes(0));
  }
  std::vector<ShareSample>& shares = result_.shares;
  if (!shares.empty() && shares.back().grants == sample.grants) return;
  if (!shares.empty() && shares.back().time == now_) shares.pop_back();
  shares.push_back(std::move(sample));
}

SharedResult Sharing::Run() {
  uint64_t still = 0;
  const auto over = [this] {
    return std::all_of(tenants_.begin(), tenants_.end(),
                       [](const Tenant& t) { return t.came && !t.alive; });
  };
  for (;;) {
    for (size_t i = 0; i < tenants_.size(); ++i) {
      if (!tenants_[i].came && programs_[i].start <= now_) Come(i);
    }
    SettleAll();
    const bool any = Exchange();
    Sample();
    if (over()) break;
    const bool again = any || std::any_of(tenants_.begin(), tenants_.end(),
                                          [](const Tenant& t) { return t.alive && t.touched; });
    uint64_t next = now_;
    if (!again) {
      ShareTime();
      next = Next();
    }
    VS_CHECK(next != kNever);
    still = next > now_ ? 0 : still + 1;
    VS_CHECK(still < kMostStillShared);
    Measure(next);
    now_ = next;
    if (again) continue;
    for (size_t i = 0; i < tenants_.size(); ++i) {
      Tenant& t = tenants_[i];
      if (!t.alive || t.next > now_) continue;
      t.mover->Pass(std::max(now_ - programs_[i].start, t.mover->now()));
      t.touched = true;
    }
  }
  result_.makespan = now_;
  for (size_t i = 0; i < tenants_.size(); ++i) {
    TenantResult& r = result_.tenants[i];
    const uint64_t took = r.took(programs_[i]);
    r.mean_grant = took == 0 ? 0 : r.mean_grant / static_cast<double>(took);
  }
  if (fair_time_ > 0) result_.fairness = fair_ / fair_time_;
  return std::move(result_);
}

}  // namespace

StatusOr<SharedResult> ReplayShared(absl::Span<const SharedProgram> programs,
                                    const ReplayPrices& prices, Bytes device_memory) {
  // Grants are whole chunks.
  const Bytes whole(device_memory.value & ~(kGranularity.value - 1));
  Sharing sharing(programs, prices, whole);
  VS_RETURN_IF_ERROR(sharing.Admit());
  return sharing.Run();
}

}  // namespace vramspan::replay
