// The GPU's counters by CUPTI's range profiler: user ranges in one pass, so that nothing is ever
// run twice. Ranges are collected by the batch; between two batches the profiler is stopped, what
// it has is decoded and delivered, and it is started again.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cupti_tracer/profiler.h"
#include "runtime/observe/hardware_counters.h"

// The C interface names the struct in the global namespace.
struct vramspanCounters {
  const vramspan::Profiler* cupti = nullptr;
  CUcontext context = nullptr;
  CUpti_Profiler_Host_Object* host = nullptr;
  CUpti_RangeProfiler_Object* ranges = nullptr;
  std::vector<const char*> metrics;
  std::vector<uint8_t> config;
  std::vector<uint8_t> data;
  std::vector<uint64_t> tags;  // Of the batch, in order; a range's name is its place in it.
  bool started = false;
  bool denied = false;
  bool not_now = false;  // RangeStart was refused.
  void (*counted)(void*, const vramspanCounted*) = nullptr;
  void* user = nullptr;
};

namespace vramspan {
namespace {

// A stop and a start take milliseconds; the buffers of a batch, some hundred KiB.
constexpr size_t kBatch = 64;

constexpr const char* kMetrics[] = {
    "lts__t_sectors_aperture_sysmem_op_read.sum",
    "lts__t_sectors_aperture_sysmem_op_write.sum",
    "lts__t_sectors_aperture_device.sum",
};
constexpr size_t kNeeded = 2;  // The rest where it fits in the same pass.

// CUPTI's parameter structs tell their version by their size.
#define VS_PARAMS(type, name) \
  type##_Params name { type##_Params_STRUCT_SIZE }

std::string Refused(vramspanCounters& c, const char* call, CUptiResult result) {
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
      result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES) {
    c.denied = true;
    return "this user may not read the GPU's counters (" + c.cupti->Text(result) +
           "); run as root or with CAP_SYS_ADMIN, or load the driver with "
           "NVreg_RestrictProfilingToAdminUsers=0";
  }
  return std::string("CUPTI refused ") + call + ": " + c.cupti->Text(result);
}

#define VS_CUPTI(call, params)                                           \
  do {                                                                   \
    const CUptiResult vs_result = c.cupti->call(&(params));              \
    if (vs_result != CUPTI_SUCCESS) return Refused(c, #call, vs_result); \
  } while (false)

std::string Supported(vramspanCounters& c, CUdevice device) {
  VS_PARAMS(CUpti_Profiler_DeviceSupported, support);
  support.cuDevice = device;
  support.api = CUPTI_PROFILER_RANGE_PROFILING;
  VS_CUPTI(DeviceSupported, support);
  if (support.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return "";
  const auto lacks = [](CUpti_Profiler_Support_Level level) {
    return level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ||
           level == CUPTI_PROFILER_CONFIGURATION_DISABLED;
  };
  std::string why = "CUPTI cannot read this device's counters";
  if (lacks(support.architecture)) why += " (the device is too old)";
  if (lacks(support.vGpu)) why += " (the host of this virtual GPU must allow profiling)";
  if (lacks(support.confidentialCompute)) why += " (confidential computing is on)";
  if (lacks(support.wsl)) why += " (WSL)";
  return why;
}

// The configuration for `metrics`; `passes` is how often the work would have to be run.
std::string Configure(vramspanCounters& c, size_t metrics, size_t* passes) {
  c.metrics.assign(kMetrics, kMetrics + metrics);
  VS_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics, add);
  add.pHostObject = c.host;
  add.ppMetricNames = c.metrics.data();
  add.numMetrics = c.metrics.size();
  VS_CUPTI(HostConfigAddMetrics, add);
  VS_PARAMS(CUpti_Profiler_Host_GetConfigImageSize, size);
  size.pHostObject = c.host;
  VS_CUPTI(HostGetConfigImageSize, size);
  c.config.assign(size.configImageSize, 0);
  VS_PARAMS(CUpti_Profiler_Host_GetConfigImage, image);
  image.pHostObject = c.host;
  image.configImageSize = c.config.size();
  image.pConfigImage = c.config.data();
  VS_CUPTI(HostGetConfigImage, image);
  VS_PARAMS(CUpti_Profiler_Host_GetNumOfPasses, number);
  number.configImageSize = c.config.size();
  number.pConfigImage = c.config.data();
  VS_CUPTI(HostGetNumOfPasses, number);
  *passes = number.numOfPasses;
  return "";
}

std::string MakeHost(vramspanCounters& c, CUdevice device) {
  VS_PARAMS(CUpti_Device_GetChipName, chip);
  chip.deviceIndex = static_cast<size_t>(device);
  VS_CUPTI(DeviceGetChipName, chip);
  VS_PARAMS(CUpti_Profiler_GetCounterAvailability, available);
  available.ctx = c.context;
  VS_CUPTI(GetCounterAvailability, available);
  std::vector<uint8_t> image(available.counterAvailabilityImageSize);
  available.pCounterAvailabilityImage = image.data();
  VS_CUPTI(GetCounterAvailability, available);
  // What was added to a host object stays: another attempt needs another.
  std::string why;
  for (const size_t metrics : {std::size(kMetrics), kNeeded}) {
    VS_PARAMS(CUpti_Profiler_Host_Initialize, initialize);
    initialize.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    initialize.pChipName = chip.pChipName;
    initialize.pCounterAvailabilityImage = image.data();
    VS_CUPTI(HostInitialize, initialize);
    c.host = initialize.pHostObject;
    size_t passes = 0;
    why = Configure(c, metrics, &passes);
    if (why.empty() && passes == 1) return "";
    if (why.empty()) {
      why = "counting the traffic of host memory takes " + std::to_string(passes) +
            " passes on this device, but an audit runs each launch once";
    }
    VS_PARAMS(CUpti_Profiler_Host_Deinitialize, deinitialize);
    deinitialize.pHostObject = c.host;
    c.host = nullptr;
    VS_CUPTI(HostDeinitialize, deinitialize);
  }
  return why;
}

std::string StartBatch(vramspanCounters& c) {
  c.tags.clear();
  VS_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize, initialize);
  initialize.pRangeProfilerObject = c.ranges;
  initialize.counterDataSize = c.data.size();
  initialize.pCounterData = c.data.data();
  VS_CUPTI(RangeCounterDataInitialize, initialize);
  VS_PARAMS(CUpti_RangeProfiler_SetConfig, config);
  config.pRangeProfilerObject = c.ranges;
  config.configSize = c.config.size();
  config.pConfig = c.config.data();
  config.counterDataImageSize = c.data.size();
  config.pCounterDataImage = c.data.data();
  config.range = CUPTI_UserRange;
  config.replayMode = CUPTI_UserReplay;
  config.maxRangesPerPass = kBatch;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  config.passIndex = 0;
  config.targetNestingLevel = 1;
  VS_CUPTI(RangeSetConfig, config);
  VS_PARAMS(CUpti_RangeProfiler_Start, start);
  start.pRangeProfilerObject = c.ranges;
  const CUptiResult result = c.cupti->RangeStart(&start);
  c.started = result == CUPTI_SUCCESS;
  if (c.started) return "";
  std::string why = Refused(c, "RangeStart", result);
  c.not_now = !c.denied;
  return why;
}

std::string Deliver(vramspanCounters& c, size_t index) {
  VS_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo, info);
  info.counterDataImageSize = c.data.size();
  info.pCounterDataImage = c.data.data();
  info.rangeIndex = index;
  info.rangeDelimiter = "/";
  VS_CUPTI(RangeGetRangeInfo, info);
  const char* const end = info.rangeName + std::strlen(info.rangeName);
  size_t place = c.tags.size();
  if (std::from_chars(info.rangeName, end, place).ptr != end || place >= c.tags.size()) {
    return std::string("CUPTI names a range that was never begun: ") + info.rangeName;
  }
  double values[std::size(kMetrics)] = {};
  VS_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues, evaluate);
  evaluate.pHostObject = c.host;
  evaluate.counterDataImageSize = c.data.size();
  evaluate.pCounterDataImage = c.data.data();
  evaluate.rangeIndex = index;
  evaluate.ppMetricNames = c.metrics.data();
  evaluate.numMetrics = c.metrics.size();
  evaluate.pMetricValues = values;
  VS_CUPTI(HostEvaluateToGpuValues, evaluate);
  const auto whole = [](double value) { return value > 0 ? static_cast<uint64_t>(value) : 0; };
  vramspanCounted counted{};
  counted.tag = c.tags[place];
  counted.host_reads = whole(values[0]);
  counted.host_writes = whole(values[1]);
  counted.has_device = c.metrics.size() > kNeeded ? 1 : 0;
  if (counted.has_device != 0) counted.device = whole(values[2]);
  c.counted(c.user, &counted);
  return "";
}

std::string EndBatch(vramspanCounters& c) {
  if (!c.started) return "";
  c.started = false;
  VS_PARAMS(CUpti_RangeProfiler_Stop, stop);
  stop.pRangeProfilerObject = c.ranges;
  VS_CUPTI(RangeStop, stop);
  VS_PARAMS(CUpti_RangeProfiler_DecodeData, decode);
  decode.pRangeProfilerObject = c.ranges;
  VS_CUPTI(RangeDecode, decode);
  if (decode.numOfRangeDropped != 0) {
    return "CUPTI lost " + std::to_string(decode.numOfRangeDropped) + " of " +
           std::to_string(c.tags.size()) + " counted ranges";
  }
  VS_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo, info);
  info.pCounterDataImage = c.data.data();
  info.counterDataImageSize = c.data.size();
  VS_CUPTI(RangeGetCounterDataInfo, info);
  if (info.numTotalRanges != c.tags.size()) {
    return "CUPTI counted " + std::to_string(info.numTotalRanges) + " ranges of " +
           std::to_string(c.tags.size());
  }
  for (size_t i = 0; i < info.numTotalRanges; ++i) {
    if (std::string why = Deliver(c, i); !why.empty()) return why;
  }
  return "";
}

std::string Close(vramspanCounters& c) {
  std::string why = EndBatch(c);
  const auto note = [&](const char* call, CUptiResult result) {
    if (result != CUPTI_SUCCESS && why.empty()) why = Refused(c, call, result);
  };
  if (c.ranges != nullptr) {
    VS_PARAMS(CUpti_RangeProfiler_Disable, disable);
    disable.pRangeProfilerObject = c.ranges;
    note("RangeDisable", c.cupti->RangeDisable(&disable));
  }
  if (c.host != nullptr) {
    VS_PARAMS(CUpti_Profiler_Host_Deinitialize, deinitialize);
    deinitialize.pHostObject = c.host;
    note("HostDeinitialize", c.cupti->HostDeinitialize(&deinitialize));
  }
  return why;
}

std::string Open(vramspanCounters& c, CUdevice device, const char* library) {
  std::string error;
  c.cupti = OpenProfiler(library, &error);
  if (c.cupti == nullptr) return error;
  VS_PARAMS(CUpti_Profiler_Initialize, initialize);
  VS_CUPTI(Initialize, initialize);
  if (error = Supported(c, device); !error.empty()) return error;
  VS_PARAMS(CUpti_RangeProfiler_Enable, enable);
  enable.ctx = c.context;
  VS_CUPTI(RangeEnable, enable);
  c.ranges = enable.pRangeProfilerObject;
  if (error = MakeHost(c, device); !error.empty()) return error;
  VS_PARAMS(CUpti_RangeProfiler_GetCounterDataSize, size);
  size.pRangeProfilerObject = c.ranges;
  size.pMetricNames = c.metrics.data();
  size.numMetrics = c.metrics.size();
  size.maxNumOfRanges = kBatch;
  size.maxNumRangeTreeNodes = kBatch;
  VS_CUPTI(RangeGetCounterDataSize, size);
  c.data.assign(size.counterDataSize, 0);
  return StartBatch(c);
}

// REQUIRES: a batch is started.
std::string Begin(vramspanCounters& c, uint64_t tag) {
  const std::string name = std::to_string(c.tags.size());
  VS_PARAMS(CUpti_RangeProfiler_PushRange, push);
  push.pRangeProfilerObject = c.ranges;
  push.pRangeName = name.c_str();
  VS_CUPTI(RangePush, push);
  c.tags.push_back(tag);
  return "";
}

std::string End(vramspanCounters& c) {
  VS_PARAMS(CUpti_RangeProfiler_PopRange, pop);
  pop.pRangeProfilerObject = c.ranges;
  VS_CUPTI(RangePop, pop);
  return c.tags.size() < kBatch ? "" : EndBatch(c);
}

int Tell(const std::string& why, char* error, size_t size) {
  if (size != 0) std::snprintf(error, size, "%s", why.c_str());
  return why.empty() ? 0 : 1;
}

int OpenC(CUcontext context, CUdevice device, const char* library,
          void (*counted)(void*, const vramspanCounted*), void* user, vramspanCounters** counters,
          int* denied, char* error, size_t size) {
  auto c = std::make_unique<vramspanCounters>();
  c->context = context;
  c->counted = counted;
  c->user = user;
  const std::string why = Open(*c, device, library);
  *denied = c->denied ? 1 : 0;
  if (why.empty()) {
    *counters = c.release();
  } else if (c->cupti != nullptr) {
    // Why it could not be opened is what matters.
    Close(*c);
  }
  return Tell(why, error, size);
}

int BeginC(vramspanCounters* c, uint64_t tag, char* error, size_t size) {
  if (!c->started) {
    if (const std::string why = StartBatch(*c); !why.empty()) {
      Tell(why, error, size);
      return std::exchange(c->not_now, false) ? VRAMSPAN_COUNTERS_NOT_NOW : 1;
    }
  }
  return Tell(Begin(*c, tag), error, size);
}

int EndC(vramspanCounters* c, char* error, size_t size) { return Tell(End(*c), error, size); }

int FlushC(vramspanCounters* c, char* error, size_t size) {
  return Tell(EndBatch(*c), error, size);
}

int CloseC(vramspanCounters* c, char* error, size_t size) {
  const std::unique_ptr<vramspanCounters> owned(c);
  return Tell(Close(*c), error, size);
}

constexpr vramspanCountersTable kTable = {
    VRAMSPAN_COUNTERS_VERSION, &OpenC, &BeginC, &EndC, &FlushC, &CloseC};

}  // namespace
}  // namespace vramspan

extern "C" __attribute__((visibility("default"))) const vramspanCountersTable* vramspanCountersGet(
    void) {
  return &vramspan::kTable;
}
