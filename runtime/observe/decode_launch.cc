#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "runtime/observe/knowledge.h"

namespace vramspan {
namespace {

constexpr size_t kSlot = sizeof(uint64_t);
constexpr size_t kMapBytes = sizeof(CUtensorMap);

// What a launch's parameters say: the addresses among them, and a hash of all others.
//
// The hash is one of every fourth word, four times over: a single one would wait for a
// multiplication at each word.
class Scan {
 public:
  Scan(const ArenaSet& arenas, Submission* out)
      : arenas_(arenas), out_(*out), first_(out->touches.size()) {}
  ~Scan() {
    for (const uint64_t lane : lanes_) Mix(lane, &out_.numbers);
  }
  Scan(const Scan&) = delete;
  Scan& operator=(const Scan&) = delete;

  // Tests `count` slots from `from`, of which the first is number `slot` of the parameter block.
  void Slots(const char* from, size_t count, size_t slot) {
    out_.scanned += Bytes(count * kSlot);
    for (size_t i = 0; i < count;) {
      if ((slot + i) % kLanes == 0 && Full()) i += Numbers(from + i * kSlot, count - i);
      // What is left of a row with an address, of the first row and of the last.
      do {
        if (i == count) return;
        Slot(Read(from + i * kSlot), slot + i);
        ++i;
      } while ((slot + i) % kLanes != 0);
    }
  }
  // Bytes that hold no address.
  void Rest(const char* data, size_t size) {
    for (; size != 0; data += std::min(size, kSlot), size -= std::min(size, kSlot)) {
      uint64_t value = 0;
      std::memcpy(&value, data, std::min(size, kSlot));
      Number(value, 0);
    }
  }

 private:
  static constexpr size_t kLanes = 4;
  static constexpr size_t kToldApart = 8;

  static void Mix(uint64_t value, uint64_t* hash) {
    *hash = (std::rotl(*hash, 23) ^ value) * 0x9E3779B97F4A7C15u;
  }
  static uint64_t Read(const char* from) {
    uint64_t value = 0;
    std::memcpy(&value, from, kSlot);
    return value;
  }
  // One more word than are kept says that there were too many.
  bool Full() const { return out_.words.size() > Submission::kMostWords; }

  void Number(uint64_t value, size_t slot) {
    Mix(value, &lanes_[slot % kLanes]);
    if (!Full()) out_.words.push_back(value);
  }
  void Slot(uint64_t value, size_t slot) {
    if (!arenas_.Has(value)) {
      Number(value, slot);
      return;
    }
    Mix(slot, &lanes_[slot % kLanes]);
    if (Named(DevicePtr(value))) return;
    out_.touches.push_back(
        {.ptr = DevicePtr(value), .linear = false, .slot = static_cast<uint16_t>(slot)});
  }
  // Twice, the first time by one of the first touches. A matrix product holds each of its three or
  // four pointers up to eight times over, and what is known of a pointer is told by the first that
  // holds it. That there is a second tells what is read and written from what is written only
  // (replays reckon with it).
  bool Named(DevicePtr ptr) {
    const size_t end = std::min(out_.touches.size(), first_ + kToldApart);
    for (size_t i = first_; i < end; ++i) {
      if (out_.touches[i].ptr == ptr) return std::exchange(twice_[i - first_], true);
    }
    return false;
  }
  // Takes whole rows, one word for each lane, up to the first that may hold an address; how many
  // slots that were. Most of what kernels are given are sizes and strides. REQUIRES: Full().
  size_t Numbers(const char* from, size_t count) {
    static_assert(kLanes == 4);
    auto [first, second, third, fourth] = lanes_;
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const char* const row = from + i * kSlot;
      const uint64_t a = Read(row), b = Read(row + kSlot);
      const uint64_t c = Read(row + 2 * kSlot), d = Read(row + 3 * kSlot);
      // Not one branch after the other: as a rule none is near.
      const unsigned near = static_cast<unsigned>(arenas_.Near(a)) + arenas_.Near(b) +
                            arenas_.Near(c) + arenas_.Near(d);
      if (near != 0) break;
      Mix(a, &first);
      Mix(b, &second);
      Mix(c, &third);
      Mix(d, &fourth);
    }
    lanes_ = {first, second, third, fourth};
    return i;
  }

  const ArenaSet& arenas_;
  Submission& out_;
  const size_t first_;                       // Of the touches, the first of this launch,
  std::array<bool, kToldApart> twice_ = {};  // of which these were told again.
  std::array<uint64_t, kLanes> lanes_{};
};

void AddObject(const Objects::Memory& memory, bool write, size_t slot, Submission* out) {
  if (memory.ptr.value == 0) return;
  out->touches.push_back({.ptr = memory.ptr,
                          .size = memory.size,
                          .write = write,
                          .linear = false,
                          .slot = static_cast<uint16_t>(slot)});
}

// As Scan::Slots, for handles of textures, which kernels only read.
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
  Scan scan(known.arenas.set(), out);
  const bool any_textures = !known.textures.empty();
  for (const Layout::Run& run : layout.runs) {
    const auto* const parameter = static_cast<const char*>(parameters[run.parameter]);
    if (parameter == nullptr) continue;
    scan.Slots(parameter + run.skip, run.count, run.slot);
    if (any_textures) [[unlikely]]
      ScanTextures(known.textures, parameter + run.skip, run.count, run.slot, out);
  }
  for (const Layout::Rest& rest : layout.rests) {
    const auto* const parameter = static_cast<const char*>(parameters[rest.parameter]);
    if (parameter != nullptr) scan.Rest(parameter + rest.skip, rest.size);
  }
  if (known.tensor_maps.empty()) return;
  for (const Layout::MapPlace& place : layout.maps) {
    const auto* const parameter = static_cast<const char*>(parameters[place.parameter]);
    if (parameter == nullptr) continue;
    AddObject(known.tensor_maps.Find(parameter + place.skip), /*write=*/true, place.slot, out);
  }
}

void ScanBuffer(const Knowledge& known, const char* data, size_t size, Submission* out) {
  Scan scan(known.arenas.set(), out);
  scan.Slots(data, size / kSlot, 0);
  scan.Rest(data + size / kSlot * kSlot, size % kSlot);
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

void NameKernel(Knowledge& known, const void* kernel, void* const* parameters, void* const* extra,
                Submission* out) {
  out->kind = Submission::Kind::kKernel;
  out->code = kernel;
  if (known.any_may_be_reached()) [[unlikely]]
    out->incomplete = true;
  out->kernel = &known.codes.Of(kernel);
  out->trust = out->kernel->trust();
  if (kernel == nullptr || (parameters != nullptr && extra != nullptr)) return;  // Refused.
  if (extra != nullptr) {
    const Buffer buffer = FindBuffer(extra);
    out->parameters.buffer = {buffer.data, buffer.size};
  } else if (parameters != nullptr) {
    const Layout& layout = known.layouts.Of(kernel);
    if (!layout.known) [[unlikely]] {
      out->kind = Submission::Kind::kUnknown;
      out->incomplete = true;
      return;
    }
    out->parameters.layout = &layout;
    out->parameters.values = parameters;
  }
  // Here, as what is remembered of launches depends on how far they are trusted.
  if (out->trust < Trust::kProven && out->kernel->depends() &&
      out->kernel->ProvenBy(out->parameters)) {
    out->trust = Trust::kProven;
  }
}

void ScanKernel(const Knowledge& known, Submission* out) {
  const Parameters& parameters = out->parameters;
  if (parameters.layout != nullptr) {
    ScanParameters(known, *parameters.layout, parameters.values, out);
  } else if (parameters.buffer.data() != nullptr) {
    ScanBuffer(known, parameters.buffer.data(), parameters.buffer.size(), out);
  }
  if (out->words.size() > Submission::kMostWords) out->words.clear();
  if (!out->kernel->verdict.given.empty()) {
    out->trust = std::max(out->trust, out->kernel->TrustOf(out->given()));
  }
}

void DecodeKernel(Knowledge& known, const void* kernel, void* const* parameters, void* const* extra,
                  Submission* out) {
  NameKernel(known, kernel, parameters, extra, out);
  ScanKernel(known, out);
}

}  // namespace vramspan
