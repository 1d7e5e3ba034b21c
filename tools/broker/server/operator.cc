#include "tools/broker/server/operator.h"

#include <absl/strings/str_cat.h>
#include <sys/inotify.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tools/broker/core/amounts.h"
#include "tools/broker/server/cgroup.h"
#include "tools/broker/server/clock.h"
#include "tools/broker/server/configuration.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/system_error.h"
#include "tools/broker/words/policy_text.h"

namespace vramspan::broker {
namespace {

// Files are changed in bursts. A choice.
constexpr Duration kBurst = std::chrono::milliseconds(50);

}  // namespace

Operator::Operator(Dispatcher& dispatcher, Accounts& accounts, Devices& devices, std::string folder)
    : dispatcher_(dispatcher), accounts_(accounts), devices_(devices), folder_(std::move(folder)) {}

Status Operator::Start(Loop& loop) {
  VS_RETURN_IF_ERROR(alarm_.Start(loop, [this] { RereadAndSay(); }));
  // Watched first: what changes meanwhile is read again.
  VS_RETURN_IF_ERROR(WatchFolder(loop));
  return Reread();
}

Status Operator::WatchFolder(Loop& loop) {
  inotify_ = Fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify_) return SystemError("inotify_init1");
  VS_RETURN_IF_ERROR(WatchTenants());
  return loop.Watch(inotify_.get(), EPOLLIN, [this](uint32_t) { OnChange(); }).status();
}

Status Operator::WatchTenants() {
  const std::string tenants = folder_ + "/tenants.d";
  constexpr uint32_t kChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
  // A folder that is made later is read at SIGHUP.
  if (inotify_add_watch(inotify_.get(), tenants.c_str(), kChanges) < 0 && errno != ENOENT) {
    return SystemError(tenants);
  }
  return absl::OkStatus();
}

void Operator::OnChange() {
  std::array<char, 4096> events;
  while (read(inotify_.get(), events.data(), events.size()) > 0) {
  }
  alarm_.Set(After(Now(), kBurst));
}

void Operator::RereadAndSay() {
  // The folder may be another by now. The same one is watched once.
  const Status watched = WatchTenants();
  const Status read = watched.ok() ? Reread() : watched;
  Journal::Say(read.ok() ? absl::StrCat("the configuration was read again from ", folder_)
                         : absl::StrCat("the configuration stays as it was: ", read.message()));
}

Status Operator::Reread() {
  VS_ASSIGN_OR_RETURN(std::vector<WantedTenant> wanted, ReadConfiguration(folder_));
  for (WantedTenant& told : ToldOf(accounts_)) {
    const bool in_a_file = std::any_of(wanted.begin(), wanted.end(), [&](const WantedTenant& w) {
      return w.cgroup == told.cgroup;
    });
    if (told.source == Source::kOperator && !in_a_file) wanted.push_back(std::move(told));
  }
  return Carry(PlanReform(accounts_, devices_, std::move(wanted), Now()));
}

Status Operator::Set(const std::string& tenant, const std::map<std::string, std::string>& changes) {
  const Account* account = accounts_.Find(tenant);
  std::string cgroup;
  if (account == nullptr && tenant.starts_with('/')) {
    VS_ASSIGN_OR_RETURN(cgroup, WrittenCgroup(tenant));
    account = accounts_.Find(cgroup);
  }
  if (account == nullptr && !tenant.starts_with('/')) {
    std::string known;
    for (const Account* const a : accounts_.All()) absl::StrAppend(&known, ", ", a->name);
    return absl::NotFoundError(absl::StrCat("there is no tenant '", tenant, "'; use a cgroup",
                                            known.empty() ? "" : " or one of",
                                            known.substr(known.empty() ? 0 : 1)));
  }
  std::vector<WantedTenant> wanted = ToldOf(accounts_);
  if (account != nullptr) cgroup = account->cgroup;
  auto found = std::find_if(wanted.begin(), wanted.end(),
                            [&](const WantedTenant& w) { return w.cgroup == cgroup; });
  if (found == wanted.end()) {
    wanted.push_back(
        {.name = cgroup, .cgroup = cgroup, .source = Source::kOperator, .where = cgroup});
    found = wanted.end() - 1;
  }
  for (const auto& [key, value] : changes) {
    VS_RETURN_IF_ERROR(SetPolicy(key, value, &found->policy));
  }
  return Carry(PlanReform(accounts_, devices_, std::move(wanted), Now()));
}

Status Operator::Carry(StatusOr<Reform> reform) {
  if (!reform.ok()) return reform.status();
  for (const Happening& event : reform->events) dispatcher_.Apply(event);
  Conclude(accounts_, *reform);
  return absl::OkStatus();
}

}  // namespace vramspan::broker
