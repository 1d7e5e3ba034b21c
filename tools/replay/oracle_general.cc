#include "tools/replay/oracle_general.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "tools/replay/estimated_times.h"
#include "tools/replay/new_file.h"
#include "tools/replay/other_formats.h"
#include "tools/replay/text_source.h"

namespace vramspan::replay {
namespace {

constexpr size_t kRecord = 24;
// No trace has a million times a million.
constexpr int64_t kMostNext = 1'000'000'000'000;
constexpr uint64_t kMostRequests = 100'000'000;
constexpr uint64_t kMostObjectGranules = uint64_t{1} << 26;

struct Request {
  uint32_t time;
  uint64_t object;
  uint32_t size;
  int64_t next;
};

static_assert(std::endian::native == std::endian::little);

Request Decode(const char* record) {
  Request r;
  std::memcpy(&r.time, record, 4);
  std::memcpy(&r.object, record + 4, 8);
  std::memcpy(&r.size, record + 12, 4);
  std::memcpy(&r.next, record + 16, 8);
  return r;
}

std::string Encode(const Request& r) {
  std::string record(kRecord, '\0');
  std::memcpy(&record[0], &r.time, 4);
  std::memcpy(&record[4], &r.object, 8);
  std::memcpy(&record[12], &r.size, 4);
  std::memcpy(&record[16], &r.next, 8);
  return record;
}

class Reader {
 public:
  Status Take(const Request& request) {
    if (run_.works.size() >= kMostRequests) {
      return absl::ResourceExhaustedError(
          absl::StrCat("it has more than ", kMostRequests, " requests; cut a piece out of it"));
    }
    const auto next = static_cast<uint32_t>(run_.allocations.size());
    const auto [at, fresh] = objects_.try_emplace(request.object, next);
    RecordedWork work;
    clock_.Stamp(EstimatedTime(request.size), &work);
    if (fresh) {
      run_.allocations.push_back(
          {.allocated = work.submitted, .name = absl::StrCat("object ", request.object)});
      run_.steps.push_back({RecordedStep::Kind::kAllocate, at->second});
    }
    RecordedAllocation& object = run_.allocations[at->second];
    object.size = std::max(object.size, Bytes(std::max<uint64_t>(request.size, 1)));
    work.set = at->second;
    work.kind = WorkKind::kDeclared;
    run_.steps.push_back({RecordedStep::Kind::kWork, static_cast<uint32_t>(run_.works.size())});
    run_.works.push_back(work);
    return absl::OkStatus();
  }

  // `left`: bytes behind the last request that are none.
  StatusOr<RecordedRun> Finish(uint64_t left) {
    if (run_.works.empty()) return absl::FailedPreconditionError("it has no requests");
    if (left != 0) {
      run_.problems.push_back(absl::StrCat("it ends in the middle of a request: after ",
                                           run_.works.size(), " requests ", left,
                                           " bytes are left, and a request has 24"));
    }
    uint64_t small = 0;
    DevicePtr base(uint64_t{1} << 44);
    uint64_t granules = 0;
    for (uint32_t i = 0; i < run_.allocations.size(); ++i) {
      RecordedAllocation& object = run_.allocations[i];
      object.base = base;
      const Bytes whole = RoundUp(object.size, kGranularity);
      small += object.size < kGranularity;
      object.size = std::max(object.size, kGranularity);
      base = base + whole;
      granules += whole / kGranularity;
      if (granules > kMostObjectGranules) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "its objects take more than ", (kGranularity * kMostObjectGranules).value, " bytes"));
      }
      // Works named it by its allocation: it has just that one set.
      run_.AddSet({{RecordedRange{.allocation = i, .offset = 0, .size = object.size.value}}});
    }
    if (small != 0) {
      run_.notes.push_back(absl::StrCat(
          small, " of ", run_.allocations.size(),
          " objects are smaller than 2 MiB and take 2 MiB, because memory moves in granules"));
    }
    run_.codes.push_back({"request", 0});
    run_.setting.source = "oracle-general";
    run_.setting.estimated_times = true;
    return std::move(run_);
  }

 private:
  RecordedRun run_;
  absl::flat_hash_map<uint64_t, uint32_t> objects_;  // To allocations.
  EstimatedClock clock_;
};

// There is no mark, but `next` of what is something else soon points to before itself.
Status CheckBegin(std::string_view begin) {
  int64_t number = 0;
  for (std::string_view left = begin; left.size() >= kRecord; left.remove_prefix(kRecord)) {
    const int64_t next = Decode(left.data()).next;
    ++number;
    if (next == -1 || next == std::numeric_limits<int64_t>::max()) continue;
    if (next >= number && next <= kMostNext) continue;
    const std::string other = OtherFormat(begin);
    return absl::FailedPreconditionError(absl::StrCat(
        "this is not an oracleGeneral trace: ",
        other.empty()
            ? absl::StrCat("request ", number, " says that the next of its object is ", next)
            : other));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<RecordedRun> ReadOracleGeneral(std::streambuf* bytes) {
  Reader reader;
  std::string some;
  for (bool first = true;; first = false) {
    some.resize(kRecord * 64);
    some.resize(
        static_cast<size_t>(bytes->sgetn(some.data(), static_cast<std::streamsize>(some.size()))));
    if (first) VS_RETURN_IF_ERROR(CheckBegin(some));
    std::string_view left = some;
    for (; left.size() >= kRecord; left.remove_prefix(kRecord)) {
      VS_RETURN_IF_ERROR(reader.Take(Decode(left.data())));
    }
    if (some.size() < kRecord * 64) return reader.Finish(left.size());
  }
}

StatusOr<RecordedRun> LoadOracleGeneral(const std::string& path) {
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<TextSource> bytes,
                      TextSource::Open(path, kRecord * (kMostRequests + 1)));
  auto run = ReadOracleGeneral(bytes.get());
  VS_RETURN_IF_ERROR(bytes->status());
  if (!run.ok()) {
    return Status(run.status().code(), absl::StrCat(path, ": ", run.status().message()));
  }
  if (!bytes->loss().empty()) run->problems.insert(run->problems.begin(), bytes->loss());
  run->setting.program = path;
  return run;
}

bool LooksLikeOracleGeneral(std::string_view begin) {
  std::vector<Request> requests;
  for (; begin.size() >= kRecord; begin.remove_prefix(kRecord)) {
    requests.push_back(Decode(begin.data()));
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    const Request& r = requests[i];
    if (i > 0 && r.time < requests[i - 1].time) return false;
    if (r.next == -1 || r.next == std::numeric_limits<int64_t>::max()) continue;
    // This is number i + 1.
    if (r.next <= static_cast<int64_t>(i + 1) || r.next > kMostNext) return false;
    const auto next = static_cast<uint64_t>(r.next - 1);
    if (next < requests.size() && requests[next].object != r.object) return false;
  }
  return !requests.empty();
}

Status SaveOracleGeneral(const ChunkedRun& run, const std::string& path, bool force) {
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Open(path, force));
  const std::vector<RecordedWork>& works = run.run().works;
  uint64_t count = 0;
  for (const RecordedWork& work : works) count += run.chunks(work.set).size();
  std::vector<int64_t> next(count);
  std::vector<int64_t> last(run.end(), -1);  // By chunk: the number of its next request.
  uint64_t number = count;
  for (size_t w = works.size(); w-- > 0;) {
    const auto chunks = run.chunks(works[w].set);
    for (size_t i = chunks.size(); i-- > 0; --number) {
      next[number - 1] = last[chunks[i].value];
      last[chunks[i].value] = static_cast<int64_t>(number);
    }
  }
  for (const RecordedWork& work : works) {
    for (const ChunkIndex c : run.chunks(work.set)) {
      file->Write(Encode({.time = static_cast<uint32_t>(work.submitted / 1'000'000'000),
                          .object = c.value,
                          .size = static_cast<uint32_t>(run.size(c).value),
                          .next = next[number++]}));
    }
  }
  return file->Close();
}

}  // namespace vramspan::replay
