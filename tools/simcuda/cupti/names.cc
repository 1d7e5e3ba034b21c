// The exported functions that answer from the headers alone. Their rows are taken out of
// cupti_driver_cbid.h and cupti_result.h when the build is configured.

#include <cupti.h>

#include <iterator>

#define CUPTI_EXPORT extern "C" __attribute__((visibility("default"))) CUptiResult

namespace {

constexpr const char* kCallbackNames[] = {
#define SIMCUDA_CUPTI_ID(name) #name,
#include "cupti_ids.inc"
#undef SIMCUDA_CUPTI_ID
};
static_assert(std::size(kCallbackNames) == CUPTI_DRIVER_TRACE_CBID_SIZE,
              "an id is missing: cupti_driver_cbid.h is not what CMakeLists.txt expects");

CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API};

}  // namespace

CUPTI_EXPORT cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiGetResultString(CUptiResult result, const char** text) {
  if (text == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  switch (result) {
#define SIMCUDA_CUPTI_RESULT(name) \
  case name:                       \
    *text = #name;                 \
    return CUPTI_SUCCESS;
#include "cupti_results.inc"
#undef SIMCUDA_CUPTI_RESULT
    default:
      *text = "<unknown>";
      return CUPTI_ERROR_INVALID_PARAMETER;
  }
}

CUPTI_EXPORT cuptiGetErrorMessage(CUptiResult result, const char** text) {
  return cuptiGetResultString(result, text);
}

CUPTI_EXPORT cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  if (name == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = nullptr;
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || id >= std::size(kCallbackNames)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *name = kCallbackNames[id];
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiSupportedDomains(size_t* count, CUpti_DomainTable* table) {
  if (count == nullptr || table == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *count = std::size(domains);
  *table = domains;
  return CUPTI_SUCCESS;
}
