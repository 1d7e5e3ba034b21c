// memory_resource.hpp: the concepts of both generations of CCCL, and what reaches the C interface.
#include "vramspan/memory_resource.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cuda/version>
#include <memory>
#include <vector>

#include "tests/api/fake_vramspan.h"
#include "tests/api/resource_concepts.h"

#if CCCL_VERSION < 3001000
static_assert(cuda::mr::resource_with<vramspan::MemoryResource, cuda::mr::device_accessible>);
static_assert(cuda::mr::async_resource_with<vramspan::MemoryResource, cuda::mr::device_accessible>);
static_assert(!cuda::mr::resource_with<vramspan::MemoryResource, cuda::mr::host_accessible>);
#elif CCCL_VERSION >= 3003000
static_assert(
    cuda::mr::synchronous_resource_with<vramspan::MemoryResource, cuda::mr::device_accessible>);
static_assert(cuda::mr::resource_with<vramspan::MemoryResource, cuda::mr::device_accessible>);
static_assert(!cuda::mr::resource_with<vramspan::MemoryResource, cuda::mr::host_accessible>);
#endif
static_assert(cccl_3_3::resource_with<vramspan::MemoryResource, cuda::mr::device_accessible>);
static_assert(!cccl_3_3::resource_with<vramspan::MemoryResource, cuda::mr::host_accessible>);
static_assert(cccl_3_3::erasable<vramspan::MemoryResource>);

namespace {

std::vector<cudaStream_t> synchronized;
size_t live_at_synchronize = 0;
cudaError_t synchronize_result = cudaSuccess;

}  // namespace

// In place of cudart's, the only function of it that the header calls.
extern "C" cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream) {
  synchronized.push_back(stream);
  live_at_synchronize = vramspan_fake::state().allocations.size();
  return synchronize_result;
}

namespace vramspan {
namespace {

using testing::ElementsAre;
using vramspan_fake::state;

class MemoryResourceTest : public testing::Test {
 protected:
  MemoryResourceTest() {
    vramspan_fake::Reset();
    synchronized.clear();
    synchronize_result = cudaSuccess;
    runtime_.emplace();
    state().calls.clear();
  }
  ~MemoryResourceTest() override {
    EXPECT_TRUE(state().allocations.empty());
    runtime_.reset();
    EXPECT_EQ(state().runtimes, 0);
  }

  std::optional<Runtime> runtime_;
  const cudaStream_t stream_ = reinterpret_cast<cudaStream_t>(0x51);
};

TEST_F(MemoryResourceTest, SynchronousPairs) {
  MemoryResource resource(*runtime_);
  void* a = resource.allocate_sync(100, 16);
  void* b = resource.allocate(100, 256);
  resource.deallocate_sync(a, 100, 16);
  resource.deallocate(b, 100, 256);
  EXPECT_THAT(state().calls, ElementsAre("MemAlloc 100", "MemAlloc 100", "MemFree", "MemFree"));
}

TEST_F(MemoryResourceTest, StreamOrderedFreesWaitForTheirStream) {
  MemoryResource resource(*runtime_);
  void* a = resource.allocate(cuda::stream_ref(stream_), 100, 16);
  void* b = resource.allocate_async(100, 16, stream_);
  EXPECT_THAT(synchronized, ElementsAre());
  resource.deallocate(cuda::stream_ref(stream_), a, 100, 16);
  EXPECT_THAT(synchronized, ElementsAre(stream_));
  // The wait came before the free.
  EXPECT_EQ(live_at_synchronize, 2u);
  runtime_->submit(stream_, {}, [&] { resource.deallocate_async(b, 100, 16, stream_); });
  EXPECT_THAT(synchronized, ElementsAre(stream_, stream_));
  EXPECT_EQ(live_at_synchronize, 1u);
}

TEST_F(MemoryResourceTest, StreamOrderedFreeKeepsWhatItCannotWaitFor) {
  MemoryResource resource(*runtime_);
  void* a = resource.allocate_sync(100);
  synchronize_result = cudaErrorStreamCaptureUnsupported;
  testing::internal::CaptureStderr();
  resource.deallocate(cuda::stream_ref(stream_), a, 100);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("stays allocated"));
  EXPECT_EQ(state().allocations.size(), 1u);
  resource.deallocate_sync(a, 100);
}

TEST_F(MemoryResourceTest, LargeAlignments) {
  MemoryResource resource(*runtime_);
  void* shift = resource.allocate_sync(1, 1);
  void* a = resource.allocate_sync(100, 4096);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 4096, 0u);
  const auto whole = runtime_->allocation_of(reinterpret_cast<CUdeviceptr>(a));
  ASSERT_TRUE(whole.has_value());
  EXPECT_LE(reinterpret_cast<uintptr_t>(a) + 100, whole->ptr + whole->bytes);
  resource.deallocate_sync(a, 100, 4096);
  resource.deallocate_sync(shift, 1, 1);
  EXPECT_THROW((void)resource.allocate_sync(1, 3), Error);
  EXPECT_THROW((void)resource.allocate_sync(1, 0), Error);
}

TEST_F(MemoryResourceTest, NothingIsANullPointer) {
  MemoryResource resource(*runtime_);
  EXPECT_EQ(resource.allocate_sync(0), nullptr);
  resource.deallocate_sync(nullptr, 0);
  resource.deallocate(cuda::stream_ref(stream_), nullptr, 0);
  EXPECT_THAT(state().calls, ElementsAre());
}

TEST_F(MemoryResourceTest, LackOfMemoryIsABadAlloc) {
  MemoryResource resource(*runtime_);
  state().fail["MemAlloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_THROW((void)resource.allocate_sync(100), std::bad_alloc);
  EXPECT_THROW((void)resource.allocate_sync(~size_t{0}, 512), std::bad_alloc);
  state().fail["MemAlloc"] = CUDA_ERROR_DEINITIALIZED;
  EXPECT_THROW((void)resource.allocate_sync(100), Error);
}

TEST_F(MemoryResourceTest, BadFreeIsReported) {
  MemoryResource resource(*runtime_);
  testing::internal::CaptureStderr();
  resource.deallocate_sync(reinterpret_cast<void*>(0x7000), 16);
  resource.deallocate_sync(reinterpret_cast<void*>(0x7000), 16, 4096);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, testing::HasSubstr("0x7000"));
  EXPECT_THAT(text, testing::HasSubstr("not the start of an allocation"));
  EXPECT_THAT(text, testing::HasSubstr("foreign"));
}

TEST_F(MemoryResourceTest, CopiesAreEqualAndShareTheRuntime) {
  const Runtime other;
  MemoryResource a(*runtime_);
  const MemoryResource b = a;
  EXPECT_TRUE(a == b);
  EXPECT_TRUE(a != MemoryResource(other));
  runtime_.reset();
  EXPECT_EQ(state().runtimes, 2);
}

TEST_F(MemoryResourceTest, AllocatorIsAStandardOne) {
  using Allocator = vramspan::Allocator<int>;
  using Traits = std::allocator_traits<Allocator>;
  static_assert(std::is_same_v<Traits::rebind_alloc<double>, vramspan::Allocator<double>>);
  Allocator allocator{MemoryResource(*runtime_)};
  int* a = Traits::allocate(allocator, 10);
  EXPECT_EQ(state().calls.back(), "MemAlloc 40");
  Traits::rebind_alloc<double> doubles(allocator);
  EXPECT_TRUE(allocator == doubles);
  double* b = doubles.allocate(2);
  Traits::deallocate(allocator, a, 10);
  doubles.deallocate(b, 2);
  EXPECT_THROW((void)allocator.allocate(~size_t{0}), std::bad_alloc);
}

}  // namespace
}  // namespace vramspan
