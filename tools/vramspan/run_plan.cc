#include "tools/vramspan/run_plan.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "runtime/api/learning.h"
#include "runtime/api/recorder.h"
#include "runtime/api/tracer.h"
#include "runtime/api/tracing.h"
#include "runtime/api/trust_files.h"
#include "runtime/backing/budget.h"
#include "runtime/backing/host_limits.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/variables.h"
#include "runtime/base/yes_no.h"
#include "runtime/lease/broker_place.h"
#include "runtime/placement/kernel_prices.h"
#include "runtime/placement/policy.h"
#include "runtime/space/chunk.h"
#include "tools/replay/profile.h"
#include "tools/vramspan/reader_start.h"

namespace vramspan::run {
namespace {

// simcuda's own default.
constexpr Bytes kSimulatedMemory = GiB(1);
// PyTorch reads two variables for it.
constexpr char kStreamOrdered[] = "backend:cudaMallocAsync";

struct Setting {
  std::string name;  // As the user wrote it.
  std::string text;
};

std::optional<std::string> Variable(const World& world, const char* name) {
  const char* text = world.variable(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return text;
}

StatusOr<bool> IsSet(const World& world, const char* name) {
  const std::optional<std::string> text = Variable(world, name);
  if (!text.has_value()) return false;
  const std::optional<bool> yes = ParseYesNo(*text);
  if (yes.has_value()) return *yes;
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": '", Repeated(*text), "' is neither yes nor no; use ", kYesNoWords));
}

Status Named(const Setting& setting, const Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(setting.name, ": ", status.message()));
}

// What a file holds, or that there is none, is no mistake of the command line.
Status FileFailed(std::string_view name, std::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(name, ": ", why));
}

Status CheckChunk(const std::string& text) {
  if (text == "auto") return absl::OkStatus();
  const StatusOr<Bytes> size = ParseSize(text);
  if (size.ok() && std::has_single_bit(size->value) && *size >= ChunkBytes(kMinChunkLog2) &&
      *size <= ChunkBytes(kMaxChunkLog2)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", Repeated(text),
                   "' is not a chunk size; use auto, 2MiB, 4MiB, 8MiB, 16MiB, 32MiB or 64MiB"));
}

Status CheckReport(const std::string& text) {
  if (text == "device" || text == "budget" || text == "total") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", Repeated(text), "' is not a way to report memory; use device, budget or total"));
}

Status CheckRead(const std::string& text) {
  if (ParseYesNo(text).has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", Repeated(text), "' is neither on nor off; use on or off"));
}

// A budget of a whole that is known, or of one that is not, which only percentages can exceed.
StatusOr<Bytes> CheckBudget(const std::string& text, std::optional<Bytes> whole,
                            std::string_view whose) {
  VS_ASSIGN_OR_RETURN(const Bytes budget, ParseBudget(text, whole.value_or(GiB(1024))));
  if (whole.has_value() && budget > *whole) {
    return absl::InvalidArgumentError(absl::StrCat("'", Repeated(text), "' is more than the ",
                                                   whose, "'s ", whole->value >> 20, " MiB"));
  }
  return budget;
}

class Planner {
 public:
  Planner(const Options& options, const World& world) : options_(options), world_(world) {}

  StatusOr<Plan> Make() {
    VS_RETURN_IF_ERROR(Preload());
    VS_RETURN_IF_ERROR(Simulate());
    VS_RETURN_IF_ERROR(Profile());
    VS_RETURN_IF_ERROR(DeviceMemory());
    VS_RETURN_IF_ERROR(Check(options_.host_memory, "--host-memory", "VRAMSPAN_HOST_MEMORY",
                             [](const std::string& text) -> Status {
                               VS_ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits());
                               return CheckBudget(text, limits.total, "machine").status();
                             }));
    VS_RETURN_IF_ERROR(Check(options_.chunk, "--chunk", "VRAMSPAN_CHUNK", &CheckChunk));
    VS_RETURN_IF_ERROR(Check(options_.policy, "--policy", "VRAMSPAN_POLICY",
                             [](const std::string& text) { return MakePolicy(text).status(); }));
    VS_RETURN_IF_ERROR(
        Check(options_.tracer, "--tracer", "VRAMSPAN_TRACER",
              [](const std::string& text) { return ParseLaunchSource(text).status(); }));
    VS_RETURN_IF_ERROR(Check(options_.overlap, "--overlap", "VRAMSPAN_OVERLAP",
                             [](const std::string& text) { return ParseOverlap(text).status(); }));
    VS_RETURN_IF_ERROR(
        Check(options_.graphs, "--graphs", "VRAMSPAN_GRAPHS",
              [](const std::string& text) { return ParseGraphLaunch(text).status(); }));
    VS_RETURN_IF_ERROR(Check(options_.learned, "--learned", kLearnedVariable,
                             [](const std::string& text) { return ParseLearns(text).status(); }));
    VS_RETURN_IF_ERROR(Check(options_.read, "--read", kReadVariable, &CheckRead));
    VS_RETURN_IF_ERROR(Check(options_.report, "--report", "VRAMSPAN_REPORT", &CheckReport));
    VS_RETURN_IF_ERROR(
        Check(options_.broker, "--broker", lease::kBrokerVariable,
              [](const std::string& text) { return lease::ParseBrokerPlace(text, "").status(); }));
    VS_RETURN_IF_ERROR(Trust());
    if (options_.stats.has_value()) {
      if (*options_.stats != "-") VS_RETURN_IF_ERROR(CheckStats(*options_.stats));
      plan_["VRAMSPAN_STATS"] = *options_.stats;
    }
    VS_RETURN_IF_ERROR(
        Check(options_.record_times, "--record-times", "VRAMSPAN_RECORD_TIMES",
              [](const std::string& text) { return Recorder::ParseTimes(text).status(); }));
    VS_RETURN_IF_ERROR(Record(options_.record, "--record", "VRAMSPAN_RECORD"));
    VS_RETURN_IF_ERROR(Record(options_.record_events, "--record-events", "VRAMSPAN_RECORD_EVENTS"));
    VS_RETURN_IF_ERROR(Flag(options_.no_command_line, "VRAMSPAN_NO_COMMAND_LINE").status());
    VS_ASSIGN_OR_RETURN(const bool quiet, Flag(options_.quiet, "VRAMSPAN_QUIET"));
    VS_ASSIGN_OR_RETURN(const bool off, Flag(options_.off, "VRAMSPAN_OFF"));
    Unknown(quiet);
    VS_ASSIGN_OR_RETURN(const bool lifetimes, Flag(options_.lifetimes, "VRAMSPAN_LIFETIMES"));
    if (lifetimes && !off && world_.preloads) Lifetimes(quiet);
    return std::move(plan_);
  }

 private:
  std::optional<Setting> Given(const std::optional<std::string>& option, std::string_view name,
                               const char* variable) {
    if (option.has_value()) {
      plan_[variable] = *option;
      return Setting{std::string(name), *option};
    }
    std::optional<std::string> text = Variable(world_, variable);
    if (!text.has_value()) return std::nullopt;
    return Setting{variable, *std::move(text)};
  }

  template <typename Checker>
  Status Check(const std::optional<std::string>& option, const char* name, const char* variable,
               Checker check) {
    const std::optional<Setting> setting = Given(option, name, variable);
    return setting.has_value() ? Named(*setting, check(setting->text)) : absl::OkStatus();
  }

  // Given as an option, or as the environment has it, which what it says is checked of.
  StatusOr<bool> Flag(bool option, const char* variable) {
    if (option) {
      plan_[variable] = "1";
      return true;
    }
    return IsSet(world_, variable);
  }

  // Here, so that not each process that the program starts tells it.
  void Unknown(bool quiet) {
    if (world_.unknown.empty() || Variable(world_, kToldVariable).has_value()) return;
    if (!quiet) world_.say(world_.unknown);
    plan_[kToldVariable] = "1";
  }

  // PyTorch is to allocate and free in the order of streams, so that it is known what its memory
  // holds. What the user has it do stands.
  void Lifetimes(bool quiet) {
    for (const char* variable : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
      const std::optional<std::string> set = Variable(world_, variable);
      if (!set.has_value()) continue;
      if (!quiet && set->find(kStreamOrdered) == std::string::npos) {
        world_.say(absl::StrCat(variable, " is set, to '", Repeated(*set),
                                "', and stands: --lifetimes changes nothing. ", kStreamOrdered,
                                " in it would do the same"));
      }
      return;
    }
    plan_["PYTORCH_CUDA_ALLOC_CONF"] = kStreamOrdered;
  }

  Status Preload() {
    if (!world_.preloads) return absl::OkStatus();
    VS_ASSIGN_OR_RETURN(const std::string preload, world_.for_loader(world_.preload));
    const std::optional<std::string> others = Variable(world_, "LD_PRELOAD");
    plan_["LD_PRELOAD"] = others.has_value() ? absl::StrCat(preload, ":", *others) : preload;
    return absl::OkStatus();
  }

  // Better told now than when the program has run, perhaps for hours. `path` is absolute.
  Status CheckFolder(const char* option, const std::string& path) const {
    const std::string folder = path.substr(0, path.rfind('/'));
    if (!folder.empty() && !world_.exists(folder)) {
      return absl::NotFoundError(absl::StrCat(option, ": ", path, ": there is no folder ", folder));
    }
    return world_.exists(path) || world_.can_make(path)
               ? absl::OkStatus()
               : absl::PermissionDeniedError(
                     absl::StrCat(option, ": ", path, ": this user may not write into the folder"));
  }

  Status CheckStats(const std::string& path) const {
    VS_RETURN_IF_ERROR(CheckFolder("--stats", path));
    if (!world_.exists(path) || world_.can_append(path)) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "--stats: ", path, ": it is no regular file that this user may write to; name another"));
  }

  Status Record(const std::optional<std::string>& path, const char* option, const char* variable) {
    if (!path.has_value()) return absl::OkStatus();
    if (!options_.force && world_.exists(*path)) {
      return absl::AlreadyExistsError(
          absl::StrCat(option, ": ", *path, ": the file exists; --force replaces it"));
    }
    VS_RETURN_IF_ERROR(CheckFolder(option, *path));
    plan_[variable] = *path;
    return absl::OkStatus();
  }

  Status Trust() {
    const auto check = [](const Setting& setting) {
      TrustList list;
      const Status added = AddTrustFiles(setting.text, &list);
      return added.ok() ? added : FileFailed(setting.name, added.message());
    };
    constexpr const char* kVariable = "VRAMSPAN_TRUST";
    const std::optional<std::string> others = Variable(world_, kVariable);
    if (others.has_value()) VS_RETURN_IF_ERROR(check({kVariable, *others}));
    if (!options_.trust.has_value()) return absl::OkStatus();
    VS_RETURN_IF_ERROR(check({"--trust", *options_.trust}));
    plan_[kVariable] =
        others.has_value() ? absl::StrCat(*options_.trust, ":", *others) : *options_.trust;
    return absl::OkStatus();
  }

  // What the command line and the environment leave open is as the profile has it.
  Status Profile() {
    constexpr const char* kVariable = "VRAMSPAN_PROFILE";
    profile_name_ = options_.profile.has_value() ? "--profile" : kVariable;
    if (!options_.profile.has_value()) options_.profile = Variable(world_, kVariable);
    if (!options_.profile.has_value()) return absl::OkStatus();
    if (options_.profile->empty()) return absl::InvalidArgumentError("--profile: '' is not a file");
    const StatusOr<replay::Profile> read = replay::ReadProfile(*options_.profile);
    if (!read.ok()) return FileFailed(profile_name_, read.status().message());
    const replay::Profile& profile = *read;
    const Status fits = replay::CheckProfile(profile, options_.program, "");
    if (!fits.ok()) {
      return FileFailed(profile_name_, absl::StrCat(*options_.profile, ": ", fits.message()));
    }
    const auto fill = [&](std::optional<std::string>* option, const char* variable,
                          const std::string& value) {
      if (!option->has_value() && !Variable(world_, variable).has_value()) *option = value;
    };
    fill(&options_.policy, "VRAMSPAN_POLICY", profile.policy);
    fill(&options_.chunk, "VRAMSPAN_CHUNK",
         profile.chunk_log2 == 0 ? "auto"
                                 : absl::StrCat(uint64_t{1} << (profile.chunk_log2 - 20), "MiB"));
    const Overlap overlap = replay::TracedOverlap(profile.overlap).value_or(Overlap::kOff);
    fill(&options_.overlap, "VRAMSPAN_OVERLAP", OverlapName(overlap));
    if (profile.device_memory.value != 0) {
      memory_of_profile_ = !options_.device_memory.has_value();
      fill(&options_.device_memory, "VRAMSPAN_DEVICE_MEMORY",
           absl::StrCat(profile.device_memory.value >> 20, "MiB"));
    }
    if (!profile.pins.empty() && !Variable(world_, "VRAMSPAN_KEEP").has_value()) {
      plan_["VRAMSPAN_KEEP"] = PinsText(profile.pins);
    }
    if (!profile.kernels.empty() && !Variable(world_, "VRAMSPAN_KERNELS").has_value()) {
      plan_["VRAMSPAN_KERNELS"] = KernelPricesText(PricesOf(profile.kernels));
    }
    // Which device it is only the program's own driver knows for certain.
    if (!profile.device_uuid.empty()) plan_["VRAMSPAN_PROFILE_DEVICE"] = profile.device_uuid;
    return absl::OkStatus();
  }

  static std::vector<KernelPrice> PricesOf(const std::vector<replay::ProfileKernel>& kernels) {
    std::vector<KernelPrice> prices;
    for (const replay::ProfileKernel& k : kernels) {
      prices.push_back({.name = KernelPrice::HashOfName(k.name),
                        .shape = k.shape,
                        .passes = k.passes,
                        .resident_ns = static_cast<uint64_t>(k.resident_us * 1e3)});
    }
    return prices;
  }

  Status Simulate() {
    simulate_ = options_.simulate;
    if (!simulate_) {
      VS_ASSIGN_OR_RETURN(simulate_, IsSet(world_, "VRAMSPAN_SIMULATE"));
    }
    if (!simulate_) return absl::OkStatus();
    VS_ASSIGN_OR_RETURN(const std::string built, world_.simulated_driver());
    VS_ASSIGN_OR_RETURN(const std::string driver, world_.for_loader(built));
    const std::string folder = driver.substr(0, driver.rfind('/'));
    const std::optional<std::string> others = Variable(world_, "LD_LIBRARY_PATH");
    plan_["LD_LIBRARY_PATH"] = others.has_value() ? absl::StrCat(folder, ":", *others) : folder;
    plan_["VRAMSPAN_DRIVER"] = driver;
    return absl::OkStatus();
  }

  Status DeviceMemory() {
    const std::optional<Setting> setting = Given(
        options_.device_memory,
        memory_of_profile_ ? absl::StrCat(profile_name_, ": ", *options_.profile, ": device_memory")
                           : "--device-memory",
        "VRAMSPAN_DEVICE_MEMORY");
    if (!setting.has_value()) return absl::OkStatus();
    const bool relative = setting->text.ends_with('%');
    std::optional<Bytes> whole;
    const std::optional<std::string> simulated = Variable(world_, "SIMCUDA_DEVICE_MEMORY");
    if (simulate_ && simulated.has_value()) {
      const StatusOr<Bytes> size = ParseSize(*simulated);
      if (!size.ok()) return Named({"SIMCUDA_DEVICE_MEMORY", *simulated}, size.status());
      whole = *size;
    } else if (!simulate_ && !relative) {
      whole = world_.largest_device();
    }
    const StatusOr<Bytes> budget = CheckBudget(setting->text, whole, "device");
    if (!budget.ok()) return Named(*setting, budget.status());
    if (*budget < ChunkBytes(kMinChunkLog2)) {
      return Named(*setting,
                   absl::InvalidArgumentError(absl::StrCat(
                       "'", Repeated(setting->text), "' is less than a chunk; give 2MiB or more")));
    }
    // A simulated device is as large as it need be.
    if (simulate_ && !simulated.has_value() && !relative) {
      const Bytes need(budget->value / 4 * 5);
      if (need > kSimulatedMemory) {
        plan_["SIMCUDA_DEVICE_MEMORY"] = absl::StrCat((need.value >> 20) + 1, "MiB");
      }
    }
    return absl::OkStatus();
  }

  Options options_;
  const World& world_;
  bool simulate_ = false;
  std::string profile_name_;        // Where the profile was given.
  bool memory_of_profile_ = false;  // Unless a variable has it.
  Plan plan_;
};

}  // namespace

bool AsksForMore(const Options& options) {
  for (const std::optional<std::string>* const option :
       {&options.device_memory, &options.host_memory, &options.chunk, &options.policy,
        &options.tracer, &options.overlap, &options.graphs, &options.report, &options.broker,
        &options.stats, &options.learned, &options.read, &options.trust, &options.record_times,
        &options.profile, &options.record, &options.record_events}) {
    if (option->has_value()) return true;
  }
  return options.simulate || options.lifetimes;
}

StatusOr<Plan> MakePlan(const Options& options, const World& world) {
  return Planner(options, world).Make();
}

}  // namespace vramspan::run
