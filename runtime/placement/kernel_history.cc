#include "runtime/placement/kernel_history.h"

#include <algorithm>

namespace vramspan {
namespace {

// A sample's weight against those before it.
constexpr double kNew = 0.25;
// Below this the remote part is lost in the noise of the kernel's own time.
constexpr double kVisible = 0.02;
// Times the rate of the bus: a kernel that is slower than this does more with its memory than read
// it once, and to try costs more than can be won. A small matrix product of a language model is
// reckoned at ten times, and re-reads its weights all the same; what reads and writes at the
// memory's own rate at 26 to 28, since each byte counts once. Both were seen while whole chunks
// were counted.
constexpr double kStreams = 20;
// Of one pass: by so much what other arguments add may be taken for more than it was.
constexpr double kOff = 0.25;
// Passes that a kernel of unknown habits may make over what is remote.
constexpr double kMayPass = 100;
// Nanoseconds from a launch to the next where the kernel itself takes less than can be seen.
constexpr uint64_t kShort = 4096;

// Of the little that a trial serves; what more costs, the first launch shows.
template <typename Argument>
void TakeFor(double passes, Argument* argument) {
  argument->passes[0] = passes;
  argument->trials[0] = KernelHistory::kTrials;
  argument->told[0] = true;
}

size_t Width(Bytes remote) { return remote > KernelHistory::kWide ? 1 : 0; }

}  // namespace

KernelHistory::Kernel& KernelHistory::Find(uint64_t kernel) {
  if (Known(kernel) != nullptr) {
    Kernel& known = *const_cast<Kernel*>(last_);
    by_age_.splice(by_age_.end(), by_age_, known.age);
    return known;
  }
  if (kernels_.size() == kMost) {
    const auto oldest = kernels_.find(by_age_.front());
    if (HasResident(oldest->second)) ExpectedChanged(oldest->first, kShort);
    expected_.erase(oldest->first);
    last_ = nullptr;
    kernels_.erase(oldest);
    by_age_.pop_front();
  }
  Kernel& made = kernels_[kernel];
  made.age = by_age_.insert(by_age_.end(), kernel);
  return made;
}

const KernelHistory::Kernel* KernelHistory::Known(uint64_t kernel) const {
  if (last_ != nullptr && last_id_ == kernel) return last_;
  const auto it = kernels_.find(kernel);
  if (it == kernels_.end()) return nullptr;
  last_id_ = kernel;
  last_ = &it->second;
  return last_;
}

KernelHistory::Argument& KernelHistory::ArgumentOf(Kernel& kernel, uint16_t slot) {
  for (Argument& a : kernel.arguments) {
    if (!a.used) {
      a.used = true;
      a.slot = slot;
      if (kernel.taught) TakeFor(*kernel.taught, &a);
    }
    if (a.slot == slot) return a;
  }
  return kernel.arguments.back();
}

void KernelHistory::Record(const LaunchSample& sample) {
  Kernel& kernel = Find(sample.kernel);
  const auto time = static_cast<double>(sample.nanoseconds);
  if (sample.remote.value == 0) return RecordResident(sample, &kernel);
  // What lies on the host only adds to it.
  if (kernel.resident_told && time < kernel.resident) DisproveTold(sample.kernel, &kernel);
  if (sample.slot == LaunchSample::kSeveral) return;
  // A kernel whose memory never fits has no resident time; no kernel is faster than its memory.
  const double resident =
      HasResident(kernel)
          ? kernel.resident
          : static_cast<double>((sample.touched - sample.remote).value) / prices_.device_gb_per_s;
  const Bytes tried = sample.remote - sample.apart;
  const double once = prices_.ServeNanoseconds(tried);
  Argument& argument = ArgumentOf(kernel, sample.slot);
  const size_t width = Width(tried);
  const Remote remote{tried, std::max(tried, sample.moved)};
  const Verdict before = Judge(kernel, argument, remote);
  const double apart = static_cast<double>(sample.apart_nanoseconds);
  // Then what is thought of the others is not true of this launch.
  if (time + kOff * once < resident + apart) return;
  const double cost = std::max(0.0, time - resident - apart);
  double passes = cost / once;
  const double unseen = std::max(kVisible * resident, static_cast<double>(sample.unsure));
  // Of little of a larger argument it cannot be told what all of that would cost.
  if (once < unseen && cost >= unseen && 2 * tried < sample.argument) return;
  if (once < unseen && cost < unseen) {
    // Too small a part to be seen: what it costs does not matter. Nor does it say anything against
    // what larger parts have cost.
    if (argument.trials[width] != 0 && argument.passes[width] > 1) return;
    passes = std::min(passes, 1.0);
  }
  // An earlier run's word counts as one launch's: two that agree are enough, and else a third says.
  if (argument.told[width] && !kernel.taught) argument.trials[width] = 1;
  Note(passes, width, &argument);
  if (Judge(kernel, argument, remote) != before) ++changes_;
}

void KernelHistory::RecordResident(const LaunchSample& sample, Kernel* kernel) {
  const auto time = static_cast<double>(sample.nanoseconds);
  const uint64_t before = ExpectedOf(*kernel);
  const bool first = kernel->resident_samples < kSettled;
  // From here on it may be cheap at worst.
  const bool settles = ++kernel->resident_samples == kSettled;
  if (first) {
    // The first may have loaded the kernel, which takes many times as long. So what an earlier run
    // has seen is only lowered, until there are enough to go by.
    kernel->seen = kernel->resident_samples == 1 ? time : std::min(kernel->seen, time);
    if (settles) kernel->resident_told = false;
    kernel->resident =
        kernel->resident_told ? std::min(kernel->resident, kernel->seen) : kernel->seen;
  } else {
    // Slower than before for a while, because of what ran beside it: the fast ones tell the truth.
    const double weight = time < kernel->resident ? 2 * kNew : kNew / 4;
    kernel->resident += weight * (time - kernel->resident);
  }
  if (settles) ++changes_;
  kernel->touched = sample.touched;
  if (ExpectedOf(*kernel) != before) ExpectedChanged(sample.kernel, ExpectedOf(*kernel));
}

void KernelHistory::Note(double passes, size_t width, Argument* argument) {
  uint8_t& trials = argument->trials[width];
  double& known = argument->passes[width];
  argument->told[width] = false;
  if (trials < kTrials) {
    // Some run beside copies, or wait for the program's thread, and take twice as long.
    auto& first = argument->first[width];
    size_t at = trials++;
    for (; at != 0 && first[at - 1] > passes; --at) first[at] = first[at - 1];
    first[at] = static_cast<float>(passes);
    known = first[(trials - 1u) / 2];
    return;
  }
  known += kNew * (passes - known);
  if (trials < 0xff) ++trials;
}

void KernelHistory::Teach(uint64_t id, double passes, uint64_t resident) {
  Kernel& kernel = Find(id);
  if (!HasResident(kernel) && resident != 0) {
    kernel.resident = static_cast<double>(resident);
    kernel.resident_samples = kSettled;
    ExpectedChanged(id, ExpectedOf(kernel));
  }
  if (kernel.taught) return;
  kernel.taught = passes;
  for (Argument& a : kernel.arguments) {
    if (a.used && a.trials[0] == 0) TakeFor(passes, &a);
  }
  ++changes_;
}

std::optional<double> KernelHistory::Passes(uint64_t kernel, uint16_t slot, Bytes remote) const {
  const Kernel* const known = Known(kernel);
  if (known == nullptr) return std::nullopt;
  const size_t width = Width(remote);
  for (const Argument& a : known->arguments) {
    if (a.used && a.slot == slot && a.trials[width] != 0) return a.passes[width];
  }
  return std::nullopt;
}

bool KernelHistory::WantsSample(uint64_t id, uint16_t slot, Bytes remote) {
  Kernel& kernel = Find(id);
  Argument& argument = ArgumentOf(kernel, slot);
  const size_t width = Width(remote);
  const bool to_confirm = argument.told[width] && !kernel.taught;
  if ((Decided(argument, width, 1) && !to_confirm) || argument.wanted[width] == kMostWanted)
    return false;
  ++argument.wanted[width];
  return true;
}

bool KernelHistory::HasPasses(uint64_t kernel) const {
  const Kernel* const known = Known(kernel);
  return known != nullptr &&
         std::any_of(known->arguments.begin(), known->arguments.end(), [](const Argument& a) {
           return a.used && (a.trials[0] != 0 || a.trials[1] != 0);
         });
}

bool KernelHistory::KnowsResident(uint64_t id) const {
  const Kernel* const known = Known(id);
  return known != nullptr && known->resident_samples >= kSettled;
}

uint64_t KernelHistory::ExpectedOf(const Kernel& kernel) {
  if (!HasResident(kernel)) return kShort;
  return std::max(Roughly(static_cast<uint64_t>(kernel.resident)), kShort);
}

uint64_t KernelHistory::Expected(uint64_t id) const {
  const auto known = expected_.find(id);
  return known == expected_.end() ? kShort : known->second;
}

uint64_t KernelHistory::MayTake(const LaunchSample& sample) const {
  const Kernel* const known = Known(sample.kernel);
  const double resident = known == nullptr ? 0 : known->resident;
  const Bytes tried = sample.remote - sample.apart;
  const double passes = Passes(sample.kernel, sample.slot, tried).value_or(kMayPass);
  const double served =
      passes * prices_.ServeNanoseconds(tried) + static_cast<double>(sample.apart_nanoseconds);
  return static_cast<uint64_t>(2 * (resident + served));
}

KernelHistory::Verdict KernelHistory::For(uint64_t id, uint16_t slot, const Remote& remote) {
  Kernel& kernel = Find(id);
  return Judge(kernel, ArgumentOf(kernel, slot), remote);
}

double KernelHistory::Slack(const Remote& remote) const {
  const double passes =
      prices_.MoveNanoseconds(remote.moved) / prices_.ServeNanoseconds(remote.named);
  return std::max(1.0, passes / prices_.MostPasses());
}

bool KernelHistory::CheapAtWorst(const Kernel& kernel, const Remote& remote) const {
  return Settled(kernel) && kMayPass * kernel.resident <= prices_.MoveNanoseconds(remote.moved);
}

bool KernelHistory::Decided(const Argument& argument, size_t width, double slack) const {
  const uint8_t trials = argument.trials[width];
  if (trials != kTrials - 1) return trials >= kTrials;
  // Whatever the last one says, the middle one will say what these do.
  const auto& first = argument.first[width];
  const double most = slack * prices_.MostPasses();
  return (first[0] <= most) == (first[trials - 1u] <= most);
}

KernelHistory::Verdict KernelHistory::Judge(const Kernel& kernel, const Argument& argument,
                                            const Remote& remote) const {
  const size_t width = Width(remote.named);
  const double slack = Slack(remote);
  if (!Decided(argument, width, slack) && Decided(argument, 0, slack)) {
    // Wide access can only be dearer than narrow access is.
    if (argument.passes[0] > slack * prices_.MostPasses()) return Verdict::kMove;
    // The first launch that serves so much shows what it costs.
    return Verdict::kServe;
  }
  if (argument.trials[width] != 0 && argument.passes[width] > slack * kDear) return Verdict::kMove;
  if (!Decided(argument, width, slack)) {
    if (CheapAtWorst(kernel, remote)) return Verdict::kServe;
    const bool streams = static_cast<double>(kernel.touched.value) >=
                         kStreams * prices_.serve_gb_per_s * kernel.resident;
    return Settled(kernel) && streams ? Verdict::kTry : Verdict::kMove;
  }
  return argument.passes[width] <= slack * prices_.MostPasses() ? Verdict::kServe : Verdict::kMove;
}

}  // namespace vramspan
