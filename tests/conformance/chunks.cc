#include "tests/conformance/chunks.h"

#include <utility>

#include "tests/conformance/world.h"
#include "tests/kernels/test_kernels.h"

namespace vramspan::conformance {
namespace {

using Word = unsigned long long;
// Few: on the simulated driver threads run one after another, each over the whole array.
constexpr unsigned kBlocks = 8;
constexpr unsigned kThreads = 64;

// Never freed: freeing memory waits for held work, which the caller may have.
CUdeviceptr SumCell() {
  static const CUdeviceptr cell = [] {
    CUdeviceptr made = 0;
    Must(World::Get().cu().MemAlloc(&made, sizeof(Word)), "cuMemAlloc");
    return made;
  }();
  return cell;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, Where where) {
  switch (where) {
    case Where::kDevice:
      return out << "DEVICE";
    case Where::kHostNuma:
      return out << "HOST_NUMA";
    case Where::kHost:
      return out << "HOST";
  }
  return out;
}

CUmemAllocationProp Properties(Where where) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  switch (where) {
    case Where::kDevice:
      properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, World::Get().device()};
      break;
    case Where::kHostNuma:
      properties.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, World::Get().host_numa_id()};
      break;
    case Where::kHost:
      properties.location = {CU_MEM_LOCATION_TYPE_HOST, 0};
      break;
  }
  return properties;
}

CUmemAccessDesc DeviceAccess(CUmemAccess_flags flags) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, World::Get().device()}, flags};
}

Handle::Handle(Where where, size_t bytes) : Handle(Properties(where), bytes) {}

Handle::Handle(const CUmemAllocationProp& properties, size_t bytes) : bytes_(bytes) {
  Must(World::Get().cu().MemCreate(&handle_, bytes, &properties, 0), "cuMemCreate");
}

Handle Handle::Exportable(Where where, size_t bytes) {
  CUmemAllocationProp properties = Properties(where);
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return Handle(properties, bytes);
}

Handle Handle::Adopt(CUmemGenericAllocationHandle handle, size_t bytes) {
  return Handle(handle, bytes);
}

Handle::Handle(Handle&& other) noexcept
    : handle_(std::exchange(other.handle_, 0)), bytes_(other.bytes_) {}

Handle::~Handle() {
  if (handle_ != 0) World::Get().cu().MemRelease(handle_);
}

void Handle::Release() {
  Must(World::Get().cu().MemRelease(std::exchange(handle_, 0)), "cuMemRelease");
}

Span::Span(size_t slots, size_t bytes) : bytes_(bytes), mapped_(slots) {
  Must(World::Get().cu().MemAddressReserve(&base_, slots * bytes, 0, 0, 0), "cuMemAddressReserve");
}

Span::~Span() {
  const DriverApi& cu = World::Get().cu();
  for (size_t slot = 0; slot < mapped_.size(); ++slot) {
    if (mapped_[slot]) cu.MemUnmap(at(slot), bytes_);
  }
  cu.MemAddressFree(base_, bytes());
}

void Span::MapOnly(size_t slot, const Handle& handle) {
  Must(World::Get().cu().MemMap(at(slot), bytes_, 0, handle.get(), 0), "cuMemMap");
  mapped_[slot] = true;
}

void Span::Access(size_t slot, size_t count, CUmemAccess_flags flags) {
  const CUmemAccessDesc access = DeviceAccess(flags);
  Must(World::Get().cu().MemSetAccess(at(slot), count * bytes_, &access, 1), "cuMemSetAccess");
}

void Span::Map(size_t slot, const Handle& handle) {
  MapOnly(slot, handle);
  Access(slot);
}

void Span::Unmap(size_t slot, size_t count) {
  Must(World::Get().cu().MemUnmap(at(slot), count * bytes_), "cuMemUnmap");
  for (size_t i = 0; i < count; ++i) mapped_[slot + i] = false;
}

void Span::Flip(size_t slot, const Handle& to) {
  Unmap(slot);
  Map(slot, to);
}

void Move(Span& span, size_t slot, const Handle& to) {
  const DriverApi& cu = World::Get().cu();
  const Stream stream;
  Span staging(1, span.slot_bytes());
  staging.Map(0, to);
  Must(cu.MemcpyDtoDAsync(staging.at(0), span.at(slot), span.slot_bytes(), stream.get()),
       "cuMemcpyDtoDAsync");
  Must(cu.StreamSynchronize(stream.get()), "cuStreamSynchronize");
  span.Flip(slot, to);
}

Chunks::Chunks(const std::vector<Where>& where, size_t bytes) : span_(where.size(), bytes) {
  for (size_t slot = 0; slot < where.size(); ++slot) {
    handles_.emplace_back(where[slot], bytes);
    span_.MapOnly(slot, handles_.back());
  }
  span_.Access(0, where.size());
}

void FillHash(CUdeviceptr at, size_t bytes, Word seed) {
  const World& world = World::Get();
  const Stream stream;
  Must(Launch(world.Kernel("fill_hash"), kBlocks, kThreads, stream.get(), at, bytes / sizeof(Word),
              seed),
       "fill_hash");
  Must(world.cu().StreamSynchronize(stream.get()), "cuStreamSynchronize");
}

std::vector<Word> HashWords(size_t bytes, Word seed) {
  std::vector<Word> words(bytes / sizeof(Word));
  for (size_t i = 0; i < words.size(); ++i) words[i] = vramspan_test::HashWord(i, seed);
  return words;
}

bool KernelSeesHash(CUdeviceptr at, size_t bytes, Word seed) {
  const World& world = World::Get();
  const Stream stream;
  const CUdeviceptr sum = SumCell();
  Must(world.cu().MemsetD8Async(sum, 0, sizeof(Word), stream.get()), "cuMemsetD8Async");
  Must(Launch(world.Kernel("checksum"), kBlocks, kThreads, stream.get(), at, bytes / sizeof(Word),
              sum),
       "checksum");
  Word seen = 0;
  Must(world.cu().MemcpyDtoHAsync(&seen, sum, sizeof(seen), stream.get()), "cuMemcpyDtoHAsync");
  Must(world.cu().StreamSynchronize(stream.get()), "cuStreamSynchronize");
  Word expected = 0;
  const std::vector<Word> words = HashWords(bytes, seed);
  for (size_t i = 0; i < words.size(); ++i) expected ^= vramspan_test::HashWord(i, words[i]);
  return seen == expected;
}

bool CopyHasHash(CUdeviceptr at, size_t bytes, Word seed) {
  const World& world = World::Get();
  const Stream stream;
  std::vector<Word> words(bytes / sizeof(Word));
  Must(world.cu().MemcpyDtoHAsync(words.data(), at, bytes, stream.get()), "cuMemcpyDtoHAsync");
  Must(world.cu().StreamSynchronize(stream.get()), "cuStreamSynchronize");
  return words == HashWords(bytes, seed);
}

}  // namespace vramspan::conformance
