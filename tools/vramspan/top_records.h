// The live records of this user's processes, as they are found now (runtime/api/live_record.h).
//
// What the files hold is not trusted: it is bounded, and text in it is clean. Files of processes
// that have ended are removed.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_TOP_RECORDS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_TOP_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/api/live_record.h"
#include "runtime/base/user_folder.h"

namespace vramspan::top {

struct Seen {
  LiveRecord record;
  std::string program, command;  // Its name and its command line; clean.
  std::string uuid, device;      // Clean.
  bool elsewhere =
      false;  // In another namespace of process numbers: whether it lives is not known.
};

struct Found {
  std::vector<Seen> seen;
  std::vector<std::string> notes;  // What could not be read, and what to do.
};

// Where records may lie: LivePlaces, and the user's runtime folder where no variable names it.
std::vector<UserFolder> Places();

// By process, device and serial.
Found Find(const std::vector<UserFolder>& places);

// Nanoseconds of the clock that records use.
uint64_t SteadyNow();

}  // namespace vramspan::top

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_TOP_RECORDS_H_
