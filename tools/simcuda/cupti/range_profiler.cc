// The range profiler: user ranges without replay, one level, one profiler at a time. What counts is
// what driver_link reaches: touched pages of memory mapped with cuMemMap, 128 sectors a page.
#include <cupti.h>
#include <cupti_range_profiler.h>

#include <cstdio>
#include <mutex>
#include <vector>

#include "tools/simcuda/cupti/counter_data.h"
#include "tools/simcuda/cupti/driver_link.h"

#define CUPTI_EXPORT extern "C" __attribute__((visibility("default"))) CUptiResult

using namespace simcuda::cupti;  // NOLINT: the exported functions cannot be in it

struct CUpti_RangeProfiler_Object {
  uint8_t* image = nullptr;
  size_t image_size = 0;
  size_t most = 0;
  bool started = false;
  bool open = false;
  CountedRange range = {};            // The open one.
  std::vector<CountedRange> counted;  // Not decoded yet.
  size_t dropped = 0;
};

namespace {

std::mutex mutex;
CUpti_RangeProfiler_Object* enabled = nullptr;

bool Is(const CUpti_RangeProfiler_Object* object) { return object != nullptr && object == enabled; }

}  // namespace

CUPTI_EXPORT cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* params) {
  if (params == nullptr || params->ctx == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (Driver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  if (Driver()->may_count() == 0) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  const std::lock_guard lock(mutex);
  if (enabled != nullptr) return CUPTI_ERROR_INVALID_OPERATION;
  params->pRangeProfilerObject = enabled = new CUpti_RangeProfiler_Object();
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* params) {
  const std::lock_guard lock(mutex);
  if (params == nullptr || !Is(params->pRangeProfilerObject)) return CUPTI_ERROR_INVALID_PARAMETER;
  simcudaTouched ignored;
  if (enabled->open) Driver()->count_end(&ignored);
  delete enabled;
  enabled = nullptr;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* params) {
  const std::lock_guard lock(mutex);
  if (params == nullptr || !Is(params->pRangeProfilerObject) || params->pConfig == nullptr ||
      params->configSize < sizeof(ConfigImage) || params->maxRangesPerPass == 0 ||
      AsCounterData(params->pCounterDataImage, params->counterDataImageSize) == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (enabled->started) return CUPTI_ERROR_INVALID_OPERATION;
  if (params->range != CUPTI_UserRange || params->replayMode != CUPTI_UserReplay ||
      params->numNestingLevels != 1) {
    return CUPTI_ERROR_NOT_SUPPORTED;
  }
  enabled->image = params->pCounterDataImage;
  enabled->image_size = params->counterDataImageSize;
  enabled->most = params->maxRangesPerPass;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params* params) {
  const std::lock_guard lock(mutex);
  if (params == nullptr || !Is(params->pRangeProfilerObject)) return CUPTI_ERROR_INVALID_PARAMETER;
  if (enabled->started || enabled->image == nullptr) return CUPTI_ERROR_INVALID_OPERATION;
  if (Driver()->count_start() != 0) return CUPTI_ERROR_UNKNOWN;
  enabled->started = true;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* params) {
  const std::lock_guard lock(mutex);
  if (params == nullptr || !Is(params->pRangeProfilerObject)) return CUPTI_ERROR_INVALID_PARAMETER;
  if (!enabled->started || enabled->open) return CUPTI_ERROR_INVALID_OPERATION;
  enabled->started = false;
  params->passIndex = 0;
  params->targetNestingLevel = 1;
  params->isAllPassSubmitted = 1;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* params) {
  const std::lock_guard lock(mutex);
  if (params == nullptr || !Is(params->pRangeProfilerObject) || params->pRangeName == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (!enabled->started || enabled->open) return CUPTI_ERROR_INVALID_OPERATION;
  if (Driver()->count_begin() != 0) return CUPTI_ERROR_UNKNOWN;
  enabled->open = true;
  snprintf(enabled->range.name, sizeof(enabled->range.name), "%s", params->pRangeName);
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params* params) {
  const std::lock_guard lock(mutex);
  if (params == nullptr || !Is(params->pRangeProfilerObject)) return CUPTI_ERROR_INVALID_PARAMETER;
  if (!enabled->open) return CUPTI_ERROR_INVALID_OPERATION;
  enabled->open = false;
  simcudaTouched touched;
  if (Driver()->count_end(&touched) != 0) return CUPTI_ERROR_UNKNOWN;
  if (enabled->counted.size() >= enabled->most) {
    ++enabled->dropped;
    return CUPTI_SUCCESS;
  }
  enabled->range.values[0] = static_cast<double>(touched.host_reads);
  enabled->range.values[1] = static_cast<double>(touched.host_writes);
  enabled->range.values[2] = static_cast<double>(touched.device);
  enabled->counted.push_back(enabled->range);
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* params) {
  const std::lock_guard lock(mutex);
  if (params == nullptr || !Is(params->pRangeProfilerObject)) return CUPTI_ERROR_INVALID_PARAMETER;
  CounterData* const data = AsCounterData(enabled->image, enabled->image_size);
  if (data == nullptr || enabled->started) return CUPTI_ERROR_INVALID_OPERATION;
  for (const CountedRange& range : enabled->counted) {
    if (data->count < data->capacity) {
      data->ranges[data->count++] = range;
    } else {
      ++enabled->dropped;
    }
  }
  enabled->counted.clear();
  params->numOfRangeDropped = enabled->dropped;
  enabled->dropped = 0;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerGetCounterDataSize(
    CUpti_RangeProfiler_GetCounterDataSize_Params* params) {
  const std::lock_guard lock(mutex);
  if (params == nullptr || !Is(params->pRangeProfilerObject) || params->maxNumOfRanges == 0 ||
      params->maxNumRangeTreeNodes < params->maxNumOfRanges) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (size_t i = 0; i < params->numMetrics; ++i) {
    if (MetricOf(params->pMetricNames[i]) < 0) return CUPTI_ERROR_INVALID_METRIC_NAME;
  }
  params->counterDataSize = CounterData::SizeFor(params->maxNumOfRanges);
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params* params) {
  const std::lock_guard lock(mutex);
  if (params == nullptr || !Is(params->pRangeProfilerObject) || params->pCounterData == nullptr ||
      params->counterDataSize < CounterData::SizeFor(1)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  auto* const data = reinterpret_cast<CounterData*>(params->pCounterData);
  data->magic = CounterData::kMagic;
  data->capacity = (params->counterDataSize - CounterData::SizeFor(0)) / sizeof(CountedRange);
  data->count = 0;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerGetCounterDataInfo(
    CUpti_RangeProfiler_GetCounterDataInfo_Params* params) {
  if (params == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const CounterData* const data =
      AsCounterData(params->pCounterDataImage, params->counterDataImageSize);
  if (data == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  params->numTotalRanges = data->count;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerCounterDataGetRangeInfo(
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* params) {
  if (params == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const CounterData* const data =
      AsCounterData(params->pCounterDataImage, params->counterDataImageSize);
  if (data == nullptr || params->rangeIndex >= data->count) return CUPTI_ERROR_INVALID_PARAMETER;
  params->rangeName = data->ranges[params->rangeIndex].name;
  return CUPTI_SUCCESS;
}
