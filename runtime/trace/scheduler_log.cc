#include "runtime/trace/scheduler_log.h"

#include <absl/strings/str_cat.h>

#include <cstring>
#include <exception>
#include <utility>

#include "runtime/trace/format.h"
#include "runtime/trace/scheduler_records.h"

namespace vramspan::trace {
namespace {

constexpr size_t kLogBlock = 256 << 10;
// A frame's own bytes, the mark, the version.
constexpr size_t kEventsFront = 8 + sizeof(kEventsMark) + 2;

void PutLittle(std::string* out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}
uint64_t GetLittle(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    value |= uint64_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  }
  return value;
}

}  // namespace

std::string PackEventsHeader(std::string_view program) {
  program = program.substr(0, kMostHeader - kEventsFront);
  std::string frame;
  PutLittle(&frame, kHeaderFrame, 4);
  PutLittle(&frame, kEventsFront - 8 + program.size(), 4);
  frame.append(kEventsMark, sizeof(kEventsMark));
  PutLittle(&frame, kEventsVersion, 2);
  frame += program;
  return frame;
}

StatusOr<std::string> UnpackEventsHeader(std::string_view bytes, size_t* taken) {
  if (bytes.size() < kEventsFront ||
      std::memcmp(bytes.data() + 8, kEventsMark, sizeof(kEventsMark)) != 0) {
    return absl::FailedPreconditionError(
        "this is no file of events: `vramspan run --record-events` writes one");
  }
  const uint64_t version = GetLittle(bytes, kEventsFront - 2, 2);
  if (version != kEventsVersion) {
    return absl::FailedPreconditionError(absl::StrCat("these events are of version ", version,
                                                      ", and this vramspan reads ", kEventsVersion,
                                                      ": use the vramspan that wrote them"));
  }
  const uint64_t size = GetLittle(bytes, 4, 4);
  if (size > kMostHeader || size < kEventsFront - 8 || bytes.size() < 8 + size) {
    return absl::FailedPreconditionError(absl::StrCat("its header claims ", size, " bytes"));
  }
  *taken = 8 + size;
  return std::string(bytes.substr(kEventsFront, *taken - kEventsFront));
}

StatusOr<std::unique_ptr<SchedulerLog>> SchedulerLog::Open(const BlockFileOptions& options,
                                                           std::string_view program) {
  std::unique_ptr<SchedulerLog> log(new SchedulerLog());
  VS_ASSIGN_OR_RETURN(log->file_, BlockFile::Open(options, PackEventsHeader(program),
                                                  [raw = log.get()](BlockFile* to) {
                                                    MutexLock lock(raw->mu_);
                                                    raw->Hand(to, /*must=*/true);
                                                  }));
  return log;
}

bool SchedulerLog::End() {
  if (file_ == nullptr || file_->closed() || file_->in_child()) return false;
  MutexLock lock(mu_);
  if (std::exchange(ended_, true)) return false;
  encoder_.Finish();
  return true;
}

Status SchedulerLog::Close() { return End() ? file_->Close() : absl::OkStatus(); }

void SchedulerLog::Hand(BlockFile* to, bool must) {
  if (encoder_.size() == 0) return;
  BlockHeader header;
  BlockBytes bytes = encoder_.Take(&header.events);
  if (bytes.size() > kMostBlock) {
    return to->Stop(absl::ResourceExhaustedError("work has more chunks than a block may tell of"));
  }
  if (to->Hand(header, std::move(bytes), must)) return;
  to->Stop(absl::UnavailableError(
      absl::StrCat("the disk of ", to->path(), " does not keep up with the events")));
}

template <typename Put>
void SchedulerLog::Tell(Put put) {
  if (file_->closed()) return;
  MutexLock lock(mu_);
  if (ended_) return;
  try {
    put(&encoder_);
    if (encoder_.size() >= kLogBlock) Hand(file_.get(), /*must=*/false);
  } catch (const std::exception& e) {
    file_->Stop(absl::ResourceExhaustedError(
        absl::StrCat("cannot keep the events for ", path(), ": ", e.what())));
  }
}

void SchedulerLog::Made(ChunkTable* chunks, const SchedulerOptions& options,
                        std::string_view policy) {
  Tell([&](SchedulerEncoder* to) { to->Made(chunks, options, policy); });
}
void SchedulerLog::Begin(const SchedulerEvent& event) {
  Tell([&](SchedulerEncoder* to) { to->Begin(event); });
}
void SchedulerLog::AskedWhatRuns() {
  Tell([](SchedulerEncoder* to) { to->AskedWhatRuns(); });
}
void SchedulerLog::Runs(const Work& work) {
  Tell([&](SchedulerEncoder* to) { to->Runs(work); });
}
void SchedulerLog::Dropped(ChunkIndex chunk) {
  Tell([chunk](SchedulerEncoder* to) { to->Dropped(chunk); });
}
void SchedulerLog::End(const SchedulerEvent& event, const EventAnswer& answer) {
  Tell([&](SchedulerEncoder* to) { to->End(event, answer); });
}

}  // namespace vramspan::trace
