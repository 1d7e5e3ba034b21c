#ifndef VRAMSPAN_TESTS_SIMCUDA_CUPTI_FIXTURE_H_
#define VRAMSPAN_TESTS_SIMCUDA_CUPTI_FIXTURE_H_

// A test on the simulated driver that traces it, with the libcupti.so.13 beside it opened as a
// tracer opens it.

#include <cupti.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/simcuda/kernel_fixture.h"

#define CUPTI_OK(call) ASSERT_EQ((call), CUPTI_SUCCESS)
#define CUPTI_EXPECT_OK(call) EXPECT_EQ((call), CUPTI_SUCCESS)

namespace simcuda {

// The functions of the library.
struct Cupti {
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiSubscribe_v2) subscribe_v2;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiFinalize) finalize;
  decltype(&cuptiEnableCallback) enable_callback;
  decltype(&cuptiEnableDomain) enable_domain;
  decltype(&cuptiEnableAllDomains) enable_all_domains;
  decltype(&cuptiGetCallbackState) get_callback_state;
  decltype(&cuptiGetCallbackName) get_callback_name;
  decltype(&cuptiGetResultString) get_result_string;
  decltype(&cuptiGetVersion) get_version;
  decltype(&cuptiSupportedDomains) supported_domains;

  static const Cupti& Get();
};

// A callback as it was delivered.
struct Delivered {
  CUpti_CallbackId id;
  CUpti_ApiCallbackSite site;
  std::string name;
  std::string kernel;
  const void* params;
  CUresult result;  // CUDA_ERROR_UNKNOWN where none was shown
  CUcontext context;
  uint32_t context_uid;
  const uint64_t* correlation_data;
  uint32_t correlation_id;
};

// One subscriber, no id enabled, whose callbacks are recorded and then given to `handler`.
class CuptiTest : public KernelTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  void Enable(CUpti_CallbackId id, bool on = true);
  // The names of what was delivered since the last Take: "+cuLaunchKernel" at its entry and
  // "-cuLaunchKernel" at its exit.
  std::vector<std::string> Take();

  std::vector<Delivered> events_;
  std::function<void(const Delivered&, const CUpti_CallbackData&)> handler_;
  CUpti_SubscriberHandle subscriber_ = nullptr;

 private:
  static void Callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       const void* data);
};

// The exported function, by its full name.
void* DriverSymbol(const char* name);

}  // namespace simcuda

#endif  // VRAMSPAN_TESTS_SIMCUDA_CUPTI_FIXTURE_H_
