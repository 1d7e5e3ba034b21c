// The folder in which a program and its reader meet (exchange.h), of this user alone and on this
// machine: ${XDG_CACHE_HOME:-~/.cache}/vramspan/reading-SPACE-PID-START-XXXXXXXX. Where that is no
// place for it, it lies below XDG_RUNTIME_DIR. It never lies below TMPDIR: whoever gave a program a
// folder of its own finds that empty once the program has ended.
//
// SPACE is of the numbers of processes, PID and START are the program's. So others know whose it
// was, and take away what a killed reader has left.
#ifndef VRAMSPAN_TOOLS_READER_MEETING_H_
#define VRAMSPAN_TOOLS_READER_MEETING_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/status.h"

namespace vramspan::reader {

// Whether a folder of that name is of this kind.
bool IsMeetingName(std::string_view name);

class Meeting {
 public:
  // So many of others are looked at.
  static constexpr int kMostLooks = 64;
  // Those of other containers, where nobody here can see who lives, go after this long.
  static constexpr int kDaysOfStrangers = 30;

  // With the two files in it. Those of programs that have ended go.
  static StatusOr<std::unique_ptr<Meeting>> Make(pid_t program);
  // As RemoveExchange.
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit Meeting(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace vramspan::reader

#endif  // VRAMSPAN_TOOLS_READER_MEETING_H_
