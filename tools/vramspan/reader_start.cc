#include "tools/vramspan/reader_start.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/api/tracer.h"
#include "runtime/api/tracing.h"
#include "runtime/base/log.h"
#include "runtime/base/process_start.h"
#include "runtime/base/yes_no.h"
#include "tools/reader/first_process.h"
#include "tools/vramspan/orphan.h"

namespace vramspan::run {
namespace {

// What `vramspan` is started with, and how. Made before any fork.
class ReaderProgram {
 public:
  explicit ReaderProgram(const std::string& folder) {
    const std::optional<uint64_t> start = ProcessStart(getpid());
    words_ = {"vramspan", kReaderCommand, folder, absl::StrCat(getpid())};
    if (start.has_value()) words_.push_back(absl::StrCat(*start));
    for (std::string& word : words_) arguments_.push_back(word.data());
    arguments_.push_back(nullptr);
    for (char** variable = environ; *variable != nullptr; ++variable) {
      // nvdisasm is no program of CUDA's, and what it loads is nobody's business.
      if (!absl::StartsWith(*variable, "LD_PRELOAD=") &&
          !absl::StartsWith(*variable, "VRAMSPAN_")) {
        variables_.push_back(*variable);
      }
    }
    variables_.push_back(nullptr);
  }

  // 0, or why it is not there.
  int Start() const { return StartOrphan(arguments_.data(), variables_.data()); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> arguments_, variables_;
};

// Why an orphan of this process would be its child again; null: it would not.
const char* KeepsOrphans() {
  int subreaper = 0;
  if (getpid() == 1) return "this is the first process of a container";
  // An orphan would be the first process there, and with its end nobody could start one any more.
  struct stat own = {}, below = {};
  if (stat("/proc/self/ns/pid", &own) != 0 || stat("/proc/self/ns/pid_for_children", &below) != 0 ||
      own.st_ino != below.st_ino) {
    return "what it starts would be in another namespace of processes";
  }
  if (prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0) == 0 && subreaper != 0) {
    return "this process waits for all below it";
  }
  return nullptr;
}

}  // namespace

bool ReadingIsWanted(const Plan& plan, const std::function<const char*(const char*)>& variable) {
  const auto planned = plan.find(kReadVariable);
  const char* const text =
      planned != plan.end() ? planned->second.c_str() : variable(kReadVariable);
  return text != nullptr && ParseYesNo(text).value_or(false);
}

bool ReadingMatters(const Plan& plan, const std::function<const char*(const char*)>& variable) {
  const auto setting = [&](const char* name) -> std::string {
    const auto planned = plan.find(name);
    if (planned != plan.end()) return planned->second;
    const char* const text = variable(name);
    return text == nullptr ? "" : text;
  };
  const auto is = [&](const char* name, bool by_default) {
    return ParseYesNo(setting(name)).value_or(by_default);
  };
  const std::string overlap = setting("VRAMSPAN_OVERLAP"), tracer = setting("VRAMSPAN_TRACER");
  const StatusOr<Overlap> how = ParseOverlap(overlap.empty() ? "auto" : overlap);
  const bool seen = tracer.empty() || tracer != "off";
  return plan.contains("LD_PRELOAD") && is(kReadVariable, true) && !is("VRAMSPAN_OFF", false) &&
         how.ok() && (*how == Overlap::kAuto || *how == Overlap::kProven) && seen;
}

std::unique_ptr<reader::Meeting> StartReader(bool wanted) {
  std::string why;
  if (const char* const keeps = KeepsOrphans()) {
    why = keeps;
  } else if (const Status first = wanted ? absl::OkStatus() : reader::CheckFirstProcess();
             !first.ok()) {
    why = first.message();
  } else if (StatusOr<std::unique_ptr<reader::Meeting>> meeting = reader::Meeting::Make(getpid());
             !meeting.ok()) {
    why = meeting.status().message();
  } else if (const int error = ReaderProgram((*meeting)->path()).Start(); error != 0) {
    why = absl::StrCat("no process could be started: ", std::strerror(error));
  } else {
    return *std::move(meeting);
  }
  Log(LogLevel::kInfo, absl::StrCat("no code is read while the program runs: ", why));
  return nullptr;
}

}  // namespace vramspan::run
