#include "tools/vramspan/demo_options.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <bit>

#include "runtime/backing/budget.h"
#include "runtime/placement/policy.h"
#include "tools/vramspan/demo_launches.h"
#include "tools/vramspan/demo_text.h"

namespace vramspan::demo {
namespace {

// Sizes that take seconds: a GPU moves 50 GB/s, a simulated one computes on a CPU.
constexpr Bytes kGpuData = GiB(8);
constexpr Bytes kGpuQuickData = GiB(1);
constexpr Bytes kSimulatedData = MiB(32);

constexpr int kRounds = 8;
constexpr int kQuickRounds = 3;
// Arithmetic an element. On a GPU enough to take about as long as half of the data take over the
// bus: a program that computes less waits for memory whatever is done about it.
constexpr uint32_t kGpuWork = 256;
constexpr uint32_t kSimulatedWork = 1;

Status Named(const char* option, const Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(option, ": ", status.message()));
}

bool IsPercent(const std::string& text) { return !text.empty() && text.back() == '%'; }

Bytes DefaultData(const Options& options, bool simulated) {
  if (simulated) return kSimulatedData;
  return options.quick ? kGpuQuickData : kGpuData;
}

}  // namespace

Status CheckOptions(const Options& options) {
  if (options.format != "table" && options.format != "json") {
    return absl::InvalidArgumentError(
        absl::StrCat("--format: '", options.format, "' is unknown; use one of table, json"));
  }
  if (!options.policy.empty()) {
    const auto policy = MakePolicy(options.policy);
    if (!policy.ok()) return Named("--policy", policy.status());
  }
  if (!options.overlap.empty()) {
    if (const Status known = CheckOverlap(options.overlap); !known.ok()) {
      return Named("--overlap", known);
    }
    if (options.declare) {
      return absl::InvalidArgumentError(
          absl::StrCat("--overlap: '", options.overlap,
                       "' is for traced launches; leave out --overlap or --declare"));
    }
  }
  if (!options.chunk.empty() && options.chunk != "auto") {
    const StatusOr<Bytes> chunk = ParseSize(options.chunk);
    if (!chunk.ok() || !std::has_single_bit(chunk->value) || *chunk < ChunkBytes(kMinChunkLog2) ||
        *chunk > ChunkBytes(kMaxChunkLog2)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--chunk: '", options.chunk,
                       "' is not a chunk size; use auto, 2MiB, 4MiB, 8MiB, 16MiB, 32MiB or 64MiB"));
    }
  }
  if (!options.data.empty()) {
    const StatusOr<Bytes> data = ParseSize(options.data);
    if (!data.ok()) return Named("--data", data.status());
    if (*data < Bytes(Shape::kMinData)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--data: '", options.data, "' is too little to show anything; use at least ",
                       SizeText(Bytes(Shape::kMinData))));
    }
  }
  if (!options.device_memory.empty()) {
    // Any whole will do to see whether a percentage is one.
    const StatusOr<Bytes> budget = ParseBudget(options.device_memory, GiB(1));
    if (!budget.ok()) return Named("--device-memory", budget.status());
  }
  return absl::OkStatus();
}

StatusOr<std::optional<Bytes>> DataBeforeDevice(const Options& options, bool simulated) {
  if (!options.data.empty()) {
    VS_ASSIGN_OR_RETURN(const Bytes data, ParseSize(options.data));
    return data;
  }
  if (options.device_memory.empty()) return DefaultData(options, simulated);
  if (IsPercent(options.device_memory)) return std::nullopt;
  VS_ASSIGN_OR_RETURN(const Bytes budget, ParseSize(options.device_memory));
  return budget * 2;
}

StatusOr<Plan> MakePlan(const Options& options, bool simulated, Bytes total, Bytes room) {
  Plan plan;
  VS_ASSIGN_OR_RETURN(std::optional<Bytes> data, DataBeforeDevice(options, simulated));
  if (!options.device_memory.empty()) {
    StatusOr<Bytes> budget = ParseBudget(options.device_memory, total);
    if (!budget.ok()) return Named("--device-memory", budget.status());
    plan.device_memory = Bytes(budget->value / kGranularity.value * kGranularity.value);
    plan.headline_asked = true;
    if (plan.device_memory > room) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--device-memory: '", options.device_memory, "' is ", SizeText(plan.device_memory),
          ", more than the ", SizeText(room), " that this device has for data"));
    }
    if (plan.device_memory < Bytes(Shape::kMinData / 2)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--device-memory: '", options.device_memory, "' is ", SizeText(*budget),
          ", too little to run in; use at least ", SizeText(Bytes(Shape::kMinData / 2))));
    }
    if (!data.has_value()) data = plan.device_memory * 2;
  }
  if (options.data.empty() && options.device_memory.empty()) {
    data = std::min(*data, Bytes(room.value / 10 * 9));
  }
  plan.shape = Shape::For(*data);
  plan.shape.rounds = options.quick ? kQuickRounds : kRounds;
  plan.shape.work = simulated ? kSimulatedWork : kGpuWork;
  if (plan.shape.total_bytes() > room) {
    const char* option = options.data.empty() ? "--device-memory" : "--data";
    const std::string& text = options.data.empty() ? options.device_memory : options.data;
    return absl::InvalidArgumentError(
        absl::StrCat(text.empty() ? "the demo" : absl::StrCat(option, ": '", text, "'"), " makes ",
                     SizeText(plan.shape.total_bytes()),
                     " of data, but the run that results are compared "
                     "with must fit into the ",
                     SizeText(room), " that this device has; use --data ",
                     SizeText(Bytes(room.value / 10 * 9)), " or less"));
  }
  if (!plan.headline_asked) plan.device_memory = Bytes(plan.shape.data_bytes().value / 2);
  plan.percents = options.quick ? std::vector<int>{100, 50} : std::vector<int>{100, 75, 50, 25};
  return plan;
}

}  // namespace vramspan::demo
