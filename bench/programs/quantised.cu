// Quantised weights in one allocation, 8 GiB by default: layers of two products, as an MLP has
// them, for prompts of 128 tokens and for single tokens. With `moe` a layer has eight experts, of
// which each token uses two: a router chooses them on the device. With `graphs` a token's launches
// are one CUDA graph.
//
// nvcc -O2 -arch=native -o quantised quantised.cu
// ./quantised [moe] [graphs] [--gib G] [--laps N] [--limit G]
#include "quantised_bound.h"
#include "quantised_model.h"

// Of the first layer: both kernels must agree, with each other and with what the host computes.
bool Right(const Model& model) {
  const Shape& s = model.shape();
  const int jobs = kPrompt * s.choices;
  std::vector<float> one(static_cast<size_t>(jobs) * s.inner), many(one.size());
  std::vector<Block> x(static_cast<size_t>(kPrompt) * s.width / kBlock);
  std::vector<int> chosen(jobs);
  model.FirstProduct(&one, &many, &x, &chosen);
  for (size_t i = 0; i < one.size(); ++i)
    if (!(std::abs(one[i] - many[i]) < 1e-4)) return false;
  const int blocks = s.width / kBlock;
  auto product = [&](size_t first, int token) {
    double sum = 0;
    for (int b = 0; b < blocks; ++b) {
      const Block w = Weights(first + b, s.width);
      const Block& v = x[static_cast<size_t>(token) * blocks + b];
      int whole = 0;
      for (int i = 0; i < kBlock; ++i) whole += Number(w, i) * Number(v, i);
      sum += whole * (static_cast<double>(w.scale) * v.scale);
    }
    return sum;
  };
  for (int job = 0; job < jobs; job += 37) {
    const int token = job / s.choices;
    // No expert that was not chosen may have more than this one.
    for (int e = 0; e < s.experts && s.choices == 2; ++e) {
      if (e == chosen[2 * token] || e == chosen[2 * token + 1]) continue;
      const size_t mine = static_cast<size_t>(chosen[job]) * blocks, others = size_t(e) * blocks;
      if (product(others, token) > product(mine, token) + 1e-4) return false;
    }
    for (int row = job % 5; row < s.inner; row += s.inner / 8) {
      const size_t first = s.Router() + chosen[job] * 2 * s.Matrix() + size_t(row) * blocks;
      const double expected = std::min(1.0, std::max(-1.0, product(first, token)));
      if (!(std::abs(one[static_cast<size_t>(job) * s.inner + row] - expected) < 1e-4))
        return false;
    }
  }
  return true;
}

int main(int argc, char** argv) {
  const Options options(argc, argv, 8, 4, {"moe", "graphs"});
  Model model(Shape(options.Bytes(), options.Has("moe")));
  const size_t peak = allocated_bytes;
  const std::vector<double> prompts = Repeated([&] { model.Run(kPrompt); }, options.laps);
  const unsigned unused = model.Unused();
  model.Restart();
  if (options.Has("graphs")) model.MakeGraph();
  const std::vector<double> tokens =
      Repeated([&] { options.Has("graphs") ? model.RunGraph() : model.Run(1); }, 6 * options.laps);
  const uint64_t digest = model.Digests();
  Figures figures = {{"prompt", Settled(prompts)}, {"token", Settled(tokens)}};
  if (options.limit > 0) {
    figures.emplace_back("bound_prompt", BoundOfPrompt(options, model.shape(), unused));
    figures.emplace_back("bound_token",
                         BoundOfToken(options, model.shape(), model.Kept(), tokens.size() / 2));
  }
  return Report(options, digest, Right(model), peak, figures);
}
