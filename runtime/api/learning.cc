#include "runtime/api/learning.h"

#include <absl/container/flat_hash_set.h>
#include <absl/strings/str_cat.h>

#include <chrono>
#include <utility>
#include <vector>

#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/yes_no.h"
#include "runtime/observe/kernel_codes.h"
#include "runtime/placement/kernel_prices.h"

namespace vramspan {
namespace {

constexpr std::chrono::milliseconds kSavePatience{100};

}  // namespace

StatusOr<bool> ParseLearns(std::string_view text) {
  const std::optional<bool> yes = ParseYesNo(text);
  if (yes.has_value()) return *yes;
  return absl::InvalidArgumentError(
      absl::StrCat("'", Repeated(text), "' is neither on nor off; use on or off"));
}

std::unique_ptr<Learning> MakeLearning(const RunningOn& on) {
  StatusOr<KeyedFiles> files = KeyedFiles::OfUser(kLearnedFiles);
  // Looked up now, and not at the end, where a file system that hangs would keep the process.
  const Status usable = files.ok() ? files->Check() : files.status();
  if (!usable.ok()) {
    Log(LogLevel::kInfo, absl::StrCat("what is learned is not kept: ", usable.message()));
    return nullptr;
  }
  return std::make_unique<Learning>(*std::move(files), KeyOf(OwnProgram(), on, &PathOfFile));
}

Learning::Learning(KeyedFiles files, const ProgramKey& key) : files_(std::move(files)) {
  before_ = {.key = key.hash, .program = key.program, .device = key.device};
  Read();
  for (const LearnedKernel& k : before_.kernels) known_.try_emplace(k.id, &k);
}

void Learning::Read() {
  const StatusOr<std::string> text = files_.Read(before_.key);
  if (absl::IsNotFound(text.status())) return;
  StatusOr<Learned> read = text.ok() ? ParseLearned(*text) : text.status();
  if (read.ok() && read->key != before_.key) {
    read = absl::InvalidArgumentError("it is of another program");
  }
  if (!read.ok()) {
    Log(LogLevel::kWarning,
        absl::StrCat("what earlier runs have learned is not used: ",
                     text.ok() ? absl::StrCat(files_.PathOf(before_.key), ": ") : "",
                     CleanText(read.status().message(), 512)));
    return;
  }
  before_.runs = read->runs;
  before_.kernels = std::move(read->kernels);
  const size_t count = before_.kernels.size();
  Log(LogLevel::kInfo,
      absl::StrCat("earlier runs have learned of ", count,
                   count == 1 ? " kernel: " : " kernels: ", files_.PathOf(before_.key)));
}

void Learning::Begin(Mover* mover) {
  mover_ = mover;
  Joined();
}

Learning::~Learning() {
  if (mover_ == nullptr) return;
  Gone();
  if (process_.Here()) Save();
}

void Learning::Launches(uint64_t kernel, const Submission& launch, uint64_t bytes) {
  if (launch.kernel == nullptr) return;
  KernelIdentity id;
  {
    MutexLock lock(mu_);
    if (named_.size() == KernelHistory::kMost || named_.contains(kernel)) return;
    id = {.name = KernelPrice::HashOfName(launch.kernel->name),
          .module = launch.kernel->module,
          .shape = launch.rough_shape,
          .bytes = bytes};
    named_.emplace(kernel, Named{.code = launch.kernel, .id = id});
  }
  const auto known = known_.find(id);
  if (known == known_.end()) return;
  const LearnedKernel& k = *known->second;
  mover_->OfKernels([&](Scheduler& scheduler) {
    scheduler.Know(kernel, k.resident_ns, k.touched);
    for (const LearnedKernel::Argument& a : k.arguments) scheduler.KnowArgument(kernel, a.price);
  });
}

std::vector<LearnedKernel> Learning::Seen(const std::vector<KernelHistory::KnownKernel>& all) {
  std::vector<LearnedKernel> seen;
  absl::flat_hash_set<KernelIdentity> ids;
  for (const KernelHistory::KnownKernel& one : all) {
    // Graphs have no name. Two handles of one kernel are the same one, in another process.
    const auto named = named_.find(one.kernel);
    if (named == named_.end() || !ids.insert(named->second.id).second) continue;
    LearnedKernel& k = seen.emplace_back();
    k.id = named->second.id;
    k.name = named->second.code->name;
    k.resident_ns = one.facts.resident_ns;
    k.touched = one.facts.touched;
    k.resident_told = one.facts.resident_told;
    for (const ArgumentPrice& price : one.facts.arguments) k.arguments.push_back({.price = price});
  }
  return seen;
}

void Learning::Save() {
  std::vector<KernelHistory::KnownKernel> all;
  const bool told = mover_->OfKernels(
      [&](Scheduler& scheduler) { all = scheduler.trials().history().Facts(); }, kSavePatience);
  // A thread may end the process in the middle of a launch.
  if (!told || !mu_.TryLock()) {
    Log(LogLevel::kInfo, "what was learned is not kept: the program ends amid other work");
    return;
  }
  const std::vector<LearnedKernel> seen = Seen(all);
  const bool was_short = !named_.empty();
  mu_.Unlock();
  // Else nothing was looked at, and what is kept stays as it is.
  if (!was_short) return;
  const Status written = files_.Write(before_.key, LearnedText(before_.After(seen)));
  if (written.ok()) return;
  Log(LogLevel::kInfo, absl::StrCat("what was learned is not kept: ", written.message()));
}

}  // namespace vramspan
