#include "runtime/observe/decoder.h"

#include <utility>
#include <vector>

#include "runtime/observe/call_table.h"
#include "runtime/observe/knowledge.h"

namespace vramspan {
namespace {

std::vector<uint32_t> FindCallsOf(CallClass call_class) {
  std::vector<uint32_t> calls;
  for (uint32_t i = 0; i < CallCount(); ++i) {
    if (CallAt(i).call_class == call_class) calls.push_back(i);
  }
  return calls;
}

CUstream NormalStream(const Call& call, const void* params) {
  const CUstream stream = call.stream(params);
  if (stream == nullptr) return call.per_thread ? CU_STREAM_PER_THREAD : nullptr;
  return stream == CU_STREAM_LEGACY ? nullptr : stream;
}

}  // namespace

struct Decoder::State : Knowledge {
  using Knowledge::Knowledge;
};

Decoder::Decoder(std::shared_ptr<const Driver> driver)
    : state_(std::make_unique<State>(std::move(driver))) {}
Decoder::~Decoder() = default;

void Decoder::AddArena(DevicePtr base, Bytes size) { state_->arenas.Add(base, size); }
void Decoder::RemoveArena(DevicePtr base) { state_->arenas.Remove(base); }
const ArenaSet& Decoder::arenas() const { return state_->arenas.set(); }
KernelCodes& Decoder::codes() { return state_->codes; }
Graphs& Decoder::graphs() { return state_->graphs; }

CallClass Decoder::ClassOf(uint32_t call) {
  return call < CallCount() ? CallAt(call).call_class : CallClass::kNone;
}

absl::Span<const uint32_t> Decoder::CallsOf(CallClass call_class) {
  static const std::vector<uint32_t> submits = FindCallsOf(CallClass::kSubmits);
  static const std::vector<uint32_t> defines = FindCallsOf(CallClass::kDefines);
  static const std::vector<uint32_t> looks_up = FindCallsOf(CallClass::kLooksUp);
  static const std::vector<uint32_t> waits = FindCallsOf(CallClass::kWaits);
  static const std::vector<uint32_t> none = FindCallsOf(CallClass::kNone);
  switch (call_class) {
    case CallClass::kSubmits:
      return submits;
    case CallClass::kDefines:
      return defines;
    case CallClass::kLooksUp:
      return looks_up;
    case CallClass::kWaits:
      return waits;
    case CallClass::kNone:
      break;
  }
  return none;
}

bool Decoder::LooksUp(uint32_t call, const void* params) const {
  if (call >= CallCount() || !CallAt(call).looks_up) return false;
  return CallAt(call).address == nullptr || state_->arenas.set().Has(CallAt(call).address(params));
}

bool Decoder::CopiesFromHost(uint32_t call) {
  return call < CallCount() && CallAt(call).copies_from_host;
}

CUstream Decoder::StreamOf(uint32_t call, const void* params) {
  return NormalStream(CallAt(call), params);
}

WaitsFor Decoder::WhatFor(uint32_t call) { return CallAt(call).waits_for; }

void Decoder::Name(uint32_t call, const void* params, Submission* out) {
  const Call& entry = CallAt(call);
  out->Clear();
  out->stream = NormalStream(entry, params);
  out->waits = entry.returns_done;
  entry.decode(*state_, params, out);
}

void Decoder::Scan(Submission* out) const {
  if (out->kind == Submission::Kind::kKernel) ScanKernel(*state_, out);
}

Decoder::Grounds Decoder::grounds() const {
  return {&state_->arenas.set(), state_->textures.changes() + state_->tensor_maps.changes()};
}

void Decoder::Learn(uint32_t call, const void* params, CUresult result) {
  const Call& entry = CallAt(call);
  if (result == CUDA_SUCCESS && entry.learn != nullptr) entry.learn(*state_, params);
}

void Decoder::Before(uint32_t call, const void* params) {
  const Call& entry = CallAt(call);
  if (entry.before != nullptr) entry.before(*state_, params);
}

}  // namespace vramspan
