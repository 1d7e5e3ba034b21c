#include "tools/replay/import_pytorch.h"

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "tools/replay/estimated_times.h"
#include "tools/replay/json_stream.h"
#include "tools/replay/pytorch_node.h"
#include "tools/replay/text_source.h"

namespace vramspan::replay {
namespace {

using Kind = PytorchNode::Kind;

constexpr uint64_t kMostText = uint64_t{8} << 30;
constexpr size_t kMostNodes = 5'000'000;
constexpr uint64_t kMostMentions = 100'000'000;
// Chunks, and what works name of them, take memory in replay.
constexpr uint64_t kMostGranules = uint64_t{1} << 26;

// From its first mention on, one storage under an id.
struct Storage {
  uint64_t id = 0;
  uint64_t size = 0;
  bool born = false;       // Its size was told when it was made.
  size_t first = 0;        // Works before it,
  size_t last = 0;         // and before it is freed.
  uint64_t mentioned = 0;  // By which node, at the latest.
  std::string_view name;   // Of who made it, or named it first.
};

uint64_t TimeOf(const PytorchNode& node, uint64_t bytes) {
  // FLOP a nanosecond.
  const double rate = node.item_size <= 2 ? 400e3 : node.item_size <= 4 ? 100e3 : 30e3;
  return std::max(EstimatedTime(bytes), static_cast<uint64_t>(std::min(node.flops / rate, 1e15)));
}

uint64_t Granules(uint64_t offset, uint64_t size) {
  return (offset + size - 1) / kGranularity.value - offset / kGranularity.value + 1;
}

class Importer {
 public:
  explicit Importer(std::optional<PytorchProfile> profile) : profile_(std::move(profile)) {}

  Status Take(const nlohmann::json& json) {
    auto node = ParsePytorchNode(json);
    if (!node.ok()) {
      ++malformed_;
      return absl::OkStatus();
    }
    absurd_ += node->absurd;
    mentions_ += node->tensors.size();
    if (nodes_.size() >= kMostNodes || mentions_ > kMostMentions) {
      return absl::ResourceExhaustedError(
          absl::StrCat("it has more than ", kMostNodes, " nodes, or ", kMostMentions, " tensors"));
    }
    nodes_.push_back(*std::move(node));
    return absl::OkStatus();
  }

  // `cut`: there were more nodes.
  StatusOr<PytorchImport> Finish(bool cut);

 private:
  // A node is entered, its inputs are used; it is left, its outputs are there. Ids are given at the
  // entry, so everything that happens within it has ids from its own to `last_id`.
  struct Event {
    uint64_t at;
    bool leaves;
    uint32_t node;

    // What is entered later is left earlier.
    bool operator<(const Event& o) const {
      if (at != o.at) return at < o.at;
      if (leaves != o.leaves) return o.leaves;
      return leaves ? node > o.node : node < o.node;
    }
  };

  void ChooseDevice();
  void FindTree();
  bool CouldWork(const PytorchNode& node) const;
  void Enter(uint32_t n);
  void Leave(uint32_t n);
  uint32_t Mention(uint32_t n, const PytorchTensor& tensor, bool may_make);
  Status AddWork(uint32_t n);
  Status MakeSteps();
  void SetTimes(const PytorchNode& node, uint64_t bytes, RecordedWork* work);
  uint32_t CodeOf(const PytorchNode& node);
  void SayProblems();

  const std::optional<PytorchProfile> profile_;
  bool cut_ = false;
  std::vector<PytorchNode> nodes_;  // By id, once there are all.
  std::vector<uint64_t> last_id_;   // By node: the highest within it.
  std::vector<bool> works_within_;  // By node: something that it called is work.
  std::vector<Storage> storages_;
  absl::flat_hash_map<uint64_t, uint32_t> current_;  // By storage id: into storages_.
  std::map<std::pair<std::string, uint64_t>, uint32_t> codes_;
  std::map<uint32_t, uint32_t> streams_;
  // Works come before the allocations that they name are numbered as such: here they are storages.
  std::vector<std::vector<RecordedRange>> ranges_;
  uint64_t mentions_ = 0, malformed_ = 0, absurd_ = 0, other_devices_ = 0, granules_ = 0;
  uint64_t submitted_ = 0;  // The last, with a profile,
  EstimatedClock clock_;    // and without.
  PytorchImport import_;
};

void Importer::ChooseDevice() {
  std::map<uint32_t, uint64_t> tensors;
  for (const PytorchNode& node : nodes_) {
    for (const PytorchTensor& t : node.tensors) ++tensors[t.device];
  }
  uint64_t most = 0;
  for (const auto& [device, count] : tensors) {
    if (count > most) import_.summary.device = device;
    most = std::max(most, count);
  }
  for (PytorchNode& node : nodes_) {
    const size_t before = node.tensors.size();
    std::erase_if(node.tensors,
                  [&](const PytorchTensor& t) { return t.device != import_.summary.device; });
    other_devices_ += before - node.tensors.size();
    import_.summary.tensors += node.tensors.size();
  }
}

void Importer::FindTree() {
  std::sort(nodes_.begin(), nodes_.end(),
            [](const PytorchNode& a, const PytorchNode& b) { return a.id < b.id; });
  const auto same = [](const PytorchNode& a, const PytorchNode& b) { return a.id == b.id; };
  const auto end = std::unique(nodes_.begin(), nodes_.end(), same);
  malformed_ += static_cast<uint64_t>(nodes_.end() - end);
  nodes_.erase(end, nodes_.end());

  absl::flat_hash_map<uint64_t, uint32_t> by_id;
  for (uint32_t n = 0; n < nodes_.size(); ++n) by_id[nodes_[n].id] = n;
  last_id_.resize(nodes_.size());
  works_within_.assign(nodes_.size(), false);
  for (uint32_t n = 0; n < nodes_.size(); ++n) last_id_[n] = nodes_[n].id;
  // A parent is entered before what it calls, so its id is lower.
  for (uint32_t n = static_cast<uint32_t>(nodes_.size()); n-- > 0;) {
    const auto parent = by_id.find(nodes_[n].parent);
    if (parent == by_id.end() || parent->second >= n) continue;
    last_id_[parent->second] = std::max(last_id_[parent->second], last_id_[n]);
    if (works_within_[n] || CouldWork(nodes_[n])) works_within_[parent->second] = true;
  }
}

bool Importer::CouldWork(const PytorchNode& node) const {
  if (node.tensors.empty()) return false;
  if (profile_) return profile_->operators.contains(node.rf_id);
  return node.launches || node.kind == Kind::kOther;
}

void Importer::Enter(uint32_t n) {
  for (const PytorchTensor& t : nodes_[n].tensors) {
    if (!t.output) Mention(n, t, false);
  }
}

void Importer::Leave(uint32_t n) {
  PytorchNode& node = nodes_[n];
  for (const PytorchTensor& t : node.tensors) {
    if (t.output) Mention(n, t, node.kind == Kind::kOther || node.kind == Kind::kAllocate);
  }
}

uint32_t Importer::Mention(uint32_t n, const PytorchTensor& tensor, bool may_make) {
  const PytorchNode& node = nodes_[n];
  const auto [at, fresh] = current_.try_emplace(tensor.storage, 0);
  bool made = false;
  if (may_make) {
    const bool given = std::any_of(node.tensors.begin(), node.tensors.end(), [&](const auto& t) {
      return !t.output && t.storage == tensor.storage;
    });
    // Named since the node was entered: by itself as an output before, or by what it called.
    made = !given && (fresh || storages_[at->second].mentioned < node.id);
  }
  const size_t works = ranges_.size();
  if (fresh || made) {
    at->second = static_cast<uint32_t>(storages_.size());
    storages_.push_back({.id = tensor.storage,
                         .born = made,
                         .first = made ? works : 0,
                         .last = works,
                         .name = node.name});
    import_.summary.there_before += !made;
  }
  import_.summary.storages += fresh;
  Storage& storage = storages_[at->second];
  // Without strides, of a tensor that repeats its elements more are told than there are.
  if (made || !storage.born) storage.size = std::max(storage.size, tensor.offset + tensor.size);
  storage.last = std::max(storage.last, works);
  storage.mentioned = std::max(storage.mentioned, node.id);
  return at->second;
}

Status Importer::AddWork(uint32_t n) {
  const PytorchNode& node = nodes_[n];
  std::vector<RecordedRange> ranges;
  absl::flat_hash_map<std::tuple<uint32_t, uint64_t, uint64_t>, size_t> places;  // Into ranges.
  uint64_t bytes = 0;
  for (const PytorchTensor& t : node.tensors) {
    const uint32_t s = current_.at(t.storage);
    Storage& storage = storages_[s];
    storage.last = ranges_.size() + 1;
    if (t.offset >= storage.size) continue;
    RecordedRange range{.allocation = s,
                        .offset = t.offset,
                        .size = std::min(t.size, storage.size - t.offset),
                        .slot = static_cast<uint16_t>(std::min<size_t>(ranges.size(), UINT16_MAX)),
                        .write = t.written,
                        .exact = node.streams};
    const auto [same, fresh] =
        places.try_emplace({range.allocation, range.offset, range.size}, ranges.size());
    if (!fresh) {
      ranges[same->second].write |= range.write;
      continue;
    }
    granules_ += Granules(range.offset, range.size);
    bytes += range.size;
    ranges.push_back(range);
  }
  if (granules_ > kMostGranules * 4) {
    return absl::ResourceExhaustedError(
        "its operators name more memory than can be tracked chunk by chunk");
  }
  RecordedWork work;
  work.code = CodeOf(node);
  SetTimes(node, bytes, &work);
  import_.run.works.push_back(work);
  ranges_.push_back(std::move(ranges));
  return absl::OkStatus();
}

void Importer::SetTimes(const PytorchNode& node, uint64_t bytes, RecordedWork* work) {
  if (profile_) {
    const ProfiledOperator& op = profile_->operators.at(node.rf_id);
    // Two threads may launch at once; works stand in the order of the trace.
    work->submitted = submitted_ = std::max(submitted_, op.submitted);
    work->start = std::max(op.start, submitted_);
    work->end = work->start + op.busy;
    const auto next = static_cast<uint32_t>(streams_.size());
    work->stream = streams_.try_emplace(op.stream, next).first->second;
    ++import_.summary.timed;
    return;
  }
  clock_.Stamp(TimeOf(node, bytes), work);
}

uint32_t Importer::CodeOf(const PytorchNode& node) {
  uint64_t shape = 0;
  for (const PytorchTensor& t : node.tensors) shape = absl::HashOf(shape, t.size, t.output);
  const auto next = static_cast<uint32_t>(import_.run.codes.size());
  const auto [at, added] = codes_.try_emplace({node.name, shape}, next);
  if (added) import_.run.codes.push_back({node.name, shape});
  return at->second;
}

Status Importer::MakeSteps() {
  RecordedRun& run = import_.run;
  PytorchSummary& summary = import_.summary;
  // Times count from the first submission; memory comes and goes when the next work is submitted.
  uint64_t zero = kNever;
  for (const RecordedWork& work : run.works) zero = std::min(zero, work.submitted);
  for (RecordedWork& work : run.works) {
    work.submitted -= zero;
    work.start -= zero;
    work.end -= zero;
  }
  const size_t works = run.works.size();
  const auto time_of = [&](size_t w) {
    return works == 0 ? 0 : w < works ? run.works[w].submitted : run.works.back().submitted;
  };
  std::vector<std::vector<uint32_t>> come(works + 1), go(works + 1);
  uint64_t granules = 0;
  uint64_t base = uint64_t{1} << 44;
  for (uint32_t s = 0; s < storages_.size(); ++s) {
    const Storage& storage = storages_[s];
    const Bytes whole = RoundUp(Bytes(storage.size), kGranularity);
    granules += whole / kGranularity;
    if (granules > kMostGranules) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "its storages are more than ", (kGranularity * kMostGranules).value, " bytes together"));
    }
    run.allocations.push_back({.base = DevicePtr(base),
                               .size = Bytes(storage.size),
                               .allocated = time_of(storage.first),
                               .freed = time_of(storage.last),
                               .name = absl::StrCat("storage ", storage.id, " of ", storage.name)});
    base += whole.value;
    summary.allocated += Bytes(storage.size);
    come[storage.first].push_back(s);
    go[storage.last].push_back(s);
  }
  Bytes live;
  for (size_t w = 0; w <= works; ++w) {
    // What comes and goes without being used in between does so in that order.
    for (const bool used : {true, false}) {
      if (!used) {
        for (const uint32_t s : come[w]) {
          run.steps.push_back({RecordedStep::Kind::kAllocate, s});
          live += Bytes(storages_[s].size);
        }
        summary.peak_live = std::max(summary.peak_live, live);
      }
      for (const uint32_t s : go[w]) {
        if ((storages_[s].first < w) != used) continue;
        run.steps.push_back({RecordedStep::Kind::kFree, s});
        live -= Bytes(storages_[s].size);
      }
    }
    if (w == works) break;
    run.works[w].set = run.AddSet(ranges_[w]);
    run.steps.push_back({RecordedStep::Kind::kWork, static_cast<uint32_t>(w)});
  }
  summary.allocations = run.allocations.size();
  return absl::OkStatus();
}

void Importer::SayProblems() {
  const PytorchSummary& summary = import_.summary;
  std::vector<std::string>& problems = import_.run.problems;
  std::vector<std::string>& notes = import_.run.notes;
  if (cut_) {
    problems.push_back(
        absl::StrCat("its list of nodes is cut short, perhaps because the program was killed; the ",
                     summary.nodes, " nodes before that are used"));
  }
  if (malformed_ != 0) {
    problems.push_back(
        absl::StrCat(malformed_, " nodes were left out, because they are damaged or come twice"));
  }
  if (absurd_ != 0) {
    problems.push_back(absl::StrCat(
        absurd_,
        " tensors were left out, because they have more than 2^46 bytes, more than any GPU"));
  }
  if (other_devices_ != 0) {
    notes.push_back(absl::StrCat(
        other_devices_, " mentions of tensors were left out, because they are not on cuda:",
        import_.summary.device, ", which has most"));
  }
  if (!profile_) return;
  problems.insert(problems.end(), profile_->problems.begin(), profile_->problems.end());
  uint64_t claimed = 0;
  for (const PytorchNode& node : nodes_) claimed += profile_->operators.contains(node.rf_id);
  if (const uint64_t lost =
          profile_->operators.size() - std::min<uint64_t>(claimed, profile_->operators.size());
      lost != 0) {
    notes.push_back(absl::StrCat(lost, " of ", profile_->operators.size(),
                                 " operators of the profile are not in the execution trace"));
  }
  if (profile_->unclaimed != 0) {
    notes.push_back(absl::StrCat(profile_->unclaimed, " of ", profile_->kernels,
                                 " kernels of the profile belong to no operator"));
  }
}

StatusOr<PytorchImport> Importer::Finish(bool cut) {
  cut_ = cut;
  PytorchSummary& summary = import_.summary;
  ChooseDevice();
  FindTree();
  summary.nodes = nodes_.size();
  std::vector<Event> events;
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].tensors.empty()) {
      ++summary.elsewhere;
      continue;
    }
    events.push_back({nodes_[n].id, false, n});
    events.push_back({last_id_[n], true, n});
  }
  std::sort(events.begin(), events.end());
  for (const Event& event : events) {
    const PytorchNode& node = nodes_[event.node];
    if (!event.leaves) {
      Enter(event.node);
      continue;
    }
    Leave(event.node);
    // With a profile what calls others may have kernels of its own.
    if (CouldWork(node) && (profile_ || !works_within_[event.node])) {
      VS_RETURN_IF_ERROR(AddWork(event.node));
    } else if (works_within_[event.node]) {
      ++summary.parents;
    } else {
      ++summary.views;
    }
  }
  summary.works = import_.run.works.size();
  if (profile_ && summary.works == 0) {
    return absl::FailedPreconditionError(
        "the profile has no kernels of the trace's operators, so it is of another run");
  }
  VS_RETURN_IF_ERROR(MakeSteps());
  SayProblems();
  import_.run.setting.source = "pytorch-et";
  import_.run.setting.estimated_times = !profile_;
  import_.run.setting.device = absl::StrCat("cuda:", summary.device);
  return std::move(import_);
}

}  // namespace

StatusOr<PytorchImport> ReadPytorch(std::streambuf* text, std::optional<PytorchProfile> profile) {
  Importer importer(std::move(profile));
  VS_ASSIGN_OR_RETURN(const JsonStreamResult read,
                      ReadJsonStream(text, "nodes", [&](const nlohmann::json& node) {
                        return importer.Take(node);
                      }));
  if (read.members.contains("schemaVersion")) {
    return absl::FailedPreconditionError(
        "this is a profile of PyTorch, which does not say which memory is touched; import an "
        "execution trace (torch.profiler.ExecutionTraceObserver) with this as --profile");
  }
  if (read.cut && !read.members.contains("schema")) {
    return absl::FailedPreconditionError(
        "it is cut short before any 'schema', so it is not an execution trace of PyTorch that "
        "could be used");
  }
  if (!read.found || !read.members.contains("schema")) {
    return absl::FailedPreconditionError(
        "this is not an execution trace of PyTorch: it has no 'schema' and list of 'nodes'; record "
        "one with torch.profiler.ExecutionTraceObserver");
  }
  return importer.Finish(read.cut);
}

StatusOr<PytorchImport> ImportPytorch(const std::string& path, const std::string& profile) {
  std::optional<PytorchProfile> times;
  if (!profile.empty()) {
    VS_ASSIGN_OR_RETURN(times, LoadPytorchProfile(profile));
  }
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<TextSource> text, TextSource::Open(path, kMostText));
  auto import = ReadPytorch(text.get(), std::move(times));
  VS_RETURN_IF_ERROR(text->status());
  if (!import.ok()) {
    return Status(import.status().code(), absl::StrCat(path, ": ", import.status().message()));
  }
  std::vector<std::string>& problems = import->run.problems;
  if (!text->loss().empty()) problems.insert(problems.begin(), text->loss());
  import->run.setting.program = path;
  return import;
}

}  // namespace vramspan::replay
