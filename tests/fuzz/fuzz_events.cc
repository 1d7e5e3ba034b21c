// A file of events, and the scheduler that is told them. Whatever is in it, nothing breaks.
#include <string>
#include <string_view>

#include "runtime/base/log.h"
#include "runtime/trace/block.h"
#include "runtime/trace/scheduler_log.h"
#include "tools/replay/repeat_events.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramspan;  // NOLINT
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(replay::RepeatEventsOf(bytes));
  // The same as what a block holds, which no checksum keeps a fuzzer out of.
  replay::EventRepeater repeater;
  repeater.Take({data, size});
  const replay::RepeatedEvents& result = repeater.result();
  VS_CHECK(result.actions <= result.events);
  return 0;
}
