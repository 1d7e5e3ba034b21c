// The rows of `vramspan top` as JSON.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_TOP_JSON_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_TOP_JSON_H_

#include <string>
#include <vector>

#include "tools/vramspan/top_rows.h"

namespace vramspan::top {

// `lines`: on several, for people.
std::string Json(const std::vector<Row>& rows, const std::vector<std::string>& notes, uint64_t now,
                 bool lines);

}  // namespace vramspan::top

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_TOP_JSON_H_
