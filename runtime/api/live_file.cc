#include "runtime/api/live_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/api/live_place.h"
#include "runtime/base/own_descriptor.h"
#include "runtime/base/process_start.h"
#include "runtime/base/quiet_write.h"

namespace vramspan {
namespace {

constexpr std::chrono::milliseconds kWritePatience{10};
constexpr int kExitTries = 100;

uint64_t SteadyNow() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// When this image of the process first asked.
uint64_t ImageBegan() {
  static const uint64_t began = SteadyNow();
  return began;
}

LiveRecord OwnRecord() {
  static std::atomic<uint32_t> latest{0};
  LiveRecord own;
  own.pid = static_cast<uint32_t>(getpid());
  own.serial = ++latest;
  own.start = ProcessStart(getpid()).value_or(0);
  own.space = ProcessNumberSpace();
  own.image = ImageBegan();
  own.began = SteadyNow();
  struct stat exe;
  if (stat("/proc/self/exe", &exe) == 0) {
    own.exe_device = exe.st_dev;
    own.exe_inode = exe.st_ino;
  }
  strncpy(own.program, program_invocation_short_name, sizeof(own.program) - 1);
  return own;
}

}  // namespace

LiveFile::LiveFile(std::vector<UserFolder> places)
    : own_(OwnRecord()),
      name_(LiveName(own_.space, own_.pid, own_.serial)),
      places_(std::move(places)) {
  Joined();
}

LiveFile::~LiveFile() {
  Gone();
  // In a child of fork somebody may hold it for ever.
  if (!writing_.TryLock()) return;
  Remove();
  writing_.Unlock();
}

void LiveFile::LeaveAtExit() {
  for (int i = 0; !writing_.TryLock(); ++i) {
    if (i == kExitTries) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Remove();
  writing_.Unlock();
}

Status LiveFile::Write(LiveRecord* record) {
  record->pid = own_.pid;
  record->serial = own_.serial;
  record->start = own_.start;
  record->space = own_.space;
  record->image = own_.image;
  record->exe_device = own_.exe_device;
  record->exe_inode = own_.exe_inode;
  record->began = own_.began;
  std::memcpy(record->program, own_.program, sizeof(own_.program));
  record->written = SteadyNow();
  record->Seal();
  MutexLock lock(writing_);
  while (!places_.empty()) {
    const Status written = WriteTo(places_.front(), *record);
    written_ |= written.ok();
    // Later there may be a descriptor, or room.
    if (written.ok() || absl::IsUnavailable(written)) return absl::OkStatus();
    if (written_ && absl::IsResourceExhausted(written)) return absl::OkStatus();
    // An empty file would stay, or what was true once.
    RemoveFrom(places_.front());
    places_.erase(places_.begin());
    written_ = false;
    if (places_.empty()) return written;
  }
  return absl::OkStatus();
}

Status LiveFile::WriteTo(const UserFolder& place, const LiveRecord& record) {
  const std::string path = place.path() + "/" + name_;
  OwnDescriptor file;
  {
    VS_ASSIGN_OR_RETURN(const OpenedFolder folder, MakeUserFolder(place));
    VS_ASSIGN_OR_RETURN(const int opened, OpenUserFile(folder.at(), name_, path));
    file.Adopt(opened);
  }
  VS_ASSIGN_OR_RETURN(const int now, file.Get());
  const std::string_view bytes(reinterpret_cast<const char*>(&record), sizeof(record));
  if (const int error = WriteQuietly(now, {bytes}, kWritePatience); error != 0) {
    return UserFileFailure(path, error);
  }
  return absl::OkStatus();
}

void LiveFile::Remove() {
  // Nor is it written any more.
  const std::vector<UserFolder> places = std::exchange(places_, {});
  if (!written_ || static_cast<uint32_t>(getpid()) != own_.pid) return;
  RemoveFrom(places.front());
}

void LiveFile::RemoveFrom(const UserFolder& place) {
  const StatusOr<OpenedFolder> folder = OpenUserFolder(place);
  if (folder.ok()) unlinkat(folder->at(), name_.c_str(), 0);
}

}  // namespace vramspan
