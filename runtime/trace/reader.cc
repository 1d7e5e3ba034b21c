#include "runtime/trace/reader.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/trace/decoder.h"

namespace vramspan::trace {
namespace {

constexpr size_t kMostProblems = 20;

}  // namespace

bool Reader::LooksLikeTrace(std::string_view bytes) {
  return bytes.size() >= 16 && std::memcmp(bytes.data() + 8, kFileMark, sizeof(kFileMark)) == 0;
}

StatusOr<std::unique_ptr<Reader>> Reader::Open(const std::string& path) {
  const auto failed = [&](int error) {
    const std::string why = absl::StrCat("cannot read ", path, ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(why) : absl::FailedPreconditionError(why);
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed(errno);
  struct stat file {};
  const int refused = fstat(fd, &file) != 0 ? errno : S_ISDIR(file.st_mode) ? EISDIR : 0;
  if (refused != 0 || !S_ISREG(file.st_mode)) {
    close(fd);
    if (refused != 0) return failed(refused);
    // Blocks are looked for where one is damaged, so what comes but once will not do.
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot read ", path, ": it is a pipe or a device; a trace is read from a file"));
  }
  const auto size = static_cast<size_t>(file.st_size);
  void* mapped = nullptr;
  if (size != 0) {
    mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) {
      const int error = errno;
      close(fd);
      return failed(error);
    }
  }
  close(fd);
  StatusOr<std::unique_ptr<Reader>> reader =
      OfBytes(std::string_view(static_cast<const char*>(mapped), size));
  if (!reader.ok()) {
    if (mapped != nullptr) munmap(mapped, size);
    return Status(reader.status().code(), absl::StrCat(path, ": ", reader.status().message()));
  }
  (*reader)->mapped_ = mapped;
  return reader;
}

StatusOr<std::unique_ptr<Reader>> Reader::OfBytes(std::string_view bytes) {
  std::unique_ptr<Reader> r(new Reader());
  r->bytes_ = bytes;
  VS_ASSIGN_OR_RETURN(r->header_, UnpackHeader(bytes, &r->begin_));
  return r;
}

Reader::~Reader() {
  if (mapped_ != nullptr) munmap(mapped_, bytes_.size());
}

void Reader::Problem(size_t offset, std::string_view what) {
  said_ = true;
  if (problems_.size() < kMostProblems) {
    problems_.push_back(absl::StrCat("at byte ", offset, ": ", what));
  } else {
    ++more_problems_;
  }
}

void Reader::CheckNumber(const BlockHeader& header, size_t offset) {
  const uint64_t next = std::exchange(next_number_, uint64_t{header.number} + 1);
  const bool said = std::exchange(said_, false);
  if (header.number == next || said) return;
  if (header.number < next) {
    Problem(offset, absl::StrCat("block ", header.number, " comes behind block ", next - 1));
  } else if (header.number == next + 1) {
    Problem(offset, absl::StrCat("block ", next, ", which should come first, is missing"));
  } else {
    Problem(offset, absl::StrCat("the blocks from ", next, " to ", header.number - 1,
                                 ", which should come first, are missing"));
  }
  said_ = false;
}

void Reader::TakeBlock(const Block& block, absl::Span<const uint8_t> raw,
                       absl::FunctionRef<void(const Block&, const Event&)> take) {
  const auto problem = [&](std::string_view what) {
    Problem(block.offset, absl::StrCat("block ", block.header.number, ": ", what));
    said_ = false;
  };
  ++blocks_;
  Decoder decoder(raw, block.header.first_time);
  Event event;
  uint64_t events = 0;
  bool damaged = false;
  while (!stopped_) {
    const StatusOr<bool> more = decoder.Next(&event);
    if (!more.ok()) problem(more.status().message());
    damaged = !more.ok();
    if (damaged || !*more) break;
    ++events;
    ended_ = ended_ || std::holds_alternative<EndEvent>(event);
    if (const auto* lost = std::get_if<LostEvent>(&event)) {
      lost_ += std::min(lost->count, UINT64_MAX - lost_);
    }
    take(block, event);
  }
  events_ += events;
  unknown_ += decoder.unknown();
  if (!stopped_ && !damaged && events + decoder.unknown() != block.header.events) {
    problem(absl::StrCat("it holds ", events + decoder.unknown(), " events, not the ",
                         block.header.events, " that it claims"));
  }
}

void Reader::ForEach(absl::FunctionRef<void(const Block&, const Event&)> take) {
  problems_.clear();
  more_problems_ = blocks_ = events_ = unknown_ = lost_ = next_number_ = 0;
  ended_ = stopped_ = said_ = false;
  uint64_t left = kMostUnpacked + kMostUnpackedOfByte * bytes_.size();
  std::vector<uint8_t> raw;
  size_t at = begin_;
  while (at < bytes_.size() && !stopped_) {
    const StatusOr<BlockHeader> header = UnpackBlockHeader(bytes_.substr(at));
    if (!header.ok()) {
      const size_t next = FindBlock(bytes_, at + 1);
      const size_t end = next == std::string_view::npos ? bytes_.size() : next;
      Problem(at, absl::StrCat(header.status().message(), "; ", end - at, " bytes are left out"));
      at = end;
      continue;
    }
    const Block block{*header, at};
    const size_t contents = at + kBlockFrontBytes;
    // A later block may still be whole, where bytes were lost in this one.
    const auto look_on = [&] {
      const size_t next = FindBlock(bytes_, contents);
      at = next == std::string_view::npos ? bytes_.size() : next;
    };
    if (bytes_.size() - contents < header->packed_bytes) {
      Problem(at, absl::StrCat("the file ends in the middle of block ", header->number,
                               "; what comes before it is used"));
      look_on();
      continue;
    }
    if (header->raw_bytes > left) {
      Problem(at, absl::StrCat("the file unpacks to more than ", kMostUnpacked >> 20, " MiB and ",
                               kMostUnpackedOfByte, " times its size; the rest is left out"));
      break;
    }
    left -= header->raw_bytes;
    const Status unpacked =
        UnpackBlock(*header, bytes_.substr(contents, header->packed_bytes), &raw);
    if (!unpacked.ok()) {
      Problem(at, absl::StrCat("block ", header->number, ": ", unpacked.message()));
      look_on();
      continue;
    }
    CheckNumber(*header, at);
    TakeBlock(block, raw, take);
    at = contents + header->packed_bytes;
  }
  if (!stopped_) SayWhatIsMissing();
}

void Reader::SayWhatIsMissing() {
  if (more_problems_ != 0) problems_.push_back(absl::StrCat(more_problems_, " more such problems"));
  if (lost_ != 0) {
    problems_.push_back(absl::StrCat(
        lost_, " events were lost while it was recorded, because the disk did not keep up"));
  }
  if (unknown_ != 0) {
    problems_.push_back(
        absl::StrCat(unknown_, " events are of types that this version does not know"));
  }
  if (!ended_) {
    problems_.push_back(
        "the trace has no end, because the program was killed or the file was cut; the last "
        "quarter of a second may be missing");
  }
}

}  // namespace vramspan::trace
