// The runtime's memory for CCCL, Thrust and other code that takes a cuda::mr resource or an
// allocator. Header only; needs CCCL (the CUDA Toolkit's own, 3.0, or a later one) and cudart.
//
//   vramspan::MemoryResource resource(runtime);
//   vramspan::Allocator<char> scratch(resource, stream);
//   thrust::sort(thrust::cuda::par(scratch).on(stream), first, last);
//
// cuda::mr changed its names: CCCL 3.0 asks for allocate/allocate_async, 3.3 and later ask for
// allocate_sync/allocate(stream, ...). MemoryResource has both sets, so one class satisfies both.
//
// Freeing. The runtime does not know of work that was not declared. Thrust frees its scratch memory
// while the kernels that use it may still run. So the freeing functions that take a stream wait
// until the stream has done what it holds, inside a declared scope too. While the stream is
// captured, they fail and keep the memory. The freeing functions without a stream wait for nothing.
// Work that used the memory must have finished or have been declared.
//
// With CCCL before 3.3, include this header before other CCCL headers, or define
// LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE for the whole program.
#ifndef VRAMSPAN_MEMORY_RESOURCE_HPP_
#define VRAMSPAN_MEMORY_RESOURCE_HPP_

#ifndef LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#endif

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cuda/memory_resource>
#include <cuda/stream_ref>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "vramspan/vramspan.hpp"

namespace vramspan {
inline namespace v0 {

// MemoryResource throws it if neither device nor host has room. Containers expect std::bad_alloc.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// A cuda::mr resource, cuda::mr::device_accessible. Copies are equal and share the runtime. Thread
// safe. Allocations throw OutOfMemory or Error. An allocation of 0 bytes is a null pointer. An
// alignment is any power of two; those above 256 cost up to as many bytes more.
class MemoryResource {
 public:
  static constexpr std::size_t kAlignment = 256;

  explicit MemoryResource(const Runtime& runtime) : runtime_(runtime) {}

  // Usable at once, on any stream.
  void* allocate_sync(std::size_t bytes, std::size_t alignment = kAlignment) {
    if (bytes == 0) return nullptr;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
      throw Error(
          CUDA_ERROR_INVALID_VALUE,
          "vramspan: an alignment of " + std::to_string(alignment) + " is not a power of two");
    }
    const std::size_t extra = alignment > kAlignment ? alignment - kAlignment : 0;
    if (bytes > std::numeric_limits<std::size_t>::max() - extra) {
      throw OutOfMemory("vramspan: " + std::to_string(bytes) + " bytes are more than there can be");
    }
    CUdeviceptr ptr = 0;
    const CUresult result = vramspanMemAlloc(runtime_.get(), &ptr, bytes + extra);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) throw OutOfMemory(vramspanLastErrorMessage());
    check(result);
    return reinterpret_cast<void*>((ptr + alignment - 1) & ~CUdeviceptr{alignment - 1});
  }
  void deallocate_sync(void* ptr, std::size_t, std::size_t alignment = kAlignment) noexcept {
    if (ptr == nullptr) return;
    auto base = reinterpret_cast<CUdeviceptr>(ptr);
    std::size_t size = 0;
    CUresult result = CUDA_SUCCESS;
    if (alignment > kAlignment) {
      result = vramspanMemGetAddressRange(runtime_.get(), &base, &size, base);
    }
    if (result == CUDA_SUCCESS) result = vramspanMemFree(runtime_.get(), base);
    if (result != CUDA_SUCCESS) report(result, ptr);
  }

  void* allocate(cuda::stream_ref, std::size_t bytes, std::size_t alignment = kAlignment) {
    return allocate_sync(bytes, alignment);
  }
  void deallocate(cuda::stream_ref stream, void* ptr, std::size_t bytes,
                  std::size_t alignment = kAlignment) noexcept {
    if (ptr == nullptr) return;
    if (const cudaError_t result = cudaStreamSynchronize(stream.get()); result != cudaSuccess) {
      std::fprintf(stderr,
                   "vramspan: deallocate(%p): it stays allocated, because its stream could not be "
                   "waited for: CUDA error %d\n",
                   ptr, static_cast<int>(result));
      return;
    }
    deallocate_sync(ptr, bytes, alignment);
  }

  // The names of CCCL before 3.3.
  void* allocate(std::size_t bytes, std::size_t alignment = kAlignment) {
    return allocate_sync(bytes, alignment);
  }
  void deallocate(void* ptr, std::size_t bytes, std::size_t alignment = kAlignment) noexcept {
    deallocate_sync(ptr, bytes, alignment);
  }
  void* allocate_async(std::size_t bytes, std::size_t alignment, cuda::stream_ref stream) {
    return allocate(stream, bytes, alignment);
  }
  void* allocate_async(std::size_t bytes, cuda::stream_ref stream) {
    return allocate(stream, bytes);
  }
  void deallocate_async(void* ptr, std::size_t bytes, std::size_t alignment,
                        cuda::stream_ref stream) noexcept {
    deallocate(stream, ptr, bytes, alignment);
  }
  void deallocate_async(void* ptr, std::size_t bytes, cuda::stream_ref stream) noexcept {
    deallocate(stream, ptr, bytes);
  }

  const Runtime& runtime() const noexcept { return runtime_; }

  friend bool operator==(const MemoryResource& a, const MemoryResource& b) noexcept {
    return a.runtime_.get() == b.runtime_.get();
  }
  friend constexpr void get_property(const MemoryResource&, cuda::mr::device_accessible) noexcept {}

 private:
  // A free cannot throw. It fails for a pointer that is not the resource's. That bug of the program
  // must not go unseen.
  static void report(CUresult result, const void* ptr) noexcept {
    std::fprintf(stderr, "vramspan: deallocate(%p): CUDA error %d: %s\n", ptr,
                 static_cast<int>(result), vramspanLastErrorMessage());
  }

  Runtime runtime_;
};

// A standard allocator over a MemoryResource, stream-ordered on one stream (the legacy default
// stream unless another is given). Thrust's algorithms take it for their temporary memory:
// thrust::cuda::par(Allocator<char>). Containers take it with their pointer type:
// thrust::device_vector<T, Allocator<T, thrust::device_ptr<T>>>.
template <typename T, typename Pointer = T*>
class Allocator {
 public:
  using value_type = T;
  using pointer = Pointer;
  template <typename U>
  struct rebind {
    using other = Allocator<U, typename std::pointer_traits<Pointer>::template rebind<U>>;
  };

  explicit Allocator(MemoryResource resource, cuda::stream_ref stream = cudaStream_t{})
      : resource_(std::move(resource)), stream_(stream) {}
  template <typename U, typename P>
  Allocator(const Allocator<U, P>& other)  // NOLINT(google-explicit-constructor): as std::allocator
      : resource_(other.resource()), stream_(other.stream()) {}

  pointer allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      throw OutOfMemory("vramspan: " + std::to_string(count) + " elements of " +
                        std::to_string(sizeof(T)) + " bytes are more than there can be");
    }
    return pointer(static_cast<T*>(resource_.allocate(stream_, count * sizeof(T), kAlign)));
  }
  void deallocate(pointer ptr, std::size_t count) noexcept {
    resource_.deallocate(stream_, raw(ptr), count * sizeof(T), kAlign);
  }

  const MemoryResource& resource() const noexcept { return resource_; }
  cuda::stream_ref stream() const noexcept { return stream_; }

  template <typename U, typename P>
  friend bool operator==(const Allocator& a, const Allocator<U, P>& b) noexcept {
    return a.resource() == b.resource() && a.stream() == b.stream();
  }

 private:
  static constexpr std::size_t kAlign = alignof(T) > MemoryResource::kAlignment
                                            ? alignof(T)
                                            : MemoryResource::kAlignment;

  static void* raw(T* ptr) { return ptr; }
  template <typename Fancy>
  static void* raw(const Fancy& ptr) {
    return ptr.get();
  }

  MemoryResource resource_;
  cuda::stream_ref stream_;
};

}  // namespace v0
}  // namespace vramspan

#endif  // VRAMSPAN_MEMORY_RESOURCE_HPP_
