#include "tools/replay/export_perfetto.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "tools/replay/new_file.h"
#include "tools/replay/proto_writer.h"

namespace vramspan::replay {
namespace {

// Numbers of fields and enumerators in protos/perfetto/trace, which never change.
namespace packet {
constexpr uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12,
                   kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr uint64_t kStateCleared = 1, kNeedsState = 2;
}  // namespace packet
namespace track {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kParent = 5, kCounter = 8;
constexpr uint32_t kProcessPid = 1, kProcessName = 6;
constexpr uint32_t kCounterUnit = 3;
constexpr uint64_t kUnitBytes = 3;
}  // namespace track
namespace event {
constexpr uint32_t kAnnotation = 4, kType = 9, kName = 10, kTrack = 11, kCounterValue = 30,
                   kFlow = 47, kFlowEnd = 48;
constexpr uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;
constexpr uint32_t kAnnotationName = 1, kAnnotationUint = 3;
}  // namespace event
namespace interned {
constexpr uint32_t kEventNames = 2, kAnnotationNames = 3;
constexpr uint32_t kId = 1, kName = 2;
}  // namespace interned

constexpr uint64_t kProcess = 1, kLaunches = 2, kAllocated = 3, kOnDevice = 4, kOnHost = 5;
constexpr size_t kWriteAt = 1 << 20;

// Text in Protocol Buffers is UTF-8.
std::string Utf8(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = byte < 0x80                   ? 1
                          : byte >= 0xc2 && byte < 0xe0 ? 2
                          : byte >= 0xe0 && byte < 0xf0 ? 3
                          : byte >= 0xf0 && byte < 0xf5 ? 4
                                                        : 0;
    bool good = length != 0 && i + length <= text.size();
    for (size_t k = 1; good && k < length; ++k) {
      good = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    }
    if (good) {
      out += text.substr(i, length);
      i += length;
    } else {
      out += '?';
      ++i;
    }
  }
  return out;
}

class Exporter {
 public:
  Exporter(const RecordedRun& run, NewFile* file) : run_(run), file_(file) {}

  void Write() {
    Describe(kProcess, run_.setting.program.empty() ? "program" : run_.setting.program,
             [](auto& t) {
               t.Message(track::kProcess, ProtoWriter()
                                              .Number(track::kProcessPid, 1)
                                              .Bytes(track::kProcessName, "recorded program"));
             });
    Describe(kLaunches, "launches", Child);
    Describe(kAllocated, "allocated", Counter);
    Describe(kOnDevice, "on the device", Counter);
    Describe(kOnHost, "on the host", Counter);
    WriteWorks();
    WriteMoves();
    WriteWaits();
    WriteMemory();
    file_->Write(out_);
  }

 private:
  struct Annotation {
    const char* name;
    uint64_t value;
  };

  // A packet of `add`'s making; names that it interned come along.
  template <typename Add>
  void Packet(Add add) {
    ProtoWriter body;
    add(body);
    body.Number(packet::kSequence, 1);
    body.Number(packet::kSequenceFlags,
                started_ ? packet::kNeedsState : packet::kStateCleared | packet::kNeedsState);
    started_ = true;
    if (!new_names_.bytes().empty()) body.Message(packet::kInternedData, new_names_);
    new_names_ = {};
    out_ += ProtoWriter().Message(1, body).bytes();
    if (out_.size() < kWriteAt) return;
    file_->Write(out_);
    out_.clear();
  }
  template <typename Add>
  void Describe(uint64_t uuid, std::string_view name, Add add) {
    Packet([&](ProtoWriter& p) {
      ProtoWriter t;
      t.Number(track::kUuid, uuid).Bytes(track::kName, Utf8(name));
      add(t);
      p.Message(packet::kTrackDescriptor, t);
    });
  }
  static void Child(ProtoWriter& t) { t.Number(track::kParent, kProcess); }
  static void Counter(ProtoWriter& t) {
    Child(t);
    t.Message(track::kCounter, ProtoWriter().Number(track::kCounterUnit, track::kUnitBytes));
  }
  template <typename Add>
  void Event(uint64_t time, uint64_t type, uint64_t uuid, Add add) {
    Packet([&](ProtoWriter& p) {
      ProtoWriter e;
      e.Number(event::kType, type).Number(event::kTrack, uuid);
      add(e);
      p.Number(packet::kTimestamp, time).Message(packet::kTrackEvent, e);
    });
  }
  void Slice(uint64_t uuid, uint64_t start, uint64_t end, const std::string& name,
             std::initializer_list<Annotation> annotations, uint64_t flow_end) {
    const auto fill = [&](ProtoWriter& e) {
      e.Number(event::kName, Intern(&names_, interned::kEventNames, name));
      for (const Annotation& a : annotations) {
        if (a.value == 0) continue;
        e.Message(event::kAnnotation,
                  ProtoWriter()
                      .Number(event::kAnnotationName,
                              Intern(&annotation_names_, interned::kAnnotationNames, a.name))
                      .Number(event::kAnnotationUint, a.value));
      }
      if (flow_end != 0) e.Fixed(event::kFlowEnd, flow_end);
    };
    Event(start, end > start ? event::kBegin : event::kInstant, uuid, fill);
    if (end > start) Event(end, event::kEnd, uuid, [](ProtoWriter&) {});
  }
  void SetCounter(uint64_t uuid, uint64_t time, uint64_t value) {
    Event(time, event::kCounter, uuid,
          [&](ProtoWriter& e) { e.Number(event::kCounterValue, value); });
  }

  using Names = absl::flat_hash_map<std::string, uint64_t>;
  uint64_t Intern(Names* names, uint32_t kind, const std::string& name) {
    const auto [at, fresh] = names->try_emplace(name, names->size() + 1);
    if (fresh) {
      new_names_.Message(
          kind, ProtoWriter().Number(interned::kId, at->second).Bytes(interned::kName, Utf8(name)));
    }
    return at->second;
  }

  // A track of this name on which nothing runs at `start`. Starts never sink for one name.
  uint64_t TrackFor(const std::string& name, uint64_t start, uint64_t end) {
    Lanes& lanes = lanes_[name];
    for (; !lanes.busy.empty() && lanes.busy.top().first <= start; lanes.busy.pop()) {
      lanes.free.push(lanes.busy.top().second);
    }
    size_t lane = lanes.uuids.size();
    if (!lanes.free.empty()) {
      lane = lanes.free.top();
      lanes.free.pop();
    } else {
      lanes.uuids.push_back(next_uuid_++);
      Describe(lanes.uuids.back(), lane == 0 ? name : absl::StrCat(name, " (", lane + 1, ")"),
               Child);
    }
    lanes.busy.emplace(end, lane);
    return lanes.uuids[lane];
  }

  void WriteWorks() {
    std::vector<uint32_t> order(run_.works.size());
    for (uint32_t w = 0; w < order.size(); ++w) order[w] = w;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return run_.works[a].start < run_.works[b].start;
    });
    for (uint32_t w = 0; w < run_.works.size(); ++w) {
      const RecordedWork& work = run_.works[w];
      Event(work.submitted, event::kInstant, kLaunches, [&](ProtoWriter& e) {
        e.Number(event::kName, Intern(&names_, interned::kEventNames, run_.codes[work.code].name));
        e.Fixed(event::kFlow, w + 1);
      });
    }
    for (const uint32_t w : order) {
      const RecordedWork& work = run_.works[w];
      uint64_t bytes = 0;
      for (const RecordedRange& r : run_.set(work.set)) bytes += r.size;
      Slice(TrackFor(absl::StrCat("stream ", work.stream), work.start, work.end), work.start,
            work.end, run_.codes[work.code].name,
            {{"bytes named", bytes}, {"bytes on the host", work.remote}}, w + 1);
    }
  }

  void WriteMoves() {
    std::vector<std::pair<uint64_t, const RecordedMove*>> moves;  // By their start.
    for (const RecordedMove& m : run_.moves) {
      moves.emplace_back(m.time - std::min(m.time, m.duration), &m);
    }
    std::stable_sort(moves.begin(), moves.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [start, m] : moves) {
      const std::string& name = run_.allocations[m->allocation].name;
      Slice(TrackFor(m->in ? "copies to the device" : "copies to the host", start, m->time), start,
            m->time, name.empty() ? absl::StrCat("allocation ", m->allocation) : name,
            {{"bytes", m->size}, {"offset", m->offset}, {"clean", m->clean}}, 0);
    }
  }

  void WriteWaits() {
    std::vector<std::pair<uint64_t, const RecordedWait*>> waits;  // By their start.
    for (const RecordedWait& w : run_.waits) waits.emplace_back(w.time - w.duration, &w);
    std::stable_sort(waits.begin(), waits.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [start, w] : waits) {
      Slice(TrackFor("program waits", start, w->time), start, w->time,
            w->what == RecordedWait::For::kAll     ? "for all work"
            : w->what == RecordedWait::For::kEvent ? "for an event"
                                                   : absl::StrCat("for stream ", w->stream),
            {}, 0);
    }
  }

  // What a point in time changes.
  struct Change {
    uint64_t time;
    enum Kind { kAllocate, kMove, kFree } kind;
    uint32_t allocation;
    int64_t to_host;  // Of a move.
  };

  void WriteMemory() {
    std::vector<Change> changes;
    std::vector<bool> freed(run_.allocations.size(), false);
    for (const RecordedStep& step : run_.steps) {
      if (step.kind == RecordedStep::Kind::kFree) freed[step.index] = true;
    }
    for (uint32_t a = 0; a < run_.allocations.size(); ++a) {
      changes.push_back({run_.allocations[a].allocated, Change::kAllocate, a, 0});
      if (freed[a]) changes.push_back({run_.allocations[a].freed, Change::kFree, a, 0});
    }
    for (const RecordedMove& m : run_.moves) {
      const auto size = static_cast<int64_t>(m.size);
      changes.push_back({m.time, Change::kMove, m.allocation, m.in ? -size : size});
    }
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return std::pair(a.time, a.kind) < std::pair(b.time, b.kind);
    });
    // What came in beyond what went out was on the host from the start.
    std::vector<int64_t> net(run_.allocations.size(), 0), host(run_.allocations.size(), 0);
    for (const Change& c : changes) {
      net[c.allocation] += c.to_host;
      host[c.allocation] = std::max(host[c.allocation], -net[c.allocation]);
    }
    std::vector<bool> live(run_.allocations.size(), false);
    int64_t allocated = 0;
    int64_t on_host = 0;
    for (size_t i = 0; i < changes.size(); ++i) {
      const Change& c = changes[i];
      const auto size = static_cast<int64_t>(run_.allocations[c.allocation].size.value);
      int64_t& here = host[c.allocation];
      if (c.kind == Change::kAllocate) {
        live[c.allocation] = true;
        here = std::min(here, size);
        allocated += size;
        on_host += here;
      } else if (c.kind == Change::kFree) {
        live[c.allocation] = false;
        allocated -= size;
        on_host -= here;
      } else if (live[c.allocation]) {
        const int64_t after = std::clamp<int64_t>(here + c.to_host, 0, size);
        on_host += after - here;
        here = after;
      }
      if (i + 1 < changes.size() && changes[i + 1].time == c.time) continue;
      SetCounter(kAllocated, c.time, static_cast<uint64_t>(allocated));
      SetCounter(kOnDevice, c.time, static_cast<uint64_t>(allocated - on_host));
      SetCounter(kOnHost, c.time, static_cast<uint64_t>(on_host));
    }
  }

  // The tracks of one name. What overlaps may be all there is, so none is looked for one by one.
  struct Lanes {
    template <typename T>
    using Least = std::priority_queue<T, std::vector<T>, std::greater<>>;

    std::vector<uint64_t> uuids;
    Least<std::pair<uint64_t, size_t>> busy;  // When each ends.
    Least<size_t> free;
  };

  const RecordedRun& run_;
  NewFile* const file_;
  std::string out_;
  bool started_ = false;
  Names names_, annotation_names_;
  ProtoWriter new_names_;
  std::map<std::string, Lanes> lanes_;
  uint64_t next_uuid_ = 100;
};

}  // namespace

Status ExportPerfetto(const RecordedRun& run, const std::string& path, bool force) {
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Open(path, force));
  Exporter(run, file.get()).Write();
  return file->Close();
}

}  // namespace vramspan::replay
