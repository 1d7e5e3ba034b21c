#include "tools/replay/shared_measure.h"

#include <algorithm>
#include <utility>

namespace vramspan::replay {

void SharedMeasure::Note(uint64_t now, absl::Span<const SharedTenant> tenants,
                         const broker::State& state) {
  NoteTurn(now, state);
  ShareSample sample{now, {}};
  for (const SharedTenant& t : tenants) {
    sample.grants.push_back(t.alive() ? t.grant() : Bytes(0));
  }
  std::vector<ShareSample>& shares = result_.shares;
  if (!shares.empty() && shares.back().grants == sample.grants) return;
  if (!shares.empty() && shares.back().time == now) shares.pop_back();
  shares.push_back(std::move(sample));
}

void SharedMeasure::NoteTurn(uint64_t now, const broker::State& state) {
  const broker::GpuTurns& gpu = state.gpu;
  const bool any = gpu.on && gpu.holder.value != 0;
  const size_t holder = any ? gpu.holder.value - 1 : 0;
  if (in_turn_ && (!any || result_.turns.back().tenant != holder)) EndTurn(now);
  if (!any || in_turn_) return;
  result_.turns.push_back({.from = now, .to = now, .tenant = holder});
  in_turn_ = true;
}

void SharedMeasure::EndTurn(uint64_t now) {
  GpuTurnSpan& turn = result_.turns.back();
  turn.to = now;
  in_turn_ = false;
  ++turns_[turn.tenant].count;
  turns_[turn.tenant].time += turn.to - turn.from;
}

void SharedMeasure::Pass(uint64_t now, uint64_t until, absl::Span<const SharedTenant> tenants,
                         const broker::State& state) {
  const auto time = static_cast<double>(until - now);
  double sum = 0, squares = 0;
  int count = 0;
  for (size_t i = 0; i < tenants.size(); ++i) {
    if (!tenants[i].alive()) continue;
    const auto grant = static_cast<double>(tenants[i].grant().value);
    grants_[i] += grant * time;
    const auto process = state.processes.find(tenants[i].process());
    if (process == state.processes.end()) continue;
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

SharedResult SharedMeasure::Finish(uint64_t end, absl::Span<const SharedTenant> tenants) {
  if (in_turn_) EndTurn(end);
  result_.makespan = end;
  for (size_t i = 0; i < tenants.size(); ++i) {
    TenantResult& r = result_.tenants.emplace_back(tenants[i].result());
    const uint64_t took = r.took(tenants[i].program());
    r.mean_grant = took == 0 ? 0 : grants_[i] / static_cast<double>(took);
    r.gpu_turns = turns_[i].count;
    r.gpu_turn_time = turns_[i].time;
  }
  if (fair_time_ > 0) result_.fairness = fair_ / fair_time_;
  return std::move(result_);
}

}  // namespace vramspan::replay
