// Physical memory and the addresses it is mapped at. Calls that fail throw (world.h's Must); a test
// that wants to see a call fail makes it itself.
#ifndef VRAMSPAN_TESTS_CONFORMANCE_CHUNKS_H_
#define VRAMSPAN_TESTS_CONFORMANCE_CHUNKS_H_

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <ostream>
#include <vector>

namespace vramspan::conformance {

inline constexpr size_t kMiB = size_t{1} << 20;
inline constexpr size_t kChunk = 2 * kMiB;

enum class Where { kDevice, kHostNuma, kHost };
std::ostream& operator<<(std::ostream& out, Where where);

CUmemAllocationProp Properties(Where where);
CUmemAccessDesc DeviceAccess(CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

// One physical allocation. Its memory lives on while it is mapped anywhere.
class Handle {
 public:
  explicit Handle(Where where, size_t bytes = kChunk);
  static Handle Exportable(Where where, size_t bytes = kChunk);
  // Takes over a handle that was imported.
  static Handle Adopt(CUmemGenericAllocationHandle handle, size_t bytes);
  ~Handle();
  Handle(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  CUmemGenericAllocationHandle get() const { return handle_; }
  size_t bytes() const { return bytes_; }
  void Release();

 private:
  Handle(const CUmemAllocationProp& properties, size_t bytes);
  Handle(CUmemGenericAllocationHandle handle, size_t bytes) : handle_(handle), bytes_(bytes) {}

  CUmemGenericAllocationHandle handle_ = 0;
  size_t bytes_ = 0;
};

// A reservation of `slots` times `bytes`; each slot may have one handle of that size mapped.
class Span {
 public:
  explicit Span(size_t slots, size_t bytes = kChunk);
  ~Span();  // unmaps
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  CUdeviceptr at(size_t slot) const { return base_ + slot * bytes_; }
  size_t slot_bytes() const { return bytes_; }
  size_t bytes() const { return mapped_.size() * bytes_; }

  // Maps, without access.
  void MapOnly(size_t slot, const Handle& handle);
  void Access(size_t slot, size_t count = 1,
              CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  void Map(size_t slot, const Handle& handle);  // and gives the device access
  void Unmap(size_t slot, size_t count = 1);
  // What the runtime does to move a chunk: the address stays, the memory behind it is another.
  void Flip(size_t slot, const Handle& to);

 private:
  CUdeviceptr base_ = 0;
  const size_t bytes_;
  std::vector<bool> mapped_;
};

// Moves a slot's contents into another handle and maps that: a copy through a staging alias, then
// the flip. Waits for the copy only; nothing else may be using the slot.
void Move(Span& span, size_t slot, const Handle& to);

// A span with a handle of its own in every slot.
class Chunks {
 public:
  explicit Chunks(const std::vector<Where>& where, size_t bytes = kChunk);

  Span& span() { return span_; }
  CUdeviceptr at(size_t slot) const { return span_.at(slot); }
  size_t bytes() const { return span_.bytes(); }
  const Handle& handle(size_t slot) const { return handles_[slot]; }

 private:
  std::vector<Handle> handles_;
  Span span_;
};

// Contents that tell every position and every seed apart, written and checked by kernels of the
// primary context, which must be current, and by copies. They wait for their own work only. One
// thread at a time.
void FillHash(CUdeviceptr at, size_t bytes, unsigned long long seed);
bool KernelSeesHash(CUdeviceptr at, size_t bytes, unsigned long long seed);
bool CopyHasHash(CUdeviceptr at, size_t bytes, unsigned long long seed);
// The same contents in host memory.
std::vector<unsigned long long> HashWords(size_t bytes, unsigned long long seed);

}  // namespace vramspan::conformance

#endif  // VRAMSPAN_TESTS_CONFORMANCE_CHUNKS_H_
