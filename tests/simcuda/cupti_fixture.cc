#include "tests/simcuda/cupti_fixture.h"

#include <dlfcn.h>

namespace simcuda {
namespace {

template <typename Function>
void Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  EXPECT_NE(*function, nullptr) << name;
}

}  // namespace

const Cupti& Cupti::Get() {
  static const Cupti cupti = [] {
    Cupti found = {};
    void* const library = dlopen(SIMCUDA_TEST_CUPTI, RTLD_NOW);
    EXPECT_NE(library, nullptr) << dlerror();
    Find(library, "cuptiSubscribe", &found.subscribe);
    Find(library, "cuptiSubscribe_v2", &found.subscribe_v2);
    Find(library, "cuptiUnsubscribe", &found.unsubscribe);
    Find(library, "cuptiFinalize", &found.finalize);
    Find(library, "cuptiEnableCallback", &found.enable_callback);
    Find(library, "cuptiEnableDomain", &found.enable_domain);
    Find(library, "cuptiEnableAllDomains", &found.enable_all_domains);
    Find(library, "cuptiGetCallbackState", &found.get_callback_state);
    Find(library, "cuptiGetCallbackName", &found.get_callback_name);
    Find(library, "cuptiGetResultString", &found.get_result_string);
    Find(library, "cuptiGetVersion", &found.get_version);
    Find(library, "cuptiSupportedDomains", &found.supported_domains);
    return found;
  }();
  return cupti;
}

void CuptiTest::SetUp() {
  KernelTest::SetUp();
  CUPTI_OK(Cupti::Get().subscribe(&subscriber_, &CuptiTest::Callback, this));
}

void CuptiTest::TearDown() {
  if (subscriber_ != nullptr) {
    CUPTI_EXPECT_OK(Cupti::Get().unsubscribe(subscriber_));
  }
  KernelTest::TearDown();
}

void CuptiTest::Enable(CUpti_CallbackId id, bool on) {
  CUPTI_EXPECT_OK(
      Cupti::Get().enable_callback(on ? 1 : 0, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id));
}

std::vector<std::string> CuptiTest::Take() {
  std::vector<std::string> names;
  for (const Delivered& event : events_) {
    names.push_back((event.site == CUPTI_API_ENTER ? "+" : "-") + event.name);
  }
  events_.clear();
  return names;
}

void CuptiTest::Callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const void* data) {
  EXPECT_EQ(domain, CUPTI_CB_DOMAIN_DRIVER_API);
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  const auto* const result = static_cast<const CUresult*>(call.functionReturnValue);
  const Delivered event = {id,
                           call.callbackSite,
                           call.functionName,
                           call.symbolName == nullptr ? "" : call.symbolName,
                           call.functionParams,
                           result == nullptr ? CUDA_ERROR_UNKNOWN : *result,
                           call.context,
                           call.contextUid,
                           call.correlationData,
                           call.correlationId};
  auto* const test = static_cast<CuptiTest*>(self);
  test->events_.push_back(event);
  if (test->handler_) test->handler_(event, call);
}

void* DriverSymbol(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  EXPECT_NE(found, nullptr) << name;
  return found;
}

}  // namespace simcuda
