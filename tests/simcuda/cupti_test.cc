// Callbacks at entry and exit of driver calls: what they are told.

#include "tests/simcuda/cupti_fixture.h"

namespace simcuda {
namespace {

using Names = std::vector<std::string>;

TEST_F(CuptiTest, ALaunchIsShownAsItWasCalled) {
  const CUdeviceptr out = Words(16);
  const CUfunction fill = Loaded("fill");
  CUdeviceptr address = out;
  size_t count = 16;
  Word value = 5;
  void* params[] = {&address, &count, &value};
  cuLaunchKernel_params seen = {};
  handler_ = [&](const Delivered& event, const CUpti_CallbackData& data) {
    if (event.site == CUPTI_API_ENTER) {
      seen = *static_cast<const cuLaunchKernel_params*>(data.functionParams);
      // What the entry puts in a parameter is what the kernel gets: it has not been read yet.
      value = 6;
      EXPECT_EQ(simcudaCallCount("cuLaunchKernel"), 0);
      EXPECT_EQ(data.functionReturnValue, nullptr);
      EXPECT_EQ(*data.correlationData, 0u);
      *data.correlationData = 77;
    } else {
      EXPECT_EQ(simcudaCallCount("cuLaunchKernel"), 1);
      EXPECT_EQ(*data.correlationData, 77u);
    }
  };
  Enable(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  SIM_OK(cuLaunchKernel(fill, 1, 2, 3, 32, 4, 5, 0, stream_, params, nullptr));

  ASSERT_EQ(events_.size(), 2u);
  const Delivered& enter = events_[0];
  const Delivered& exit = events_[1];
  EXPECT_EQ(enter.site, CUPTI_API_ENTER);
  EXPECT_EQ(exit.site, CUPTI_API_EXIT);
  EXPECT_EQ(exit.result, CUDA_SUCCESS);
  unsigned long long context_id = 0;
  SIM_OK(cuCtxGetId(context_, &context_id));
  for (const Delivered& event : events_) {
    EXPECT_EQ(event.id, static_cast<unsigned>(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    EXPECT_EQ(event.name, "cuLaunchKernel");
    EXPECT_EQ(event.kernel, "fill");
    EXPECT_EQ(event.context, context_);
    EXPECT_EQ(event.context_uid, context_id);
    EXPECT_EQ(event.correlation_data, enter.correlation_data);
    EXPECT_EQ(event.correlation_id, enter.correlation_id);
  }
  EXPECT_EQ(seen.f, fill);
  EXPECT_EQ(seen.gridDimX, 1u);
  EXPECT_EQ(seen.gridDimY, 2u);
  EXPECT_EQ(seen.gridDimZ, 3u);
  EXPECT_EQ(seen.blockDimX, 32u);
  EXPECT_EQ(seen.blockDimY, 4u);
  EXPECT_EQ(seen.blockDimZ, 5u);
  EXPECT_EQ(seen.sharedMemBytes, 0u);
  EXPECT_EQ(seen.hStream, stream_);
  EXPECT_EQ(seen.kernelParams, params);
  EXPECT_EQ(seen.extra, nullptr);
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(out, 16), std::vector<Word>(16, 6));
}

TEST_F(CuptiTest, CallsAreToldApart) {
  Enable(CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async);
  const CUdeviceptr out = Words(16);
  SIM_OK(cuMemsetD32Async(out, 1, 4, stream_));
  SIM_OK(cuMemsetD32Async(out, 2, 4, stream_));
  ASSERT_EQ(events_.size(), 4u);
  EXPECT_EQ(events_[0].correlation_id, events_[1].correlation_id);
  EXPECT_EQ(events_[2].correlation_id, events_[3].correlation_id);
  EXPECT_NE(events_[0].correlation_id, events_[2].correlation_id);
}

TEST_F(CuptiTest, TheExitShowsWhatTheCallReturns) {
  Enable(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
  CUdeviceptr address = 0;
  handler_ = [&](const Delivered& event, const CUpti_CallbackData& data) {
    const auto& params = *static_cast<const cuMemAlloc_v2_params*>(data.functionParams);
    EXPECT_EQ(params.dptr, &address);
    EXPECT_EQ(params.bytesize, 4096u);
    EXPECT_EQ(*params.dptr != 0, event.site == CUPTI_API_EXIT && event.result == CUDA_SUCCESS);
  };
  SIM_OK(cuMemAlloc(&address, 4096));
  EXPECT_EQ(events_.back().result, CUDA_SUCCESS);
  simcudaFail("cuMemAlloc", 1, 1, CUDA_ERROR_OUT_OF_MEMORY);
  address = 0;
  EXPECT_EQ(cuMemAlloc(&address, 4096), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(events_.back().result, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(Take(),
            (Names{"+cuMemAlloc_v2", "-cuMemAlloc_v2", "+cuMemAlloc_v2", "-cuMemAlloc_v2"}));
}

TEST_F(CuptiTest, WithoutAContext) {
  Enable(CUPTI_DRIVER_TRACE_CBID_cuCtxSetCurrent);
  SIM_OK(cuCtxSetCurrent(nullptr));
  SIM_OK(cuCtxSetCurrent(context_));
  ASSERT_EQ(events_.size(), 4u);
  EXPECT_EQ(events_[0].context, context_);
  EXPECT_EQ(events_[1].context, nullptr);
  EXPECT_EQ(events_[1].context_uid, 0u);
  EXPECT_EQ(events_[2].context, nullptr);
  EXPECT_EQ(events_[3].context, context_);
}

TEST_F(CuptiTest, CallsOfACallbackAreDeliveredWhereTheyAreEnabled) {
  const CUdeviceptr out = Words(16);
  Enable(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  Enable(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async);
  handler_ = [&](const Delivered& event, const CUpti_CallbackData&) {
    if (event.name != "cuLaunchKernel") return;
    SIM_EXPECT_OK(cuMemsetD8Async(out, 0, 8, stream_));
    SIM_EXPECT_OK(cuMemsetD32Async(out, 0, 2, stream_));
  };
  SIM_OK(Launch(Loaded("nothing"), stream_));
  EXPECT_EQ(Take(), (Names{"+cuLaunchKernel", "+cuMemsetD8Async", "-cuMemsetD8Async",
                           "-cuLaunchKernel", "+cuMemsetD8Async", "-cuMemsetD8Async"}));
}

TEST_F(CuptiTest, OnlyWhatIsEnabled) {
  const CUdeviceptr out = Words(16);
  Enable(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async);
  SIM_OK(cuMemsetD32Async(out, 0, 2, stream_));
  SIM_OK(cuMemsetD8Async(out, 0, 2, stream_));
  EXPECT_EQ(Take(), (Names{"+cuMemsetD8Async", "-cuMemsetD8Async"}));
  Enable(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, false);
  SIM_OK(cuMemsetD8Async(out, 0, 2, stream_));
  EXPECT_EQ(Take(), Names{});
  CUPTI_OK(Cupti::Get().enable_domain(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API));
  SIM_OK(cuMemsetD32Async(out, 0, 2, stream_));
  SIM_OK(cuCtxSynchronize());
  EXPECT_EQ(Take(), (Names{"+cuMemsetD32Async", "-cuMemsetD32Async", "+cuCtxSynchronize",
                           "-cuCtxSynchronize"}));
  CUPTI_OK(Cupti::Get().enable_all_domains(0, subscriber_));
  SIM_OK(cuMemsetD32Async(out, 0, 2, stream_));
  EXPECT_EQ(Take(), Names{});
}

}  // namespace
}  // namespace simcuda
