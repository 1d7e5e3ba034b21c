#include "tools/replay/shared_replay.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/broker/core/decide.h"
#include "tools/replay/shared_clock.h"
#include "tools/replay/shared_measure.h"
#include "tools/replay/shared_tenant.h"
#include "tools/replay/standstill.h"

namespace vramspan::replay {
namespace {

// As far as anybody goes.
constexpr Bytes kHostMemory{uint64_t{1} << 50};
// The daemon looks at what processes show this often.
constexpr uint64_t kRound = 200'000'000;

broker::Settings SettingsOf(const SharedOptions& options) {
  broker::Settings settings;
  settings.least_reserve = Bytes(0);
  settings.reserve_percent = 0;
  settings.turns.on = options.turns;
  return settings;
}

class Sharing {
 public:
  Sharing(absl::Span<const SharedProgram> programs, const ReplayPrices& prices, Bytes device_memory,
          const SharedOptions& options)
      : prices_(prices),
        device_memory_(device_memory),
        state_(SettingsOf(options)),
        measure_(programs.size()) {
    for (const SharedProgram& program : programs) tenants_.emplace_back(&program, tenants_.size());
  }

  Status Admit();
  StatusOr<SharedResult> Run();

 private:
  void Tell(const broker::Event& event);
  void ComeAll();
  void SettleAll();
  // Whether anything came of it.
  bool Exchange();
  void ShareTime();
  // When something is to be done next.
  uint64_t Next() const;
  void PassAll();

  const ReplayPrices prices_;
  const Bytes device_memory_;
  broker::State state_;
  std::vector<SharedTenant> tenants_;
  SharedMeasure measure_;
  Standstill standstill_;
  uint64_t now_ = 0;
  uint64_t next_round_ = 0;
};

Status Sharing::Admit() {
  broker::Decide(state_, {Instant(), broker::CapacityIs{broker::Place::kDevice, device_memory_}});
  broker::Decide(state_, {Instant(), broker::CapacityIs{broker::Place::kHost, kHostMemory}});
  for (auto due = broker::Due(state_); due && *due <= BrokerTime(0); due = broker::Due(state_)) {
    broker::Decide(state_, {*due, broker::TimePasses{}});
  }
  for (const SharedTenant& t : tenants_) {
    const broker::Actions actions = broker::Decide(
        state_, {Instant(), broker::TenantAppears{t.tenant(), broker::kRoot, t.program().policy}});
    for (const broker::Action& action : actions) {
      if (action.kind != broker::Action::Kind::kRefuse) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("tenant ", t.tenant().value, ": ",
                       action.refusal == broker::Refusal::kGuarantee
                           ? absl::StrCat("the guarantees would be more than the device memory, ",
                                          device_memory_.value >> 20, " MiB")
                           : "its guarantee is more than its limit"));
    }
  }
  return absl::OkStatus();
}

void Sharing::Tell(const broker::Event& event) {
  for (const broker::Action& action : broker::Decide(state_, event)) {
    const size_t i = action.process.value - 1;
    if (action.process.value != 0 && i < tenants_.size()) tenants_[i].Told(action, now_);
  }
}

void Sharing::ComeAll() {
  for (SharedTenant& t : tenants_) {
    if (t.came() || t.program().start > now_) continue;
    t.Come(device_memory_);
    Tell({BrokerTime(now_), broker::Joins{t.process(), t.tenant(), {}}});
    t.Begin(prices_, device_memory_);
  }
}

void Sharing::SettleAll() {
  for (SharedTenant& t : tenants_) {
    if (!t.alive() || !t.touched() || t.Settle()) continue;
    t.End(now_);
    Tell({BrokerTime(now_), broker::Dies{t.process()}});
  }
}

bool Sharing::Exchange() {
  const bool page = now_ >= next_round_;
  if (page) next_round_ = now_ + kRound;
  bool any = false;
  for (SharedTenant& t : tenants_) {
    if (t.MemoryGoes(now_)) {
      any = true;
      Tell({BrokerTime(now_), broker::BytesGone{t.process()}});
    }
    if (!t.alive()) continue;
    const std::vector<broker::Event> events = t.LookRound(now_, page);
    for (const broker::Event& event : events) Tell(event);
    any |= !events.empty();
  }
  const std::optional<Instant> due = broker::Due(state_);
  if (due && *due <= BrokerTime(now_)) {
    Tell({BrokerTime(now_), broker::TimePasses{}});
    any = true;
  }
  return any || std::any_of(tenants_.begin(), tenants_.end(),
                            [](const SharedTenant& t) { return t.touched(); });
}

void Sharing::ShareTime() {
  LinkCrowd all;
  uint32_t computing = 0;
  for (SharedTenant& t : tenants_) {
    if (!t.alive()) continue;
    // Whose kernel begins now is there.
    if (t.NextStart() <= now_) t.CatchUp(now_);
    computing += t.computes();
    all.in += t.copies().in;
    all.out += t.copies().out;
  }
  for (SharedTenant& t : tenants_) {
    if (!t.alive()) continue;
    const double share = computing > 1 && t.computes() ? kTimeShared / computing : 1;
    const LinkCrowd own = t.copies();
    t.Share(now_, share, {all.in - own.in, all.out - own.out});
    t.FindNext(now_);
  }
}

uint64_t Sharing::Next() const {
  uint64_t next = kNever;
  size_t alive = 0;
  for (const SharedTenant& t : tenants_) alive += t.alive();
  for (const SharedTenant& t : tenants_) {
    next = std::min({next, t.next(), t.gone_at()});
    if (!t.came()) next = std::min(next, t.program().start);
    if (!t.alive()) continue;
    if (alive > 1) next = std::min(next, t.NextStart());
    next = std::min(next, t.LeaseDue());
  }
  if (const auto due = broker::Due(state_)) next = std::min(next, SharedClock(*due));
  return std::max(now_, std::min(next, alive != 0 ? next_round_ : kNever));
}

void Sharing::PassAll() {
  for (SharedTenant& t : tenants_) {
    if (t.alive() && t.Due(now_)) t.Pass(now_);
  }
}

StatusOr<SharedResult> Sharing::Run() {
  const auto is_over = [](const SharedTenant& t) { return t.over(); };
  const auto moves = [](const SharedTenant& t) { return !t.came() || t.next() != kNever; };
  for (;;) {
    ComeAll();
    SettleAll();
    const bool again = Exchange();
    measure_.Note(now_, tenants_, state_);
    if (std::all_of(tenants_.begin(), tenants_.end(), is_over)) break;
    uint64_t next = now_;
    if (!again) {
      ShareTime();
      next = Next();
    }
    const bool alive = std::any_of(tenants_.begin(), tenants_.end(), moves);
    VS_RETURN_IF_ERROR(standstill_.Step(now_, next, alive));
    measure_.Pass(now_, next, tenants_, state_);
    now_ = next;
    if (!again) PassAll();
  }
  return measure_.Finish(now_, tenants_);
}

}  // namespace

StatusOr<SharedResult> ReplayShared(absl::Span<const SharedProgram> programs,
                                    const ReplayPrices& prices, Bytes device_memory,
                                    const SharedOptions& options) {
  // Grants are whole chunks.
  const Bytes whole(device_memory.value & ~(kGranularity.value - 1));
  Sharing sharing(programs, prices, whole, options);
  VS_RETURN_IF_ERROR(sharing.Admit());
  return sharing.Run();
}

}  // namespace vramspan::replay
