// A buffer read from one end to the other (traced_workloads.h).
#include <algorithm>

#include "bench/workloads/traced_workloads.h"

namespace vramspan::bench {
namespace {

constexpr size_t kSlices = 16;
// What one writes by hand: large enough for the link's full rate, small beside the budget.
constexpr size_t kSlot = size_t{64} << 20;

class Sweep {
 public:
  Sweep(Bench& bench, int percent)
      : bench_(bench),
        what_(std::to_string(percent) + " %"),
        bytes_(bench.settings.budget / 100 * static_cast<size_t>(percent) / 4096 * 4096),
        device_(bench.memory.Device(bytes_)),
        host_(bench.memory.Host(bytes_)) {}

  void Measure() {
    for (const Piece& piece : Cut(device_, bytes_, kSlices)) bench_.reader.Fill(piece);
    bench_.memory.CopyToHost(bytes_, bench_.passes.stream());
    PassPlan plan = bench_.BaselinePlan();
    resident_ = Run(kResident, plan, Cut(device_, bytes_, kSlices)).timing.median;
    Run(kHost, plan, Cut(host_, bytes_, kSlices));
    Run(kSplit, plan, SplitAt(bench_.settings.budget));
    ByHand(plan);
    plan = {.measured = bench_.settings.passes, .limit = bench_.settings.limit};
    for (const std::string& overlap : bench_.settings.overlaps) Traced(plan, overlap);
  }

 private:
  Row NewRow(const std::string& way) const {
    return {.workload = "sweep", .what = what_, .way = way};
  }

  Row Finish(Row row) {
    const std::vector<uint64_t> sums = bench_.reader.Sums(row.timing.passes);
    if (row.way == kResident) {
      truth_ = sums[0];
      resident_ = row.timing.median;
    }
    row.right = std::all_of(sums.begin(), sums.end(), [&](uint64_t s) { return s == truth_; });
    row.bound = bench_.Bound(resident_, static_cast<double>(bytes_ - bench_.settings.budget));
    bench_.report.Add(row);
    return row;
  }

  void ReadAll(const std::vector<Piece>& pieces, int pass) const {
    for (const Piece& piece : pieces) bench_.reader.Read(piece, pass);
  }

  Row Run(const std::string& way, const PassPlan& plan, const std::vector<Piece>& pieces) {
    Row row = NewRow(way);
    bench_.reader.Clear();
    row.timing = bench_.passes.Run(plan, [&](int pass) { ReadAll(pieces, pass); });
    return Finish(std::move(row));
  }

  // What lies before `room` on the device, the rest on the host.
  std::vector<Piece> SplitAt(size_t room) const {
    std::vector<Piece> pieces;
    for (const Piece& p : Cut(device_, bytes_, kSlices)) {
      const size_t here = std::min(p.bytes, room - std::min(room, p.offset));
      if (here > 0) pieces.push_back({p.ptr, p.offset, here});
      if (here < p.bytes)
        pieces.push_back({host_ + p.offset + here, p.offset + here, p.bytes - here});
    }
    return pieces;
  }

  void ByHand(const PassPlan& plan) {
    const size_t slot = std::min(kSlot, bench_.settings.budget / 16);
    const size_t stay = bench_.settings.budget - 2 * slot;
    // The slots lie where the streamed part would: in memory that this way does not have.
    DoubleBuffer buffer(bench_.machine, bench_.passes.stream(), device_ + stay, slot);
    Row row = NewRow(kByHand);
    bench_.reader.Clear();
    row.timing = bench_.passes.Run(plan, [&](int pass) {
      ReadAll(Cut(device_, stay, kSlices), pass);
      for (size_t at = stay; at < bytes_; at += slot) {
        const size_t bytes = std::min(slot, bytes_ - at);
        const CUdeviceptr here = buffer.Fetch(bench_.memory.OnCpu(host_ + at), bytes);
        bench_.reader.Read({here, at, bytes}, pass);
        buffer.Release();
      }
    });
    Finish(std::move(row));
  }

  void Traced(const PassPlan& plan, const std::string& overlap) {
    const Runtime runtime = MakeRuntime(bench_.machine, bench_.settings.budget,
                                        bench_.settings.chunk, bench_.settings.policy, overlap);
    const Buffer<uint8_t> buffer = runtime.alloc<uint8_t>(bytes_);
    const Buffer<uint8_t> sums = runtime.alloc<uint8_t>(bench_.reader.sums_bytes());
    const Reader::SumsAt keep(bench_.reader, sums.ptr());
    const std::vector<Piece> pieces = Cut(buffer.ptr(), bytes_, kSlices);
    for (const Piece& piece : pieces) bench_.reader.Fill(piece);
    Row row = NewRow(overlap);
    bench_.reader.Clear();
    Bench::RunTraced(
        runtime, bench_.passes, plan, [&](int pass) { ReadAll(pieces, pass); }, &row);
    Finish(std::move(row));
  }

  Bench& bench_;
  const std::string what_;
  const size_t bytes_;
  const CUdeviceptr device_, host_;
  double resident_ = 0;
  uint64_t truth_ = 0;
};

}  // namespace

void MeasureSweeps(Bench& bench) {
  // The largest first: its memory serves all.
  bench.memory.Device(2 * bench.settings.budget);
  bench.memory.Host(2 * bench.settings.budget);
  for (const int percent : {125, 150, 200}) Sweep(bench, percent).Measure();
}

}  // namespace vramspan::bench
