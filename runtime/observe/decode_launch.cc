#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/observe/knowledge.h"

namespace vramspan {
namespace {

constexpr size_t kSlot = sizeof(uint64_t);
constexpr size_t kMapBytes = sizeof(CUtensorMap);

// One word after the other.
void Mix(uint64_t value, uint64_t* hash) {
  *hash = (std::rotl(*hash, 23) ^ value) * 0x9E3779B97F4A7C15u;
}

// One more word than are kept says that there were too many.
void AddNumber(uint64_t value, Submission* out) {
  Mix(value, &out->numbers);
  if (out->words.size() <= Submission::kMostWords) out->words.push_back(value);
}

void AddNumbers(const char* data, size_t size, Submission* out) {
  uint64_t value = 0;
  for (; size != 0; data += std::min(size, kSlot), size -= std::min(size, kSlot)) {
    value = 0;
    std::memcpy(&value, data, std::min(size, kSlot));
    AddNumber(value, out);
  }
}

void AddObject(const Objects::Memory& memory, bool write, size_t slot, Submission* out) {
  if (memory.ptr.value == 0) return;
  out->touches.push_back({.ptr = memory.ptr,
                          .size = memory.size,
                          .write = write,
                          .linear = false,
                          .slot = static_cast<uint16_t>(slot)});
}

// Tests `count` slots from `from`, of which the first is number `slot` of the parameter block.
void ScanSlots(const ArenaSet& arenas, const char* from, size_t count, size_t slot,
               Submission* out) {
  out->scanned += Bytes(count * kSlot);
  for (size_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, from + i * kSlot, kSlot);
    if (!arenas.Has(value)) {
      AddNumber(value, out);
      continue;
    }
    Mix(slot + i, &out->numbers);
    out->touches.push_back(
        {.ptr = DevicePtr(value), .linear = false, .slot = static_cast<uint16_t>(slot + i)});
  }
}

// As ScanSlots, for handles of textures, which kernels only read.
void ScanTextures(const Objects& textures, const char* from, size_t count, size_t slot,
                  Submission* out) {
  for (size_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, from + i * kSlot, kSlot);
    AddObject(textures.Find(value), /*write=*/false, slot + i, out);
  }
}

void ScanParameters(const Knowledge& known, const Layout& layout, void* const* parameters,
                    Submission* out) {
  const ArenaSet& arenas = known.arenas.set();
  const bool any_textures = !known.textures.empty();
  for (const Layout::Run& run : layout.runs) {
    const auto* const parameter = static_cast<const char*>(parameters[run.parameter]);
    if (parameter == nullptr) continue;
    ScanSlots(arenas, parameter + run.skip, run.count, run.slot, out);
    if (any_textures) [[unlikely]]
      ScanTextures(known.textures, parameter + run.skip, run.count, run.slot, out);
  }
  for (const Layout::Rest& rest : layout.rests) {
    const auto* const parameter = static_cast<const char*>(parameters[rest.parameter]);
    if (parameter != nullptr) AddNumbers(parameter + rest.skip, rest.size, out);
  }
  if (known.tensor_maps.empty()) return;
  for (const Layout::MapPlace& place : layout.maps) {
    const auto* const parameter = static_cast<const char*>(parameters[place.parameter]);
    if (parameter == nullptr) continue;
    AddObject(known.tensor_maps.Find(parameter + place.skip), /*write=*/true, place.slot, out);
  }
}

void ScanBuffer(const Knowledge& known, const char* data, size_t size, Submission* out) {
  ScanSlots(known.arenas.set(), data, size / kSlot, 0, out);
  if (size % kSlot != 0) AddNumbers(data + size / kSlot * kSlot, size % kSlot, out);
  if (!known.textures.empty()) ScanTextures(known.textures, data, size / kSlot, 0, out);
  if (known.tensor_maps.empty()) return;
  for (size_t at = 0; at + kMapBytes <= size; at += kMapAlignment) {
    AddObject(known.tensor_maps.Find(data + at), /*write=*/true, at / kSlot, out);
  }
}

// The buffer of parameters that `extra` names; empty where it names none.
struct Buffer {
  const char* data = nullptr;
  size_t size = 0;
};
Buffer FindBuffer(void* const* extra) {
  Buffer buffer;
  const size_t* size = nullptr;
  for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer.data = static_cast<const char*>(extra[i + 1]);
    } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = static_cast<const size_t*>(extra[i + 1]);
    } else {
      return {};  // The driver will refuse it.
    }
  }
  if (buffer.data == nullptr || size == nullptr) return {};
  buffer.size = std::min(*size, kMostParameterBytes);
  return buffer;
}

}  // namespace

void DecodeKernel(Knowledge& known, const void* kernel, void* const* parameters, void* const* extra,
                  Submission* out) {
  out->kind = Submission::Kind::kKernel;
  out->code = kernel;
  if (known.any_may_be_reached()) [[unlikely]]
    out->incomplete = true;
  if (kernel == nullptr || (parameters != nullptr && extra != nullptr)) return;  // Refused.
  if (extra != nullptr) {
    const Buffer buffer = FindBuffer(extra);
    ScanBuffer(known, buffer.data, buffer.size, out);
  } else if (parameters != nullptr) {
    const Layout& layout = known.layouts.Of(kernel);
    if (!layout.known) [[unlikely]] {
      out->kind = Submission::Kind::kUnknown;
      out->incomplete = true;
      return;
    }
    ScanParameters(known, layout, parameters, out);
  }
  if (out->words.size() > Submission::kMostWords) out->words.clear();
}

}  // namespace vramspan
