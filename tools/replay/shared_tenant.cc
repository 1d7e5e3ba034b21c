#include "tools/replay/shared_tenant.h"

#include <algorithm>
#include <utility>

#include "tools/replay/shared_clock.h"

namespace vramspan::replay {
namespace {

// The driver shows a dead process's memory for so long: 158 to 199 ms on an H100.
constexpr uint64_t kDying = 160'000'000;

}  // namespace

void SharedTenant::Come(Bytes device_memory) {
  lease_ = std::make_unique<TenantLease>(process(), program_.policy, device_memory);
}

void SharedTenant::Begin(const ReplayPrices& prices, Bytes device_memory) {
  ReplaySetting setting = program_.setting;
  setting.device_memory = lease_->budget();
  // As a runtime does that joins a broker.
  const Bytes expected = std::max(setting.device_memory, ExpectedShare(device_memory));
  chunks_ = std::make_unique<ChunkedRun>(program_.run, setting.chunk_log2, expected);
  mover_ = std::make_unique<SimulatedMover>(*chunks_, *program_.timing, prices, setting, nullptr);
  mover_->HoldWork(lease_->holds());
  touched_ = true;
}

void SharedTenant::End(uint64_t now) {
  touched_ = false;
  ended_ = true;
  next_ = kNever;
  result_.end = now;
  result_.last_grant = lease_->grant();
  result_.result = mover_->Finish();
  lease_.reset();
  mover_.reset();
  chunks_.reset();
  gone_at_ = now + kDying;
}

bool SharedTenant::MemoryGoes(uint64_t now) {
  if (gone_at_ > now) return false;
  gone_at_ = kNever;
  return true;
}

void SharedTenant::Told(const broker::Action& action, uint64_t now) {
  using Kind = broker::Action::Kind;
  if (!lease_) return;
  lease_->Told(action, BrokerTime(now));
  if (action.kind == Kind::kGiveTurn && action.direction == broker::Direction::kFetch) {
    ++result_.fetch_turns;
  }
  if (action.kind == Kind::kRecall && action.place == broker::Place::kDevice) {
    ++result_.recalls;
    recalled_at_ = now;
    recalled_ = lease_->recalled_bytes();
    if (mover_) out_before_ = mover_->moves().out;
  }
  if (!mover_) return;
  if (action.kind == Kind::kHoldWork || action.kind == Kind::kLetWork) {
    mover_->HoldWork(lease_->holds());
    touched_ = true;
  }
  if (mover_->memory().budget() == lease_->budget()) return;
  CatchUp(now);
  mover_->SetBudget(lease_->budget());
  touched_ = true;
}

bool SharedTenant::Settle() {
  touched_ = false;
  return mover_->Settle();
}

std::vector<broker::Event> SharedTenant::LookRound(uint64_t now, bool page) {
  const bool open = lease_->recalled(), held = lease_->holds();
  std::vector<broker::Event> events =
      lease_->LookRound(BrokerTime(now), mover_->memory(), mover_->work_seen(), page);
  if (open && !lease_->recalled()) {
    result_.recall_time += now - recalled_at_;
    result_.out_recalled += std::min(recalled_, mover_->moves().out - out_before_);
  }
  if (held && !lease_->holds()) {
    // Nobody told it for so long.
    mover_->HoldWork(false);
    touched_ = true;
  }
  return events;
}

void SharedTenant::Share(uint64_t now, double share, const LinkCrowd& others) {
  if (share == share_ && others == crowd_) return;
  CatchUp(now);
  share_ = share;
  crowd_ = others;
  mover_->Share(share, others);
}

void SharedTenant::CatchUp(uint64_t now) {
  const uint64_t local = now - program_.start;
  if (local > mover_->now()) mover_->Pass(local);
}

void SharedTenant::Pass(uint64_t now) {
  mover_->Pass(std::max(now - program_.start, mover_->now()));
  touched_ = true;
}

void SharedTenant::FindNext(uint64_t now) {
  const uint64_t next = mover_->NextEvent();
  next_ = next == kNever ? kNever : std::max(now, next + program_.start);
}

uint64_t SharedTenant::LeaseDue() const {
  const std::optional<Instant> due = lease_->Due();
  return due ? SharedClock(*due) : kNever;
}

uint64_t SharedTenant::NextStart() const {
  const uint64_t start = mover_->NextStart();
  return start == kNever ? kNever : start + program_.start;
}

}  // namespace vramspan::replay
