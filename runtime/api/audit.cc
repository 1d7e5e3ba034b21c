#include "runtime/api/audit.h"

#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "runtime/api/tracer_library.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/own_process.h"
#include "runtime/base/thread.h"
#include "runtime/base/thread_number.h"
#include "runtime/mover/now.h"
#include "runtime/observe/kernel_codes.h"
#include "runtime/observe/trust_list.h"

namespace vramspan {
namespace {

// How often memory is asked for before it is taken for not to be had. The runtime gives a move up
// where work does not end, and that may be work from before recording began.
constexpr int kAttempts = 20;
constexpr int kPatientAttempts = 3;  // Of them, though nothing comes of it.
constexpr std::chrono::microseconds kLook{20};
// Beyond so many different names the rest share a row.
constexpr size_t kMostRows = 4096;
constexpr const char* kOthers = "(other kernels)";

// Audits that have not ended, for the end of the process.
struct Living {
  const OwnProcess process = OwnProcess::This();
  Mutex mu;
  std::vector<Audit*> all VS_GUARDED_BY(mu);
};
Living& TheLiving() {
  static Living* living = new Living;
  return *living;
}

std::string PathIn(const std::string& folder) {
  static std::atomic<int> next{0};
  return absl::StrCat(folder, "/", getpid(), "-", next.fetch_add(1), ".audit");
}

}  // namespace

std::optional<std::string> Audit::Folder() {
  const char* folder = std::getenv("VRAMSPAN_AUDIT");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  return folder;
}

Status Audit::Refuse(const std::string& folder, const Status& why) {
  AuditResults results;
  results.error = std::string(why.message());
  VS_RETURN_IF_ERROR(WriteAudit(PathIn(folder), results));
  return why;
}

Audit::Audit(std::string folder, const vramspanCountersTable* table, Memory* memory, Mover* mover)
    : path_(PathIn(folder)),
      for_trust_(std::getenv("VRAMSPAN_AUDIT_TRUST") != nullptr),
      table_(table),
      memory_(*memory),
      mover_(*mover) {
  const int version = memory_.driver().version();
  results_.driver =
      absl::StrCat(memory_.driver().path(), ", CUDA ", version / 1000, ".", version % 1000 / 10);
}

StatusOr<std::unique_ptr<Audit>> Audit::Open(const std::string& folder, const Driver& driver,
                                             CUdevice device, Memory* memory, Mover* mover) {
  const StatusOr<const vramspanCountersTable*> table = tracer_library::Counters();
  if (!table.ok()) return Refuse(folder, table.status());
  const ScopedContext current(driver, memory->options().context);
  if (!current.status().ok()) return Refuse(folder, current.status());
  std::unique_ptr<Audit> audit(new Audit(folder, *table, memory, mover));
  const std::string cupti = tracer_library::CuptiBeside(driver);
  char error[512] = "";
  int denied = 0;
  if ((*table)->open(memory->options().context, device, cupti.empty() ? nullptr : cupti.c_str(),
                     &Counted, audit.get(), &audit->counters_, &denied, error,
                     sizeof(error)) != 0) {
    audit->counters_ = nullptr;
    audit->Stop(error);
    return denied != 0 ? absl::PermissionDeniedError(error) : absl::UnavailableError(error);
  }
  VS_RETURN_IF_ERROR(WriteAudit(audit->path_, audit->results_));
  Living& living = TheLiving();
  MutexLock lock(living.mu);
  static const int registered = std::atexit(&FinishAll);
  static_cast<void>(registered);
  living.all.push_back(audit.get());
  return audit;
}

Audit::~Audit() {
  {
    Living& living = TheLiving();
    MutexLock lock(living.mu);
    std::erase(living.all, this);
  }
  Finish(/*complete=*/true);
}

// The process ends, and this runtime was never destroyed.
void Audit::FinishAll() {
  if (!TheLiving().process.Ends()) return;
  // On a thread of its own: what the driver keeps for this one may be gone by now.
  RunApart("vramspan-end", [] {
    const OwnCalls own;
    Living& living = TheLiving();
    MutexLock lock(living.mu);
    for (Audit* audit : std::exchange(living.all, {})) {
      if (audit->TakeTurn()) audit->Finish(/*complete=*/true);
    }
  });
}

Status Audit::Write() {
  for (size_t i = 0; i < sets_.size(); ++i) {
    const AuditRow& row = results_.rows[i];
    const auto arrays = index_.find({AuditRow::Kind::kArrays, row.name, row.module});
    if (row.kind != AuditRow::Kind::kKernel || arrays == index_.end()) {
      results_.rows[i].sectors = sets_[i].taken();
    } else {
      ArgumentSets all = sets_[i];
      all.AddDoubts(sets_[arrays->second]);
      results_.rows[i].sectors = all.taken();
    }
    results_.rows[i].sets = std::min<uint64_t>(sets_[i].clean(), AuditRow::kMostSets);
    results_.rows[i].given.assign(sets_[i].given().begin(), sets_[i].given().end());
  }
  return WriteAudit(path_, results_);
}

void Audit::Finish(bool complete) {
  if (counters_ != nullptr) {
    const ScopedContext current(memory_.driver(), memory_.options().context);
    char error[512] = "";
    // In a context that is gone there is nothing left to collect.
    if (current.status().ok() && table_->close(counters_, error, sizeof(error)) != 0) Stop(error);
    counters_ = nullptr;
  }
  results_.complete = complete;
  memory_.driver().RecordBackgroundError(Write());
}

bool Audit::TakeTurn() {
  MutexLock lock(mu_);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (turn_taken_) {
    if (std::chrono::steady_clock::now() > until) return false;
    turn_free_.WaitFor(mu_, std::chrono::milliseconds(100));
  }
  turn_taken_ = true;
  holder_ = ThreadNumber::Mine();
  return true;
}

void Audit::ReleaseTurn() {
  MutexLock lock(mu_);
  holder_ = 0;
  turn_taken_ = false;
  turn_free_.NotifyAll();
}

void Audit::Stop(const std::string& why) {
  if (results_.error.empty()) results_.error = why;
}

bool Audit::Captures(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return memory_.driver()->StreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

size_t Audit::RowOf(const Submission& s, bool arrays) {
  if (s.kind == Submission::Kind::kGraph) {
    const size_t number = graphs_.try_emplace(s.code, graphs_.size() + 1).first->second;
    return Row(AuditRow::Kind::kGraph, absl::StrCat("(graph ", number, ")"), 0);
  }
  return Row(arrays ? AuditRow::Kind::kArrays : AuditRow::Kind::kKernel, s.kernel->name,
             s.kernel->module);
}

size_t Audit::Row(AuditRow::Kind kind, const std::string& name, uint64_t module) {
  const auto known = index_.find({kind, name, module});
  if (known != index_.end()) return known->second;
  if (index_.size() >= kMostRows && kind != AuditRow::Kind::kOthers) {
    return Row(AuditRow::Kind::kOthers, kOthers, 0);
  }
  index_.emplace(std::tuple(kind, name, module), results_.rows.size());
  results_.rows.push_back({.kind = kind, .name = name, .module = module});
  sets_.emplace_back();
  return results_.rows.size() - 1;
}

bool Audit::MayTell(size_t row, uint64_t arguments) const {
  if (!for_trust_ || sets_[row].MayTell(arguments)) return true;
  const AuditRow& r = results_.rows[row];
  if (r.kind != AuditRow::Kind::kKernel || sets_[row].Clean(arguments)) return false;
  // Launches that went beyond arrays are excused by equal ones that did not go beyond allocations.
  const auto arrays = index_.find({AuditRow::Kind::kArrays, r.name, r.module});
  return arrays != index_.end() && sets_[arrays->second].Doubts(arguments);
}

// All that the kernel is given: addresses, sizes and other numbers.
uint64_t Audit::ArgumentsOf(const Submission& s) {
  const absl::Span<const char> block = s.parameters.Block(&block_);
  return absl::HashOf(absl::string_view(block.data(), block.size()));
}

void Audit::Counted(void* self, const vramspanCounted* range) {
  Audit& audit = *static_cast<Audit*>(self);
  const auto it = audit.pending_.find(range->tag);
  if (it == audit.pending_.end()) return;
  audit.delivered_ = true;
  const Pending pending = std::move(it->second);
  audit.pending_.erase(it);
  if (pending.disturbed) return;
  AuditRow& row = audit.results_.rows[pending.row];
  const uint64_t read = range->host_reads * VRAMSPAN_SECTOR_BYTES;
  const uint64_t written = range->host_writes * VRAMSPAN_SECTOR_BYTES;
  ++row.counted;
  if (pending.over) {
    ++row.over;
    row.over_host += read + written;
    return;
  }
  // A miss would not show where nothing was put into host memory for it.
  if (pending.tells) {
    row.read += read;
    row.written += written;
    row.touched += read + written + range->device * VRAMSPAN_SECTOR_BYTES;
  }
  const uint64_t sectors = range->host_reads + range->host_writes;
  if (pending.would_show && sectors < TrustList::kNoise) ++row.evidence;
  const bool above = sectors >= TrustList::kNoise;
  audit.sets_[pending.row].Add({.arguments = pending.arguments,
                                .given = pending.given,
                                .sectors = sectors,
                                .shows = pending.would_show,
                                .run = above ? audit.noisy_.Of(range->tag, pending.at) : 0});
}

Audit::Placed Audit::Look(absl::Span<const InferredRange> inferred,
                          std::vector<std::pair<DevicePtr, Bytes>>* out,
                          std::vector<std::pair<DevicePtr, Bytes>>* in) {
  Placed placed;
  out->clear();
  in->clear();
  MutexLock lock(memory_.mu);
  const ChunkTable& chunks = memory_.chunks();
  wanted_.assign(chunks.end(), 0);
  for (const InferredRange& r : inferred) {
    if (!IsPlaced(r)) continue;
    memory_.ForEachChunk(r.ptr, r.size,
                         [&](ChunkIndex index, Chunk&) { wanted_[index.value] = 1; });
  }
  absl::flat_hash_set<uint32_t> outside;  // Allocations.
  uint32_t last_allocation = 0;
  const auto add = [&](std::vector<std::pair<DevicePtr, Bytes>>* list, const Chunk& c) {
    // A request ends where its allocation does.
    if (!list->empty() && last_allocation == c.allocation &&
        list->back().first + list->back().second == c.base) {
      list->back().second += c.size();
    } else {
      list->push_back({c.base, c.size()});
    }
    last_allocation = c.allocation;
  };
  for (uint32_t i = 1; i < chunks.end(); ++i) {
    const Chunk& c = chunks[ChunkIndex(i)];
    if (c.state == ChunkState::kNone || c.dying) continue;
    // Which of the small objects in a chunk a launch touches is not asked.
    const bool movable = c.state != ChunkState::kPinned && c.allocation != 0;
    if (wanted_[i] != 0 && !c.on_device) {
      placed.missing += c.size();
      if (movable) add(in, c);
    } else if (wanted_[i] == 0 && c.on_device && movable) {
      placed.remaining += c.size();
      add(out, c);
    } else if (wanted_[i] == 0 && movable) {
      placed.outside += c.size();
      outside.insert(c.allocation);
    }
  }
  for (const InferredRange& r : inferred) {
    if (!r.array) continue;
    memory_.ForEachChunk(r.ptr, r.size, [&](ChunkIndex, Chunk& c) {
      const bool shows = outside.contains(c.allocation);
      placed.arrays_show &= shows;
      placed.array_shows |= shows;
    });
  }
  return placed;
}

bool Audit::Moving() {
  MutexLock lock(memory_.mu);
  const ChunkTable& chunks = memory_.chunks();
  for (uint32_t i = 1; i < chunks.end(); ++i) {
    if (chunks[ChunkIndex(i)].state == ChunkState::kMoving) return true;
  }
  return false;
}

bool Audit::WaitFor(CUstream stream, bool moves) {
  const ScopedRelaxed relaxed(memory_.driver());
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (memory_.driver()->StreamQuery(stream) == CUDA_ERROR_NOT_READY || (moves && Moving())) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

Audit::Placed Audit::Place(CUstream stream, absl::Span<const InferredRange> inferred, bool tells) {
  std::vector<std::pair<DevicePtr, Bytes>> out, in;
  const auto look = [&] {
    Placed placed = Look(inferred, &out, &in);
    placed.tells = tells;
    // But to make room.
    if (!tells && placed.missing <= memory_.device_pool().available()) out.clear();
    return placed;
  };
  Placed placed = look();
  Bytes before;
  for (int attempt = 0; attempt < kAttempts && !(out.empty() && in.empty()); ++attempt) {
    // Host memory may be full, and the inferred more than the device holds: then it stays so.
    const Bytes wrong = placed.missing + placed.remaining;
    if (attempt > kPatientAttempts && wrong == before) break;
    before = wrong;
    if (attempt != 0) std::this_thread::sleep_for(std::chrono::milliseconds(attempt));
    for (const auto& [ptr, size] : out) {
      memory_.driver().RecordBackgroundError(
          mover_.Prefetch(ptr, size, /*to_device=*/false, stream));
    }
    if (!WaitFor(stream, /*moves=*/true)) break;
    // What has no room would only drive out what was inferred as well.
    Bytes room = memory_.device_pool().available();
    for (const auto& [ptr, size] : in) {
      if (size > room) continue;
      room = room - size;
      memory_.driver().RecordBackgroundError(
          mover_.Prefetch(ptr, size, /*to_device=*/true, stream));
    }
    if (!WaitFor(stream, /*moves=*/true)) break;
    placed = look();
  }
  // The union of what was inferred: kernels hold a pointer several times over.
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const InferredRange& r : inferred) {
    if (IsPlaced(r)) ranges.push_back({r.ptr.value, r.ptr.value + r.size.value});
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t end = 0;
  for (const auto& [from, to] : ranges) {
    if (to > end) placed.inferred += Bytes(to - std::max(from, end));
    end = std::max(end, to);
  }
  return placed;
}

bool Audit::BeginWork(const Submission& s, absl::Span<const InferredRange> inferred) {
  const bool launch = s.kind == Submission::Kind::kKernel || s.kind == Submission::Kind::kGraph;
  std::vector<WorkRange> ranges;
  for (const InferredRange& r : inferred) {
    // Served where it lies: the audit has put it there.
    ranges.push_back({r.ptr,
                      r.size,
                      {.slot = r.slot,
                       .write = r.write,
                       .kernels_only = launch,
                       .once = true,
                       .possible = !r.likely,
                       .guessed = !r.exact}});
  }
  const Access access = launch ? Access::kPartial : Access::kExact;
  const Status status = mover_.Begin(
      s.stream, ranges, s.kind == Submission::Kind::kUnknown ? Access::kUnknown : access);
  memory_.driver().RecordBackgroundError(status);
  return status.ok();
}

void Audit::BeginCount(size_t row_number, uint64_t arguments, uint64_t given,
                       const Placed& placed) {
  AuditRow& row = results_.rows[row_number];
  ++row.launches;
  row.inferred += placed.inferred.value;
  if (placed.tells) row.remaining = std::max(row.remaining, placed.remaining.value);
  if (counters_ == nullptr || !results_.error.empty()) return;
  char error[512] = "";
  // Another thread may be capturing.
  const ScopedContext relaxed(memory_.driver(), memory_.options().context);
  const int begun = table_->begin(counters_, ++tag_, error, sizeof(error));
  if (begun == VRAMSPAN_COUNTERS_NOT_NOW && ++refused_ < kMostRefused) return;
  if (begun != 0) return Stop(error);
  refused_ = 0;
  pending_[tag_] = {.row = row_number,
                    .arguments = arguments,
                    .given = given,
                    .tells = placed.tells,
                    .over = placed.missing.value != 0,
                    .would_show = placed.would_show() && placed.arrays_show,
                    .at = Now()};
  remaps_ = mover_.statistics().remaps;
  counting_ = true;
}

bool Audit::Enter(const Submission& s, absl::Span<const InferredRange> inferred) {
  if (Captures(s.stream) || !TakeTurn()) return BeginWork(s, inferred);
  const bool launch = s.kind == Submission::Kind::kKernel || s.kind == Submission::Kind::kGraph;
  Placed placed;
  const bool arrays =
      std::any_of(inferred.begin(), inferred.end(), [](const InferredRange& r) { return r.array; });
  size_t row = launch ? RowOf(s, arrays) : 0;
  const uint64_t arguments = launch ? ArgumentsOf(s) : 0;
  if (launch && results_.error.empty()) {
    placed = Place(s.stream, inferred, MayTell(row, arguments));
    // Nothing of an allocation is apart from its arrays. So the launch was asked about allocations.
    if (arrays && !placed.array_shows) {
      row = RowOf(s, /*arrays=*/false);
      placed.arrays_show = true;
    }
  }
  if (!BeginWork(s, inferred)) {
    ReleaseTurn();
    return false;
  }
  if (!launch) return true;
  launches_.fetch_add(1, std::memory_order_relaxed);
  BeginCount(row, arguments, s.given(), placed);
  return true;
}

void Audit::Exit(CUstream stream) {
  {
    MutexLock lock(mu_);
    if (!turn_taken_ || holder_ != ThreadNumber::Mine()) return;
  }
  const bool counting = std::exchange(counting_, false);
  if (results_.error.empty() && !Captures(stream)) {
    const ScopedContext relaxed(memory_.driver(), memory_.options().context);
    if (!WaitFor(stream, /*moves=*/false)) {
      Stop(absl::StrFormat(
          "%s did not end within %d s of its submission, so counting stopped. It "
          "may wait for something that the program does later",
          counting ? results_.rows[pending_[tag_].row].name : "a copy or fill", kPatience.count()));
    } else if (counting) {
      // Nothing is to move while a launch is counted, and it counts for nothing if something did.
      pending_[tag_].disturbed = Moving() || mover_.statistics().remaps != remaps_;
      char error[512] = "";
      if (table_->end(counters_, error, sizeof(error)) != 0) Stop(error);
    }
  }
  // A range that cannot be ended would take the context's end with it.
  if (counting && !results_.error.empty()) counters_ = nullptr;
  if (std::exchange(delivered_, false) || !results_.error.empty()) {
    memory_.driver().RecordBackgroundError(Write());
  }
  ReleaseTurn();
}

}  // namespace vramspan
