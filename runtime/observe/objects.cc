#include "runtime/observe/objects.h"

#include <cstring>

namespace vramspan {
namespace {

// In half bytes, since some elements are packed.
uint64_t HalfBytesOf(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 4;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return 8;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 16;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
      return 1;
    default:
      return 0;  // Elements with gaps between, or of a newer driver.
  }
}

uint64_t HashTensorMap(const void* map) {
  uint64_t words[CU_TENSOR_MAP_NUM_QWORDS];
  std::memcpy(words, map, sizeof(words));
  uint64_t hash = 0;
  for (const uint64_t word : words) {
    // Each word changes every bit, so that maps that differ in one number differ in their hash.
    const auto product = static_cast<unsigned __int128>(hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    hash += 0x632be59bd9b4e019ull;
  }
  return hash != 0 ? hash : 1;
}

}  // namespace

void Objects::Name(uint64_t value, Memory memory) {
  if (value == 0 || memory.ptr.value == 0) return;
  MutexLock lock(mu_);
  const auto [it, made] = places_.try_emplace(value);
  if (made) {
    it->second = order_.insert(order_.end(), value);
  } else {
    order_.splice(order_.end(), order_, it->second);
  }
  const LookupTable::Value named{memory.ptr.value, memory.size.value};
  const bool changes = made || table_.Find(value) != named;
  table_.Put(value, named);
  if (places_.size() > kMost) {
    table_.Put(order_.front(), {});
    places_.erase(order_.front());
    order_.pop_front();
  }
  count_.store(places_.size(), std::memory_order_relaxed);
  // Libraries encode the map of a matrix again for each product.
  if (changes) changes_.fetch_add(1, std::memory_order_release);
}

void Objects::Unname(uint64_t value) {
  MutexLock lock(mu_);
  const auto it = places_.find(value);
  if (it == places_.end()) return;
  table_.Put(value, {});
  order_.erase(it->second);
  places_.erase(it);
  count_.store(places_.size(), std::memory_order_relaxed);
  changes_.fetch_add(1, std::memory_order_release);
}

void TensorMaps::Name(const void* map, Objects::Memory memory) {
  // First: Objects counts the change when all of it can be found.
  const size_t head = HeadOf(map);
  heads_[head / 64].fetch_or(uint64_t{1} << (head % 64), std::memory_order_relaxed);
  objects_.Name(HashTensorMap(map), memory);
}

Objects::Memory TensorMaps::Find(const void* map) const {
  const size_t head = HeadOf(map);
  const uint64_t bits = heads_[head / 64].load(std::memory_order_relaxed);
  if ((bits >> (head % 64) & 1) == 0) return {};
  return objects_.Find(HashTensorMap(map));
}

size_t TensorMaps::HeadOf(const void* map) {
  uint64_t word = 0;
  std::memcpy(&word, map, sizeof(word));
  return static_cast<size_t>(word * 0x9e3779b97f4a7c15ull >> 32) % kHeads;
}

Bytes TensorBytes(CUtensorMapDataType type, uint32_t rank, const cuuint64_t* lengths,
                  const cuuint64_t* strides, CUtensorMapInterleave interleave) {
  const uint64_t half_bytes = HalfBytesOf(type);
  if (half_bytes == 0 || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || rank == 0) return Bytes();
  if (lengths == nullptr || (strides == nullptr && rank > 1)) return Bytes();
  uint64_t bytes = (lengths[0] * half_bytes + 1) / 2;
  for (uint32_t i = 1; i < rank; ++i) {
    if (lengths[i] == 0) return Bytes();
    bytes += (lengths[i] - 1) * strides[i - 1];
  }
  return Bytes(bytes);
}

Objects::Memory TextureMemory(const CUDA_RESOURCE_DESC& resource) {
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_LINEAR:
      return {DevicePtr(resource.res.linear.devPtr), Bytes(resource.res.linear.sizeInBytes)};
    case CU_RESOURCE_TYPE_PITCH2D:
      return {DevicePtr(resource.res.pitch2D.devPtr),
              Bytes(resource.res.pitch2D.pitchInBytes * resource.res.pitch2D.height)};
    default:
      return {};
  }
}

}  // namespace vramspan
