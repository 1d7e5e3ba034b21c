#include "runtime/backing/host_place.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <optional>

#include "runtime/backing/host_room.h"
#include "runtime/base/mutex.h"
#include "runtime/base/small_file.h"
#include "runtime/base/units.h"
#include "runtime/driver/surroundings.h"

namespace vramspan {
namespace {

constexpr size_t kMostNodes = 64;
constexpr size_t kLongestList = 4096;

CUmemLocation Node(int id) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  location.id = id;
  return location;
}

std::vector<int> ReadNodes(const std::string& root, const char* which) {
  const auto list =
      ReadSmallFile(absl::StrCat(root, "/sys/devices/system/node/", which), kLongestList);
  return list.ok() ? ParseNodes(*list) : std::vector<int>();
}

// In the order in which they are tried. Nodes without processors are a GPU's or slow memory.
std::vector<CUmemLocation> Places(const Capabilities& device, const std::string& root) {
  std::vector<CUmemLocation> places = {Node(device.host_numa_id)};
  const std::vector<int> with_memory = ReadNodes(root, "has_memory");
  for (const int id : ReadNodes(root, "has_cpu")) {
    if (id == device.host_numa_id) continue;
    if (std::find(with_memory.begin(), with_memory.end(), id) == with_memory.end()) continue;
    places.push_back(Node(id));
  }
  CUmemLocation anywhere{};
  anywhere.type = CU_MEM_LOCATION_TYPE_HOST;
  places.push_back(anywhere);
  return places;
}

// A chunk for a trial. What the driver does not take back stays here, and is tried again.
class TrialChunks {
 public:
  static TrialChunks& Get() {
    static auto* const chunks = new TrialChunks();
    return *chunks;
  }

  // Made there and mapped with access for the device, as far as it goes. It goes with Clear.
  Status Make(const Driver& driver, int ordinal, const CUmemAllocationProp& prop)
      VS_EXCLUDES(mutex_) {
    const size_t size = kGranularity.value;
    MutexLock lock(mutex_);
    Chunk& c = chunks_.emplace_back();
    VS_RETURN_IF_ERROR(Check(driver->MemAddressReserve(&c.base, size, 0, 0, 0),
                             "cuMemAddressReserve", "for a trial"));
    VS_RETURN_IF_ERROR(Check(driver->MemCreate(&c.handle, size, &prop, 0), "cuMemCreate"));
    VS_RETURN_IF_ERROR(Check(driver->MemMap(c.base, size, 0, c.handle, 0), "cuMemMap"));
    c.mapped = true;
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = ordinal;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return Check(driver->MemSetAccess(c.base, size, &access, 1), "cuMemSetAccess");
  }

  // The first thing that went wrong.
  Status Clear(const Driver& driver) VS_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    Status status;
    std::erase_if(chunks_, [&](Chunk& c) {
      const Status gone = End(driver, &c);
      status.Update(gone);
      return gone.ok();
    });
    return status;
  }

 private:
  struct Chunk {
    CUdeviceptr base = 0;
    CUmemGenericAllocationHandle handle = 0;
    bool mapped = false;
  };

  static Status End(const Driver& driver, Chunk* c) {
    const size_t size = kGranularity.value;
    if (c->mapped) {
      VS_RETURN_IF_ERROR(Check(driver->MemUnmap(c->base, size), "cuMemUnmap", "of a trial"));
      c->mapped = false;
    }
    if (c->handle != 0) {
      VS_RETURN_IF_ERROR(Check(driver->MemRelease(c->handle), "cuMemRelease", "of a trial"));
      c->handle = 0;
    }
    if (c->base == 0) return absl::OkStatus();
    return Check(driver->MemAddressFree(c->base, size), "cuMemAddressFree", "of a trial");
  }

  Mutex mutex_;
  std::vector<Chunk> chunks_ VS_GUARDED_BY(mutex_);
};

// Whether a chunk can be made there and mapped for the device.
Status Try(const Driver& driver, int ordinal, const CUmemLocation& location, Bytes* granularity) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = location;
  size_t unit = 0;
  VS_RETURN_IF_ERROR(
      Check(driver->MemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
            "cuMemGetAllocationGranularity"));
  *granularity = Bytes(unit);
  if (*granularity > kGranularity) {
    return absl::FailedPreconditionError(absl::StrCat("it is mapped in units of ", unit >> 20,
                                                      " MiB; vramspan's chunks start at 2 MiB"));
  }
  const Status made = TrialChunks::Get().Make(driver, ordinal, prop);
  driver.RecordBackgroundError(TrialChunks::Get().Clear(driver));
  return made;
}

Status Refusal(const Driver& driver, const Capabilities& device, std::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("device ", device.ordinal, " (", device.name,
                   ") cannot map host memory with driver ", driver.version() / 1000, ".",
                   driver.version() % 1000 / 10, " (", why, "); ", WhatHelps(driver, device.name)));
}

}  // namespace

std::string PlaceText(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_HOST ? "any NUMA node"
                                                    : absl::StrCat("NUMA node ", location.id);
}

std::vector<int> ParseNodes(std::string_view list) {
  std::vector<int> nodes;
  for (const std::string_view part : absl::StrSplit(absl::StripAsciiWhitespace(list), ',')) {
    const std::vector<std::string_view> ends = absl::StrSplit(part, absl::MaxSplits('-', 1));
    int first = 0, last = 0;
    if (!absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last)) break;
    if (first < 0 || last < first) break;
    for (int id = first; id <= last && nodes.size() < kMostNodes; ++id) nodes.push_back(id);
  }
  return nodes;
}

Status FindHostPlace(const Driver& driver, CUcontext context, Capabilities* device,
                     const std::string& root) {
  // Beneath WSL2 memory that the driver maps need not be memory that kernels can touch, and to find
  // that out would be the end of the program's context.
  if (!device->host_numa_vmm && UnderWsl(driver)) {
    return Refusal(driver, *device, "it does not say that it can");
  }
  // Not even for a trial is the last of the host's memory taken.
  if (absl::IsResourceExhausted(HostRoom(root).Take(kGranularity))) return absl::OkStatus();
  const ScopedContext current(driver, context);
  VS_RETURN_IF_ERROR(current.status());
  std::string refused;
  struct Found {
    CUmemLocation location;
    Bytes granularity;
    std::string refused;
  };
  std::optional<Found> found;
  for (const CUmemLocation& place : Places(*device, root)) {
    Bytes granularity;
    const Status tried = Try(driver, device->ordinal, place, &granularity);
    if (tried.ok() || (!found.has_value() && absl::IsResourceExhausted(tried))) {
      found = Found{place, granularity, refused};
    }
    if (tried.ok()) break;
    absl::StrAppend(&refused, refused.empty() ? "" : "; ", PlaceText(place), ": ", tried.message());
  }
  VS_RETURN_IF_ERROR(TrialChunks::Get().Clear(driver));
  if (found.has_value()) {
    device->host = found->location;
    device->host_granularity = found->granularity;
    device->host_refused = found->refused;
    return absl::OkStatus();
  }
  return Refusal(driver, *device, refused);
}

}  // namespace vramspan
