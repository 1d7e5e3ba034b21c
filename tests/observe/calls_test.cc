// The table of calls: what is watched, and that nothing is watched by halves.

#include "runtime/observe/call_table.h"
#include "tests/observe/decoder_fixture.h"

namespace vramspan {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(Calls, ByClass) {
  const auto submits = Decoder::CallsOf(CallClass::kSubmits);
  const auto defines = Decoder::CallsOf(CallClass::kDefines);
  for (const uint32_t call : submits) EXPECT_EQ(Decoder::ClassOf(call), CallClass::kSubmits);
  for (const uint32_t call : defines) EXPECT_EQ(Decoder::ClassOf(call), CallClass::kDefines);
  EXPECT_EQ(submits.size() + defines.size() + Decoder::CallsOf(CallClass::kLooksUp).size() +
                Decoder::CallsOf(CallClass::kWaits).size() +
                Decoder::CallsOf(CallClass::kNone).size(),
            static_cast<size_t>(CUPTI_DRIVER_TRACE_CBID_SIZE));
  EXPECT_THAT(submits, Contains(CALL(cuLaunchKernel_ptsz)));
  EXPECT_THAT(defines, Contains(CALL(cuModuleUnload)));
  EXPECT_EQ(Decoder::ClassOf(CALL(cuLaunchHostFunc)), CallClass::kNone);
  EXPECT_EQ(Decoder::ClassOf(CALL(cuMemAllocAsync)), CallClass::kNone);
  EXPECT_EQ(Decoder::ClassOf(CALL(cuMemPrefetchAsync)), CallClass::kNone);
}

TEST(Calls, SomeReturnWhenTheDeviceIsDone) {
  for (const uint32_t call : Decoder::CallsOf(CallClass::kWaits)) {
    EXPECT_EQ(Decoder::ClassOf(call), CallClass::kWaits);
  }
  EXPECT_EQ(Decoder::WhatFor(CALL(cuCtxSynchronize)), WaitsFor::kAll);
  EXPECT_EQ(Decoder::WhatFor(CALL(cuEventSynchronize)), WaitsFor::kEvent);
  EXPECT_EQ(Decoder::WhatFor(CALL(cuStreamSynchronize_ptsz)), WaitsFor::kStream);
  for (const uint32_t call : {CALL(cuMemcpy), CALL(cuMemcpyDtoH_v2_ptds), CALL(cuMemcpyAtoH_v2),
                              CALL(cuMemcpy2DUnaligned_v2), CALL(cuMemcpy3D_v2_ptds)}) {
    EXPECT_TRUE(CallAt(call).returns_done) << call;
  }
  for (const uint32_t call : {CALL(cuMemcpyAsync), CALL(cuMemcpyHtoD_v2), CALL(cuMemcpyDtoD_v2),
                              CALL(cuMemcpyPeer), CALL(cuMemcpy3DPeer), CALL(cuMemsetD8_v2),
                              CALL(cuMemcpyDtoHAsync_v2), CALL(cuLaunchKernel)}) {
    EXPECT_FALSE(CallAt(call).returns_done) << call;
  }
}

TEST(Calls, OfANewerDriverAreOfNoInterest) {
  EXPECT_EQ(Decoder::ClassOf(CUPTI_DRIVER_TRACE_CBID_SIZE), CallClass::kNone);
  EXPECT_EQ(Decoder::ClassOf(CUPTI_DRIVER_TRACE_CBID_INVALID), CallClass::kNone);
  EXPECT_FALSE(Decoder::CopiesFromHost(~0u));
}

TEST(Calls, ThatCopyFromHostMemory) {
  for (const uint32_t call : {CALL(cuMemcpyHtoD_v2), CALL(cuMemcpyHtoDAsync_v2_ptsz),
                              CALL(cuMemcpy), CALL(cuMemcpyAsync)}) {
    EXPECT_TRUE(Decoder::CopiesFromHost(call)) << call;
  }
  for (const uint32_t call : {CALL(cuMemcpyDtoH_v2), CALL(cuMemcpyDtoD_v2), CALL(cuMemcpyHtoA_v2),
                              CALL(cuMemsetD8_v2), CALL(cuLaunchKernel)}) {
    EXPECT_FALSE(Decoder::CopiesFromHost(call)) << call;
  }
}

}  // namespace
}  // namespace vramspan
