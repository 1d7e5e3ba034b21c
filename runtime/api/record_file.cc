#include "runtime/api/record_file.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/own_process.h"
#include "runtime/base/thread.h"
#include "runtime/base/yes_no.h"

namespace vramspan {
namespace {

// Recordings that have not ended, for the end of the process.
struct Living {
  const OwnProcess process = OwnProcess::This();
  Mutex mu;
  std::vector<EndsWithProcess*> all VS_GUARDED_BY(mu);
};
Living& TheLiving() {
  static Living* living = new Living;
  return *living;
}

// The program's name alone, or with its words.
std::string CommandLine(bool whole) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  if (!whole) text.resize(std::min(text.find('\0'), text.size()));
  for (char& c : text) c = c == '\0' ? ' ' : c;
  return text;
}

}  // namespace

// VRAMSPAN_NO_COMMAND_LINE: what is secret in it is not for a file that is passed on.
StatusOr<bool> TellsCommandLine() {
  const char* text = std::getenv("VRAMSPAN_NO_COMMAND_LINE");
  if (text == nullptr || *text == '\0') return true;
  const std::optional<bool> no = ParseYesNo(text);
  if (no.has_value()) return !*no;
  return absl::InvalidArgumentError(absl::StrCat("VRAMSPAN_NO_COMMAND_LINE: '", CleanText(text),
                                                 "' is neither yes nor no; use ", kYesNoWords));
}

StatusOr<std::string> RecordedCommandLine() {
  VS_ASSIGN_OR_RETURN(const bool whole, TellsCommandLine());
  return CommandLine(whole);
}

void EndsWithProcess::Lives() {
  Living& living = TheLiving();
  MutexLock lock(living.mu);
  static const int registered = std::atexit(&FinishAll);
  static_cast<void>(registered);
  living.all.push_back(this);
}

void EndsWithProcess::LivesNoMore() {
  Living& living = TheLiving();
  MutexLock lock(living.mu);
  std::erase(living.all, this);
}

// The process ends, and the runtime was never destroyed.
void EndsWithProcess::FinishAll() {
  if (!TheLiving().process.Ends()) return;
  // On a thread of its own: what the driver keeps for this one may be gone by now.
  RunApart("vramspan-end", [] {
    const OwnCalls own;
    Living& living = TheLiving();
    MutexLock lock(living.mu);
    for (EndsWithProcess* const one : std::exchange(living.all, {})) one->Finish();
  });
}

}  // namespace vramspan
