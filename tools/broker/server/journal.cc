#include "tools/broker/server/journal.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <string>

#include "runtime/base/clean_text.h"
#include "runtime/base/quiet_write.h"
#include "tools/broker/server/clock.h"

namespace vramspan::broker {
namespace {

constexpr int kLinesASecond = 10;
constexpr size_t kMostOfALine = 2000;

struct Second {
  Instant end;
  int lines = 0;
  uint64_t dropped = 0;
};

uint64_t lost = 0;    // All of them.
uint64_t unread = 0;  // Of those, what nobody has read room for, and nobody was told of.

// Waits for nobody, whoever is to read it. False: there was no room.
bool Write(std::string_view text) {
  const std::string line = absl::StrCat("vramspan broker: ", CleanText(text, kMostOfALine), "\n");
  return WriteQuietly(STDERR_FILENO, {line}, std::chrono::milliseconds(0)) == 0;
}

void WriteLine(std::string_view text) {
  if (unread > 0 && Write(absl::StrCat(unread, " lines were lost, because nobody read them"))) {
    unread = 0;
  }
  if (unread == 0 && Write(text)) return;
  ++unread;
  ++lost;
}

}  // namespace

void Journal::Say(std::string_view text) {
  static Second second;
  const Instant now = Now();
  if (now >= second.end) {
    if (second.dropped > 0) WriteLine(absl::StrCat(second.dropped, " lines were not written"));
    second = {.end = now + std::chrono::seconds(1)};
  }
  if (++second.lines > kLinesASecond) {
    ++second.dropped;
    ++lost;
    return;
  }
  WriteLine(text);
}

uint64_t Journal::Lost() { return lost; }

}  // namespace vramspan::broker
