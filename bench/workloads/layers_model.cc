#include "bench/workloads/layers_model.h"

#include <chrono>
#include <cmath>
#include <numeric>

#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(layers_kernels);

namespace vramspan::bench {
namespace {

constexpr int kWarmUp = 2;
constexpr int kTail = 1;
constexpr size_t kBlocks = 1024;
constexpr unsigned kThreads = 256;

}  // namespace

Model::Model(Machine& machine, const ModelShape& shape, int most_columns, bool stand_in)
    : machine_(machine), shape_(shape), stream_(machine.MakeStream()) {
  if (!stand_in) cublas_ = std::make_unique<Cublas>(machine, stream_);
  const CUmodule module = machine.LoadModule(layers_kernels_images());
  fill_ = machine.Function(module, "fill_halves");
  stand_in_ = machine.Function(module, "stand_in");
  digest_ = machine.Function(module, "digest_halves");
  const size_t bytes = size_t{2} * static_cast<size_t>(shape.k) * static_cast<size_t>(most_columns);
  for (CUdeviceptr& activation : activations_) activation = machine.Allocate(bytes);
  sums_ = machine.Allocate(kMostPasses * 2 * sizeof(unsigned long long));
}

void Model::FillLayer(int layer, CUdeviceptr weights) const {
  CUdeviceptr data = weights;
  size_t count = shape_.layer_bytes() / 2;
  uint32_t seed = static_cast<uint32_t>(layer + 1) * 0x9e3779b9u;
  machine_.Launch(fill_, kBlocks, kThreads, stream_, {&data, &count, &seed});
}

void Model::Multiply(int columns, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c) const {
  if (cublas_) {
    // Keeps the size of what is multiplied: the mean square of the weights is 7/768.
    const float alpha = 1 / std::sqrt(static_cast<float>(shape_.k) * 7 / 768);
    cublas_->Multiply(shape_.k, columns, alpha, a, b, c);
    return;
  }
  size_t k = static_cast<size_t>(shape_.k);
  size_t m = static_cast<size_t>(columns);
  machine_.Launch(stand_in_, kBlocks, kThreads, stream_, {&k, &m, &a, &b, &c});
}

void Model::ClearDigests() const {
  machine_.Check(
      machine_.api().MemsetD8Async(sums_, 0, kMostPasses * 2 * sizeof(unsigned long long), stream_),
      "cuMemsetD8Async");
}

void Model::BeginPass(int columns) const {
  CUdeviceptr data = activations_[0];
  size_t count = static_cast<size_t>(shape_.k) * static_cast<size_t>(columns);
  uint32_t seed = 1;
  machine_.Launch(fill_, kBlocks, kThreads, stream_, {&data, &count, &seed});
}

void Model::Apply(int matrix, CUdeviceptr weights, int columns) const {
  Multiply(columns, weights, activations_[matrix % 2], activations_[1 - matrix % 2]);
}

void Model::EndPass(int columns, int pass) const {
  CUdeviceptr data = activations_[0];
  size_t pairs = static_cast<size_t>(shape_.k) * static_cast<size_t>(columns) / 2;
  CUdeviceptr sums = sums_ + static_cast<size_t>(pass) * 2 * sizeof(unsigned long long);
  machine_.Launch(digest_, kBlocks, kThreads, stream_, {&data, &pairs, &sums});
}

std::vector<unsigned long long> Model::Digests(int passes) const {
  std::vector<unsigned long long> sums(static_cast<size_t>(passes) * 2);
  machine_.Check(
      machine_.api().MemcpyDtoHAsync(sums.data(), sums_, sums.size() * sizeof(sums[0]), stream_),
      "cuMemcpyDtoHAsync");
  machine_.Synchronize(stream_);
  return sums;
}

PassResult Model::Run(const std::vector<CUdeviceptr>& weights, int columns, int measured,
                      const Declare& declare) {
  const DriverApi& cu = machine_.api();
  PassResult result;
  result.passes = std::min(kWarmUp + measured + kTail, kMostPasses);
  while (ended_.size() < static_cast<size_t>(result.passes)) {
    ended_.push_back(machine_.MakeEvent(true));
  }
  ClearDigests();
  // The first launch of a kernel may load it: outside of what is measured.
  Apply(0, weights[0], columns);
  machine_.Synchronize(stream_);

  const auto start = std::chrono::steady_clock::now();
  for (int pass = 0; pass < result.passes; ++pass) {
    BeginPass(columns);
    for (int layer = 0; layer < shape_.layers; ++layer) {
      declare(layer, [&] {
        const CUdeviceptr w = weights[static_cast<size_t>(layer)];
        Apply(2 * layer, w, columns);
        Apply(2 * layer + 1, w + shape_.matrix_bytes(), columns);
      });
    }
    EndPass(columns, pass);
    machine_.Check(cu.EventRecord(ended_[static_cast<size_t>(pass)], stream_), "cuEventRecord");
  }
  result.submit_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  machine_.Synchronize(stream_);

  std::vector<double> seconds;
  for (int pass = kWarmUp; pass < result.passes - kTail; ++pass) {
    seconds.push_back(
        machine_.Seconds(ended_[static_cast<size_t>(pass - 1)], ended_[static_cast<size_t>(pass)]));
  }
  result.median_seconds = Median(seconds);
  result.mean_seconds =
      std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());

  const std::vector<unsigned long long> sums = Digests(result.passes);
  result.digest = {sums[0], sums[1]};
  for (size_t i = 0; i < sums.size(); ++i) result.same &= sums[i] == result.digest[i % 2];
  return result;
}

}  // namespace vramspan::bench
