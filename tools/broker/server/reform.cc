#include "tools/broker/server/reform.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "tools/broker/core/decide.h"
#include "tools/broker/server/refusal_text.h"
#include "tools/broker/words/cgroup.h"

namespace vramspan::broker {
namespace {

using ByCgroup = std::map<std::string, const WantedTenant*>;

// The tenant that the one in `cgroup` is to lie in; null is the root.
const WantedTenant* AroundIn(const ByCgroup& wanted, std::string_view cgroup) {
  const WantedTenant* nearest = nullptr;
  for (const auto& [path, tenant] : wanted) {
    if (path == cgroup || !IsWithin(cgroup, path)) continue;
    if (nearest == nullptr || path.size() > nearest->cgroup.size()) nearest = tenant;
  }
  return nearest;
}

bool Told(const Account& account) { return account.source != Source::kPresent; }

Policy Lowered(const Policy& from, Policy to) {
  for (const Place place : kPlaces) {
    to.guarantee[place] = std::min(from.guarantee[place], to.guarantee[place]);
  }
  return to;
}

bool Same(const Policy& a, const Policy& b) {
  return a.weight == b.weight && a.guarantee == b.guarantee && a.limit == b.limit &&
         a.klass == b.klass;
}

// Each tenant's account, and what is to become of it.
struct Step {
  Account* account;
  const WantedTenant* wanted;  // Null: nobody wants it any more.
  TenantId parent;
  bool leaves = false, appears = false;
  Policy policy;
};

StatusOr<std::vector<Step>> Steps(Accounts& accounts, const ByCgroup& wanted, Instant now) {
  for (const auto& [path, tenant] : wanted) accounts.At(path, now);
  std::vector<Step> steps;
  for (Account* const account : accounts.All()) {
    const auto found = wanted.find(account->cgroup);
    Step step = {.account = account,
                 .wanted = found == wanted.end() ? nullptr : found->second,
                 .parent = account->parent == nullptr ? kRoot : account->parent->id};
    // One that is there for its processes stays where it is, or leaves until more of them come.
    if (step.wanted == nullptr && !Told(*account) && !account->appeared) continue;
    const bool used = account->processes > 0;
    TenantId parent = kRoot;
    if (const WantedTenant* const around = AroundIn(wanted, account->cgroup)) {
      parent = accounts.FindCgroup(around->cgroup)->id;
    }
    const bool moves = account->appeared && parent != step.parent;
    if (moves && used) {
      return absl::FailedPreconditionError(absl::StrCat(
          step.wanted == nullptr ? account->name : step.wanted->where, ": '", account->cgroup,
          "' has processes, so it cannot be put inside another tenant, or out of one; do that "
          "when they have ended"));
    }
    if (step.wanted != nullptr) step.policy = step.wanted->policy;
    step.leaves = account->appeared && (moves || (step.wanted == nullptr && !used));
    step.appears = step.wanted != nullptr && (!account->appeared || moves);
    step.parent = parent;
    steps.push_back(step);
  }
  return steps;
}

struct Cause {
  Happening event;
  const Step* step;
};

std::vector<Cause> Order(const Accounts& accounts, const std::vector<Step>& steps) {
  std::vector<Cause> causes;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (step->leaves) causes.push_back({TenantLeaves{step->account->id}, &*step});
  }
  const auto stays = [](const Step& step) { return step.account->appeared && !step.leaves; };
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const Policy low = Lowered(step->account->policy, step->policy);
    if (stays(*step) && low.guarantee != step->account->policy.guarantee) {
      causes.push_back({PolicyChanges{step->account->id, low}, &*step});
    }
  }
  for (const Step& step : steps) {
    if (step.appears) {
      causes.push_back({TenantAppears{step.account->id, step.parent, step.policy,
                                      accounts.Drained(*step.account)},
                        &step});
    } else if (stays(step) && !Same(step.policy, step.account->policy)) {
      causes.push_back({PolicyChanges{step.account->id, step.policy}, &step});
    }
  }
  return causes;
}

Status Rehearse(const Devices& devices, const std::vector<Cause>& causes, Instant now) {
  for (const auto& [uuid, device] : devices) {
    State state = device.state;
    for (const Cause& cause : causes) {
      const Actions actions = Decide(state, {now, cause.event});
      const auto refused = std::find_if(actions.begin(), actions.end(), [&](const Action& action) {
        return action.kind == Action::Kind::kRefuse && action.tenant == cause.step->account->id;
      });
      if (refused == actions.end()) continue;
      const Step& step = *cause.step;
      return absl::FailedPreconditionError(
          absl::StrCat(step.wanted == nullptr ? step.account->name : step.wanted->where, ": ",
                       RefusalText(refused->refusal, device)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<WantedTenant> ToldOf(const Accounts& accounts) {
  std::vector<WantedTenant> told;
  for (const Account* const account : accounts.All()) {
    if (!Told(*account)) continue;
    told.push_back({.name = account->name,
                    .cgroup = account->cgroup,
                    .policy = account->policy,
                    .source = account->source,
                    .where = account->name});
  }
  return told;
}

StatusOr<Reform> PlanReform(Accounts& accounts, const Devices& devices,
                            std::vector<WantedTenant> wanted, Instant now) {
  Reform reform;
  reform.wanted = std::move(wanted);
  ByCgroup by_cgroup;
  for (const WantedTenant& tenant : reform.wanted) {
    const auto [other, is_new] = by_cgroup.emplace(tenant.cgroup, &tenant);
    if (is_new) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        tenant.where, ": '", tenant.cgroup, "' is a tenant of ", other->second->where, " already"));
  }
  VS_ASSIGN_OR_RETURN(const std::vector<Step> steps, Steps(accounts, by_cgroup, now));
  const std::vector<Cause> causes = Order(accounts, steps);
  VS_RETURN_IF_ERROR(Rehearse(devices, causes, now));
  for (const Cause& cause : causes) reform.events.push_back(cause.event);
  return reform;
}

void Conclude(Accounts& accounts, const Reform& reform) {
  ByCgroup wanted;
  for (const WantedTenant& tenant : reform.wanted) wanted[tenant.cgroup] = &tenant;
  for (Account* const account : accounts.All()) {
    const auto found = wanted.find(account->cgroup);
    if (found == wanted.end() && !Told(*account) && !account->appeared) continue;
    const WantedTenant* const around = AroundIn(wanted, account->cgroup);
    account->parent = around == nullptr ? nullptr : accounts.FindCgroup(around->cgroup);
    if (found == wanted.end()) {
      account->source = Source::kPresent;
      account->name = account->cgroup;
      account->policy = Policy();
      account->appeared = account->processes > 0;
      continue;
    }
    account->source = found->second->source;
    account->name = found->second->name;
    account->policy = found->second->policy;
    account->appeared = true;
  }
}

}  // namespace vramspan::broker
