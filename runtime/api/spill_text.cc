#include "runtime/api/spill_text.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <cstdint>

#include "runtime/api/memory_text.h"

namespace vramspan {

namespace {

// What work used where it lay, and how long that takes if each byte crosses the bus once.
std::string InPlaceText(const vramspanStatistics& s, const Prices& prices) {
  const std::string works = absl::StrCat(
      s.works_in_place, s.works_in_place == 1 ? " piece" : " pieces", " of work used ");
  // Whoever names nothing may have used any.
  if (s.bytes_in_place == 0) return absl::StrCat(works, "host memory in place");
  const double seconds = prices.ServeNanoseconds(Bytes(s.bytes_in_place)) / 1e9;
  return absl::StrFormat("%s%s of host memory in place, %s by the model", works,
                         MemoryText(s.bytes_in_place),
                         seconds < 0.05 ? "less than 0.1 s" : absl::StrFormat("%.1f s", seconds));
}

}  // namespace

std::string SpillText(const vramspanStatistics& s, const SpillFacts& facts, const Prices& prices) {
  if (s.fetches == 0 && s.evictions == 0 && s.works_in_place == 0) return "";
  // Work that still runs is no loss: the device is busy.
  const auto waited = static_cast<double>(s.stall_copy_ns + s.stall_vmm_ns);
  const auto all = static_cast<double>(std::max<int64_t>(facts.short_for.count(), 1));
  std::string text = absl::StrFormat(
      "device memory first ran short %.1f s ago: %s came to the device and %s left it, and "
      "launches waited %.1f s for that (%.0f %% of the time since)",
      all / 1e9, MemoryText(s.bytes_in), MemoryText(s.bytes_out + s.bytes_out_clean), waited / 1e9,
      std::min(100 * waited / all, 100.0));
  if (s.works_in_place != 0) absl::StrAppend(&text, "; ", InPlaceText(s, prices));
  if (facts.most_on_host != Bytes(0)) {
    absl::StrAppend(&text, "; at most ", MemoryText(facts.most_on_host.value),
                    " lay in host memory");
  }
  if (facts.held_up != 0) {
    absl::StrAppend(&text, "; nothing proves what the kernels of ", facts.held_up,
                    " launches touch, so memory moved only between them: `vramspan run --stats` "
                    "names them, ",
                    facts.read ? "" : "`--read on` has their code read, ",
                    "and `vramspan audit --trust FILE -- program` may prove it");
  }
  return text;
}

std::string ShortageNote(const Prices& prices, const ShortageHelp& help) {
  const double ms = prices.MoveNanoseconds(GiB(1)) / 1e6;
  std::string text = absl::StrFormat(
      "; each GiB takes about %.0f ms to come while as much leaves (%s); ", ms,
      help.measured ? "measured here" : "an H100's figure; `vramspan info` measures this device's");
  if (help.brokered) {
    absl::StrAppend(&text, "more of the broker's memory avoids that");
  } else if (help.spare >= MiB(64)) {
    absl::StrAppend(&text, "a larger device budget (--device-memory) avoids that: ",
                    MemoryText(help.spare.value), " more were free");
  } else {
    absl::StrAppend(&text, "a smaller batch avoids that, or a GPU that others use less");
  }
  return text;
}

}  // namespace vramspan
