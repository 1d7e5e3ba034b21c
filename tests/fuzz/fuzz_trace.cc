// A trace file: from its bytes to chunks. Whatever is in it, what comes out holds together.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/trace/decoder.h"
#include "tools/replay/chunked_run.h"
#include "tools/replay/load_trace.h"
#include "tools/replay/run_limits.h"
#include "tools/replay/unwritten.h"

namespace {

using namespace vramspan;  // NOLINT

void CheckRun(trace::Reader* reader) {
  const StatusOr<replay::RecordedRun> run = replay::LoadTrace(reader);
  if (!run.ok()) return;
  const Status status = run->Check();
  VS_CHECK(status.ok());
  // A few bytes may stand for many chunks; that many take their time, and nothing else.
  if (run->PeakBytes() > GiB(256)) return;
  uint64_t all = 0;
  for (const replay::RecordedAllocation& a : run->allocations) all += a.size.value >> 21;
  if (all > 1 << 16) return;
  const replay::ChunkedRun chunked(&*run, 0, GiB(1));
  for (uint32_t s = 0; s < run->sets(); ++s) {
    for (const ChunkIndex c : chunked.chunks(s)) VS_CHECK(c.value < chunked.end());
  }
  uint64_t discarded = 0;
  for (const replay::RecordedDiscard& d : run->discards) {
    const replay::RecordedRange r{.allocation = d.allocation, .offset = d.offset, .size = d.size};
    discarded += replay::GranulesOf(d.offset, d.size);
    if (discarded > 1 << 20) return;
    chunked.ForEachChunk(r, [&](ChunkIndex c) { VS_CHECK(c.value < chunked.end()); });
  }
  VS_CHECK(replay::UnwrittenByFingerprints(chunked).size() == chunked.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto reader = trace::Reader::OfBytes(bytes); reader.ok()) CheckRun(reader->get());
  // The same as the contents of a block, which no checksum keeps a fuzzer out of.
  if (size <= trace::kMostBlock && size != 0) {
    trace::BlockPacker packer;
    trace::BlockHeader header;
    const auto frames = packer.Pack(header, absl::MakeConstSpan(data, size));
    VS_CHECK(frames.ok());
    const std::string file = trace::PackHeader({}) + std::string(frames->begin(), frames->end());
    const auto reader = trace::Reader::OfBytes(file);
    VS_CHECK(reader.ok());
    CheckRun(reader->get());
  }
  return 0;
}
