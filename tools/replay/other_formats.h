// Cache traces that are not read, told by their first bytes, so that a message can name them.
#ifndef VRAMSPAN_TOOLS_REPLAY_OTHER_FORMATS_H_
#define VRAMSPAN_TOOLS_REPLAY_OTHER_FORMATS_H_

#include <string>
#include <string_view>

namespace vramspan::replay {

// A sentence that names the format and says what to do; empty for what is none of these.
// libCacheSim's lcs has a mark; its twr, vscsi, standardBinIQI, csv and txt have none, and are told
// by times that do not run backwards, fields that have few values, and lines of numbers.
std::string OtherFormat(std::string_view begin);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_OTHER_FORMATS_H_
