// The model of quantised.cu: how its weights lie in their one allocation, and a pass over them.
#ifndef VRAMSPAN_BENCH_PROGRAMS_QUANTISED_MODEL_H_
#define VRAMSPAN_BENCH_PROGRAMS_QUANTISED_MODEL_H_

#include <cmath>

#include "quantised_kernels.h"

constexpr int kPrompt = 128;

__host__ __device__ inline int Number(const Block& block, int i) {
  return static_cast<int8_t>(block.words[i / 4] >> (i % 4 * 8));
}

// Sizes of arrays of blocks are counted in blocks. A layer has the router's rows, and of each
// expert the rows of its two products.
struct Shape {
  int width, inner, experts, choices, layers;

  Shape(double bytes, bool moe) {
    width = bytes < kGiB ? 256 : 4096;
    inner = moe ? width / 8 * 7 : width / 2 * 7;
    experts = moe ? 8 : 1;
    choices = moe ? 2 : 1;
    layers = 1;
    layers = static_cast<int>(std::ceil(bytes / (static_cast<double>(Layer()) * sizeof(Block))));
  }
  size_t Router() const { return choices == 1 ? 0 : static_cast<size_t>(experts) * width / kBlock; }
  size_t Matrix() const { return static_cast<size_t>(inner) * width / kBlock; }
  size_t Layer() const { return Router() + experts * 2 * Matrix(); }
  size_t Blocks() const { return layers * Layer(); }
};

class Model {
 public:
  explicit Model(const Shape& shape) : shape_(shape) {
    const size_t jobs = static_cast<size_t>(kPrompt) * shape.choices;
    weights_ = Allocate<Block>(shape.Blocks());
    x_ = Allocate<float>(static_cast<size_t>(kPrompt) * shape.width);
    sum_ = Allocate<float>(static_cast<size_t>(kPrompt) * shape.width);
    out_ = Allocate<float>(jobs * shape.width);
    hidden_ = Allocate<float>(jobs * shape.inner);
    x_blocks_ = Allocate<Block>(static_cast<size_t>(kPrompt) * shape.width / kBlock);
    hidden_blocks_ = Allocate<Block>(jobs * shape.inner / kBlock);
    chosen_ = Allocate<int>(jobs);
    lists_ = Allocate<int>(jobs * shape.experts);
    counts_ = Allocate<int>(shape.experts);
    kept_ = Allocate<int>(static_cast<size_t>(kMostKept) * 2 * shape.layers);
    pass_ = Allocate<unsigned>(1);
    unused_ = Allocate<unsigned>(1);
    OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    OK(cudaMemset(chosen_, 0, jobs * sizeof(int)));
    OK(cudaMemset(sum_, 0, static_cast<size_t>(kPrompt) * shape.width * sizeof(float)));
    OK(cudaMemset(unused_, 0, sizeof(unsigned)));
    Restart();
    Fill<<<2048, 256>>>(weights_, shape.Blocks(), shape.width);
    OK(cudaDeviceSynchronize());
  }
  const Shape& shape() const { return shape_; }

  void Restart() { OK(cudaMemset(pass_, 0, sizeof(unsigned))); }

  void Run(int tokens) {
    const size_t count = static_cast<size_t>(tokens) * shape_.width;
    Begin<<<128, 256, 0, stream_>>>(x_, count, pass_);
    for (int layer = 0; layer < shape_.layers; ++layer) {
      Choose(layer, tokens);
      Up(layer, tokens, tokens > 1, hidden_);
      const int jobs = tokens * shape_.choices;
      Quantise<<<jobs, 256, 0, stream_>>>(hidden_, hidden_blocks_, shape_.inner);
      Product(Experts(layer) + shape_.Matrix(), hidden_blocks_, 1, out_, tokens, tokens > 1, false);
      Add<<<128, 256, 0, stream_>>>(x_, out_, shape_.width, shape_.choices, count);
    }
    End<<<128, 256, 0, stream_>>>(x_, sum_, count, pass_);
  }
  void MakeGraph() {
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    Run(1);
    OK(cudaStreamEndCapture(stream_, &graph));
    OK(cudaGraphInstantiate(&graph_, graph, 0));
    OK(cudaGraphDestroy(graph));
  }
  void RunGraph() { OK(cudaGraphLaunch(graph_, stream_)); }

  uint64_t Digests() const {
    return Digest(sum_, static_cast<size_t>(kPrompt) * shape_.width * sizeof(float));
  }
  // How many experts no token of a prompt chose, of all layers of all prompts.
  unsigned Unused() const {
    unsigned unused = 0;
    OK(cudaMemcpy(&unused, unused_, sizeof unused, cudaMemcpyDeviceToHost));
    return unused;
  }
  // The experts that tokens used, one token after the other.
  std::vector<int> Kept() const {
    unsigned passes = 0;
    OK(cudaMemcpy(&passes, pass_, sizeof passes, cudaMemcpyDeviceToHost));
    std::vector<int> kept(static_cast<size_t>(std::min(passes, kMostKept)) * 2 * shape_.layers);
    OK(cudaMemcpy(kept.data(), kept_, kept.size() * sizeof(int), cudaMemcpyDeviceToHost));
    return kept;
  }
  // The first layer's first product of a prompt by both kernels, and what they were given.
  void FirstProduct(std::vector<float>* one, std::vector<float>* many, std::vector<Block>* x,
                    std::vector<int>* chosen) const {
    Begin<<<128, 256, 0, stream_>>>(x_, static_cast<size_t>(kPrompt) * shape_.width, pass_);
    Choose(0, kPrompt);
    for (auto* result : {one, many}) {
      OK(cudaMemsetAsync(hidden_, 0xff, result->size() * sizeof(float), stream_));
      Up(0, kPrompt, result == many, hidden_);
      Copy(result, hidden_);
    }
    Copy(x, x_blocks_);
    Copy(chosen, chosen_);
  }

 private:
  const Block* Experts(int layer) const {
    return weights_ + layer * shape_.Layer() + shape_.Router();
  }

  void Choose(int layer, int tokens) const {
    Quantise<<<tokens, 256, 0, stream_>>>(x_, x_blocks_, shape_.width);
    if (shape_.choices == 2)
      Route<<<tokens, 32, 0, stream_>>>(
          weights_ + layer * shape_.Layer(), x_blocks_, shape_.width, shape_.experts, chosen_,
          tokens == 1 ? kept_ + 2 * layer : nullptr, pass_, 2 * shape_.layers);
    List<<<1, shape_.experts, 0, stream_>>>(chosen_, tokens * shape_.choices, lists_, counts_,
                                            tokens > 1 ? unused_ : nullptr);
  }
  void Up(int layer, int tokens, bool many, float* y) const {
    Product(Experts(layer), x_blocks_, shape_.choices, y, tokens, many, true);
  }
  // From the model's width to the inner one for `up`, else back.
  void Product(const Block* w, const Block* x, int jobs_of_x, float* y, int tokens, bool many,
               bool up) const {
    const int jobs = tokens * shape_.choices, width = up ? shape_.width : shape_.inner;
    const int rows = up ? shape_.inner : shape_.width;
    const size_t stride = 2 * shape_.Matrix();
    if (many) {
      const dim3 grid((jobs + 31) / 32, (rows + 63) / 64, shape_.experts);
      MultiplyMany<<<grid, 256, 0, stream_>>>(w, stride, lists_, counts_, jobs, x, jobs_of_x, y,
                                              width, rows, up);
    } else {
      const dim3 grid((rows + 7) / 8, jobs);
      Multiply<<<grid, 256, 0, stream_>>>(w, stride, chosen_, x, jobs_of_x, y, width, rows, up);
    }
  }
  template <typename T>
  void Copy(std::vector<T>* to, const T* from) const {
    OK(cudaMemcpyAsync(to->data(), from, to->size() * sizeof(T), cudaMemcpyDeviceToHost, stream_));
    OK(cudaStreamSynchronize(stream_));
  }

  Shape shape_;
  Block *weights_, *x_blocks_, *hidden_blocks_;
  float *x_, *sum_, *out_, *hidden_;
  int *chosen_, *lists_, *counts_, *kept_;
  unsigned *pass_, *unused_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

#endif  // VRAMSPAN_BENCH_PROGRAMS_QUANTISED_MODEL_H_
