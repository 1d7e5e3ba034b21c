// Pools that grow by mapping memory behind what they have, as frameworks make them.
#include <unistd.h>

#include <optional>
#include <vector>

#include "tests/preload/program_scenarios.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

CUmemAllocationProp DeviceMemory(const Program& p, bool exportable = false) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, p.device};
  if (exportable) {
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  }
  return properties;
}

// One range of addresses, grown and shrunk by pieces.
class Segment {
 public:
  Segment(Program* p, size_t piece, size_t pieces, bool exportable)
      : p_(*p), piece_(piece), handles_(pieces), exportable_(exportable) {
    CHECK_OK(p_.api.MemAddressReserve(&base_, piece * pieces, 0, 0, 0));
  }
  ~Segment() {
    for (size_t i = 0; i < handles_.size(); ++i) {
      if (handles_[i].has_value()) Shrink(i, i + 1);
    }
    CHECK_OK(p_.api.MemAddressFree(base_, piece_ * handles_.size()));
  }

  void Grow(size_t begin, size_t end) {
    const CUmemAllocationProp properties = DeviceMemory(p_, exportable_);
    for (size_t i = begin; i < end; ++i) {
      CUmemGenericAllocationHandle handle = 0;
      CHECK_OK(p_.api.MemCreate(&handle, piece_, &properties, 0));
      handles_[i] = handle;
    }
    for (size_t i = begin; i < end; ++i) {
      CHECK_OK(p_.api.MemMap(base_ + i * piece_, piece_, 0, *handles_[i], 0));
    }
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, p_.device},
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK_OK(p_.api.MemSetAccess(base_ + begin * piece_, (end - begin) * piece_, &access, 1));
  }
  void Shrink(size_t begin, size_t end) {
    CHECK_OK(p_.api.StreamSynchronize(p_.stream));
    for (size_t i = begin; i < end; ++i) {
      CHECK_OK(p_.api.MemUnmap(base_ + i * piece_, piece_));
      CHECK_OK(p_.api.MemRelease(*handles_[i]));
      handles_[i].reset();
    }
  }
  // Memory of [begin, end) in buffers of `bytes`, across the borders of pieces.
  void Cut(size_t begin, size_t end, size_t bytes, std::vector<CUdeviceptr>* buffers) const {
    const CUdeviceptr last = base_ + end * piece_;
    for (CUdeviceptr b = base_ + begin * piece_; b + bytes <= last; b += bytes) {
      buffers->push_back(b);
    }
  }
  CUdeviceptr base() const { return base_; }
  CUmemGenericAllocationHandle handle(size_t i) const { return *handles_[i]; }

 private:
  Program& p_;
  const size_t piece_;
  std::vector<std::optional<CUmemGenericAllocationHandle>> handles_;
  const bool exportable_;
  CUdeviceptr base_ = 0;
};

void CheckWords(Program* p, CUdeviceptr memory, size_t bytes, unsigned long long seed,
                unsigned long long add) {
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  std::vector<unsigned long long> words(bytes / sizeof(unsigned long long));
  CHECK_OK(p->api.MemcpyDtoH(words.data(), memory, bytes));
  for (size_t w = 0; w < words.size(); ++w) CHECK(words[w] == Program::Word(w, seed) + add);
}

}  // namespace

void Expandable(Program* p) {
  p->Start();
  size_t free = 0, total = 0;
  CHECK_OK(p->api.MemGetInfo(&free, &total));
  // As much and an eighth more: twice that is more than twice the memory.
  constexpr size_t kPiece = 20 * kMiB, kBuffer = 12 * kMiB;
  const size_t pieces = (total + total / 8 + kPiece - 1) / kPiece;
  Segment one(p, kPiece, pieces, true), two(p, kPiece, pieces, false);
  Segment small(p, 2 * kMiB, total / (2 * kMiB), true);
  one.Grow(0, 1);
  one.Grow(1, pieces);
  two.Grow(0, pieces);
  small.Grow(0, 3);
  std::vector<CUdeviceptr> buffers;
  one.Cut(0, pieces, kBuffer, &buffers);
  two.Cut(0, pieces, kBuffer, &buffers);
  CHECK(buffers.size() * kBuffer >= 2 * total);
  p->Work(buffers, kBuffer, 2);
  std::vector<CUdeviceptr> few;
  small.Cut(0, 3, 2 * kMiB, &few);
  p->Work(few, 2 * kMiB, 1);
  // A hole, and other memory at its addresses; what lies beside it stays.
  const size_t words = 2 * kMiB / sizeof(unsigned long long);
  p->Launch(p->fill_hash, two.base(), words, 77);
  p->Launch(p->fill_hash, two.base() + 2 * kPiece, words, 78);
  for (int round = 0; round < 3; ++round) {
    two.Shrink(1, 2);
    p->Launch(p->add_constant, two.base(), words, 1);
    p->Launch(p->add_constant, two.base() + 2 * kPiece, words, 1);
    two.Grow(1, 2);
    std::vector<CUdeviceptr> within;
    two.Cut(1, 2, kBuffer, &within);
    p->Work(within, kBuffer, 1);
    p->Work(few, 2 * kMiB, 1);
  }
  CheckWords(p, two.base(), 2 * kMiB, 77, 3);
  CheckWords(p, two.base() + 2 * kPiece, 2 * kMiB, 78, 3);
  // More than there is anywhere: refused where a program expects it, and nothing is written.
  const CUmemAllocationProp properties = DeviceMemory(*p);
  CUmemGenericAllocationHandle none = 7;
  CHECK(p->api.MemCreate(&none, size_t{1} << 45, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(none == 7);
}

void VmmShared(Program* p) {
  p->Start();
  const Api& api = p->api;
  constexpr size_t kPiece = 4 * kMiB;
  constexpr size_t kWords = kPiece / sizeof(unsigned long long);
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, p->device},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  Segment pool(p, kPiece, 4, true);
  pool.Grow(0, 2);
  p->Launch(p->fill_hash, pool.base(), kWords, 5);
  // Mapped a second time: the same memory.
  CUdeviceptr twice = 0;
  CHECK_OK(api.MemAddressReserve(&twice, 2 * kPiece, 0, 0, 0));
  CHECK_OK(api.MemMap(twice, kPiece, 0, pool.handle(0), 0));
  CHECK_OK(api.MemSetAccess(twice, kPiece, &access, 1));
  CheckWords(p, twice, kPiece, 5, 0);
  p->Launch(p->add_constant, twice, kWords, 2);
  CheckWords(p, pool.base(), kPiece, 5, 2);
  // Exported with contents, and imported again.
  p->Launch(p->fill_hash, pool.base() + kPiece, kWords, 6);
  int fd = -1;
  CHECK_OK(api.MemExport(&fd, pool.handle(1), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemGenericAllocationHandle imported = 0;
  CHECK_OK(api.MemImport(&imported, reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  CHECK(close(fd) == 0);
  CHECK_OK(api.MemMap(twice + kPiece, kPiece, 0, imported, 0));
  CHECK_OK(api.MemSetAccess(twice + kPiece, kPiece, &access, 1));
  CheckWords(p, twice + kPiece, kPiece, 6, 0);
  p->Launch(p->add_constant, twice + kPiece, kWords, 3);
  CheckWords(p, pool.base() + kPiece, kPiece, 6, 3);
  // Both at once, and the addresses come free.
  CHECK_OK(api.MemUnmap(twice, 2 * kPiece));
  CHECK_OK(api.MemRelease(imported));
  CHECK_OK(api.MemAddressFree(twice, 2 * kPiece));
  // A buffer of its own, as others are to reach it.
  CUdeviceptr own = 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp properties = DeviceMemory(*p, true);
  CHECK_OK(api.MemCreate(&handle, kPiece, &properties, 0));
  CHECK_OK(api.MemAddressReserve(&own, kPiece, 0, 0, 0));
  CHECK_OK(api.MemMap(own, kPiece, 0, handle, 0));
  CHECK_OK(api.MemRelease(handle));
  CHECK_OK(api.MemSetAccess(own, kPiece, &access, 1));
  p->Work({own}, kPiece, 1);
  CHECK_OK(api.MemRetain(&handle, reinterpret_cast<void*>(own + 512)));
  CHECK_OK(api.MemExport(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CHECK(close(fd) == 0);
  CHECK_OK(api.MemUnmap(own, kPiece));
  CHECK_OK(api.MemRelease(handle));
  CHECK_OK(api.MemAddressFree(own, kPiece));
  p->WorkBeyondMemory(kPiece);
  // What is still there when the context goes means nothing, and can be given back all the same.
  CHECK_OK(api.PrimaryReset(p->device));
  CHECK_OK(api.PrimaryRelease(p->device));
  CHECK_OK(api.PrimaryRetain(&p->context, p->device));
  CHECK_OK(api.CtxSetCurrent(p->context));
  p->LoadKernels();
  p->WorkBeyondMemory(kPiece);
}
