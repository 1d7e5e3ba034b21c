// What `vramspan top` shows of a process and a device: sizes as they are, and rates over the time
// since it was looked at before.
//
// Pure: time is a value.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_TOP_ROWS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_TOP_ROWS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tools/vramspan/top_records.h"

namespace vramspan::top {

struct Rates {
  double in = 0, out = 0, in_place = 0;  // Bytes a second.
  double link_in = 0, link_out = 0;      // Of what the device's link gives each way.
  double link_in_place = 0;              // Of what it gives to work that uses memory in place.
  double waiting = 0;                    // Of the time, 0 to 1.
  std::optional<double> trusted;         // Of the launches, those of proven code.
};

struct Row {
  Seen seen;
  uint64_t resident = 0, on_host = 0;  // Bytes.
  Rates rates;
  double running = 0, silent = 0;  // Seconds since it began, and since it last wrote.

  // The busier way of what was copied, and what was used in place, whichever way that went.
  double link() const;
  // How many times as long the program takes, if it had neither waited otherwise nor done anything
  // else while its work used host memory in place.
  double slowdown() const;
};

// So long after its last record a process is thought to do nothing.
inline constexpr uint64_t kStale = 1'500'000'000;

class Samples {
 public:
  // In the order of what was found. `now` is of the clock that records use.
  std::vector<Row> Next(std::vector<Seen> found, uint64_t now);

 private:
  using Key = std::tuple<uint64_t, uint32_t, uint64_t, uint64_t, uint32_t>;
  struct Sample {
    LiveRecord record;
    uint64_t at = 0;  // When it was read.
    Rates rates;
  };
  std::map<Key, Sample> before_;
};

// "fetched", and "launches that wait need it".
struct DecisionText {
  const char* what;
  const char* why;
  const char* cause;  // One word for machines.
};
DecisionText TextOf(uint32_t what);

// Those of a record that make sense, the latest first.
std::vector<LiveDecision> Decisions(const LiveRecord& record);

}  // namespace vramspan::top

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_TOP_ROWS_H_
