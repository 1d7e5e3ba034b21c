#include "tools/simcuda/memory/vmm.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tools/simcuda/driver.h"
#include "tools/simcuda/memory/pages.h"

namespace simcuda::memory {
namespace {

bool Aligned(uint64_t value) { return value % kGranularity == 0; }
char* At(CUdeviceptr address) { return reinterpret_cast<char*>(address); }

bool SameLocation(const CUmemLocation& a, const CUmemLocation& b) {
  return a.type == b.type && (a.type == CU_MEM_LOCATION_TYPE_HOST || a.id == b.id);
}

// One whose memory cuMemCreate gives.
bool HasNode(const CUmemLocation& location) {
  return location.id >= 0 && location.id < 64 &&
         (Driver::Get().config().host_nodes >> location.id & 1) != 0;
}

bool IsNewer(const CUmemLocation& location) {
  return Driver::Get().config().newer && static_cast<int>(location.type) == kNewerLocation;
}

}  // namespace

CUresult CheckAllocationProp(const CUmemAllocationProp& prop) {
  const Driver& driver = Driver::Get();
  const Config& config = driver.config();
  if (prop.type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (prop.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE &&
      prop.requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  switch (prop.location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return driver.device(prop.location.id) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      if (!config.host_vmm) return CUDA_ERROR_NOT_SUPPORTED;
      return HasNode(prop.location) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST:
      // Drivers before CUDA 13 do not know the word.
      if (config.driver_version < 13000) return CUDA_ERROR_INVALID_VALUE;
      return config.host_vmm && config.host_anywhere ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    default:
      return IsNewer(prop.location) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
}

Vmm& Vmm::Get() {
  static Vmm* const vmm = new Vmm();
  return *vmm;
}

CUresult Vmm::Reserve(size_t size, size_t alignment, CUdeviceptr wanted, CUdeviceptr* base) {
  if (size == 0 || !Aligned(size) || (alignment & (alignment - 1)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!Aligned(wanted)) wanted = 0;
  char* reserved = ReserveAddresses(size, std::max(alignment, kGranularity), At(wanted));
  if (reserved == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  Range range;
  range.base = reserved;
  range.size = size;
  range.kind = RangeKind::kReservation;
  AddressMap::Get().Insert(std::move(range));
  *base = reinterpret_cast<CUdeviceptr>(reserved);
  return CUDA_SUCCESS;
}

CUresult Vmm::FreeReservation(CUdeviceptr base, size_t size) {
  MutexLock lock(mutex_);
  const RangePtr range = AddressMap::Get().Find(base);
  if (!range || range->kind != RangeKind::kReservation ||
      reinterpret_cast<CUdeviceptr>(range->base) != base || range->size != size) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto mapped = mappings_.lower_bound(base);
  if (mapped != mappings_.end() && mapped->first < base + size) return CUDA_ERROR_INVALID_VALUE;
  AddressMap::Get().Remove(base, RangeKind::kReservation);
  ReleaseAddresses(At(base), size);
  return CUDA_SUCCESS;
}

CUmemGenericAllocationHandle Vmm::NewHandle(PhysicalPtr memory) {
  CUmemGenericAllocationHandle handle;
  if (free_handles_.empty()) {
    handle = NewHandleValue();
  } else {
    handle = free_handles_.back();
    free_handles_.pop_back();
  }
  handles_.emplace(handle, Handle{std::move(memory), 1});
  return handle;
}

PhysicalPtr Vmm::FindHandle(CUmemGenericAllocationHandle handle) {
  const auto it = handles_.find(handle);
  if (it != handles_.end()) return it->second.memory;
  StaleHandleUses().fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

CUresult Vmm::Create(size_t size, const CUmemAllocationProp& prop,
                     CUmemGenericAllocationHandle* handle) {
  if (size == 0 || !Aligned(size)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult checked = CheckAllocationProp(prop);
  if (checked != CUDA_SUCCESS) return checked;
  PhysicalPtr memory = Physical::Create(size, prop);
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  MutexLock lock(mutex_);
  *handle = NewHandle(std::move(memory));
  return CUDA_SUCCESS;
}

CUresult Vmm::Release(CUmemGenericAllocationHandle handle) {
  PhysicalPtr ended;  // let go after the lock: giving memory back is slow
  MutexLock lock(mutex_);
  const auto it = handles_.find(handle);
  if (it == handles_.end()) {
    StaleHandleUses().fetch_add(1, std::memory_order_relaxed);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (--it->second.references > 0) return CUDA_SUCCESS;
  ended = std::move(it->second.memory);
  handles_.erase(it);
  // What is mapped still goes by it.
  if (ended.use_count() == 1) free_handles_.push_back(handle);
  return CUDA_SUCCESS;
}

CUresult Vmm::Retain(CUdeviceptr address, CUmemGenericAllocationHandle* handle) {
  MutexLock lock(mutex_);
  const auto mapping = MappingOf(address);
  if (mapping == mappings_.end()) return CUDA_ERROR_INVALID_VALUE;
  const auto it = handles_.find(mapping->second.handle);
  if (it != handles_.end()) {
    ++it->second.references;
  } else {
    mapping->second.handle = NewHandle(mapping->second.memory);
  }
  *handle = mapping->second.handle;
  return CUDA_SUCCESS;
}

CUresult Vmm::Properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp* prop) {
  MutexLock lock(mutex_);
  const PhysicalPtr memory = FindHandle(handle);
  if (!memory) return CUDA_ERROR_INVALID_VALUE;
  *prop = memory->prop();
  return CUDA_SUCCESS;
}

CUresult Vmm::Export(CUmemGenericAllocationHandle handle, int* fd) {
  MutexLock lock(mutex_);
  const PhysicalPtr memory = FindHandle(handle);
  if (!memory || !memory->exportable()) return CUDA_ERROR_INVALID_VALUE;
  *fd = fcntl(memory->fd(), F_DUPFD_CLOEXEC, 0);
  return *fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult Vmm::Import(int fd, CUmemGenericAllocationHandle* handle) {
  PhysicalPtr memory = Physical::Import(fd);
  if (!memory) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(mutex_);
  *handle = NewHandle(std::move(memory));
  return CUDA_SUCCESS;
}

CUresult Vmm::Map(CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle) {
  MutexLock lock(mutex_);
  PhysicalPtr memory = FindHandle(handle);
  if (!memory || size == 0 || !Aligned(at) || !Aligned(size) || !Aligned(offset)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (offset != 0 || size != memory->size()) return CUDA_ERROR_NOT_SUPPORTED;
  const RangePtr range = AddressMap::Get().Find(at);
  if (!range || range->kind != RangeKind::kReservation || !range->Contains(at, size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto next = mappings_.lower_bound(at);
  if (next != mappings_.end() && next->first < at + size) return CUDA_ERROR_INVALID_VALUE;
  if (MappingOf(at) != mappings_.end()) return CUDA_ERROR_INVALID_VALUE;
  if (!MapFile(At(at), size, memory->fd(), memory->offset())) return CUDA_ERROR_OUT_OF_MEMORY;
  memory->MappedAt(At(at));
  mappings_.emplace_hint(next, at, Mapping{size, std::move(memory), handle, {}});
  return CUDA_SUCCESS;
}

Vmm::Mappings::iterator Vmm::MappingOf(CUdeviceptr address) {
  auto it = mappings_.upper_bound(address);
  if (it == mappings_.begin()) return mappings_.end();
  --it;
  return address - it->first < it->second.size ? it : mappings_.end();
}

bool Vmm::IsInsideMapping(CUdeviceptr address) {
  const auto it = MappingOf(address);
  return it != mappings_.end() && it->first != address;
}

bool Vmm::WholeMappings(CUdeviceptr at, size_t size, Mappings::iterator* first,
                        Mappings::iterator* last) {
  CUdeviceptr next = at;
  const CUdeviceptr end = at + size;
  auto it = mappings_.find(at);
  *first = it;
  while (next < end) {
    if (it == mappings_.end() || it->first != next) return false;
    next += it->second.size;
    ++it;
  }
  *last = it;
  return size > 0 && next == end;
}

CUresult Vmm::Unmap(CUdeviceptr at, size_t size) {
  std::vector<PhysicalPtr> ended;  // let go after the lock
  MutexLock lock(mutex_);
  const RangePtr range = AddressMap::Get().Find(at);
  if (!range || range->kind != RangeKind::kReservation || size == 0 || !Aligned(at) ||
      !Aligned(size) || !range->Contains(at, size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto first = mappings_.lower_bound(at);
  const auto last = mappings_.lower_bound(at + size);
  if (IsInsideMapping(at) || IsInsideMapping(at + size)) return CUDA_ERROR_INVALID_VALUE;
  if (first == last) return CUDA_SUCCESS;
  TouchCounter::Get().Forget(at, size);
  if (!UnmapFile(At(at), size)) return CUDA_ERROR_OPERATING_SYSTEM;
  for (auto it = first; it != last; ++it) ended.push_back(std::move(it->second.memory));
  mappings_.erase(first, last);
  return CUDA_SUCCESS;
}

CUresult Vmm::SetAccess(CUdeviceptr at, size_t size, const CUmemAccessDesc* descs, size_t count) {
  MutexLock lock(mutex_);
  Mappings::iterator first;
  Mappings::iterator last;
  if (!WholeMappings(at, size, &first, &last)) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    const CUmemLocation& location = descs[i].location;
    const bool device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    const Device* const other = device ? Driver::Get().device(location.id) : nullptr;
    if (device && other == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!device && !IsNewer(location) && location.type != CU_MEM_LOCATION_TYPE_HOST &&
        (location.type != CU_MEM_LOCATION_TYPE_HOST_NUMA || !HasNode(location))) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (descs[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
        descs[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        descs[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // The host cannot be given access to device memory.
    for (auto it = first; !device && !IsNewer(location) && it != last; ++it) {
      if (it->second.memory->on_device()) return CUDA_ERROR_NOT_SUPPORTED;
    }
    // Nor another device, where they do not reach each other.
    for (auto it = first; device && !Driver::Get().peers_reach() && it != last; ++it) {
      const Physical& memory = *it->second.memory;
      if (memory.on_device() && memory.prop().location.id != other->ordinal()) {
        return CUDA_ERROR_INVALID_DEVICE;
      }
    }
  }
  TouchCounter::Get().Forget(at, size);
  // Neighbours that end up with the same rights are protected in one go.
  CUdeviceptr run = at;
  CUmemAccess_flags run_protection = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  const auto protect_run = [&](CUdeviceptr end) {
    return end == run ||
           Protect(At(run), end - run, run_protection != CU_MEM_ACCESS_FLAGS_PROT_NONE,
                   run_protection == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  };
  for (auto it = first; it != last; ++it) {
    Mapping& mapping = it->second;
    for (size_t i = 0; i < count; ++i) {
      const auto same = [&](const Access& a) {
        return SameLocation(a.location, descs[i].location);
      };
      auto known = std::find_if(mapping.access.begin(), mapping.access.end(), same);
      if (known == mapping.access.end()) {
        mapping.access.push_back({descs[i].location, descs[i].flags});
      } else {
        known->flags = descs[i].flags;
      }
    }
    // Everyone touches the same pages here, so they get the widest of the rights.
    mapping.protection = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    for (const Access& access : mapping.access) {
      mapping.protection = std::max(mapping.protection, access.flags);
    }
    if (mapping.protection != run_protection) {
      if (!protect_run(it->first)) return CUDA_ERROR_OUT_OF_MEMORY;
      run = it->first;
      run_protection = mapping.protection;
    }
  }
  return protect_run(at + size) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult Vmm::GetAccess(CUdeviceptr at, const CUmemLocation& location, unsigned long long* flags) {
  MutexLock lock(mutex_);
  const auto it = MappingOf(at);
  if (it == mappings_.end()) {
    // Of plain device memory its device has all of it.
    const RangePtr range = AddressMap::Get().Find(at);
    if (!range || range->kind != RangeKind::kDevice) return CUDA_ERROR_INVALID_VALUE;
    const bool own =
        location.type == CU_MEM_LOCATION_TYPE_DEVICE && location.id == range->device->ordinal();
    *flags = own ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  }
  *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  for (const Access& access : it->second.access) {
    if (SameLocation(access.location, location)) *flags = access.flags;
  }
  return CUDA_SUCCESS;
}

bool Vmm::Mapping::Names(const Device& device) const {
  return std::any_of(access.begin(), access.end(), [&device](const Access& a) {
    return a.location.type == CU_MEM_LOCATION_TYPE_DEVICE && a.location.id == device.ordinal() &&
           a.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
  });
}

bool Vmm::Accessible(CUdeviceptr at, size_t size, const Device* device) {
  MutexLock lock(mutex_);
  for (const CUdeviceptr end = at + size; at < end;) {
    const auto it = MappingOf(at);
    if (it == mappings_.end() || it->second.protection == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
      return false;
    }
    if (device != nullptr && !it->second.Names(*device)) return false;
    at = it->first + it->second.size;
  }
  return true;
}

bool Vmm::HidesHostMemory(CUdeviceptr at, size_t size, const Device& device) {
  MutexLock lock(mutex_);
  for (const CUdeviceptr end = at + size; at < end;) {
    const auto it = MappingOf(at);
    if (it == mappings_.end()) return false;
    if (!it->second.memory->on_device() && !it->second.Names(device)) return true;
    at = it->first + it->second.size;
  }
  return false;
}

bool Vmm::BeginCounting() {
  MutexLock lock(mutex_);
  if (TouchCounter::Get().active()) return false;
  std::vector<TouchCounter::Piece> pieces;
  for (const auto& [base, mapping] : mappings_) {
    if (mapping.protection == CU_MEM_ACCESS_FLAGS_PROT_NONE) continue;
    pieces.push_back({base, mapping.size, mapping.protection == CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                      mapping.memory->on_device()});
  }
  return TouchCounter::Get().Begin(pieces);
}

bool Vmm::EndCounting(TouchCounter::Pages* pages) {
  MutexLock lock(mutex_);
  if (!TouchCounter::Get().active()) return false;
  *pages = TouchCounter::Get().End();
  return true;
}

bool Vmm::Find(CUdeviceptr address, Mapped* mapped) {
  MutexLock lock(mutex_);
  const auto it = MappingOf(address);
  if (it == mappings_.end()) return false;
  mapped->base = it->first;
  mapped->size = it->second.size;
  mapped->location = it->second.memory->prop().location;
  mapped->exportable = it->second.memory->exportable();
  return true;
}

}  // namespace simcuda::memory
