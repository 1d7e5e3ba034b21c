// The eviction policies as libCacheSim defines them (libCacheSim/cache/eviction, as it was
// published with S3-FIFO and SIEVE), in plain words and slow: one access in, hit or miss out, every
// object of size 1. Where a policy of ours differs by design the model can do as ours does, so that
// both what is the same and what is not are seen.
#ifndef VRAMSPAN_TESTS_REPLAY_CACHE_MODELS_H_
#define VRAMSPAN_TESTS_REPLAY_CACHE_MODELS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace vramspan::replay {

class CacheModel {
 public:
  virtual ~CacheModel() = default;
  // Whether it was there. It is after this, but for MIN with bypass.
  virtual bool Hit(uint32_t id) = 0;
};

// fifo, lru, clock, sieve, s3fifo, arc, lfu, or `min`, which is told all `accesses` beforehand.
// `ours`: with what differs by design.
std::unique_ptr<CacheModel> MakeCacheModel(std::string_view policy, size_t room, bool ours,
                                           const std::vector<uint32_t>& accesses);

// Hits and misses, first touches aside.
uint64_t ModelMisses(CacheModel& model, const std::vector<uint32_t>& accesses);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TESTS_REPLAY_CACHE_MODELS_H_
