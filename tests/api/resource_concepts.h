// The concepts that CCCL 3.3 and later (cuda::mr, checked against its sources of 2026) ask of a
// memory resource, written down here for builds whose CCCL is older: the toolkit's 3.0 has the
// names allocate/allocate_async only. Where they differ from the real ones, the real ones are
// right; build with a newer CCCL in the include path and memory_resource_test.cc checks those as
// well.
#ifndef VRAMSPAN_TESTS_API_RESOURCE_CONCEPTS_H_
#define VRAMSPAN_TESTS_API_RESOURCE_CONCEPTS_H_

#include <concepts>
#include <cstddef>
#include <cuda/stream_ref>

namespace cccl_3_3 {

template <typename Resource>
concept synchronous_resource = std::equality_comparable<Resource> &&
    requires(Resource& resource, void* ptr, std::size_t bytes, std::size_t alignment) {
  { resource.allocate_sync(bytes, alignment) } -> std::same_as<void*>;
  { resource.deallocate_sync(ptr, bytes, alignment) } -> std::same_as<void>;
};

template <typename Resource>
concept resource = synchronous_resource<Resource> &&
    requires(Resource& resource, void* ptr, std::size_t bytes, std::size_t alignment,
             cuda::stream_ref stream) {
  { resource.allocate(stream, bytes, alignment) } -> std::same_as<void*>;
  { resource.deallocate(stream, ptr, bytes, alignment) } -> std::same_as<void>;
};

template <typename Resource, typename Property>
concept has_property = requires(const Resource& resource, Property property) {
  get_property(resource, property);
};

template <typename Resource, typename... Properties>
concept resource_with = resource<Resource> &&(has_property<Resource, Properties>&&...);

// any_resource stores its resource by value: it must be copied as well as compared.
template <typename Resource>
concept erasable = resource<Resource> && std::copyable<Resource>;

}  // namespace cccl_3_3

#endif  // VRAMSPAN_TESTS_API_RESOURCE_CONCEPTS_H_
