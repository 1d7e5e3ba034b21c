#include "tools/broker/server/journal.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <string>

#include "runtime/base/clean_text.h"
#include "runtime/base/quiet_write.h"
#include "tools/broker/server/clock.h"
#include "tools/broker/server/log_lines.h"

namespace vramspan::broker {
namespace {

constexpr size_t kMostOfALine = 2000;

LogLines lines;

// Waits for nobody, whoever is to read it. False: there was no room.
bool Write(std::string_view text) {
  const std::string line = absl::StrCat("vramspan broker: ", CleanText(text, kMostOfALine), "\n");
  return WriteQuietly(STDERR_FILENO, {line}, std::chrono::milliseconds(0)) == 0;
}

}  // namespace

void Journal::Say(std::string_view text) { lines.Say(text, Now(), Write); }
void Journal::CatchUp() { lines.CatchUp(Now(), Write); }
bool Journal::Owes() { return lines.owes(); }
uint64_t Journal::Lost() { return lines.lost(); }

}  // namespace vramspan::broker
