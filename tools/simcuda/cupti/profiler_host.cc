// The host side of the profiler: which metrics there are, and what a range's counts say of them.
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tools/simcuda/cupti/counter_data.h"
#include "tools/simcuda/cupti/driver_link.h"

#define CUPTI_EXPORT extern "C" __attribute__((visibility("default"))) CUptiResult

using namespace simcuda::cupti;  // NOLINT: the exported functions cannot be in it

struct CUpti_Profiler_Host_Object {
  std::vector<int> metrics;
};

CUPTI_EXPORT cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* params) {
  if (params == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  return Driver() != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_INITIALIZED;
}

CUPTI_EXPORT cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params* params) {
  return params != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* params) {
  if (params == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const CUpti_Profiler_Support_Level level = params->api == CUPTI_PROFILER_RANGE_PROFILING
                                                 ? CUPTI_PROFILER_CONFIGURATION_SUPPORTED
                                                 : CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
  params->isSupported = params->architecture = params->sli = params->vGpu = level;
  params->confidentialCompute = params->cmp = params->wsl = level;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params) {
  if (params == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  params->pChipName = "SIMCUDA";
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerGetCounterAvailability(
    CUpti_Profiler_GetCounterAvailability_Params* params) {
  if (params == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (Driver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  if (Driver()->may_count() == 0) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  if (params->pCounterAvailabilityImage != nullptr) {
    std::fill_n(params->pCounterAvailabilityImage, params->counterAvailabilityImageSize, 1);
  }
  params->counterAvailabilityImageSize = kMetrics;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* params) {
  if (params == nullptr || params->pChipName == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (params->profilerType != CUPTI_PROFILER_TYPE_RANGE_PROFILER) {
    return CUPTI_ERROR_NOT_SUPPORTED;
  }
  params->pHostObject = new CUpti_Profiler_Host_Object();
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* params) {
  if (params == nullptr || params->pHostObject == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  delete params->pHostObject;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostConfigAddMetrics(
    CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
  if (params == nullptr || params->pHostObject == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  for (size_t i = 0; i < params->numMetrics; ++i) {
    const int metric = MetricOf(params->ppMetricNames[i]);
    if (metric < 0) return CUPTI_ERROR_INVALID_METRIC_NAME;
    params->pHostObject->metrics.push_back(metric);
  }
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostGetConfigImageSize(
    CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
  if (params == nullptr || params->pHostObject == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  params->configImageSize = sizeof(ConfigImage);
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* params) {
  if (params == nullptr || params->pHostObject == nullptr ||
      params->configImageSize < sizeof(ConfigImage)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const ConfigImage image{ConfigImage::kMagic, params->pHostObject->metrics.size()};
  std::memcpy(params->pConfigImage, &image, sizeof(image));
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* params) {
  if (params == nullptr || params->configImageSize < sizeof(ConfigImage)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  params->numOfPasses = 1;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostEvaluateToGpuValues(
    CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
  if (params == nullptr || params->pHostObject == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const CounterData* const data =
      AsCounterData(params->pCounterDataImage, params->counterDataImageSize);
  if (data == nullptr || params->rangeIndex >= data->count) return CUPTI_ERROR_INVALID_PARAMETER;
  for (size_t i = 0; i < params->numMetrics; ++i) {
    const int metric = MetricOf(params->ppMetricNames[i]);
    if (metric < 0) return CUPTI_ERROR_INVALID_METRIC_NAME;
    params->pMetricValues[i] = data->ranges[params->rangeIndex].values[metric];
  }
  return CUPTI_SUCCESS;
}
