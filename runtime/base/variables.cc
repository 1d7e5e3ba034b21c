#include "runtime/base/variables.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/suggest.h"

namespace vramspan {
namespace {

constexpr auto kVariables = std::to_array<std::string_view>({
    "VRAMSPAN_ARENA",
    "VRAMSPAN_AUDIT",
    "VRAMSPAN_AUDIT_TRUST",
    "VRAMSPAN_BLOCKS",
    "VRAMSPAN_BROKER",
    "VRAMSPAN_CHUNK",
    "VRAMSPAN_CLAIMS",
    "VRAMSPAN_CLASS",
    "VRAMSPAN_CUPTI",
    "VRAMSPAN_CUPTI_TRACER",
    "VRAMSPAN_DEVICE_MEMORY",
    "VRAMSPAN_DRIVER",
    "VRAMSPAN_GRAPHS",
    "VRAMSPAN_HOST_MEMORY",
    "VRAMSPAN_IMAGES",
    "VRAMSPAN_KEEP",
    "VRAMSPAN_KERNELS",
    "VRAMSPAN_LEARNED",
    "VRAMSPAN_LIFETIMES",
    "VRAMSPAN_LOG",
    "VRAMSPAN_NO_COMMAND_LINE",
    "VRAMSPAN_OFF",
    "VRAMSPAN_OVERLAP",
    "VRAMSPAN_POLICY",
    "VRAMSPAN_PROFILE",
    "VRAMSPAN_PROFILE_DEVICE",
    "VRAMSPAN_QUIET",
    "VRAMSPAN_READ",
    "VRAMSPAN_READER",
    "VRAMSPAN_RECORD",
    "VRAMSPAN_RECORD_EVENTS",
    "VRAMSPAN_RECORD_TIMES",
    "VRAMSPAN_REPORT",
    "VRAMSPAN_SIMULATE",
    "VRAMSPAN_STATS",
    "VRAMSPAN_STDERR",
    kToldVariable,
    "VRAMSPAN_TOP",
    "VRAMSPAN_TRACER",
    "VRAMSPAN_TRUST",
    "VRAMSPAN_WEIGHT",
});

constexpr auto kOfTests = std::to_array<std::string_view>({
    "VRAMSPAN_BROKER_DAEMON",
    "VRAMSPAN_BROKER_EVENTS",
    "VRAMSPAN_BROKER_SEED",
    "VRAMSPAN_CHROMIUM",
    "VRAMSPAN_KILL_SEED",
    "VRAMSPAN_NIGHTLY",
    "VRAMSPAN_REPEATED_WORLDS",
    "VRAMSPAN_RESULTS",
    "VRAMSPAN_SIMULATION_SECONDS",
    "VRAMSPAN_SIMULATION_SEED",
    "VRAMSPAN_TEST_ALONE",
    "VRAMSPAN_TEST_EVERY_CALL",
    "VRAMSPAN_TEST_PRELOAD",
    "VRAMSPAN_TEST_TOKEN",
    "VRAMSPAN_TORTURE",
    "VRAMSPAN_TORTURE_SECONDS",
    "VRAMSPAN_TORTURE_SEED",
});

// Of one line.
constexpr size_t kMostNamed = 4;
constexpr size_t kLongestName = 60;

bool IsKnown(std::string_view name) {
  return std::binary_search(kVariables.begin(), kVariables.end(), name) ||
         std::binary_search(kOfTests.begin(), kOfTests.end(), name);
}

// Without what all begin with, by which all would be near.
std::string Guess(std::string_view name) {
  std::vector<std::string> words;
  for (const std::string_view each : kVariables) {
    words.emplace_back(each.substr(kVariablePrefix.size()));
  }
  const std::string guess = DidYouMean(name.substr(kVariablePrefix.size()), words);
  const size_t word = guess.find('\'');
  if (word == std::string::npos) return "";
  return absl::StrCat(guess.substr(0, word + 1), kVariablePrefix, guess.substr(word + 1));
}

}  // namespace

static_assert(std::is_sorted(kVariables.begin(), kVariables.end()));
static_assert(std::is_sorted(kOfTests.begin(), kOfTests.end()));

absl::Span<const std::string_view> Variables() { return kVariables; }
absl::Span<const std::string_view> VariablesOfTests() { return kOfTests; }

std::string UnknownVariables(const char* const* environment) {
  std::string text;
  size_t unknown = 0;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view whole = *environment, name = whole.substr(0, whole.find('='));
    if (!name.starts_with(kVariablePrefix) || IsKnown(name) || ++unknown > kMostNamed) continue;
    if (!text.empty()) absl::StrAppend(&text, text.ends_with('?') ? " " : ". ");
    absl::StrAppend(&text, CleanText(name, kLongestName), " is no variable of vramspan",
                    Guess(name));
  }
  if (unknown > kMostNamed) {
    absl::StrAppend(&text, text.ends_with('?') ? " " : ". ", unknown - kMostNamed,
                    " more are none, either");
  }
  return text;
}

void TellUnknownVariables() {
  static constinit std::atomic<bool> told{false};
  if (told.exchange(true, std::memory_order_relaxed) || std::getenv(kToldVariable) != nullptr) {
    return;
  }
  const std::string unknown = UnknownVariables(environ);
  if (!unknown.empty()) Log(LogLevel::kWarning, unknown);
}

}  // namespace vramspan
