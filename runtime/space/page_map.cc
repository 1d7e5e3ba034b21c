#include "runtime/space/page_map.h"

#include <absl/strings/str_format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/log.h"
#include "runtime/driver/driver.h"

namespace vramspan {
namespace {

using Entry = std::atomic<uint32_t>;
// The mapping's zero pages are entries that name no chunk, without a constructor run over them.
static_assert(sizeof(Entry) == sizeof(uint32_t) && Entry::is_always_lock_free);

size_t TableBytes(Bytes size) { return (size / kGranularity) * sizeof(Entry); }

}  // namespace

StatusOr<std::unique_ptr<PageMap>> PageMap::Create(DevicePtr base, Bytes size) {
  if (size.value == 0 || base.value % kGranularity.value != 0 ||
      size.value % kGranularity.value != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("page map over %s: start and size must be multiples of 2 MiB, not zero",
                        RangeText(base, size)));
  }
  void* table = mmap(nullptr, TableBytes(size), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (table == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("page map over %s: mmap of %d bytes failed (%s)", RangeText(base, size),
                        TableBytes(size), std::strerror(errno)));
  }
  return std::unique_ptr<PageMap>(new PageMap(base, size, static_cast<Entry*>(table)));
}

PageMap::~PageMap() { munmap(entries_, TableBytes(size_)); }

void PageMap::Set(DevicePtr p, Bytes size, ChunkIndex chunk) {
  const uint64_t offset = p.value - base_.value;
  VS_CHECK(offset <= size_.value && size.value <= size_.value - offset);
  VS_CHECK((p.value | size.value) % kGranularity.value == 0);
  const uint64_t first = offset >> kMinChunkLog2;
  const uint64_t last = (offset + size.value) >> kMinChunkLog2;
  for (uint64_t i = first; i < last; ++i) {
    entries_[i].store(chunk.value, std::memory_order_release);
  }
}

}  // namespace vramspan
