#include "tools/replay/pytorch_profile.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "tools/replay/json_stream.h"
#include "tools/replay/text_source.h"

namespace vramspan::replay {
namespace {

using nlohmann::json;

constexpr uint64_t kMostEventText = uint64_t{8} << 30;

// Whole numbers come as such or, from older versions, as text.
std::optional<uint64_t> Number(const json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return std::nullopt;
  uint64_t number = 0;
  if (at->is_number_unsigned()) return at->get<uint64_t>();
  if (at->is_string() && absl::SimpleAtoi(at->get_ref<const std::string&>(), &number)) {
    return number;
  }
  return std::nullopt;
}

// Microseconds, with a fraction.
std::optional<uint64_t> Nanoseconds(const json& event, const char* key) {
  const auto at = event.find(key);
  if (at == event.end() || !at->is_number()) return std::nullopt;
  const double value = at->get<double>() * 1000;
  if (!(value >= 0 && value < 1.8e19)) return std::nullopt;
  return static_cast<uint64_t>(std::llround(std::min(value, 9e18)));
}

struct Kernel {
  uint64_t external_id, correlation, start, duration;
  uint32_t stream;
};

class Collector {
 public:
  Status Take(const json& event) {
    if (!event.is_object()) return absl::OkStatus();
    const auto args = event.find("args");
    const auto category = event.find("cat");
    if (args == event.end() || !args->is_object() || category == event.end() ||
        !category->is_string()) {
      return absl::OkStatus();
    }
    const auto& cat = category->get_ref<const std::string&>();
    if (cat == "cpu_op" || cat == "user_annotation") {
      const auto external = Number(*args, "External id");
      const auto function = Number(*args, "Record function id");
      if (external && function && *function != 0) functions_[*external] = *function;
    } else if (cat == "kernel" || cat == "gpu_memcpy" || cat == "gpu_memset") {
      const auto start = Nanoseconds(event, "ts");
      const auto duration = Nanoseconds(event, "dur");
      if (!start || !duration) return absl::OkStatus();
      kernels_.push_back({.external_id = Number(*args, "External id").value_or(0),
                          .correlation = Number(*args, "correlation").value_or(0),
                          .start = *start,
                          .duration = *duration,
                          .stream = static_cast<uint32_t>(Number(*args, "stream").value_or(0))});
    } else if (cat == "cuda_runtime" || cat == "cuda_driver") {
      const auto correlation = Number(*args, "correlation");
      const auto start = Nanoseconds(event, "ts");
      if (correlation && start) launches_[*correlation] = *start;
    }
    return absl::OkStatus();
  }

  PytorchProfile Finish() {
    PytorchProfile profile;
    profile.kernels = kernels_.size();
    std::stable_sort(kernels_.begin(), kernels_.end(),
                     [](const Kernel& a, const Kernel& b) { return a.start < b.start; });
    for (const Kernel& kernel : kernels_) {
      const auto function = functions_.find(kernel.external_id);
      if (function == functions_.end()) {
        ++profile.unclaimed;
        continue;
      }
      ProfiledOperator& op = profile.operators[function->second];
      if (op.kernels++ == 0) {
        op.start = kernel.start;
        op.stream = kernel.stream;
        const auto launch = launches_.find(kernel.correlation);
        op.submitted =
            launch == launches_.end() ? kernel.start : std::min(launch->second, kernel.start);
      }
      op.busy += kernel.duration;
    }
    return profile;
  }
  size_t functions() const { return functions_.size(); }

 private:
  absl::flat_hash_map<uint64_t, uint64_t> functions_;  // By external id: the record function's.
  absl::flat_hash_map<uint64_t, uint64_t> launches_;   // By correlation: when.
  std::vector<Kernel> kernels_;
};

}  // namespace

StatusOr<PytorchProfile> ReadPytorchProfile(std::streambuf* text) {
  Collector collector;
  VS_ASSIGN_OR_RETURN(const JsonStreamResult read,
                      ReadJsonStream(text, "traceEvents",
                                     [&](const json& event) { return collector.Take(event); }));
  if (!read.found) {
    return absl::FailedPreconditionError(
        "this is not a profile of PyTorch: it has no list of 'traceEvents'; export one with "
        "torch.profiler's export_chrome_trace");
  }
  PytorchProfile profile = collector.Finish();
  if (profile.kernels == 0) {
    return absl::FailedPreconditionError(
        "it has no kernels; record with torch.profiler.ProfilerActivity.CUDA");
  }
  if (collector.functions() == 0) {
    return absl::FailedPreconditionError(
        "its operators have no \"Record function id\", so they match no node of the execution "
        "trace; record both in one run, with PyTorch 2.1 or later");
  }
  if (read.cut) {
    profile.problems.push_back("its list of events is cut short; what comes before is used");
  }
  return profile;
}

StatusOr<PytorchProfile> LoadPytorchProfile(const std::string& path) {
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<TextSource> text,
                      TextSource::Open(path, kMostEventText));
  auto profile = ReadPytorchProfile(text.get());
  VS_RETURN_IF_ERROR(text->status());
  if (profile.ok()) {
    std::vector<std::string>& problems = profile->problems;
    if (!text->loss().empty()) problems.insert(problems.begin(), text->loss());
    for (std::string& problem : problems)
      problem = absl::StrCat("the profile ", path, ": ", problem);
    return profile;
  }
  return Status(profile.status().code(), absl::StrCat(path, ": ", profile.status().message()));
}

}  // namespace vramspan::replay
