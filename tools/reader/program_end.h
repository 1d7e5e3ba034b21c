// A process of somebody else's, and whether it has ended: what is a zombie has, too.
#ifndef VRAMSPAN_TOOLS_READER_PROGRAM_END_H_
#define VRAMSPAN_TOOLS_READER_PROGRAM_END_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>

namespace vramspan::reader {

class ProgramEnd {
 public:
  // How often one looks where the kernel says nothing by itself.
  static constexpr std::chrono::milliseconds kLooks{250};

  // `start` as ProcessStart has it, so that no other process of that number counts; none: it is not
  // known.
  ProgramEnd(pid_t program, std::optional<uint64_t> start);
  ~ProgramEnd();
  ProgramEnd(const ProgramEnd&) = delete;
  ProgramEnd& operator=(const ProgramEnd&) = delete;

  // To be polled: it can be read once the program has ended. -1: it is to be looked at.
  int fd() const { return fd_; }
  bool Ended() const;

 private:
  const pid_t program_;
  const std::optional<uint64_t> start_;
  const int fd_;
};

}  // namespace vramspan::reader

#endif  // VRAMSPAN_TOOLS_READER_PROGRAM_END_H_
