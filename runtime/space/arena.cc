#include "runtime/space/arena.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <bit>

#include "runtime/base/log.h"
#include "runtime/space/no_addresses.h"

namespace vramspan {
namespace {

bool IsGranular(uint64_t value) { return value % kGranularity.value == 0; }

// Where reservations are asked for, the first that is free. Left to itself the driver begins at
// 2^40, where the upper half of an address is 256, 257 and so on: in the parameters of kernels two
// integers, such as 0 and twice the multiprocessors, read as a pointer there and end the array that
// they seem to point into (docs/findings/0007-integers-that-look-like-pointers.md). These are no
// sizes, no strides and no halves of anything usual, and lie below what Linux hands out.
constexpr CUdeviceptr kUnusual[] = {0x3A6B'0000'0000, 0x2D57'0000'0000, 0x1E5B'0000'0000,
                                    0x4C6D'0000'0000};

// Refusals that a smaller reservation may get around; anything else is no matter of size.
bool MayBeTooLarge(CUresult result) {
  return result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_INVALID_VALUE;
}

CUresult ReserveUnusual(const Driver& driver, Bytes size, CUdeviceptr* base) {
  for (const CUdeviceptr wanted : kUnusual) {
    const CUresult result = driver->MemAddressReserve(base, size.value, 0, wanted, 0);
    if (result != CUDA_SUCCESS && !MayBeTooLarge(result)) return result;
    if (result != CUDA_SUCCESS) continue;
    if (*base == wanted) return CUDA_SUCCESS;
    driver.RecordBackgroundError(Check(driver->MemAddressFree(*base, size.value),
                                       "cuMemAddressFree", RangeText(DevicePtr(*base), size)));
  }
  return driver->MemAddressReserve(base, size.value, 0, 0, 0);
}

}  // namespace

StatusOr<std::unique_ptr<Arena>> Arena::Create(std::shared_ptr<const Driver> driver, Bytes size) {
  constexpr Bytes kUnit = ChunkBytes(kMaxChunkLog2);
  if (size.value == 0 || size.value % kUnit.value != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("arena of %d bytes: the size must be a multiple of %d (64 MiB), not zero",
                        size.value, kUnit.value));
  }
  for (Bytes tried = size;;) {
    CUdeviceptr base = 0;
    // Only the granularity's alignment is asked for: ranges are aligned when they are taken.
    const CUresult result = ReserveUnusual(*driver, tried, &base);
    if (result == CUDA_SUCCESS) {
      if (IsGranular(base)) {
        return std::unique_ptr<Arena>(new Arena(std::move(driver), DevicePtr(base), tried));
      }
      VS_RETURN_IF_ERROR(Check((*driver)->MemAddressFree(base, tried.value), "cuMemAddressFree",
                               RangeText(DevicePtr(base), tried)));
      return absl::InternalError(absl::StrFormat(
          "cuMemAddressReserve(%d bytes) gave 0x%x, which is not a multiple of 2 MiB", tried.value,
          base));
    }
    if (tried <= kSmallest || !MayBeTooLarge(result)) {
      std::string detail = absl::StrCat(size.value, " bytes");
      if (tried != size) absl::StrAppend(&detail, ", then halves of it down to ", tried.value);
      return DriverError(result, "cuMemAddressReserve", detail);
    }
    tried = std::max(kSmallest, Bytes(tried.value / 2 / kUnit.value * kUnit.value));
  }
}

std::unique_ptr<Arena> Arena::Over(DevicePtr base, Bytes size) {
  return std::unique_ptr<Arena>(new Arena(nullptr, base, size));
}

Arena::Arena(std::shared_ptr<const Driver> driver, DevicePtr base, Bytes size)
    : driver_(std::move(driver)), base_(base), size_(size) {
  VS_CHECK(size.value != 0 && IsGranular(base.value) && IsGranular(size.value));
  holes_.Give(base_, size_);
}

Arena::~Arena() {
  if (driver_ == nullptr) return;
  driver_->RecordBackgroundError(Check((*driver_)->MemAddressFree(base_.value, size_.value),
                                       "cuMemAddressFree",
                                       absl::StrCat(RangeText(base_, size_),
                                                    ", which stays reserved until the "
                                                    "process ends")));
}

StatusOr<DevicePtr> Arena::Take(Bytes size, Bytes alignment) {
  if (size.value == 0 || !IsGranular(size.value) || !IsGranular(alignment.value) ||
      !std::has_single_bit(alignment.value)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "address range of %d bytes aligned to %d: both must be multiples of 2 MiB, not zero, and "
        "the alignment a power of two",
        size.value, alignment.value));
  }
  if (const std::optional<DevicePtr> p = holes_.Take(size, alignment); p.has_value()) return *p;
  return NoAddresses(absl::StrFormat(
      "the arena of %d bytes at 0x%x has no room for %d bytes aligned to %d: %d are free, and the "
      "largest hole has %d; raise VRAMSPAN_ARENA",
      size_.value, base_.value, size.value, alignment.value, holes_.total().value,
      holes_.largest().value));
}

void Arena::Give(DevicePtr p, Bytes size) {
  const uint64_t offset = p.value - base_.value;
  VS_CHECK(offset < size_.value && size.value <= size_.value - offset);
  VS_CHECK(IsGranular(p.value) && IsGranular(size.value));
  holes_.Give(p, size);
}

}  // namespace vramspan
