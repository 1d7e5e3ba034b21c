// The model that layers_bench streams: layers of two square matrices each, applied one after the
// other to an activation that lies outside the runtime. Weights are read only.
//
// A pass starts from the same activation and ends in a digest of what came out, so every pass of
// every configuration must give the same bits.
#ifndef VRAMSPAN_BENCH_WORKLOADS_LAYERS_MODEL_H_
#define VRAMSPAN_BENCH_WORKLOADS_LAYERS_MODEL_H_

#include <functional>
#include <memory>
#include <vector>

#include "bench/workloads/cublas.h"
#include "bench/workloads/machine.h"

namespace vramspan::bench {

struct ModelShape {
  int layers = 16;
  int k = 8192;  // The matrices are k x k halves.

  size_t matrix_bytes() const {
    return size_t{2} * static_cast<size_t>(k) * static_cast<size_t>(k);
  }
  size_t layer_bytes() const { return 2 * matrix_bytes(); }
};

struct PassResult {
  double median_seconds = 0;
  double mean_seconds = 0;
  double submit_seconds = 0;  // The launching thread, for all passes.
  int passes = 0;             // All that ran, warm-up and tail included.
  std::vector<unsigned long long> digest;
  bool same = true;  // All passes gave the same digest.
};

class Model {
 public:
  // `most_columns`: the largest m that will be run. With `stand_in`, no cuBLAS.
  Model(Machine& machine, const ModelShape& shape, int most_columns, bool stand_in);

  // What declares the work on a layer: calls `work` between the begin and the end of a scope.
  using Declare = std::function<void(int layer, const std::function<void()>& work)>;

  // Contents of layer `layer` at `weights`, on the model's stream.
  void FillLayer(int layer, CUdeviceptr weights) const;

  // Queues all passes, then waits. `measured` passes count; two before them and one behind, at
  // which there is nothing left to look ahead to, do not.
  PassResult Run(const std::vector<CUdeviceptr>& weights, int columns, int measured,
                 const Declare& declare);

  // The parts of a pass, for programs with a loop of their own. All queue, on the model's stream;
  // `pass` is below kMostPasses.
  static constexpr int kMostPasses = 256;
  void ClearDigests() const;
  void BeginPass(int columns) const;
  // Matrices 2l and 2l + 1 are those of layer l; in this order, every pass all of them.
  void Apply(int matrix, CUdeviceptr weights, int columns) const;
  void EndPass(int columns, int pass) const;
  // Two sums over what came out, for each of the first `passes`. Waits.
  std::vector<unsigned long long> Digests(int passes) const;

  CUstream stream() const { return stream_; }
  std::string gemm() const { return cublas_ ? cublas_->path() : "stand-in"; }

 private:
  void Multiply(int columns, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c) const;

  Machine& machine_;
  const ModelShape shape_;
  const CUstream stream_;
  std::unique_ptr<Cublas> cublas_;
  CUfunction fill_, stand_in_, digest_;
  CUdeviceptr activations_[2];
  CUdeviceptr sums_ = 0;
  std::vector<CUevent> ended_;
};

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_LAYERS_MODEL_H_
