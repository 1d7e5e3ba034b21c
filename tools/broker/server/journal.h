// The daemon's log: lines on stderr, for a person or systemd. A hostile process can make many, so
// no more than ten a second are written; then one says how many were not. Nobody need read them:
// what there is no room for is lost, and the next that is written is behind one that says so.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_JOURNAL_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_JOURNAL_H_

#include <cstdint>
#include <string_view>

namespace vramspan::broker {

class Journal {
 public:
  // What others wrote is shown clean.
  static void Say(std::string_view text);
  // Says that lines were not written, if there is room for it now,
  static void CatchUp();
  // and that there is something to say.
  static bool Owes();
  // Lines that were not written so far.
  static uint64_t Lost();
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_JOURNAL_H_
