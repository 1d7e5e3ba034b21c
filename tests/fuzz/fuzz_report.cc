// What `vramspan report` is given as the output of a replay.
#include <sstream>
#include <string_view>

#include "runtime/base/log.h"
#include "tools/replay/report.h"
#include "tools/replay/report_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json =
      vramspan::replay::ParseReplay(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!json.ok()) return 0;
  std::ostringstream page;
  const vramspan::Status written = vramspan::replay::WriteReport(*json, "fuzz", page);
  // Nothing of the data may end the script that it is embedded in.
  if (written.ok()) VS_CHECK(page.str().ends_with("</html>\n"));
  return 0;
}
