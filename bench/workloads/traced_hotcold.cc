// Launches that mostly go to a tenth of a buffer (traced_workloads.h).
#include <algorithm>
#include <numeric>

#include "bench/workloads/traced_bound.h"
#include "bench/workloads/traced_workloads.h"

namespace vramspan::bench {
namespace {

uint64_t Random(uint64_t* state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

class HotAndCold {
 public:
  // Every launch reads its slice `times` times: once, the link bounds the cold ones; often, the
  // work of the hot ones leaves the link time enough.
  HotAndCold(Bench& bench, unsigned times)
      : bench_(bench),
        times_(times),
        slice_(bench.settings.small ? size_t{2} << 20 : size_t{64} << 20),
        bytes_(2 * bench.settings.budget / slice_ * slice_),
        launches_(bench.settings.small ? 40
                  : times == 1         ? 1000
                                       : 300),
        device_(bench.memory.Device(bytes_)),
        host_(bench.memory.Host(bytes_)) {
    MakeSequence();
  }

  void Measure() {
    for (const Piece& piece : Slices(device_)) bench_.reader.Fill(piece);
    bench_.memory.CopyToHost(bytes_, bench_.passes.stream());
    Run(kResident, plan_, Slices(device_));
    // Seconds a pass: one is enough.
    Run(kHost, {.measured = 1, .warm_up = 0, .tail = 0, .limit = bench_.settings.limit},
        Slices(host_));
    std::vector<Piece> split = Slices(device_);
    for (Piece& p : split) {
      if (p.offset + p.bytes > bench_.settings.budget) p.ptr = host_ + p.offset;
    }
    Run(kSplit, {.measured = 2, .warm_up = 1, .limit = bench_.settings.limit}, split);
    for (const std::string& overlap : bench_.settings.overlaps) Traced(overlap);
  }

 private:
  static constexpr int kPasses = 7;

  std::vector<Piece> Slices(CUdeviceptr ptr) const { return Cut(ptr, bytes_, bytes_ / slice_); }

  // A tenth of the slices, strewn over the buffer, gets nine tenths of the launches of every pass;
  // no two passes are alike.
  void MakeSequence() {
    uint64_t state = 3;
    const size_t count = bytes_ / slice_;
    std::vector<int> slices(count);
    std::iota(slices.begin(), slices.end(), 0);
    for (size_t i = count - 1; i > 0; --i) std::swap(slices[i], slices[Random(&state) % (i + 1)]);
    const size_t hot = std::max<size_t>(1, count / 10);
    const size_t all = launches_ * static_cast<size_t>(plan_.warm_up + plan_.measured + plan_.tail);
    for (size_t i = 0; i < all; ++i) {
      const bool is_hot = Random(&state) % 10 != 0;
      uses_.push_back(is_hot ? slices[Random(&state) % hot]
                             : slices[hot + Random(&state) % (count - hot)]);
    }
    const size_t from = launches_ * static_cast<size_t>(plan_.warm_up);
    const size_t to = all - launches_ * static_cast<size_t>(plan_.tail);
    const size_t misses = FewestMisses(uses_, bench_.settings.budget / slice_, from, to);
    fewest_bytes_ = static_cast<double>(misses * slice_) / plan_.measured;
  }

  void ReadPass(const std::vector<Piece>& slices, int pass) const {
    const size_t from = launches_ * static_cast<size_t>(pass);
    for (size_t i = from; i < from + launches_; ++i) {
      bench_.reader.Read(slices[static_cast<size_t>(uses_[i])], pass, times_);
    }
  }

  void Finish(Row row) {
    const std::vector<uint64_t> sums = bench_.reader.Sums(row.timing.passes);
    if (row.way == kResident) {
      truth_ = sums;
      resident_ = row.timing.median;
    }
    row.right =
        sums.size() <= truth_.size() && std::equal(sums.begin(), sums.end(), truth_.begin());
    row.bound = bench_.Bound(resident_, fewest_bytes_);
    bench_.report.Add(std::move(row));
  }

  Row NewRow(const std::string& way) const {
    return {.workload = "hotcold", .what = "read " + std::to_string(times_) + "x", .way = way};
  }

  void Run(const std::string& way, const PassPlan& plan, const std::vector<Piece>& slices) {
    Row row = NewRow(way);
    bench_.reader.Clear();
    row.timing = bench_.passes.Run(plan, [&](int pass) { ReadPass(slices, pass); });
    Finish(std::move(row));
  }

  void Traced(const std::string& overlap) {
    const Runtime runtime = MakeRuntime(bench_.machine, bench_.settings.budget,
                                        bench_.settings.chunk, bench_.settings.policy, overlap);
    const Buffer<uint8_t> buffer = runtime.alloc<uint8_t>(bytes_);
    const Buffer<uint8_t> sums = runtime.alloc<uint8_t>(bench_.reader.sums_bytes());
    const Reader::SumsAt keep(bench_.reader, sums.ptr());
    const std::vector<Piece> slices = Slices(buffer.ptr());
    for (const Piece& piece : slices) bench_.reader.Fill(piece);
    Row row = NewRow(overlap);
    bench_.reader.Clear();
    Bench::RunTraced(
        runtime, bench_.passes, plan_, [&](int pass) { ReadPass(slices, pass); }, &row);
    Finish(std::move(row));
  }

  Bench& bench_;
  const unsigned times_;
  const size_t slice_;
  const size_t bytes_;
  const size_t launches_;  // A pass.
  const CUdeviceptr device_, host_;
  const PassPlan plan_{.measured = kPasses, .limit = 1e9};  // The truth needs all of them.
  std::vector<int> uses_;
  double fewest_bytes_ = 0;
  double resident_ = 0;
  std::vector<uint64_t> truth_;
};

}  // namespace

void MeasureHotAndCold(Bench& bench) {
  for (const unsigned times : {1u, 8u}) HotAndCold(bench, times).Measure();
}

}  // namespace vramspan::bench
