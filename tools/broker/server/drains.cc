#include "tools/broker/server/drains.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>

#include <limits>
#include <vector>

#include "runtime/base/clean_text.h"
#include "runtime/base/digits.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/system_error.h"
#include "tools/broker/words/cgroup.h"

namespace vramspan::broker {
namespace {

// 0: the name is no pid.
pid_t PidOf(const std::string& name) {
  uint64_t number = 0;
  if (name.empty() || !ParseDigits(name, &number)) return 0;
  return number <= std::numeric_limits<pid_t>::max() ? static_cast<pid_t>(number) : 0;
}

Status NotDrained(const std::string& name, bool everybody) {
  return absl::FailedPreconditionError(
      absl::StrCat("'", Repeated(name), "' was not drained",
                   everybody ? "; everybody is: use `vramspan broker undrain`" : " by its name"));
}

}  // namespace

Drains::Drains(Dispatcher& dispatcher, Accounts& accounts, const Clients& clients)
    : dispatcher_(dispatcher), accounts_(accounts), clients_(clients) {}

Status Drains::Drain(const std::string& name) {
  if (name.empty()) {
    Tell(nullptr, true);
    return absl::OkStatus();
  }
  const StatusOr<Account*> account = FindTenant(name);
  if (account.ok()) {
    Tell(*account, true);
    return absl::OkStatus();
  }
  return PidOf(name) > 0 ? SetProcess(PidOf(name), true) : account.status();
}

Status Drains::Undrain(const std::string& name) {
  if (name.empty()) {
    if (!accounts_.drained()) {
      return absl::FailedPreconditionError(
          "not everybody was drained; say which tenant or process was");
    }
    Tell(nullptr, false);
    return absl::OkStatus();
  }
  const StatusOr<Account*> account = FindTenant(name);
  if (account.ok()) {
    if (!(*account)->drained) return NotDrained(name, accounts_.drained());
    Tell(*account, false);
    return absl::OkStatus();
  }
  const pid_t pid = PidOf(name);
  if (pid <= 0) return account.status();
  if (processes_.contains(pid)) return SetProcess(pid, false);
  return NotDrained(name, accounts_.drained());
}

bool Drains::Has(const Peer& peer) {
  const auto found = processes_.find(peer.pid);
  if (found == processes_.end()) return false;
  if (!HasEnded(found->second)) return true;
  processes_.erase(found);
  return false;
}

StatusOr<Account*> Drains::FindTenant(const std::string& name) const {
  Account* account = accounts_.Find(name);
  if (account == nullptr && name.starts_with('/')) {
    VS_ASSIGN_OR_RETURN(const std::string cgroup, WrittenCgroup(name));
    account = accounts_.FindCgroup(cgroup);
  }
  if (account != nullptr) return account;
  std::string known;
  for (const Account* const a : accounts_.All()) {
    absl::StrAppend(&known, known.empty() ? "; tenants are " : ", ", CleanText(a->name));
  }
  return absl::NotFoundError(
      absl::StrCat("there is no tenant '", Repeated(name), "', and no process", known));
}

Status Drains::SetProcess(pid_t pid, bool drained) {
  std::erase_if(processes_, [](const auto& entry) { return HasEnded(entry.second); });
  std::vector<const Client*> connected;
  for (const auto& [id, client] : clients_) {
    if (client->peer.pid == pid && client->socket) connected.push_back(client.get());
  }
  if (drained && connected.empty()) {
    return absl::NotFoundError(
        absl::StrCat("there is no tenant '", pid, "', and no process of that pid is connected"));
  }
  if (drained && !processes_.contains(pid)) {
    Fd pidfd(fcntl(connected.front()->peer.pidfd.get(), F_DUPFD_CLOEXEC, 0));
    if (!pidfd) return SystemError(absl::StrCat("process ", pid));
    processes_[pid] = std::move(pidfd);
  }
  if (!drained) processes_.erase(pid);
  Journal::Say(absl::StrCat("process ", pid, drained ? " drains" : " drains no longer"));
  std::vector<std::pair<Device*, ProcessId>> told;
  for (const Client* const client : connected) {
    if (client->joined) told.emplace_back(client->device, client->id);
  }
  for (const auto& [device, id] : told) dispatcher_.Apply(*device, ProcessDrains{id, drained});
  return absl::OkStatus();
}

void Drains::Tell(Account* account, bool drained) {
  if (account == nullptr) {
    accounts_.set_drained(drained);
  } else {
    account->drained = drained;
  }
  Journal::Say(absl::StrCat(account == nullptr ? "everybody" : account->name,
                            drained ? " drains" : " drains no longer"));
  if (account == nullptr) return dispatcher_.Apply(TenantDrains{kRoot, drained});
  // Those inside as well, wherever they lie in the states.
  for (const Account* const one : accounts_.All()) {
    if (!IsWithin(one->cgroup, account->cgroup)) continue;
    dispatcher_.Apply(TenantDrains{one->id, accounts_.Drained(*one)});
  }
}

}  // namespace vramspan::broker
