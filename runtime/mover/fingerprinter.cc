#include "runtime/mover/fingerprinter.h"

#include <numeric>
#include <utility>

namespace {

// What vramspan_add_kernels makes of fingerprint_kernels.cu (cmake/kernel_images.cc.in): the same
// kernel for either driver. Which of the two it is, it says by taking the one and not the other.
struct Images {
  const void* gpu;
  size_t gpu_size;
  const void* simulated;
  size_t simulated_size;
};
extern "C" Images fingerprint_kernels_images();

// The answer about an image for another kind of device, which makes the next one worth a try.
bool IsForeignImage(CUresult result) {
  return result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_INVALID_IMAGE ||
         result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
         result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND || result == CUDA_ERROR_INVALID_SOURCE;
}

// Enough to read at the speed of the memory, few enough that adding up costs nothing.
constexpr unsigned kBlocks = 512;
constexpr unsigned kThreads = 256;

}  // namespace

namespace vramspan {

StatusOr<CUmodule> LoadFingerprintKernels(const Driver& driver) {
  const Images images = fingerprint_kernels_images();
  CUmodule module = nullptr;
  CUresult loaded = CUDA_ERROR_NO_BINARY_FOR_GPU;
  for (const void* image : {images.gpu, images.simulated}) {
    if (image == nullptr) continue;
    loaded = driver->ModuleLoadData(&module, image);
    if (!IsForeignImage(loaded)) break;
  }
  if (IsForeignImage(loaded)) {
    return absl::UnavailableError(
        "this build has no fingerprint kernel for the device; build vramspan with nvcc");
  }
  VS_RETURN_IF_ERROR(Check(loaded, "cuModuleLoadData", "to take fingerprints"));
  return module;
}

StatusOr<std::unique_ptr<Fingerprinter>> Fingerprinter::Create(std::shared_ptr<const Driver> driver,
                                                               CUstream stream) {
  std::unique_ptr<Fingerprinter> f(new Fingerprinter(std::move(driver), stream));
  const DriverApi& cu = f->driver_->api();
  VS_ASSIGN_OR_RETURN(f->module_, LoadFingerprintKernels(*f->driver_));
  VS_RETURN_IF_ERROR(Check(cu.ModuleGetFunction(&f->kernel_, f->module_, "fingerprint"),
                           "cuModuleGetFunction", "to take fingerprints"));
  VS_RETURN_IF_ERROR(Check(cu.MemAlloc(&f->sums_, kSlots * sizeof(Fingerprint)), "cuMemAlloc",
                           "for fingerprints"));
  void* results = nullptr;
  VS_RETURN_IF_ERROR(Check(cu.MemHostAlloc(&results, kSlots * sizeof(Fingerprint), 0),
                           "cuMemHostAlloc", "for fingerprints"));
  f->results_ = static_cast<Fingerprint*>(results);
  f->free_.resize(kSlots);
  std::iota(f->free_.begin(), f->free_.end(), 0u);
  VS_ASSIGN_OR_RETURN(const std::optional<uint32_t> slot, f->Queue(DevicePtr(f->sums_), Bytes(64)));
  VS_RETURN_IF_ERROR(
      Check(cu.StreamSynchronize(stream), "cuStreamSynchronize", "after a first fingerprint"));
  f->Take(*slot);
  return f;
}

Fingerprinter::~Fingerprinter() {
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

StatusOr<std::optional<uint32_t>> Fingerprinter::Queue(DevicePtr from, Bytes size) {
  if (free_.empty()) return std::nullopt;
  const DriverApi& cu = driver_->api();
  const uint32_t mine = free_.back();
  CUdeviceptr data = from.value;
  CUdeviceptr sums = sums_ + mine * sizeof(Fingerprint);
  size_t words = size.value / sizeof(uint64_t);
  void* params[] = {&data, &words, &sums};
  VS_RETURN_IF_ERROR(Check(cu.MemsetD8Async(sums, 0, sizeof(Fingerprint), stream_),
                           "cuMemsetD8Async", "for a fingerprint"));
  VS_RETURN_IF_ERROR(
      Check(cu.LaunchKernel(kernel_, kBlocks, 1, 1, kThreads, 1, 1, 0, stream_, params, nullptr),
            "cuLaunchKernel", "for a fingerprint"));
  VS_RETURN_IF_ERROR(Check(cu.MemcpyDtoHAsync(&results_[mine], sums, sizeof(Fingerprint), stream_),
                           "cuMemcpyDtoHAsync", "of a fingerprint"));
  free_.pop_back();
  return mine;
}

Fingerprint Fingerprinter::Take(uint32_t slot) {
  free_.push_back(slot);
  return results_[slot];
}

}  // namespace vramspan
