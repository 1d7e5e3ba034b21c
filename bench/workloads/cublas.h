// cuBLAS, opened at run time: a workload is one file and says in a sentence what it misses.
#ifndef VRAMSPAN_BENCH_WORKLOADS_CUBLAS_H_
#define VRAMSPAN_BENCH_WORKLOADS_CUBLAS_H_

#include <cublas_v2.h>

#include <string>

#include "bench/workloads/machine.h"

namespace vramspan::bench {

// One handle on one stream of the machine's context, with a workspace of its own: results are the
// same bits from run to run. Threads: one. Throws std::runtime_error.
class Cublas {
 public:
  Cublas(Machine& machine, CUstream stream);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // c = alpha * transpose(a) * b, half in and out, float inside; a: k x k, b and c: k x m, stored
  // by columns.
  void Multiply(int k, int m, float alpha, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c) const;

  const std::string& path() const { return path_; }

 private:
  // The header overloads the name, so that decltype cannot tell which is meant.
  using GemmEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                    int, const void*, const void*, cudaDataType, int, const void*,
                                    cudaDataType, int, const void*, void*, cudaDataType, int,
                                    cublasComputeType_t, cublasGemmAlgo_t);

  void* Open();
  template <typename Function>
  void Resolve(const char* name, Function* function) const;

  std::string path_;
  void* library_ = nullptr;  // Never unloaded.
  cublasHandle_t handle_ = nullptr;
  decltype(&cublasCreate_v2) create_ = nullptr;
  decltype(&cublasDestroy_v2) destroy_ = nullptr;
  decltype(&cublasSetStream_v2) set_stream_ = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace_ = nullptr;
  GemmEx gemm_ = nullptr;
};

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_CUBLAS_H_
