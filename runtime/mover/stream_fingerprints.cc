#include "runtime/mover/stream_fingerprints.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/base/own_calls.h"

namespace vramspan {
namespace {

// As in fingerprint_kernels.cu.
struct Pieces {
  const void* data[StreamFingerprints::kPiecesOfALaunch];
  size_t words[StreamFingerprints::kPiecesOfALaunch];
  uint32_t slots[StreamFingerprints::kPiecesOfALaunch];
  uint32_t count;
};
constexpr size_t kSumBytes = 4 * sizeof(uint64_t);
// Enough to read at the speed of the memory, few enough that adding up costs nothing.
constexpr unsigned kBlocks = 128;
constexpr unsigned kThreads = 512;

}  // namespace

StatusOr<std::unique_ptr<StreamFingerprints>> StreamFingerprints::Create(
    std::shared_ptr<const Driver> driver) {
  std::unique_ptr<StreamFingerprints> p(new StreamFingerprints(std::move(driver)));
  const DriverApi& cu = p->driver_->api();
  VS_ASSIGN_OR_RETURN(p->module_, LoadFingerprintKernels(*p->driver_));
  VS_RETURN_IF_ERROR(Check(cu.ModuleGetFunction(&p->kernel_, p->module_, "fingerprints"),
                           "cuModuleGetFunction", "to take fingerprints"));
  VS_RETURN_IF_ERROR(
      Check(cu.MemAlloc(&p->sums_, kSlots * kSumBytes), "cuMemAlloc", "for fingerprints"));
  void* host = nullptr;
  constexpr size_t kHostBytes = kSlots * (sizeof(Fingerprint) + sizeof(*asked_));
  VS_RETURN_IF_ERROR(
      Check(cu.MemHostAlloc(&host, kHostBytes, 0), "cuMemHostAlloc", "for fingerprints"));
  std::memset(host, 0, kHostBytes);
  p->results_ = static_cast<Fingerprint*>(host);
  p->asked_ = reinterpret_cast<std::atomic<uint32_t>*>(p->results_ + kSlots);
  p->Ask(0);
  CUstream stream = nullptr;
  VS_RETURN_IF_ERROR(Check(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
                           "for a first fingerprint"));
  Status status = Check(cu.MemsetD8Async(p->sums_, 0, kSlots * kSumBytes, stream),
                        "cuMemsetD8Async", "for fingerprints");
  const Piece first[] = {{DevicePtr(p->sums_), Bytes(64), 0}};
  if (status.ok()) status = p->Queue(stream, first);
  if (status.ok()) {
    status =
        Check(cu.StreamSynchronize(stream), "cuStreamSynchronize", "after a first fingerprint");
  }
  p->driver_->RecordBackgroundError(
      Check(cu.StreamDestroy(stream), "cuStreamDestroy", "of a first fingerprint"));
  VS_RETURN_IF_ERROR(status);
  p->free_.resize(kSlots);
  std::iota(p->free_.begin(), p->free_.end(), 0u);
  return p;
}

StreamFingerprints::~StreamFingerprints() {
  const DriverApi& cu = driver_->api();
  if (results_ != nullptr) {
    driver_->RecordBackgroundError(
        Check(cu.MemFreeHost(results_), "cuMemFreeHost", "of fingerprints"));
  }
  if (sums_ != 0)
    driver_->RecordBackgroundError(Check(cu.MemFree(sums_), "cuMemFree", "of fingerprints"));
  if (module_ != nullptr) {
    driver_->RecordBackgroundError(
        Check(cu.ModuleUnload(module_), "cuModuleUnload", "of fingerprints"));
  }
}

std::optional<uint32_t> StreamFingerprints::Take() {
  if (free_.empty()) return std::nullopt;
  const uint32_t slot = free_.back();
  free_.pop_back();
  results_[slot] = {};
  asked_[slot].store(0, std::memory_order_release);
  return slot;
}

void StreamFingerprints::Ask(uint32_t slot) { asked_[slot].store(1, std::memory_order_release); }

bool StreamFingerprints::CallOff(uint32_t slot) {
  if (asked_[slot].exchange(0, std::memory_order_acq_rel) != 0) called_off_[slot] = true;
  return called_off_[slot];
}

std::optional<Fingerprint> StreamFingerprints::Result(uint32_t slot) const {
  // No content has this one, but for one chance in 2^128.
  if (results_[slot] == Fingerprint{}) return std::nullopt;
  return results_[slot];
}

Status StreamFingerprints::Queue(CUstream stream, absl::Span<const Piece> pieces) const {
  const OwnCalls own;
  for (size_t at = 0; at < pieces.size(); at += kPiecesOfALaunch) {
    Pieces some{};
    const size_t count = std::min(kPiecesOfALaunch, pieces.size() - at);
    for (size_t i = 0; i < count; ++i) {
      const Piece& piece = pieces[at + i];
      some.data[i] = reinterpret_cast<const void*>(piece.data.value);
      some.words[i] = piece.size.value / sizeof(uint64_t);
      some.slots[i] = piece.slot;
    }
    some.count = static_cast<uint32_t>(count);
    CUdeviceptr sums = sums_;
    CUdeviceptr results = reinterpret_cast<CUdeviceptr>(results_);
    CUdeviceptr asked = reinterpret_cast<CUdeviceptr>(asked_);
    void* params[] = {&some, &sums, &results, &asked};
    VS_RETURN_IF_ERROR(Check((*driver_)->LaunchKernel(kernel_, kBlocks, 1, 1, kThreads, 1, 1, 0,
                                                      stream, params, nullptr),
                             "cuLaunchKernel", "for fingerprints"));
  }
  return absl::OkStatus();
}

}  // namespace vramspan
