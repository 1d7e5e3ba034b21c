#include "tools/broker/server/container_tenants.h"

#include <absl/strings/str_cat.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "tools/broker/control/run_directory.h"
#include "tools/broker/server/clock.h"
#include "tools/broker/server/configuration.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/run_folder.h"
#include "tools/broker/server/system_error.h"
#include "tools/broker/words/policy_bound.h"

namespace vramspan::broker {
namespace {

// More containers than a host has; each costs a look at all states.
constexpr size_t kMostContainers = 256;
constexpr Duration kBurst = std::chrono::milliseconds(5);

struct Found {
  timespec at;
  std::string file;
};

std::vector<std::string> FilesByAge(const std::string& folder) {
  std::vector<Found> found;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    struct stat file = {};
    if (!name.ends_with(".toml") || name.starts_with('.')) continue;
    if (lstat(entry->path().c_str(), &file) != 0 || !S_ISREG(file.st_mode)) continue;
    found.push_back({file.st_mtim, entry->path().string()});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    const auto order = [](const Found& f) { return std::tie(f.at.tv_sec, f.at.tv_nsec, f.file); };
    return order(a) < order(b);
  });
  std::vector<std::string> files;
  for (Found& one : found) files.push_back(std::move(one.file));
  return files;
}

bool Has(const std::vector<WantedTenant>& tenants, std::string WantedTenant::*part,
         const std::string& value) {
  return std::any_of(tenants.begin(), tenants.end(),
                     [&](const WantedTenant& tenant) { return tenant.*part == value; });
}

}  // namespace

ContainerTenants::ContainerTenants(const std::string& run_directory)
    : folder_(run_directory + kContainersFolder) {}

Status ContainerTenants::Start(Loop& loop, std::function<void()> changed) {
  VS_RETURN_IF_ERROR(MakePrivateFolder(folder_));
  inotify_ = Fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify_) return SystemError("inotify_init1");
  constexpr uint32_t kChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
  if (inotify_add_watch(inotify_.get(), folder_.c_str(), kChanges) < 0) return SystemError(folder_);
  VS_RETURN_IF_ERROR(alarm_.Start(loop, std::move(changed)));
  return loop
      .Watch(inotify_.get(), EPOLLIN,
             [this](uint32_t) {
               std::array<char, 4096> events;
               while (read(inotify_.get(), events.data(), events.size()) > 0) {
               }
               alarm_.Set(After(Now(), kBurst));
             })
      .status();
}

void ContainerTenants::Say(const std::string& text) {
  if (!said_.contains(text)) Journal::Say(text);
  saying_.insert(text);
}

std::vector<WantedTenant> ContainerTenants::Read(const Policy& most) {
  said_ = std::exchange(saying_, {});
  std::vector<WantedTenant> containers;
  for (const std::string& file : FilesByAge(folder_)) {
    if (containers.size() == kMostContainers) {
      Say(absl::StrCat(file, ": it is left out, because ", kMostContainers,
                       " containers are there"));
      break;
    }
    StatusOr<WantedTenant> tenant = ReadTenantFile(file);
    if (!tenant.ok()) {
      Say(absl::StrCat(tenant.status().message(), "; it is left out"));
      continue;
    }
    const Policy bounded = Bounded(tenant->policy, most);
    if (AskedForMore(tenant->policy, bounded)) {
      Say(absl::StrCat(file,
                       ": it asks for more than a container may have, and gets that; "
                       "containers.toml says what it is"));
    }
    tenant->policy = bounded;
    tenant->source = Source::kContainer;
    containers.push_back(*std::move(tenant));
  }
  return containers;
}

StatusOr<Reform> ContainerTenants::Join(Accounts& accounts, const Devices& devices,
                                        const std::vector<WantedTenant>& wanted,
                                        std::vector<WantedTenant> containers) {
  std::vector<WantedTenant> joined = wanted;
  const auto plan = [&] { return PlanReform(accounts, devices, joined, Now()); };
  for (WantedTenant& container : containers) {
    if (Has(joined, &WantedTenant::cgroup, container.cgroup)) continue;
    if (Has(joined, &WantedTenant::name, container.name)) container.name = container.cgroup;
    joined.push_back(container);
  }
  StatusOr<Reform> reform = plan();
  if (reform.ok() || joined.size() == wanted.size()) return reform;
  // One after the other, then.
  const std::vector<WantedTenant> added(joined.begin() + static_cast<ptrdiff_t>(wanted.size()),
                                        joined.end());
  joined = wanted;
  reform = plan();
  for (const WantedTenant& container : added) {
    if (!reform.ok()) break;  // The operator's own word.
    joined.push_back(container);
    StatusOr<Reform> with = plan();
    if (!with.ok()) {
      const std::string why(with.status().message());
      joined.back().policy.guarantee = {};
      with = plan();
      Say(absl::StrCat(why, with.ok() ? "; it has no guarantee" : "; it is left out"));
    }
    if (with.ok()) {
      reform = std::move(with);
    } else {
      joined.pop_back();
    }
  }
  return reform;
}

}  // namespace vramspan::broker
