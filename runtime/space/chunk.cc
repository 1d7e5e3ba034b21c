#include "runtime/space/chunk.h"

namespace vramspan {
namespace {

constexpr unsigned Bit(ChunkState state) { return 1u << static_cast<unsigned>(state); }

// The rows of the table in docs/chunk-states.md.
constexpr unsigned LegalFrom(ChunkState from) {
  using enum ChunkState;
  switch (from) {
    case kNone:
      return Bit(kFresh);
    case kFresh:
      return Bit(kDevice) | Bit(kHost) | Bit(kMoving) | Bit(kPinned) | Bit(kNone);
    case kDevice:
      return Bit(kMoving) | Bit(kPinned) | Bit(kNone);
    case kHost:
      return Bit(kMoving) | Bit(kNone);
    case kDeviceTwin:
      return Bit(kDevice) | Bit(kDeviceStale) | Bit(kMoving) | Bit(kPinned) | Bit(kNone);
    case kDeviceStale:
      return Bit(kDevice) | Bit(kDeviceTwin) | Bit(kMoving) | Bit(kNone);
    case kMoving:
      return Bit(kFresh) | Bit(kDevice) | Bit(kHost) | Bit(kDeviceTwin) | Bit(kDeviceStale);
    case kPinned:
      return Bit(kDevice) | Bit(kNone);
  }
  return 0;
}

}  // namespace

const char* ChunkStateName(ChunkState state) {
  switch (state) {
    case ChunkState::kNone:
      return "none";
    case ChunkState::kFresh:
      return "fresh";
    case ChunkState::kDevice:
      return "device";
    case ChunkState::kHost:
      return "host";
    case ChunkState::kDeviceTwin:
      return "device+twin";
    case ChunkState::kDeviceStale:
      return "device+stale";
    case ChunkState::kMoving:
      return "moving";
    case ChunkState::kPinned:
      return "pinned";
  }
  return "invalid";
}

bool IsLegalTransition(ChunkState from, ChunkState to) { return (LegalFrom(from) & Bit(to)) != 0; }

bool StateFitsMemory(ChunkState state, bool on_device) {
  switch (state) {
    case ChunkState::kDevice:
    case ChunkState::kDeviceTwin:
    case ChunkState::kDeviceStale:
    case ChunkState::kPinned:
      return on_device;
    case ChunkState::kHost:
      return !on_device;
    case ChunkState::kNone:
    case ChunkState::kFresh:
    case ChunkState::kMoving:
      return true;
  }
  return false;
}

}  // namespace vramspan
