#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_PAGES_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_PAGES_H_

// The operating system's pages: address ranges without access, anonymous memory, files in memory.
// Null, -1 or false is a failure of the system; nothing here throws. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <string>

namespace simcuda::memory {

inline constexpr size_t kGranularity = size_t{2} << 20;
inline constexpr size_t kPage = 4096;

constexpr size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// Address space without access and without memory. At `wanted` if that is free and not null, else
// anywhere, aligned (a power of two, 0 for the page size).
char* ReserveAddresses(size_t size, size_t alignment, char* wanted);
void ReleaseAddresses(char* base, size_t size);

// Maps the pages of a range in one go rather than by one page fault each, which is what a large
// copy would otherwise spend its time on. Only a hint: where the range may not be touched, nothing
// happens.
void Prefault(const void* at, size_t size, bool write);

// Zeroed private memory, readable and writable; freed with ReleaseAddresses.
char* AllocatePages(size_t size, size_t alignment);

// Puts file space at the addresses, without access.
bool MapFile(char* at, size_t size, int fd, size_t offset);
// Gathers touched pages of mapped file space into pages of 2 MiB. Any process may (Linux 6.1).
bool MakeHuge(char* at, size_t size);
// Back to addresses without access.
bool UnmapFile(char* at, size_t size);
bool Protect(char* at, size_t size, bool read, bool write);

// A file without a name on disk; `label` shows in /proc/self/fd.
int CreateMemoryFile(const std::string& label);
bool GrowFile(int fd, size_t size);
// Gives the memory behind part of a file back.
void PunchHole(int fd, size_t offset, size_t size);

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_PAGES_H_
