// GEMMs one after the other over weights (traced_workloads.h).
#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

#include "bench/workloads/layers_model.h"
#include "bench/workloads/traced_workloads.h"

namespace vramspan::bench {
namespace {

// Ways in which a pass takes longer than this are estimated.
constexpr double kMostSeconds = 1.5;

class Chain {
 public:
  explicit Chain(Bench& bench)
      : bench_(bench),
        shape_{.k = bench.settings.small ? 1024 : 8192},
        fit_(static_cast<int>(bench.settings.budget / shape_.layer_bytes())),
        model_(bench.machine, shape_,
               *std::max_element(bench.settings.columns.begin(), bench.settings.columns.end()),
               bench.settings.stand_in),
        passes_(bench.machine, model_.stream()) {
    if (fit_ < 2) throw std::invalid_argument("the chain needs a budget for two of its layers");
    // Two matrices behind the weights: the slots of double buffering.
    const size_t all = 2 * static_cast<size_t>(fit_) * shape_.layer_bytes();
    device_ = bench.memory.Device(all + 2 * shape_.matrix_bytes());
    for (int layer = 0; layer < 2 * fit_; ++layer) {
      model_.FillLayer(layer, device_ + static_cast<size_t>(layer) * shape_.layer_bytes());
    }
    host_ = bench.memory.Host(all);
    bench.memory.CopyToHost(all, model_.stream());
    buffer_.emplace(bench.machine, model_.stream(), device_ + all, shape_.matrix_bytes());
  }

  // `percent` of what fits; with 100, nothing need move.
  void Measure(int percent) {
    percent_ = percent;
    layers_ = fit_ * percent / 100;
    for (const int columns : bench_.settings.columns) {
      columns_ = columns;
      Run(kResident, plan(), OnDevice(2 * layers_));
      if (percent == 100) continue;
      const double one = HostSeconds();
      RunFromHost(kHost, one, 0);
      RunFromHost(kSplit, one, 2 * fit_);
      ByHand();
    }
    for (const std::string& overlap : bench_.settings.overlaps) Traced(overlap);
  }

 private:
  using Weights = std::vector<CUdeviceptr>;  // By matrix.

  // One part in a hundred is looked for where all fits.
  PassPlan plan() const {
    return {.measured = percent_ == 100 ? 10 : bench_.settings.chain_passes,
            .limit = bench_.settings.limit};
  }

  CUdeviceptr Offset(int matrix) const {
    return static_cast<CUdeviceptr>(matrix) * shape_.matrix_bytes();
  }

  // The first `count` matrices on the device, the others of the chain on the host.
  Weights OnDevice(int count) const {
    Weights weights;
    for (int m = 0; m < 2 * layers_; ++m) {
      weights.push_back((m < count ? device_ : host_) + Offset(m));
    }
    return weights;
  }

  Row NewRow(const std::string& way) const {
    const std::string size = percent_ == 100 ? "fits" : std::to_string(percent_) + " %";
    return {.workload = "chain", .what = "m=" + std::to_string(columns_) + " " + size, .way = way};
  }

  void Finish(Row row) {
    if (!row.estimated) {
      const std::vector<unsigned long long> sums = model_.Digests(row.timing.passes);
      const Row* const resident = bench_.report.Find(row, kResident);
      if (resident == nullptr) truth_[row.what] = {sums[0], sums[1]};
      const std::vector<unsigned long long>& truth = truth_[row.what];
      for (size_t i = 0; i < sums.size(); ++i) row.right &= sums[i] == truth[i % 2];
    }
    const Row* const resident = bench_.report.Find(row, kResident);
    row.bound = bench_.Bound(
        (resident == nullptr ? row : *resident).timing.median,
        static_cast<double>(layers_ - fit_) * static_cast<double>(shape_.layer_bytes()));
    bench_.report.Add(std::move(row));
  }

  void Pass(int pass, const Weights& weights) const {
    model_.BeginPass(columns_);
    for (int m = 0; m < 2 * layers_; ++m) {
      model_.Apply(m, weights[static_cast<size_t>(m)], columns_);
    }
    model_.EndPass(columns_, pass);
  }

  void Run(const std::string& way, const PassPlan& plan, const Weights& weights) {
    Row row = NewRow(way);
    model_.ClearDigests();
    row.timing = passes_.Run(plan, [&](int pass) { Pass(pass, weights); });
    Finish(std::move(row));
  }

  // Of one product with weights in host memory.
  double HostSeconds() {
    return passes_
        .Run({.measured = 1, .warm_up = 0, .tail = 0},
             [&](int) { model_.Apply(0, host_, columns_); })
        .median;
  }

  void RunFromHost(const std::string& way, double one, int on_device) {
    Row row = NewRow(way);
    const int all = 2 * layers_;
    const double seconds = bench_.report.Find(row, kResident)->timing.median * on_device / all +
                           one * (all - on_device);
    if (seconds < kMostSeconds) {
      Run(way, bench_.BaselinePlan(), OnDevice(on_device));
      return;
    }
    row.estimated = true;
    row.timing = {.median = seconds, .mean = seconds, .whole = seconds, .passes = 0};
    Finish(std::move(row));
  }

  // All but two of the matrices that there is room for stay; the others, strewn evenly, pass
  // through the two slots.
  void ByHand() {
    const int all = 2 * layers_;
    const int streamed = all - (2 * fit_ - 2);
    Row row = NewRow(kByHand);
    model_.ClearDigests();
    row.timing = passes_.Run(plan(), [&](int pass) {
      model_.BeginPass(columns_);
      for (int m = 0; m < all; ++m) {
        const bool stays = (m + 1) * streamed / all == m * streamed / all;
        if (stays) {
          model_.Apply(m, device_ + Offset(m), columns_);
          continue;
        }
        const CUdeviceptr weights =
            buffer_->Fetch(bench_.memory.OnCpu(host_ + Offset(m)), shape_.matrix_bytes());
        model_.Apply(m, weights, columns_);
        buffer_->Release();
      }
      model_.EndPass(columns_, pass);
    });
    Finish(std::move(row));
  }

  void Traced(const std::string& overlap) {
    size_t budget = static_cast<size_t>(fit_) * shape_.layer_bytes();
    if (percent_ == 100) budget += budget / 8;  // Room for everything, in chunks of any size.
    const Runtime runtime =
        MakeRuntime(bench_.machine, budget, bench_.settings.chunk, bench_.settings.policy, overlap);
    std::vector<Buffer<uint8_t>> layers;
    Weights weights;
    for (int layer = 0; layer < layers_; ++layer) {
      layers.push_back(runtime.alloc<uint8_t>(shape_.layer_bytes()));
      weights.push_back(layers.back().ptr());
      weights.push_back(layers.back().ptr() + shape_.matrix_bytes());
      model_.FillLayer(layer, layers.back().ptr());
    }
    for (const int columns : bench_.settings.columns) {
      columns_ = columns;
      Row row = NewRow(overlap);
      model_.ClearDigests();
      Bench::RunTraced(
          runtime, passes_, plan(), [&](int pass) { Pass(pass, weights); }, &row);
      Finish(std::move(row));
    }
  }

  Bench& bench_;
  const ModelShape shape_;
  const int fit_;  // Layers.
  Model model_;
  Passes passes_;
  std::optional<DoubleBuffer> buffer_;
  CUdeviceptr device_ = 0;
  CUdeviceptr host_ = 0;
  int percent_ = 100;
  int layers_ = 0;
  int columns_ = 0;
  std::map<std::string, std::vector<unsigned long long>> truth_;
};

}  // namespace

void MeasureChains(Bench& bench) {
  Chain chain(bench);
  for (const int percent : {100, 150, 200}) chain.Measure(percent);
}

}  // namespace vramspan::bench
