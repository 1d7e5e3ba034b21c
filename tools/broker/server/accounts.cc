#include "tools/broker/server/accounts.h"

#include <algorithm>

#include "tools/broker/words/cgroup.h"

namespace vramspan::broker {
namespace {

bool IsKnown(const Account& account) {
  return account.source != Source::kPresent || account.drained || account.connections > 0 ||
         account.processes > 0;
}

// Whether what is said of the account holds for that cgroup. All have the root around them: it
// takes in who is there itself, unless an operator said more.
bool TakesIn(const Account& account, std::string_view cgroup) {
  if (account.cgroup == "/" && cgroup != "/" && account.source == Source::kPresent) return false;
  return IsWithin(cgroup, account.cgroup);
}

}  // namespace

Account& Accounts::For(std::string_view cgroup, Instant now) {
  const std::string tenant = TenantOf(cgroup);
  Account* nearest = nullptr;
  for (const auto& [path, account] : by_cgroup_) {
    if (!TakesIn(*account, tenant) || !IsKnown(*account)) continue;
    if (nearest == nullptr || path.size() > nearest->cgroup.size()) nearest = account.get();
  }
  return nearest != nullptr ? *nearest : At(tenant, now);
}

Account& Accounts::At(std::string_view cgroup, Instant now) {
  const auto found = by_cgroup_.find(cgroup);
  if (found != by_cgroup_.end()) return *found->second;
  auto account = std::make_unique<Account>(Account{.id = TenantId(++last_),
                                                   .cgroup = std::string(cgroup),
                                                   .name = std::string(cgroup),
                                                   .allowance = Allowance(now)});
  return *(by_cgroup_[std::string(cgroup)] = std::move(account));
}

Account* Accounts::FindCgroup(std::string_view cgroup) const {
  const auto found = by_cgroup_.find(cgroup);
  return found == by_cgroup_.end() ? nullptr : found->second.get();
}

Account* Accounts::Find(std::string_view name) const {
  Account* const at = FindCgroup(name);
  if (at != nullptr) return at;
  for (const auto& [path, account] : by_cgroup_) {
    if (account->name == name) return account.get();
  }
  return nullptr;
}

Account* Accounts::Find(TenantId id) const {
  for (const auto& [path, account] : by_cgroup_) {
    if (account->id == id) return account.get();
  }
  return nullptr;
}

Account* Accounts::Around(std::string_view cgroup) const {
  Account* nearest = nullptr;
  for (const auto& [path, account] : by_cgroup_) {
    if (path == cgroup || !IsWithin(cgroup, path) || !account->appeared) continue;
    if (account->source == Source::kPresent) continue;
    if (nearest == nullptr || path.size() > nearest->cgroup.size()) nearest = account.get();
  }
  return nearest;
}

void Accounts::Erase(const Account& account) {
  const auto found = by_cgroup_.find(account.cgroup);
  if (found == by_cgroup_.end()) return;
  for (const auto& [path, other] : by_cgroup_) {
    if (other->parent == found->second.get()) other->parent = nullptr;
  }
  by_cgroup_.erase(found);
}

bool Accounts::Drained(const Account& account) const {
  return std::any_of(by_cgroup_.begin(), by_cgroup_.end(), [&](const auto& entry) {
    const auto& [path, around] = entry;
    return around->drained && TakesIn(*around, account.cgroup);
  });
}

std::vector<Account*> Accounts::All() const {
  std::vector<Account*> all;
  for (const auto& [path, account] : by_cgroup_) all.push_back(account.get());
  // A path is shorter than those inside it. In order, where they are equal.
  std::stable_sort(all.begin(), all.end(), [](const Account* a, const Account* b) {
    return a->cgroup.size() < b->cgroup.size();
  });
  return all;
}

}  // namespace vramspan::broker
