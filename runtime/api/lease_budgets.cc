#include "runtime/api/lease_budgets.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "runtime/api/tracing.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"

namespace vramspan {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPatience{1000}, kRaisePatience{1000};
// While what was recalled is on its way: how often memory that was parked meanwhile is given back.
constexpr milliseconds kRecallPeriod{20};
constexpr Bytes kUnknown{~uint64_t{0}};

StatusOr<lease::BrokerPlace> PlaceOfBroker() {
  const char* const text = std::getenv(lease::kBrokerVariable);
  const char* const folder = std::getenv("XDG_RUNTIME_DIR");
  auto place =
      lease::ParseBrokerPlace(text != nullptr ? text : "", folder != nullptr ? folder : "");
  if (place.ok()) return place;
  return Status(place.status().code(),
                absl::StrCat(lease::kBrokerVariable, ": ", place.status().message()));
}

Status BrokerMissing(std::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat(lease::kBrokerVariable, ": 'require', but ", why,
                   "; start one with vramspan broker serve, or do not insist on it"));
}

// "GPU-xxxxxxxx-xxxx-..." as bytes; what is no digit counts for nothing.
std::array<uint8_t, 16> BytesOfUuid(std::string_view text) {
  std::array<uint8_t, 16> bytes = {};
  size_t digits = 0;
  for (const char c : text.substr(std::min<size_t>(text.size(), 4))) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0 || digits == 2 * bytes.size()) continue;
    bytes[digits / 2] = static_cast<uint8_t>(bytes[digits / 2] << 4 | digit);
    ++digits;
  }
  return bytes;
}

std::string_view RefusalText(uint8_t code) {
  switch (static_cast<lease::RefuseCode>(code)) {
    case lease::RefuseCode::kBusy:
      return "it is busy";
    case lease::RefuseCode::kShare:
      return "beyond the share";
    case lease::RefuseCode::kNoRoom:
      return "it has no room";
    case lease::RefuseCode::kNotNow:
      return "not now";
    case lease::RefuseCode::kDenied:
      return "denied";
  }
  return "for a reason that is not known here";
}

}  // namespace

Status LeaseBudgets::CheckRequired() {
  VS_ASSIGN_OR_RETURN(const lease::BrokerPlace place, PlaceOfBroker());
  if (!place.required) return absl::OkStatus();
  const StatusOr<int> socket = lease::Connection::Open(place.sockets);
  // Somebody listens. Whether it answers is seen when memory is asked for.
  if (absl::IsUnavailable(socket.status())) return absl::OkStatus();
  if (!socket.ok()) return BrokerMissing(absl::StrCat("none listens: ", socket.status().message()));
  close(*socket);
  return absl::OkStatus();
}

bool LeaseBudgets::Required() {
  const StatusOr<lease::BrokerPlace> place = PlaceOfBroker();
  return place.ok() && place->required;
}

bool LeaseBudgets::MayJoin() {
  const StatusOr<lease::BrokerPlace> place = PlaceOfBroker();
  if (!place.ok()) return false;
  return std::any_of(place->sockets.begin(), place->sockets.end(),
                     [](const std::string& path) { return access(path.c_str(), F_OK) == 0; });
}

StatusOr<std::unique_ptr<LeaseBudgets>> LeaseBudgets::Join(const std::string& device_uuid,
                                                           const LeaseBounds& bounds) {
  VS_ASSIGN_OR_RETURN(const lease::BrokerPlace place, PlaceOfBroker());
  if (!place.asked) return nullptr;
  std::unique_ptr<LeaseBudgets> lease(new LeaseBudgets(bounds));
  auto client = lease::Client::Start(place, BytesOfUuid(device_uuid), lease.get());
  if (!client.ok()) {
    if (place.required) {
      return BrokerMissing(absl::StrCat("none can be asked: ", client.status().message()));
    }
    // What is not there is as ever. What is there and cannot be asked is worth a line.
    if (place.named || !absl::IsNotFound(client.status())) {
      Log(LogLevel::kWarning,
          absl::StrCat("no broker shares the memory of this process: ", client.status().message()));
    }
    return nullptr;
  }
  lease->client_ = *std::move(client);
  if (lease->client_->AwaitGrants(kFirstPatience)) {
    const Budgets budgets = lease->budgets();
    Log(LogLevel::kInfo,
        absl::StrCat("the broker grants ", budgets.device.value >> 20, " MiB of the device and ",
                     budgets.host.value >> 20, " MiB of the host"));
    return lease;
  }
  lease::Standing standing;
  {
    MutexLock lock(lease->mu_);
    standing = lease->standing_;
  }
  if (standing.told_device) {
    Log(LogLevel::kInfo, absl::StrCat("the broker grants ", lease->budgets().device.value >> 20,
                                      " MiB of the device, and has said nothing of the host yet"));
    return lease;
  }
  if (standing.refusal != 0) {
    const std::string why =
        absl::StrCat("the broker refuses this process: ", RefusalText(standing.refusal));
    if (place.required) return BrokerMissing(why);
    Log(LogLevel::kWarning, absl::StrCat(why, "; it runs as without one"));
    return nullptr;
  }
  if (place.required) return BrokerMissing("it does not answer");
  if (standing.absent) {
    Log(LogLevel::kWarning,
        "the broker went away before it answered; this process runs as without one");
    return nullptr;
  }
  Log(LogLevel::kWarning,
      "the broker does not answer yet: until it does no memory of the device is used, and what is "
      "allocated lives in host memory");
  return lease;
}

LeaseBudgets::~LeaseBudgets() {
  Rest();
  client_.reset();
}

Budgets LeaseBudgets::budgets() {
  MutexLock lock(mu_);
  return budgets_;
}

Bytes LeaseBudgets::Limit(Bytes total) {
  MutexLock lock(mu_);
  const Bytes limit = standing_.device_limit;
  return limit == Bytes(0) ? total : std::min(limit, total);
}

Status LeaseBudgets::Drive(Memory* memory, Mover* mover, SetBudgets set) {
  set_ = std::move(set);
  {
    MutexLock lock(mu_);
    memory_ = memory;
    mover_ = mover;
    apply_ = true;
  }
  VS_ASSIGN_OR_RETURN(thread_, StartThread("vramspan-budget", [this] { Work(); }));
  client_->Look();
  return absl::OkStatus();
}

void LeaseBudgets::Rest() {
  {
    MutexLock lock(mu_);
    stop_ = true;
    changed_.NotifyAll();
    applied_.NotifyAll();
  }
  thread_.Join();
  MutexLock lock(mu_);
  Hold(std::nullopt);
  memory_ = nullptr;
  mover_ = nullptr;
}

void LeaseBudgets::SetCeilings(std::optional<Bytes> device, std::optional<Bytes> host) {
  MutexLock lock(mu_);
  if (device.has_value()) bounds_.ceilings.device = bounds_.alone.device = *device;
  if (host.has_value()) bounds_.ceilings.host = bounds_.alone.host = *host;
  budgets_ = BudgetsOf(standing_, bounds_, budgets_);
  apply_ = true;
  changed_.NotifyAll();
}

void LeaseBudgets::Reapply() {
  MutexLock lock(mu_);
  apply_ = true;
  changed_.NotifyAll();
}

void LeaseBudgets::Add(Bytes bytes) {
  {
    MutexLock lock(mu_);
    needed_ += bytes;
  }
  client_->Look();
}

LeaseBudgets::Need::Need(LeaseBudgets* lease, Bytes bytes)
    : lease_(*lease), bytes_(bytes), until_(std::chrono::steady_clock::now() + kRaisePatience) {
  lease_.Add(bytes);
}

Budgets LeaseBudgets::most() {
  MutexLock lock(mu_);
  return MostOf(standing_, bounds_);
}

bool LeaseBudgets::MayHelp(Bytes size) {
  const Budgets most = this->most();
  return size <= most.device + most.host;
}

Budgets LeaseBudgets::InPools() const {
  if (memory_ == nullptr) return budgets_;
  return {memory_->device_pool().budget(), memory_->host_pool().budget()};
}

Budgets LeaseBudgets::Applied() {
  MutexLock lock(mu_);
  return InPools();
}

bool LeaseBudgets::AwaitMore(const Budgets& than, std::chrono::steady_clock::time_point until) {
  MutexLock lock(mu_);
  while (!stop_) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= left.zero()) return false;
    const Budgets now = InPools();
    if (now.device > than.device || now.host > than.host) return true;
    applied_.WaitFor(mu_, left);
  }
  return false;
}

LeaseNumbers LeaseBudgets::numbers() {
  MutexLock lock(mu_);
  LeaseNumbers numbers;
  numbers.state = 1;
  if (standing_.state == lease::Session::State::kMember) numbers.state = standing_.fenced ? 3 : 2;
  numbers.grants = standing_.granted;
  numbers.recalls = standing_.recalled;
  numbers.reconnects = standing_.connections > 0 ? standing_.connections - 1 : 0;
  return numbers;
}

void LeaseBudgets::Hold(std::optional<Instant> until) {
  if (mover_ == nullptr || never_holds_ || holds_ == until) return;
  holds_ = until;
  std::optional<std::chrono::steady_clock::time_point> at;
  // An instant of the lease's is of this clock.
  if (until.has_value()) at.emplace(until->time_since_epoch());
  mover_->HoldWork(at);
}

void LeaseBudgets::StopHolding() {
  MutexLock lock(mu_);
  Hold(std::nullopt);
  never_holds_ = true;
}

void LeaseBudgets::Stands(const lease::Standing& standing) {
  MutexLock lock(mu_);
  const bool recalls = standing.device_recalled > standing_.device_recalled ||
                       standing.host_recalled > standing_.host_recalled;
  standing_ = standing;
  const Budgets budgets = BudgetsOf(standing_, bounds_, budgets_);
  Hold(standing.hold_until);
  if (budgets == budgets_ && !recalls) return;
  budgets_ = budgets;
  apply_ = true;
  changed_.NotifyAll();
}

Bytes LeaseBudgets::Most(lease::Memory memory) {
  MutexLock lock(mu_);
  // What is not looked at may be all there is.
  if (memory_ == nullptr) return kUnknown;
  return memory == lease::Memory::kHost ? memory_->host_pool().most()
                                        : memory_->device_pool().most();
}

lease::Wants LeaseBudgets::First() {
  MutexLock lock(mu_);
  const Budgets first = FirstWants(MostOf(standing_, bounds_));
  return {first.device, first.host};
}

lease::ProcessPage LeaseBudgets::Page() {
  MutexLock lock(mu_);
  HeldMemory held{.needed = needed_};
  WorkSeen seen;
  if (memory_ != nullptr) {
    const DevicePool& device = memory_->device_pool();
    const HostPool& host = memory_->host_pool();
    held.device_used = device.used();
    held.device_cached = device.cached();
    held.device_budget = device.budget();
    held.host_used = host.used();
    held.host_cached = host.cached();
    held.host_budget = host.budget();
    held.on_host = memory_->supply().host_used();
    if (held.on_host) {
      held.allocated = memory_->counts().charged;
      const MoverStatistics moves = mover_->statistics();
      seen.stalled = moves.stall_drain_ns + moves.stall_copy_ns + moves.stall_vmm_ns;
    }
  }
  lease::ProcessPage page = PageOf(held, MostOf(standing_, bounds_), budgets_);
  if (mover_ != nullptr) {
    const WorkState work = mover_->work_state();
    seen.works = work.works;
    seen.runs = work.runs;
    seen.waits = work.waits;
    // A thread that waits in one device's mover passes those of others: none of several holds.
    seen.may_hold = Tracing::Get().tracers() <= 1 && !never_holds_;
  }
  SayWork(seen, &page);
  return page;
}

Bytes LeaseBudgets::Before() {
  const Bytes total = [this] {
    MutexLock lock(mu_);
    return bounds_.ceilings.device;
  }();
  return room_ = client_->AskRoom(RoomForContext(total));
}

void LeaseBudgets::After(std::optional<Bytes> took) {
  if (took.has_value() && *took < room_) client_->ReturnRoom(room_ - *took);
}

bool LeaseBudgets::Apply(const Budgets& budgets) {
  Memory* memory = nullptr;
  {
    MutexLock lock(mu_);
    memory = memory_;
  }
  set_(budgets);
  const bool device = memory->device_pool().AwaitMost(budgets.device, kRecallPeriod);
  const bool host = memory->host_pool().AwaitMost(budgets.host, milliseconds(0));
  client_->Look();
  return device && host;
}

void LeaseBudgets::Work() {
  const OwnCalls own;
  bool settled = true;
  while (true) {
    Budgets budgets;
    {
      MutexLock lock(mu_);
      while (!stop_ && !apply_ && (settled || !Recalled())) changed_.Wait(mu_);
      if (stop_) return;
      apply_ = false;
      budgets = budgets_;
    }
    settled = Apply(budgets);
    MutexLock lock(mu_);
    applied_.NotifyAll();
  }
}

}  // namespace vramspan
