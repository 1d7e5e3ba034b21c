#include "runtime/api/settings.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <bit>
#include <cstdlib>
#include <utility>

#include "runtime/api/learning.h"
#include "runtime/backing/budget.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/variables.h"

namespace vramspan {
namespace {

StatusOr<int> ParseChunk(const Setting& setting) {
  if (!setting.text.has_value() || setting.text == "auto") return 0;
  const StatusOr<Bytes> size = ParseSize(*setting.text);
  if (!size.ok() || !std::has_single_bit(size->value) || *size < ChunkBytes(kMinChunkLog2) ||
      *size > ChunkBytes(kMaxChunkLog2)) {
    return absl::InvalidArgumentError(
        absl::StrCat(setting.name, ": '", Repeated(*setting.text),
                     "' is not a chunk size; use auto, 2MiB, 4MiB, 8MiB, 16MiB, 32MiB or 64MiB"));
  }
  return std::countr_zero(size->value);
}

StatusOr<Bytes> ParseArena(const Setting& setting) {
  StatusOr<Bytes> size = ParseSize(*setting.text);
  if (!size.ok()) return setting.Error(size.status());
  if (*size < ChunkBytes(kMaxChunkLog2)) {
    return setting.Error(absl::InvalidArgumentError(absl::StrCat(
        "'", Repeated(*setting.text), "' is less than the largest chunk; give at least 64MiB")));
  }
  return RoundUp(*size, ChunkBytes(kMaxChunkLog2));
}

// What `parse` makes of the setting, or of `otherwise`; its error with the setting's name.
template <typename Parse>
auto Parsed(const Setting& setting, const char* otherwise, Parse parse) {
  auto value = parse(setting.Or(otherwise));
  if (!value.ok()) value = setting.Error(value.status());
  return value;
}

Status CheckConfig(const vramspanConfig& config) {
  if (config.struct_size != sizeof(vramspanConfig)) {
    return absl::InvalidArgumentError(
        absl::StrCat("vramspanConfig.struct_size is ", config.struct_size,
                     "; set it to sizeof(vramspanConfig), ", sizeof(vramspanConfig)));
  }
  constexpr uint32_t kFlags =
      VRAMSPAN_CONFIG_QUIET | VRAMSPAN_CONFIG_NO_HOST | VRAMSPAN_CONFIG_SHARE_CONTEXT;
  if ((config.flags & ~kFlags) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("vramspanConfig.flags has unknown bits: 0x%x; use VRAMSPAN_CONFIG_* alone",
                      config.flags & ~kFlags));
}

}  // namespace

Setting::Setting(const char* field, const char* environment) : name(environment) {
  const char* variable = std::getenv(environment);
  if (field != nullptr) {
    text = field;
  } else if (variable != nullptr && *variable != '\0') {
    text = variable;
  }
}

Status Setting::Error(const Status& status) const {
  return Status(status.code(), absl::StrCat(name, ": ", CleanText(status.message(), 1024)));
}

StatusOr<Settings> ReadSettings(const vramspanConfig* given) {
  vramspanConfig config{.struct_size = sizeof(vramspanConfig)};
  if (given != nullptr) {
    VS_RETURN_IF_ERROR(CheckConfig(*given));
    config = *given;
  }
  Settings s{.device_memory{config.device_memory, "VRAMSPAN_DEVICE_MEMORY"},
             .host_memory{config.host_memory, "VRAMSPAN_HOST_MEMORY"},
             .tracer{config.tracer, "VRAMSPAN_TRACER"},
             .record{config.record, "VRAMSPAN_RECORD"},
             .events{nullptr, "VRAMSPAN_RECORD_EVENTS"}};
  if (config.driver != nullptr) s.driver = config.driver;
  s.device = config.device;
  s.quiet = (config.flags & VRAMSPAN_CONFIG_QUIET) != 0;
  s.use_host = (config.flags & VRAMSPAN_CONFIG_NO_HOST) == 0;
  s.share_context = (config.flags & VRAMSPAN_CONFIG_SHARE_CONTEXT) != 0;
  s.deadline = std::chrono::microseconds(config.deadline_us);
  if (!s.quiet) TellUnknownVariables();

  VS_ASSIGN_OR_RETURN(s.chunk_log2, ParseChunk({config.chunk, "VRAMSPAN_CHUNK"}));
  const Setting arena(config.arena, "VRAMSPAN_ARENA");
  if (arena.text.has_value()) {
    VS_ASSIGN_OR_RETURN(s.arena, ParseArena(arena));
  }
  const Setting policy(config.policy, "VRAMSPAN_POLICY");
  s.policy_name = policy.Or("cost");
  VS_ASSIGN_OR_RETURN(
      s.policy, Parsed(policy, "cost", [](const std::string& name) { return MakePolicy(name); }));
  VS_ASSIGN_OR_RETURN(s.pins, Parsed({nullptr, "VRAMSPAN_KEEP"}, "", &ParsePins));

  VS_ASSIGN_OR_RETURN(s.source, Parsed(s.tracer, "auto", &ParseLaunchSource));
  VS_ASSIGN_OR_RETURN(s.overlap, Parsed({config.overlap, "VRAMSPAN_OVERLAP"},
                                        OverlapName(kDefaultOverlap), &ParseOverlap));
  VS_ASSIGN_OR_RETURN(s.graphs, Parsed({nullptr, "VRAMSPAN_GRAPHS"}, "auto", &ParseGraphLaunch));
  VS_ASSIGN_OR_RETURN(s.kernels, Parsed({nullptr, "VRAMSPAN_KERNELS"}, "", &ParseKernelPrices));
  VS_ASSIGN_OR_RETURN(s.learns, Parsed({nullptr, kLearnedVariable}, "off", &ParseLearns));
  s.tuned_for = Setting(nullptr, "VRAMSPAN_PROFILE_DEVICE").text;

  s.record_matters = config.record != nullptr;
  if (s.record.text.has_value()) {
    VS_ASSIGN_OR_RETURN(s.times,
                        Parsed({nullptr, "VRAMSPAN_RECORD_TIMES"}, "some", &Recorder::ParseTimes));
  }
  return s;
}

StatusOr<Bytes> DeviceBudget(const Setting& setting, Bytes total, Bytes free) {
  if (!setting.text.has_value()) return DefaultDeviceBudget(total, free);
  StatusOr<Bytes> budget = ParseBudget(*setting.text, total);
  if (!budget.ok()) return setting.Error(budget.status());
  if (*budget > total) {
    return absl::InvalidArgumentError(absl::StrCat(setting.name, ": '", Repeated(*setting.text),
                                                   "' is more than the device's ",
                                                   total.value >> 20, " MiB"));
  }
  if (*budget < kGranularity) {
    return absl::InvalidArgumentError(absl::StrCat(setting.name, ": '", Repeated(*setting.text),
                                                   "' is less than one chunk; give at least 2MiB"));
  }
  return *budget;
}

Status CheckHostBudget(Bytes budget, const HostLimits& limits) {
  if (budget <= limits.total) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a host budget of ", budget.value,
                                                 " bytes is more than the machine's ",
                                                 limits.total.value >> 20, " MiB"));
}

StatusOr<Bytes> HostBudget(const Setting& setting) {
  VS_ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits());
  if (!setting.text.has_value()) return DefaultHostBudget(limits);
  StatusOr<Bytes> budget = ParseBudget(*setting.text, limits.total);
  if (!budget.ok()) return setting.Error(budget.status());
  const Status fits = CheckHostBudget(*budget, limits);
  if (!fits.ok()) return setting.Error(fits);
  return *budget;
}

}  // namespace vramspan
