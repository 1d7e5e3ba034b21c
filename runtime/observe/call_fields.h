// Reads the structs of parameters by the names of their fields: the driver's variants of a call
// have the same fields, so that one template serves them all. Inside this folder only.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_CALL_FIELDS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_CALL_FIELDS_H_

#include <cuda.h>

#include <cstdint>

#include "runtime/observe/knowledge.h"
#include "runtime/observe/launch_shape.h"
#include "runtime/observe/module_images.h"
#include "runtime/observe/submission.h"

namespace vramspan::fields {

template <typename P>
const P& As(const void* params) {
  return *static_cast<const P*>(params);
}

template <typename P>
CUstream Stream(const void* params) {
  const P& p = As<P>(params);
  if constexpr (requires { p.hStream; }) {
    return p.hStream;
  } else if constexpr (requires { p.stream; }) {
    return p.stream;
  } else if constexpr (requires { p.config; }) {
    return p.config != nullptr ? p.config->hStream : nullptr;
  } else if constexpr (requires { p.launchParamsList; }) {
    const bool any = p.launchParamsList != nullptr && p.numDevices != 0;
    return any ? p.launchParamsList[0].hStream : nullptr;
  } else {
    return nullptr;
  }
}

template <typename P>
void Launch(Knowledge& known, const void* params, Submission* out) {
  const P& p = As<P>(params);
  void* const* extra = nullptr;
  if constexpr (requires { p.extra; }) extra = p.extra;
  NameKernel(known, p.f, p.kernelParams, extra, out);
  if constexpr (requires { p.gridDimX; }) {
    TakeShape(p, out);
  } else if constexpr (requires { p.config; }) {
    if (p.config != nullptr) TakeShape(*p.config, out);
  }
}

// Submissions whose memory the call does not say: parameters set before it (cuParamSet), or kernels
// in several streams at once.
template <typename P>
void Untold(Knowledge& /*known*/, const void* /*params*/, Submission* out) {
  out->kind = Submission::Kind::kUnknown;
  out->incomplete = true;
}

// 0 is an array: memory that is nobody's here.
template <typename P>
uint64_t Target(const P& p) {
  if constexpr (requires { p.dstDevice; }) {
    return p.dstDevice;
  } else if constexpr (requires { p.dst; }) {
    return p.dst;
  } else if constexpr (requires { p.dstHost; }) {
    return reinterpret_cast<uintptr_t>(p.dstHost);
  } else {
    return 0;
  }
}
template <typename P>
uint64_t SourceOf(const P& p) {
  if constexpr (requires { p.srcDevice; }) {
    return p.srcDevice;
  } else if constexpr (requires { p.src; }) {
    return p.src;
  } else if constexpr (requires { p.srcHost; }) {
    return reinterpret_cast<uintptr_t>(p.srcHost);
  } else {
    return 0;
  }
}

// Its source may be host memory, and its target keep pointers.
template <typename P>
constexpr bool MaySourceHost() {
  const auto has = [](auto... fields) { return (fields || ...); };
  if constexpr (requires(P p) { p.dstArray; }) {
    return false;
  } else {
    return has(
        requires(P p) { p.srcHost; }, requires(P p) { p.src; }, requires(P p) { p.srcs; },
        requires(P p) { p.pCopy; }, requires(P p) { p.opList; });
  }
}

template <typename P>
void Copy(Knowledge& known, const void* params, Submission* out) {
  const P& p = As<P>(params);
  out->kind = Submission::Kind::kCopy;
  AddCopy(known, Target(p), SourceOf(p), p.ByteCount,
          MaySourceHost<P>() ? Source::kMaybeHost : Source::kDevice, out);
}

template <typename P>
void Fill(Knowledge& known, const void* params, Submission* out) {
  const P& p = As<P>(params);
  uint64_t element = 1;
  if constexpr (requires { p.us; }) element = 2;
  if constexpr (requires { p.ui; }) element = 4;
  out->kind = Submission::Kind::kCopy;
  if constexpr (requires { p.N; }) {
    AddRange(known, p.dstDevice, p.N * element, /*write=*/true, /*linear=*/true, out);
  } else {
    AddRows(known, p.dstDevice, p.dstPitch, p.Width * element, p.Height, /*write=*/true, out);
  }
}

template <typename P>
void Rows(Knowledge& known, const void* params, Submission* out) {
  const P& p = As<P>(params);
  out->kind = Submission::Kind::kCopy;
  if (p.pCopy != nullptr) AddPitchedCopy(known, MakePitchedCopy(*p.pCopy), out);
}

template <typename P>
void Batch(Knowledge& known, const void* params, Submission* out) {
  const P& p = As<P>(params);
  out->kind = Submission::Kind::kCopy;
  if constexpr (requires { p.opList; }) {
    AddCopyBatch(known, p.opList, p.numOps, out);
  } else if constexpr (requires { p.paramsArray; }) {
    AddDecompression(known, p.paramsArray, p.count, out);
  } else {
    AddCopyBatch(known, p.dsts, p.srcs, p.sizes, p.count, out);
  }
}

template <typename P>
void WaitValue(Knowledge& known, const void* params, Submission* out) {
  const P& p = As<P>(params);
  out->kind = Submission::Kind::kCopy;
  AddRange(known, p.addr, sizeof(p.value), /*write=*/false, /*linear=*/true, out);
}
template <typename P>
void WriteValue(Knowledge& known, const void* params, Submission* out) {
  const P& p = As<P>(params);
  out->kind = Submission::Kind::kCopy;
  AddRange(known, p.addr, sizeof(p.value), /*write=*/true, /*linear=*/true, out);
}
template <typename P>
void StreamOps(Knowledge& known, const void* params, Submission* out) {
  const P& p = As<P>(params);
  out->kind = Submission::Kind::kCopy;
  AddStreamOps(known, p.paramArray, p.count, out);
}

// Code was loaded; the preload's hooks tell the same where there is one.
template <typename P>
void Loaded(Knowledge& /*known*/, const void* params) {
  NoteLoaded(As<P>(params));
}
inline void DropHandles(Knowledge& known, const void* /*params*/) {
  ModuleImages::Get().DropFunctions();
  known.layouts.Drop();
  known.codes.Drop();
}
template <typename P>
void Unloads(Knowledge& known, const void* params) {
  NoteUnloads(As<P>(params));
  DropHandles(known, params);
}

}  // namespace vramspan::fields

#endif  // VRAMSPAN_RUNTIME_OBSERVE_CALL_FIELDS_H_
