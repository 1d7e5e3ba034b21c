#include "tools/simcuda/memory/pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace simcuda::memory {
namespace {

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer has shadow memory for little more than 1 TiB of mappings.
constexpr size_t kMostAddresses = size_t{512} << 30;
#else
constexpr size_t kMostAddresses = size_t{1} << 46;
#endif

// Straight to the system: the sanitizers' mmap touches shadow in proportion to the size.
void* RawMap(void* at, size_t size, int flags) {
  const long result = syscall(SYS_mmap, at, size, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  return result == -1 ? nullptr : reinterpret_cast<void*>(result);
}

void RawUnmap(void* at, size_t size) {
  if (size > 0) syscall(SYS_munmap, at, size);
}

}  // namespace

char* ReserveAddresses(size_t size, size_t alignment, char* wanted) {
  if (size > kMostAddresses) return nullptr;
  if (wanted != nullptr) {
    if (auto* at = static_cast<char*>(RawMap(wanted, size, MAP_FIXED_NOREPLACE))) {
      if (at == wanted) return at;
      RawUnmap(at, size);  // a kernel without MAP_FIXED_NOREPLACE took it as a hint
    }
  }
  alignment = std::max(alignment, kPage);
  const size_t slack = alignment - kPage;
  auto* raw = static_cast<char*>(RawMap(nullptr, size + slack, 0));
  if (raw == nullptr) return nullptr;
  char* base = reinterpret_cast<char*>(RoundUp(reinterpret_cast<uintptr_t>(raw), alignment));
  RawUnmap(raw, static_cast<size_t>(base - raw));
  RawUnmap(base + size, static_cast<size_t>(raw + slack - base));
  return base;
}

void ReleaseAddresses(char* base, size_t size) { munmap(base, size); }

char* AllocatePages(size_t size, size_t alignment) {
  char* base = ReserveAddresses(size, alignment, nullptr);
  if (base == nullptr) return nullptr;
  void* pages = mmap(base, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (pages == MAP_FAILED) {
    RawUnmap(base, size);
    return nullptr;
  }
  if (alignment >= kGranularity) madvise(base, size, MADV_HUGEPAGE);  // a hint, for speed alone
  return base;
}

void Prefault(const void* at, size_t size, bool write) {
  // The advice is younger than the headers of some distributions.
  constexpr int kPopulateRead = 22;
  constexpr int kPopulateWrite = 23;
  constexpr size_t kWorthACall = size_t{64} << 10;
  if (size < kWorthACall) return;
  const auto start = reinterpret_cast<uintptr_t>(at) / kPage * kPage;
  const auto end = RoundUp(reinterpret_cast<uintptr_t>(at) + size, kPage);
  madvise(reinterpret_cast<void*>(start), end - start, write ? kPopulateWrite : kPopulateRead);
}

bool MapFile(char* at, size_t size, int fd, size_t offset) {
  return mmap(at, size, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset)) !=
         MAP_FAILED;
}

bool MakeHuge(char* at, size_t size) {
  constexpr int kCollapse = 25;  // as young as those of Prefault
  return madvise(at, size, kCollapse) == 0;
}

bool UnmapFile(char* at, size_t size) {
  return mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
              0) != MAP_FAILED;
}

bool Protect(char* at, size_t size, bool read, bool write) {
  const int protection = (read || write ? PROT_READ : PROT_NONE) | (write ? PROT_WRITE : PROT_NONE);
  return mprotect(at, size, protection) == 0;
}

int CreateMemoryFile(const std::string& label) { return memfd_create(label.c_str(), MFD_CLOEXEC); }

bool GrowFile(int fd, size_t size) { return ftruncate(fd, static_cast<off_t>(size)) == 0; }

void PunchHole(int fd, size_t offset, size_t size) {
  fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(size));
}

}  // namespace simcuda::memory
