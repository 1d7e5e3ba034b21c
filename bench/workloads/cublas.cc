#include "bench/workloads/cublas.h"

#include <absl/strings/str_cat.h>
#include <dlfcn.h>
#include <glob.h>

#include <stdexcept>
#include <vector>

namespace vramspan::bench {
namespace {

// NVIDIA's advice for Hopper.
constexpr size_t kWorkspace = size_t{32} << 20;

// Where it is looked for after the loader's own places: the toolkit, then Python's packages.
constexpr const char* kPlaces[] = {
    "/usr/local/cuda/lib64",
    "/usr/local/lib/python3*/*-packages/nvidia/cu13/lib",
    "/usr/lib/python3*/*-packages/nvidia/cu13/lib",
    "/opt/*/lib/python3*/*-packages/nvidia/cu13/lib",
};

std::vector<std::string> Find(const char* name) {
  std::vector<std::string> found = {name};
  for (const char* place : kPlaces) {
    glob_t matches = {};
    if (glob(absl::StrCat(place, "/", name).c_str(), 0, nullptr, &matches) == 0) {
      found.insert(found.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    }
    globfree(&matches);
  }
  return found;
}

void Check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(absl::StrCat(call, ": cublasStatus ", static_cast<int>(status)));
}

}  // namespace

void* Cublas::Open() {
  // libcublas finds libcublasLt beside itself, or loaded already.
  for (const std::string& lt : Find("libcublasLt.so.13")) {
    if (dlopen(lt.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) break;
  }
  std::string why;
  for (const std::string& path : Find("libcublas.so.13")) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) {
      path_ = path;
      return library;
    }
    why = dlerror();
  }
  throw std::runtime_error(
      absl::StrCat("cuBLAS 13 cannot be opened (", why,
                   "): set LD_LIBRARY_PATH to the folder of libcublas.so.13, or use --stand-in"));
}

template <typename Function>
void Cublas::Resolve(const char* name, Function* function) const {
  *function = reinterpret_cast<Function>(dlsym(library_, name));
  if (*function == nullptr) throw std::runtime_error(absl::StrCat(path_, " has no ", name));
}

Cublas::Cublas(Machine& machine, CUstream stream) {
  library_ = Open();
  Resolve("cublasCreate_v2", &create_);
  Resolve("cublasDestroy_v2", &destroy_);
  Resolve("cublasSetStream_v2", &set_stream_);
  Resolve("cublasSetWorkspace_v2", &set_workspace_);
  Resolve("cublasGemmEx", &gemm_);
  Check(create_(&handle_), "cublasCreate");
  Check(set_stream_(handle_, reinterpret_cast<cudaStream_t>(stream)), "cublasSetStream");
  Check(set_workspace_(handle_, reinterpret_cast<void*>(machine.Allocate(kWorkspace)), kWorkspace),
        "cublasSetWorkspace");
}

Cublas::~Cublas() {
  if (handle_ != nullptr) destroy_(handle_);
}

void Cublas::Multiply(int k, int m, float alpha, CUdeviceptr a, CUdeviceptr b,
                      CUdeviceptr c) const {
  const float beta = 0;
  Check(gemm_(handle_, CUBLAS_OP_T, CUBLAS_OP_N, k, m, k, &alpha, reinterpret_cast<void*>(a),
              CUDA_R_16F, k, reinterpret_cast<void*>(b), CUDA_R_16F, k, &beta,
              reinterpret_cast<void*>(c), CUDA_R_16F, k, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

}  // namespace vramspan::bench
