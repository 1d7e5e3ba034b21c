// Texture references, which texture objects replaced. What they must be like follows the
// documentation, alignments are an H100's.

#include <memory>

#include "tools/simcuda/calls_object.h"
#include "tools/simcuda/handle_table.h"
#include "tools/simcuda/memory/address_map.h"
#include "tools/simcuda/memory/arrays.h"
#include "tools/simcuda/memory/vmm.h"
#include "tools/simcuda/mutex.h"

namespace simcuda::calls {
namespace {

constexpr uint64_t kAlignment = 512;
constexpr uint64_t kPitchAlignment = 32;
constexpr uint64_t kMaxLinear = uint64_t{1} << 28;  // texels

struct Reference {
  Mutex mutex;
  CUarray_format format SIMCUDA_GUARDED_BY(mutex) = CU_AD_FORMAT_FLOAT;
  int channels SIMCUDA_GUARDED_BY(mutex) = 1;
  CUdeviceptr address SIMCUDA_GUARDED_BY(mutex) = 0;  // 0: bound to nothing.
};

HandleTable<CUtexref, Reference>& References() {
  static auto* const table = new HandleTable<CUtexref, Reference>();
  return *table;
}

bool GoodFormat(CUarray_format format, unsigned channels) {
  return memory::ChannelBytes(format) != 0 && (channels == 1 || channels == 2 || channels == 4);
}

// The driver looks the memory up when a reference is bound to it.
bool Reachable(CUdeviceptr address, uint64_t bytes) {
  const memory::RangePtr range = memory::AddressMap::Get().Find(address);
  if (!range || !range->Contains(address, bytes)) return false;
  return range->kind != memory::RangeKind::kReservation ||
         memory::Vmm::Get().Accessible(address, bytes);
}

}  // namespace

CUresult TexRefCreate(CUtexref* reference) {
  if (reference == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *reference = References().Insert(std::make_shared<Reference>());
  return CUDA_SUCCESS;
}

CUresult TexRefDestroy(CUtexref reference) {
  return References().Remove(reference) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult TexRefSetFormat(CUtexref handle, CUarray_format format, int channels) {
  const auto reference = References().Find(handle);
  if (!reference || !GoodFormat(format, static_cast<unsigned>(channels))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  MutexLock lock(reference->mutex);
  reference->format = format;
  reference->channels = channels;
  return CUDA_SUCCESS;
}

CUresult TexRefGetFormat(CUarray_format* format, int* channels, CUtexref handle) {
  const auto reference = References().Find(handle);
  if (!reference || format == nullptr || channels == nullptr) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(reference->mutex);
  *format = reference->format;
  *channels = reference->channels;
  return CUDA_SUCCESS;
}

CUresult TexRefSetAddress(size_t* offset, CUtexref handle, CUdeviceptr address, size_t bytes) {
  const auto reference = References().Find(handle);
  if (!reference) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(reference->mutex);
  const uint64_t texel =
      memory::ChannelBytes(reference->format) * static_cast<uint64_t>(reference->channels);
  const uint64_t inside = address % kAlignment;
  // An address between is bound by what it lies behind, and the kernel is to be told how far.
  if (address == 0 || bytes == 0 || (offset == nullptr && inside != 0) || inside % texel != 0 ||
      bytes / texel > kMaxLinear || !Reachable(address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (offset != nullptr) *offset = inside;
  reference->address = address - inside;
  return CUDA_SUCCESS;
}

CUresult TexRefSetAddress2D(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR* descriptor,
                            CUdeviceptr address, size_t pitch) {
  const auto reference = References().Find(handle);
  if (!reference || descriptor == nullptr || address == 0 || address % kAlignment != 0 ||
      pitch % kPitchAlignment != 0 || descriptor->Width == 0 || descriptor->Height == 0 ||
      !GoodFormat(descriptor->Format, descriptor->NumChannels)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t row =
      descriptor->Width * memory::ChannelBytes(descriptor->Format) * descriptor->NumChannels;
  if (pitch < row || !Reachable(address, (descriptor->Height - 1) * pitch + row)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  MutexLock lock(reference->mutex);
  reference->format = descriptor->Format;
  reference->channels = static_cast<int>(descriptor->NumChannels);
  reference->address = address;
  return CUDA_SUCCESS;
}

CUresult TexRefGetAddress(CUdeviceptr* address, CUtexref handle) {
  const auto reference = References().Find(handle);
  if (!reference || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(reference->mutex);
  if (reference->address == 0) return CUDA_ERROR_INVALID_VALUE;
  *address = reference->address;
  return CUDA_SUCCESS;
}

}  // namespace simcuda::calls
