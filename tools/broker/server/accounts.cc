#include "tools/broker/server/accounts.h"

#include <algorithm>

#include "tools/broker/words/cgroup.h"

namespace vramspan::broker {
namespace {

bool IsKnown(const Account& account) {
  return account.source != Source::kPresent || account.drained || account.connections > 0 ||
         account.processes > 0;
}

}  // namespace

Account& Accounts::For(std::string_view cgroup, Instant now) {
  const std::string tenant = TenantOf(cgroup);
  Account* nearest = nullptr;
  for (const auto& [path, account] : by_cgroup_) {
    if (!IsWithin(tenant, path) || !IsKnown(*account)) continue;
    // All have the root around them: it takes in who is there itself, unless an operator said more.
    if (path == "/" && tenant != "/" && account->source == Source::kPresent) continue;
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

bool Accounts::Drains(const Account& account) const {
  for (const Account* at = &account; at != nullptr; at = at->parent) {
    if (at->drained) return true;
  }
  return drained_;
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
