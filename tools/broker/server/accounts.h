// All tenants that the daemon knows, and which of them a process belongs to.
//
// A process belongs to the nearest tenant around it that is known: configured, or with processes of
// its own. Where there is none, its cgroup becomes a tenant.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_ACCOUNTS_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_ACCOUNTS_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/units.h"
#include "tools/broker/server/account.h"

namespace vramspan::broker {

class Accounts {
 public:
  // The account of a process in `cgroup`, which is made where there is none.
  Account& For(std::string_view cgroup, Instant now);
  // The account of exactly this cgroup, which is made where there is none.
  Account& At(std::string_view cgroup, Instant now);
  // By name or cgroup; else null.
  Account* Find(std::string_view name) const;
  Account* FindCgroup(std::string_view cgroup) const;
  Account* Find(TenantId id) const;
  // The nearest around `cgroup` that the states have and that was told of by an operator; else
  // null.
  Account* Around(std::string_view cgroup) const;
  // Nobody has it around any more.
  void Erase(const Account& account);

  // Everybody drains.
  bool drained() const { return drained_; }
  void set_drained(bool drained) { drained_ = drained; }
  // An operator has drained the account, or one whose cgroup its own is in. Which tenants lie in
  // which does not matter: no configuration changes it.
  bool Drained(const Account& account) const;
  // The same, or everybody drains.
  bool Drains(const Account& account) const { return drained_ || Drained(account); }

  // From the outermost to the innermost.
  std::vector<Account*> All() const;

 private:
  std::map<std::string, std::unique_ptr<Account>, std::less<>> by_cgroup_;
  uint64_t last_ = 0;
  bool drained_ = false;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_ACCOUNTS_H_
