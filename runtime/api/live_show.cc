#include "runtime/api/live_show.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "runtime/base/log.h"

namespace vramspan {
namespace {

// A decision that comes again so soon is the same, up to a minute.
constexpr Duration kSame = std::chrono::seconds(2);
constexpr Duration kLongest = std::chrono::minutes(1);

template <size_t kSize>
void Put(std::string_view text, char (&field)[kSize]) {
  const size_t size = std::min(text.size(), kSize - 1);
  std::memcpy(field, text.data(), size);
  std::memset(field + size, 0, kSize - size);
}

uint64_t Nanoseconds(Duration d) { return static_cast<uint64_t>(d.count()); }

uint64_t Now() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

LiveShow::LiveShow(const LiveDevice& device, std::function<LiveNumbers()> numbers,
                   std::vector<UserFolder> places)
    : numbers_(std::move(numbers)), file_(std::move(places)) {
  Put(device.uuid, record_.uuid);
  Put(device.name, record_.device);
  record_.ordinal = device.ordinal;
  record_.device_memory = device.memory.value;
  record_.move_mb_per_s = static_cast<uint64_t>(device.move_gb_per_s * 1e3);
  record_.serve_mb_per_s = static_cast<uint64_t>(device.serve_gb_per_s * 1e3);
  record_.flags = device.flags;
}

void LiveShow::Look() {
  // An exception would end the moves, and this is not worth that.
  try {
    Take(numbers_());
    const Status written = file_.Write(&record_);
    if (written.ok()) return;
    Log(LogLevel::kInfo,
        absl::StrCat("`vramspan top` will not see this process: ", written.message()));
  } catch (const std::bad_alloc&) {
  }
}

void LiveShow::Take(const LiveNumbers& now) {
  const LiveRecord before = record_;
  const vramspanStatistics& s = now.statistics;
#define VS_FIELD(name) record_.name = s.name;
  VRAMSPAN_LIVE_COUNTERS(VS_FIELD)
#undef VS_FIELD
  record_.charged_bytes = now.charged.value;
  if (now.was_short) record_.flags |= LiveRecord::kWasShort;
  for (uint32_t i = 0; i < kMoveCauses; ++i) {
    record_.moved[i] = {now.moved[i].chunks, now.moved[i].bytes.value};
    Decided(i, record_.moved[i].chunks - before.moved[i].chunks,
            record_.moved[i].bytes - before.moved[i].bytes);
  }
  const auto what = [](LiveWhat w) { return static_cast<uint32_t>(w); };
  const uint64_t late = s.deadlines - before.deadlines;
  const uint64_t in_place = s.works_in_place - before.works_in_place;
  Decided(what(LiveWhat::kDeadline), late, 0);
  Decided(what(LiveWhat::kInPlace), in_place - std::min(in_place, late),
          s.bytes_in_place - before.bytes_in_place);
  Decided(what(LiveWhat::kFailed), s.moves_failed - before.moves_failed, 0);
  if (std::exchange(looked_, true) && s.device_budget != before.device_budget) {
    Decided(what(LiveWhat::kBudget), 1, s.device_budget);
  }
}

void LiveShow::Decided(uint32_t what, uint64_t count, uint64_t bytes) {
  if (count == 0) return;
  const uint64_t now = Now();
  const bool is_state = what == static_cast<uint32_t>(LiveWhat::kBudget);
  for (LiveDecision& d : record_.decisions) {
    if (d.until == 0 || d.what != what || now - d.until > Nanoseconds(kSame) ||
        now - d.from > Nanoseconds(kLongest)) {
      continue;
    }
    d.until = now;
    d.count += static_cast<uint32_t>(count);
    d.bytes = is_state ? bytes : d.bytes + bytes;
    return;
  }
  record_.decisions[next_] = {now, now, bytes, static_cast<uint32_t>(count), what};
  next_ = (next_ + 1) % kLiveDecisions;
}

}  // namespace vramspan
