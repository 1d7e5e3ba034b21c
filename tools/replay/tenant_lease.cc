#include "tools/replay/tenant_lease.h"

#include <algorithm>

#include "runtime/base/log.h"
#include "tools/broker/words/said.h"

namespace vramspan::replay {
namespace {

constexpr std::array<uint8_t, 16> kDevice = {};
constexpr Duration kBeat = std::chrono::milliseconds(500);

}  // namespace

TenantLease::TenantLease(broker::ProcessId id, const broker::Policy& policy, Bytes device_memory)
    : id_(id),
      bounds_{{device_memory, broker::kAllBytes}, {device_memory, broker::kAllBytes}},
      session_(kDevice) {
  lease::Effects effects;
  session_.Connected({}, effects);
  standing_.device_limit = policy.limit[broker::Place::kDevice];
  standing_.host_limit = policy.limit[broker::Place::kHost];
  session_.Received(Instant(),
                    lease::Encode({.type = lease::Type::kWelcome,
                                   .bytes = standing_.device_limit,
                                   .more = standing_.host_limit,
                                   .time = kBeat}),
                    /*pages=*/true, effects);
  VS_CHECK(session_.state() == lease::Session::State::kMember);
}

void TenantLease::Told(const broker::Action& action, Instant now) {
  switch (action.kind) {
    case broker::Action::Kind::kGrant:
      (action.place == broker::Place::kHost ? standing_.told_host : standing_.told_device) = true;
      break;
    case broker::Action::Kind::kRecall:
    case broker::Action::Kind::kGiveTurn:
    case broker::Action::Kind::kTakeTurn:
    case broker::Action::Kind::kHoldWork:
    case broker::Action::Kind::kLetWork:
      break;
    default:
      return;  // Nothing that a process acts on.
  }
  lease::Effects effects;
  session_.Received(now, lease::Encode(broker::MessageOf(action, now)), /*pages=*/false, effects);
  VS_CHECK(session_.state() == lease::Session::State::kMember);
  Stands();
}

void TenantLease::Stands() {
  standing_.state = session_.state();
  standing_.grants = session_.grants();
  standing_.device_recalled = session_.Recalled(lease::Memory::kDevice);
  standing_.host_recalled = session_.Recalled(lease::Memory::kHost);
  budgets_ = BudgetsOf(standing_, bounds_, budgets_);
}

HeldMemory TenantLease::Held(const VirtualMemory& memory) const {
  return {.device_used = memory.used(),
          .device_cached = memory.cached(),
          .device_budget = memory.budget(),
          .host_used = memory.on_host(),
          // It has no end.
          .host_budget = broker::kAllBytes,
          .allocated = memory.allocated(),
          .on_host = memory.on_host() != Bytes(0)};
}

void TenantLease::Answer(lease::Memory memory, Bytes most, bool due, lease::Effects* effects) {
  if (!session_.Open(memory)) return;
  const Bytes given = session_.Given(memory, most);
  if (given < session_.Recalled(memory) && !due) return;
  session_.Answer(memory, given, *effects);
}

std::vector<broker::Event> TenantLease::LookRound(Instant now, const VirtualMemory& memory,
                                                  const WorkSeen& work, bool page) {
  lease::Effects effects, due;
  session_.TimePasses(now, due);
  const Bytes device = std::max(memory.budget(), memory.used() + memory.cached());
  const auto answer = [&](lease::Memory which, bool is_due) {
    Answer(which, which == lease::Memory::kHost ? memory.on_host() : device, is_due, &effects);
  };
  for (const lease::Effect& effect : due) answer(effect.message.memory, /*is_due=*/true);
  answer(lease::Memory::kDevice, /*is_due=*/false);
  answer(lease::Memory::kHost, /*is_due=*/false);
  std::vector<broker::Event> events;
  for (const lease::Effect& effect : effects) {
    events.push_back({now, broker::AnswerOf(id_, effect.message)});
  }
  if (!events.empty()) Stands();
  lease::ProcessPage now_said = PageOf(Held(memory), MostOf(standing_, bounds_), budgets_);
  SayWork(work, &now_said);
  const bool wants = said_wants_.Says({now_said.wanted_device, now_said.wanted_host}, now);
  const broker::Said said = broker::SaidBy(now_said);
  if (wants || (page && !broker::SameWords(said, said_))) {
    said_ = said;
    events.push_back({now, broker::Says{id_, said}});
  }
  return events;
}

}  // namespace vramspan::replay
