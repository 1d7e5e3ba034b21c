// Files of events, block after block.
#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/trace/block.h"
#include "runtime/trace/scheduler_log.h"
#include "tools/replay/repeat_events.h"

namespace vramspan::replay {

StatusOr<RepeatedEvents> RepeatEventsOf(std::string_view bytes) {
  size_t at = 0;
  VS_ASSIGN_OR_RETURN(std::string program, trace::UnpackEventsHeader(bytes, &at));
  EventRepeater repeater;
  std::vector<uint8_t> raw;
  std::string cut;
  uint64_t left = trace::kMostUnpacked + trace::kMostUnpackedOfByte * bytes.size();
  uint32_t number = 0;
  for (bool more = true; more && at < bytes.size() && cut.empty();) {
    const auto header = trace::UnpackBlockHeader(bytes.substr(at));
    if (!header.ok()) {
      cut = header.status().message();
      break;
    }
    const size_t contents = at + trace::kBlockFrontBytes;
    if (bytes.size() - contents < header->packed_bytes) {
      cut = "the file ends in the middle of a block";
    } else if (header->number != number++) {
      cut = absl::StrCat("block ", number - 1, " is missing");
    } else if (header->raw_bytes > left) {
      cut = "what is packed is more than is believed";
    }
    if (!cut.empty()) break;
    left -= header->raw_bytes;
    const Status unpacked =
        trace::UnpackBlock(*header, bytes.substr(contents, header->packed_bytes), &raw);
    if (!unpacked.ok()) {
      cut = unpacked.message();
      break;
    }
    more = repeater.Take(raw);
    at = contents + header->packed_bytes;
  }
  RepeatedEvents result = repeater.result();
  result.program = std::move(program);
  if (result.damage.empty() && !cut.empty()) {
    result.damage = absl::StrCat("at byte ", at, ": ", cut);
  }
  return result;
}

StatusOr<RepeatedEvents> RepeatEvents(const std::string& path) {
  const auto failed = [&](int error) {
    const std::string why = absl::StrCat("cannot read ", path, ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(why) : absl::FailedPreconditionError(why);
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed(errno);
  struct stat file {};
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
    close(fd);
    return absl::FailedPreconditionError(absl::StrCat("cannot read ", path, ": no regular file"));
  }
  const auto size = static_cast<size_t>(file.st_size);
  void* mapped = nullptr;
  if (size != 0) mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int error = errno;
  close(fd);
  if (mapped == MAP_FAILED) return failed(error);
  StatusOr<RepeatedEvents> result =
      RepeatEventsOf(std::string_view(static_cast<const char*>(mapped), size));
  if (mapped != nullptr) munmap(mapped, size);
  if (!result.ok()) {
    return Status(result.status().code(), absl::StrCat(path, ": ", result.status().message()));
  }
  return result;
}

}  // namespace vramspan::replay
