#include "tools/replay/load_trace.h"

#include <absl/hash/hash.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "runtime/base/clean_text.h"
#include "tools/replay/chunked_run.h"
#include "tools/replay/fill_times.h"
#include "tools/replay/run_limits.h"

namespace vramspan::replay {
namespace {

using trace::TracedRange;

// No machine has more.
constexpr Bytes kMostAllocation = GiB(8 << 10);
constexpr size_t kMostProblems = 20;
constexpr uint32_t kNotYet = UINT32_MAX;
// The recorder gives no stream a number beyond it.
constexpr uint32_t kMostStreams = 1 << 16;

// A call of the program, before the threads' calls are put into one order.
struct Call {
  enum class Kind : uint8_t { kFree, kAllocate, kWork, kMove };

  uint64_t time = 0;
  Kind kind = Kind::kWork;
  uint32_t block = 0;  // Where it was told: an index.
  DevicePtr base;      // Of an allocation or a free,
  Bytes size;          // and of the one its size.
  uint32_t index = 0;  // Of work, or of a move.
};

class Loader {
 public:
  explicit Loader(uint64_t file_bytes) : limits_(file_bytes) {}

  // An error ends the reading.
  Status Take(size_t offset, uint32_t thread, const trace::Event& event) {
    thread_ = thread;
    if (blocks_.empty() || blocks_.back() != offset) blocks_.push_back(offset);
    block_ = static_cast<uint32_t>(blocks_.size() - 1);
    if (++events_ > limits_.events) return TooMuch(block_, limits_.events, "events");
    std::visit([this](const auto& e) { Take(e); }, event);
    if (told_ > limits_.told) return TooMuch(block_, limits_.told, "ranges told of work");
    if (raw_ranges_ + open_ranges_.size() > limits_.ranges) {
      return TooMuch(block_, limits_.ranges, "ranges of different work");
    }
    return absl::OkStatus();
  }

  StatusOr<RecordedRun> Build(const trace::Header& header,
                              const std::vector<std::string>& problems) {
    const trace::Header& h = header;
    run_.setting = {.program = CleanText(h.program),
                    .device = CleanText(h.device),
                    .device_uuid = CleanText(h.device_uuid),
                    .device_memory = h.device_memory,
                    .device_budget = h.device_budget,
                    .host_budget = h.host_budget,
                    .policy = CleanText(h.policy),
                    .overlap = CleanText(h.overlap),
                    .chunk_log2 = h.chunk_log2,
                    .serve_gb_per_s = h.serve_gb_per_s,
                    .move_gb_per_s = h.move_gb_per_s,
                    .device_gb_per_s = h.device_gb_per_s,
                    .source = CleanText(h.source),
                    .estimated_times = h.times == "estimated",
                    .waits_told = h.waits == 1};
    CloseWork();
    run_.problems.insert(run_.problems.begin(), problems.begin(), problems.end());
    // What took memory is told after it was taken and what frees it before, so that of two threads
    // that use an address the right one comes first.
    std::stable_sort(calls_.begin(), calls_.end(),
                     [](const Call& a, const Call& b) { return a.time < b.time; });
    run_.works.reserve(works_.size());
    order_.resize(works_.size(), kNotYet);
    for (size_t i = 0; i < compared_.size(); ++i) {
      const auto last = ids_.find(compared_[i].last);
      if (last != ids_.end()) compared_behind_[last->second].push_back(i);
    }
    for (const Call& call : calls_) {
      switch (call.kind) {
        case Call::Kind::kAllocate:
          VS_RETURN_IF_ERROR(Allocate(call));
          break;
        case Call::Kind::kFree:
          Free(call);
          break;
        case Call::Kind::kWork:
          VS_RETURN_IF_ERROR(Work(call));
          break;
        case Call::Kind::kMove:
          if (!move_placed_[call.index]) move_placed_[call.index] = Move(moves_[call.index]);
          break;
      }
    }
    std::stable_sort(run_.moves.begin(), run_.moves.end(),
                     [](const RecordedMove& a, const RecordedMove& b) { return a.time < b.time; });
    std::stable_sort(run_.waits.begin(), run_.waits.end(),
                     [](const RecordedWait& a, const RecordedWait& b) { return a.time < b.time; });
    PutTimes();
    if (h.times == "events") FillTimes(&run_);
    if (more_problems_ != 0)
      run_.problems.push_back(absl::StrCat(more_problems_, " more of the kind"));
    return std::move(run_);
  }

 private:
  void Take(const trace::AllocateEvent& e) {
    if (Late(e.time)) return;
    calls_.push_back({.time = e.time,
                      .kind = Call::Kind::kAllocate,
                      .block = block_,
                      .base = e.base,
                      .size = e.size});
  }
  void Take(const trace::FreeEvent& e) {
    if (Late(e.time)) return;
    calls_.push_back({.time = e.time, .kind = Call::Kind::kFree, .block = block_, .base = e.base});
  }
  void Take(const trace::CodeEvent& e) {
    RecordedCode& code = run_.codes[CodeIndex(e.code)];
    if (!e.name.empty()) code.name = CleanText(e.name);
    code.shape = e.shape;
  }
  void Take(const trace::WorkEvent& e) {
    told_ += e.ranges.size();
    if (open_ && e.id == last_id_) {
      // More ranges of the same work.
      if (open_known_) Append(raw_sets_[*open_known_], true);
      open_known_.reset();
      open_single_ = false;
      // Its code may be another one's.
      before_[e.code].block = kNotYet;
      Append(e.told(), e.before != nullptr);
      return;
    }
    CloseWork();
    // What "as before" stands for from now on, should this one be left out.
    Before& before = before_[e.code];
    const bool known = e.before != nullptr && before.block == block_;
    if (!known) before.block = kNotYet;
    if (Late(e.time)) return;
    if (!ids_.emplace(e.id, static_cast<uint32_t>(works_.size())).second) {
      Problem(absl::StrCat("work ", e.id, " is told twice; the second is left out"));
      return;
    }
    last_id_ = e.id;
    open_ = open_single_ = true;
    open_code_ = e.code;
    if (known) {
      open_known_ = before.set;
    } else {
      Append(e.told(), e.before != nullptr);
    }
    const auto work = static_cast<uint32_t>(works_.size());
    calls_.push_back({.time = e.time, .block = block_, .index = work});
    works_.push_back({.submitted = e.time,
                      .stream = StreamIndex(e.stream),
                      .code = CodeIndex(e.code),
                      .kind = static_cast<WorkKind>(e.kind),
                      .complete = e.complete});
    open_block_ = block_;
    uncosted_[thread_].push_back(work);
  }
  // Copies what is as before where that has to be; then it counts as told.
  void Append(const std::vector<TracedRange>& ranges, bool again) {
    if (again) told_ += ranges.size();
    open_ranges_.insert(open_ranges_.end(), ranges.begin(), ranges.end());
  }
  void CloseWork() {
    if (open_) {
      Before& before = before_[open_code_];
      const uint32_t set = open_known_ ? *open_known_ : RawSet(open_ranges_, before.set);
      // Of work that is told by several records the last one's ranges are not all.
      before = {open_single_ ? open_block_ : kNotYet, set};
      works_.back().set = set;
    }
    open_ = false;
    open_known_.reset();
    open_ranges_.clear();
  }
  void Take(const trace::TimesEvent& e) {
    if (!Late(e.start) && !Late(e.duration)) times_.push_back(e);
  }
  void Take(const trace::MoveEvent& e) {
    if (Late(e.time)) return;
    if (e.size > ChunkBytes(kMaxChunkLog2)) {
      Problem(absl::StrCat("a move of ", e.size.value, " bytes at ", Hex(e.base),
                           " is left out: no chunk is as large"));
      return;
    }
    // Its memory may be freed before it ends, and is told of only after it may begin.
    for (const uint64_t time : {e.time - std::min(e.time, e.duration), e.time}) {
      calls_.push_back({.time = time,
                        .kind = Call::Kind::kMove,
                        .block = block_,
                        .index = static_cast<uint32_t>(moves_.size())});
    }
    moves_.push_back(e);
    move_placed_.push_back(false);
  }
  void Take(const trace::BudgetEvent&) {}
  void Take(const trace::CompareEvent& e) { compared_.push_back(e); }
  void Take(const trace::WaitEvent& e) {
    if (Late(e.time) || e.duration > e.time) return;
    const bool stream = e.what == trace::WaitEvent::For::kStream;
    run_.waits.push_back({.time = e.time,
                          .duration = e.duration,
                          .what = static_cast<RecordedWait::For>(e.what),
                          .stream = stream ? StreamIndex(e.stream) : 0});
  }
  void Take(const trace::CostEvent& e) {
    if (Late(e.nanoseconds) || e.works == 0) return;
    std::vector<uint32_t>& works = uncosted_[thread_];
    // Some of them may be lost.
    const size_t known = std::min<uint64_t>(works.size(), e.works);
    for (size_t i = works.size() - known; i < works.size(); ++i) {
      works_[works[i]].cost = e.nanoseconds / e.works;
    }
    works.clear();
  }
  void Take(const trace::LostEvent&) {}
  void Take(const trace::EndEvent&) {}

  uint32_t CodeIndex(uint32_t code) {
    const auto [it, added] = codes_.emplace(code, static_cast<uint32_t>(run_.codes.size()));
    if (added) run_.codes.push_back({absl::StrCat("code ", code), 0});
    return it->second;
  }

  // Tables are made by stream, so a file cannot say how large they are.
  uint32_t StreamIndex(uint32_t stream) {
    if (stream < kMostStreams) return stream;
    const auto next = static_cast<uint32_t>(kMostStreams + large_streams_.size());
    return large_streams_.emplace(stream, next).first->second;
  }

  // `likely`: the index of the set that it may well be.
  uint32_t RawSet(const std::vector<TracedRange>& ranges, uint32_t likely) {
    if (likely < raw_sets_.size() && raw_sets_[likely] == ranges) return likely;
    uint64_t hash = ranges.size();
    for (const TracedRange& r : ranges) {
      hash = absl::HashOf(hash, r.ptr.value, r.size.value, r.slot, r.write, r.exact);
    }
    std::vector<uint32_t>& same = raw_by_hash_[hash];
    for (const uint32_t index : same) {
      if (raw_sets_[index] == ranges) return index;
    }
    same.push_back(static_cast<uint32_t>(raw_sets_.size()));
    raw_sets_.push_back(ranges);
    raw_ranges_ += ranges.size();
    return same.back();
  }

  void Problem(std::string what) {
    if (run_.problems.size() < kMostProblems) {
      run_.problems.push_back(std::move(what));
    } else {
      ++more_problems_;
    }
  }
  // Whether it is beyond every clock; sums of times must not run over.
  bool Late(uint64_t time) {
    if (time <= kMostTime) return false;
    Problem(absl::StrCat("an event of ", time, " ns is left out: no trace is as long"));
    return true;
  }
  Status TooMuch(uint32_t block, uint64_t most, std::string_view of) const {
    return absl::ResourceExhaustedError(
        absl::StrCat("at byte ", blocks_[block], ": more than ", most, " ", of,
                     ", which is more than is read of a file of this size"));
  }
  static std::string Hex(DevicePtr p) { return absl::StrFormat("0x%x", p.value); }

  Status Allocate(const Call& call) {
    if (call.size.value == 0 || call.size > kMostAllocation ||
        call.base.value + call.size.value < call.base.value) {
      Problem(absl::StrCat("an allocation of ", call.size.value, " bytes at ", Hex(call.base),
                           " is left out: no machine has that"));
      return absl::OkStatus();
    }
    granules_ += ChunkedRun::Packed(call.size) ? 0 : GranulesOf(0, call.size.value);
    if (granules_ > limits_.granules) {
      return TooMuch(call.block, limits_.granules, "granules of 2 MiB allocated");
    }
    // What still lives there and overlaps went unseen when it was freed.
    auto next = live_.upper_bound(call.base);
    if (next != live_.begin()) --next;
    while (next != live_.end() && next->first < call.base + call.size) {
      const RecordedAllocation& old = run_.allocations[next->second];
      if (old.base + old.size <= call.base) {
        ++next;
        continue;
      }
      Problem(absl::StrCat("an allocation at ", Hex(call.base), " lies over one at ", Hex(old.base),
                           " that was not freed; it is taken as freed"));
      End(next->second, call.time);
      next = live_.erase(next);
    }
    const auto index = static_cast<uint32_t>(run_.allocations.size());
    run_.allocations.push_back(
        {.base = call.base, .size = call.size, .allocated = call.time, .name = {}});
    run_.steps.push_back({RecordedStep::Kind::kAllocate, index});
    live_[call.base] = index;
    return absl::OkStatus();
  }

  void End(uint32_t allocation, uint64_t time) {
    run_.allocations[allocation].freed = time;
    run_.steps.push_back({RecordedStep::Kind::kFree, allocation});
    // What was known of sets holds for what lives now.
    ++epoch_;
  }

  void Free(const Call& call) {
    const auto it = live_.find(call.base);
    if (it == live_.end()) {
      Problem(
          absl::StrCat("a free of ", Hex(call.base), ", which was never allocated, is left out"));
      return;
    }
    End(it->second, call.time);
    live_.erase(it);
  }

  Status Work(const Call& call) {
    RecordedWork work = works_[call.index];
    Placed& placed = placed_[work.set];
    if (placed.allocations != run_.allocations.size() || placed.epoch != epoch_) {
      ranges_.clear();
      for (const TracedRange& r : raw_sets_[work.set]) {
        ++pieces_;
        Place(r);
        if (pieces_ > limits_.pieces) {
          return TooMuch(call.block, limits_.pieces, "pieces of allocations named");
        }
        if (kept_ranges_ + ranges_.size() > limits_.ranges) {
          return TooMuch(call.block, limits_.ranges, "ranges of different work");
        }
      }
      const uint32_t sets = run_.sets();
      placed = {run_.allocations.size(), epoch_, run_.AddSet(ranges_)};
      if (run_.sets() != sets) kept_ranges_ += ranges_.size();
    }
    work.set = placed.set;
    named_ += run_.set(work.set).size();
    if (named_ > limits_.accesses) {
      return TooMuch(call.block, limits_.accesses, "ranges named by all work together");
    }
    const auto index = static_cast<uint32_t>(run_.works.size());
    order_[call.index] = index;
    run_.steps.push_back({RecordedStep::Kind::kWork, index});
    run_.works.push_back(work);
    const auto compared = compared_behind_.find(call.index);
    if (compared == compared_behind_.end()) return absl::OkStatus();
    for (const size_t i : compared->second) Compare(compared_[i], index);
    return absl::OkStatus();
  }

  // What is compared is a chunk, so it lies in one allocation, whose end it may be behind.
  void Compare(const trace::CompareEvent& e, uint32_t last) {
    if (e.size > ChunkBytes(kMaxChunkLog2)) return;
    const auto first = ids_.find(e.first);
    const auto next = live_.upper_bound(e.base);
    if (first == ids_.end() || order_[first->second] >= last || next == live_.begin()) return;
    const uint32_t index = std::prev(next)->second;
    const RecordedAllocation& a = run_.allocations[index];
    const uint32_t begin = order_[first->second];
    // The first was of what lived there before.
    if (e.base >= a.base + a.size || run_.works[begin].submitted < a.allocated) return;
    const uint64_t offset = (e.base - a.base).value;
    run_.comparisons.push_back({.allocation = index,
                                .offset = offset,
                                .size = std::min(e.size.value, a.size.value - offset),
                                .first = begin,
                                .last = last,
                                .same = e.same});
  }

  // The pieces of allocations that the range is, if it is any.
  void Place(const TracedRange& r) {
    auto it = live_.upper_bound(r.ptr);
    if (it == live_.begin()) return;
    --it;
    DevicePtr at = r.ptr;
    uint64_t left = r.size.value;
    // Memory that a program maps itself goes on from one piece to the next.
    for (; it != live_.end(); ++it) {
      const RecordedAllocation& a = run_.allocations[it->second];
      if (at < a.base || at >= a.base + a.size) return;
      const uint64_t offset = (at - a.base).value;
      const uint64_t size = std::min(left, a.size.value - offset);
      ++pieces_;
      ranges_.push_back({.allocation = it->second,
                         .offset = offset,
                         .size = size,
                         .slot = r.slot,
                         .write = r.write,
                         .exact = r.exact});
      left -= size;
      at = a.base + a.size;
      if (left == 0) return;
    }
  }

  // False where nothing that lives now is there.
  bool Move(const trace::MoveEvent& e) {
    const auto it = live_.upper_bound(e.base);
    if (it == live_.begin()) return false;
    const uint32_t index = std::prev(it)->second;
    const RecordedAllocation& a = run_.allocations[index];
    // The end of the last chunk lies behind what was asked for.
    if (e.base >= a.base + RoundUp(a.size, kGranularity)) return false;
    run_.moves.push_back({.time = e.time,
                          .duration = e.duration,
                          .allocation = index,
                          .offset = (e.base - a.base).value,
                          .size = e.size.value,
                          .in = e.in,
                          .clean = e.clean});
    return true;
  }

  void PutTimes() {
    for (const trace::TimesEvent& e : times_) {
      const auto it = ids_.find(e.id);
      if (it == ids_.end() || e.start + e.duration < e.start) continue;  // Its work was lost.
      RecordedWork& work = run_.works[order_[it->second]];
      work.start = e.start;
      work.end = e.start + e.duration;
      work.remote = e.remote.value;
    }
  }

  // Of a code, what its last record told: the ranges of a set, where the block is the same.
  struct Before {
    uint32_t block = kNotYet;
    uint32_t set = kNotYet;
  };
  struct Placed {
    size_t allocations = 0;
    uint64_t epoch = ~uint64_t{0};
    uint32_t set = 0;
  };

  const RunLimits limits_;
  RecordedRun run_;
  std::vector<size_t> blocks_;  // Their offsets, those that events came from.
  uint32_t block_ = 0;          // Of the event that is taken,
  uint32_t thread_ = 0;         // and the thread that it is of.
  uint64_t events_ = 0, told_ = 0, raw_ranges_ = 0, kept_ranges_ = 0, pieces_ = 0, named_ = 0;
  uint64_t granules_ = 0;
  std::vector<Call> calls_;
  std::vector<RecordedWork> works_;  // As the file has them; their sets are raw ones.
  std::vector<uint32_t> order_;      // Of each, its index in the run, or kNotYet.
  std::vector<trace::TimesEvent> times_;
  std::vector<trace::MoveEvent> moves_;
  std::vector<bool> move_placed_;  // By position in moves_.
  std::vector<trace::CompareEvent> compared_;
  absl::flat_hash_map<uint32_t, std::vector<size_t>> compared_behind_;  // By their last work.
  absl::flat_hash_map<uint32_t, uint32_t> codes_;                       // Number to index.
  absl::flat_hash_map<uint32_t, uint32_t> large_streams_;
  absl::flat_hash_map<uint64_t, uint32_t> ids_;  // Of work, to its index in works_.
  // By thread, since it told of a cost.
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> uncosted_;
  // The last work, of which more may be told.
  bool open_ = false;
  bool open_single_ = false;            // By one record so far.
  std::optional<uint32_t> open_known_;  // Its raw set, without its ranges.
  uint32_t open_code_ = 0, open_block_ = 0;
  uint64_t last_id_ = 0;
  std::vector<TracedRange> open_ranges_;
  absl::flat_hash_map<uint32_t, Before> before_;  // By code.
  std::vector<std::vector<TracedRange>> raw_sets_;
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> raw_by_hash_;
  uint64_t more_problems_ = 0;

  std::map<DevicePtr, uint32_t> live_;
  uint64_t epoch_ = 0;                            // Counts frees.
  absl::flat_hash_map<uint32_t, Placed> placed_;  // By raw set.
  std::vector<RecordedRange> ranges_;
};

}  // namespace

StatusOr<RecordedRun> LoadTrace(const std::string& path) {
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<trace::Reader> reader, trace::Reader::Open(path));
  StatusOr<RecordedRun> run = LoadTrace(reader.get());
  if (run.ok()) return run;
  return Status(run.status().code(), absl::StrCat(path, ": ", run.status().message()));
}

StatusOr<RecordedRun> LoadTrace(trace::Reader* reader) {
  Loader loader(reader->file_bytes());
  Status status;
  reader->ForEach([&](const trace::Reader::Block& block, const trace::Event& e) {
    status = loader.Take(block.offset, block.header.thread, e);
    if (!status.ok()) reader->Stop();
  });
  VS_RETURN_IF_ERROR(status);
  return loader.Build(reader->header(), reader->problems());
}

}  // namespace vramspan::replay
