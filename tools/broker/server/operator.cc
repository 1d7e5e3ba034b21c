#include "tools/broker/server/operator.h"

#include <absl/strings/str_cat.h>
#include <sys/inotify.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tools/broker/core/amounts.h"
#include "tools/broker/server/clock.h"
#include "tools/broker/server/configuration.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/system_error.h"
#include "tools/broker/words/cgroup.h"
#include "tools/broker/words/policy_text.h"

namespace vramspan::broker {
namespace {

// Files are changed in bursts. A choice.
constexpr Duration kBurst = std::chrono::milliseconds(50);

}  // namespace

Operator::Operator(Dispatcher& dispatcher, Accounts& accounts, Devices& devices, DeviceMaker& maker,
                   std::string folder, const std::string& run_directory)
    : dispatcher_(dispatcher),
      accounts_(accounts),
      devices_(devices),
      maker_(maker),
      folder_(std::move(folder)),
      containers_(run_directory) {}

Status Operator::Start(Loop& loop) {
  VS_RETURN_IF_ERROR(alarm_.Start(loop, [this] { RereadAndSay(); }));
  // Watched first: what changes meanwhile is read again.
  VS_RETURN_IF_ERROR(WatchFolder(loop));
  VS_RETURN_IF_ERROR(containers_.Start(loop, [this] { RereadContainers(); }));
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
  outer_ = inotify_add_watch(inotify_.get(), folder_.c_str(), kChanges);
  if (outer_ < 0 && errno != ENOENT) return SystemError(folder_);
  return absl::OkStatus();
}

// Of the outer folder one file counts.
void Operator::OnChange() {
  alignas(inotify_event) std::array<char, 4096> events;
  bool counts = false;
  for (;;) {
    const ssize_t size = read(inotify_.get(), events.data(), events.size());
    if (size <= 0) break;
    for (ssize_t at = 0; at < size;) {
      const auto* const event =
          reinterpret_cast<const inotify_event*>(&events[static_cast<size_t>(at)]);
      const std::string_view name = event->len > 0 ? event->name : "";
      // An overflow has no watch, and may have been of any file.
      counts = counts || (event->mask & IN_Q_OVERFLOW) != 0 || event->wd != outer_ ||
               name == kContainersFile;
      at += static_cast<ssize_t>(sizeof *event + event->len);
    }
  }
  if (counts) alarm_.Set(After(Now(), kBurst));
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
  VS_ASSIGN_OR_RETURN(most_of_containers_, ReadMostOfContainers(folder_));
  for (WantedTenant& told : ToldOf(accounts_)) {
    const bool in_a_file = std::any_of(wanted.begin(), wanted.end(), [&](const WantedTenant& w) {
      return w.cgroup == told.cgroup;
    });
    if (told.source == Source::kOperator && !in_a_file) wanted.push_back(std::move(told));
  }
  return CarryBeside(wanted);
}

// What was set of others stays: no file of an operator's has changed.
void Operator::RereadContainers() {
  std::vector<WantedTenant> wanted = ToldOf(accounts_);
  std::erase_if(wanted, [](const WantedTenant& told) { return told.source == Source::kContainer; });
  const Status carried = CarryBeside(wanted);
  if (!carried.ok())
    Journal::Say(absl::StrCat("containers stay as they were: ", carried.message()));
}

Status Operator::CarryBeside(const std::vector<WantedTenant>& wanted) {
  const Devices expected = maker_.Expected();
  return Carry(containers_.Join(accounts_, devices_.empty() ? expected : devices_, wanted,
                                containers_.Read(most_of_containers_)));
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
  // A container that it is about is the operator's business from now on.
  if (found->source == Source::kContainer) found->source = Source::kOperator;
  std::erase_if(wanted, [](const WantedTenant& told) { return told.source == Source::kContainer; });
  return CarryBeside(wanted);
}

Status Operator::Carry(StatusOr<Reform> reform) {
  if (!reform.ok()) return reform.status();
  for (const Happening& event : reform->events) dispatcher_.Apply(event);
  Conclude(accounts_, *reform);
  return absl::OkStatus();
}

}  // namespace vramspan::broker
