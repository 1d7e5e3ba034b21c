// As call_fields.h, for the calls that make objects which stand for memory. Inside this folder
// only.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_OBJECT_FIELDS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_OBJECT_FIELDS_H_

#include <cuda.h>

#include <cstdint>

#include "runtime/observe/call_fields.h"
#include "runtime/observe/knowledge.h"

namespace vramspan::fields {

template <typename P>
void MakeTexture(Knowledge& known, const void* params) {
  const P& p = As<P>(params);
  const Objects::Memory memory = TextureMemory(*p.pResDesc);
  if (known.arenas.set().Has(memory.ptr.value)) known.textures.Name(*p.pTexObject, memory);
}

template <typename P>
void ForgetTexture(Knowledge& known, const void* params) {
  known.textures.Unname(As<P>(params).texObject);
}

// A reference belongs to a module's kernels, and no launch names it.
template <typename P>
void BindTexture(Knowledge& known, const void* params) {
  if (known.arenas.set().Has(As<P>(params).dptr)) {
    known.bound_textures.store(true, std::memory_order_relaxed);
  }
}

template <typename P>
void EncodeTensorMap(Knowledge& known, const void* params) {
  const P& p = As<P>(params);
  const auto address = reinterpret_cast<uintptr_t>(p.globalAddress);
  if (!known.arenas.set().Has(address)) return;
  Bytes size;  // Of a map whose address is replaced, nobody says.
  if constexpr (requires { p.globalDim; }) {
    size = TensorBytes(p.tensorDataType, p.tensorRank, p.globalDim, p.globalStrides, p.interleave);
  }
  known.tensor_maps.Name(p.tensorMap, {DevicePtr(address), size});
}

}  // namespace vramspan::fields

#endif  // VRAMSPAN_RUNTIME_OBSERVE_OBJECT_FIELDS_H_
