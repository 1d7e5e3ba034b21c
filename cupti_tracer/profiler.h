// The functions of CUPTI's range profiler, looked up at run time where counters are asked for: a
// CUPTI without them still traces.
#ifndef VRAMSPAN_CUPTI_TRACER_PROFILER_H_
#define VRAMSPAN_CUPTI_TRACER_PROFILER_H_

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <string>

namespace vramspan {

#define VRAMSPAN_PROFILER_CALLS(X)                                            \
  X(GetResultString, cuptiGetResultString)                                    \
  X(DeviceGetChipName, cuptiDeviceGetChipName)                                \
  X(Initialize, cuptiProfilerInitialize)                                      \
  X(DeviceSupported, cuptiProfilerDeviceSupported)                            \
  X(GetCounterAvailability, cuptiProfilerGetCounterAvailability)              \
  X(HostInitialize, cuptiProfilerHostInitialize)                              \
  X(HostDeinitialize, cuptiProfilerHostDeinitialize)                          \
  X(HostConfigAddMetrics, cuptiProfilerHostConfigAddMetrics)                  \
  X(HostGetConfigImageSize, cuptiProfilerHostGetConfigImageSize)              \
  X(HostGetConfigImage, cuptiProfilerHostGetConfigImage)                      \
  X(HostGetNumOfPasses, cuptiProfilerHostGetNumOfPasses)                      \
  X(HostEvaluateToGpuValues, cuptiProfilerHostEvaluateToGpuValues)            \
  X(RangeEnable, cuptiRangeProfilerEnable)                                    \
  X(RangeDisable, cuptiRangeProfilerDisable)                                  \
  X(RangeSetConfig, cuptiRangeProfilerSetConfig)                              \
  X(RangeStart, cuptiRangeProfilerStart)                                      \
  X(RangeStop, cuptiRangeProfilerStop)                                        \
  X(RangePush, cuptiRangeProfilerPushRange)                                   \
  X(RangePop, cuptiRangeProfilerPopRange)                                     \
  X(RangeDecode, cuptiRangeProfilerDecodeData)                                \
  X(RangeGetCounterDataSize, cuptiRangeProfilerGetCounterDataSize)            \
  X(RangeCounterDataInitialize, cuptiRangeProfilerCounterDataImageInitialize) \
  X(RangeGetCounterDataInfo, cuptiRangeProfilerGetCounterDataInfo)            \
  X(RangeGetRangeInfo, cuptiRangeProfilerCounterDataGetRangeInfo)

struct Profiler {
#define VS_X(field, symbol) decltype(&::symbol) field = nullptr;
  VRAMSPAN_PROFILER_CALLS(VS_X)
#undef VS_X

  std::string Text(CUptiResult result) const;
};

// As OpenCupti, and of the same library.
const Profiler* OpenProfiler(const char* preferred, std::string* error);

}  // namespace vramspan

#endif  // VRAMSPAN_CUPTI_TRACER_PROFILER_H_
