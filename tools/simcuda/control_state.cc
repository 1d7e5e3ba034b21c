#include "tools/simcuda/control_state.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tools/simcuda/entry_table.h"
#include "tools/simcuda/environment.h"

namespace simcuda {
namespace {

bool Matches(std::string_view name, const EntryInfo& entry) {
  if (name == "*") return entry.needs != Needs::kNothing;
  return name == entry.base || name == entry.symbol;
}

bool Known(std::string_view name) {
  if (name == "*") return true;
  for (size_t id = 0; id < EntryCount(); ++id) {
    if (Matches(name, Entry(id))) return true;
  }
  return false;
}

template <typename T>
bool ReadNumber(std::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

void Delay(unsigned microseconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  // Sleeping takes some 60 µs at least, so short delays are spun.
  if (microseconds > 100) std::this_thread::sleep_until(until);
  while (std::chrono::steady_clock::now() < until) {
  }
}

// Calls on_item(name, rest) for each "name:rest" of a comma separated list.
template <typename F>
void ForEachItem(const char* variable, const char* wanted, const F& on_item) {
  const char* value = getenv(variable);
  if (value == nullptr) return;
  std::string_view list = value;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    const size_t colon = item.find(':');
    if (colon == std::string_view::npos ||
        !on_item(item.substr(0, colon), item.substr(colon + 1))) {
      EnvRefuse(variable, value, wanted);
    }
  }
}

}  // namespace

ControlState& ControlState::Get() {
  static ControlState* const state = new ControlState();
  return *state;
}

ControlState::ControlState() : calls_(EntryCount()), delays_(EntryCount()) { ReadEnvironment(); }

void ControlState::ReadEnvironment() {
  ForEachItem("SIMCUDA_FAIL", "entries such as cuMemMap:3 or cuMemCreate:always=2",
              [this](std::string_view name, std::string_view rest) {
                int result = CUDA_ERROR_UNKNOWN;
                const size_t equals = rest.find('=');
                if (equals != std::string_view::npos) {
                  if (!ReadNumber(rest.substr(equals + 1), &result)) return false;
                  rest = rest.substr(0, equals);
                }
                uint64_t nth = 1;
                const bool always = rest == "always";
                const bool onwards = !always && !rest.empty() && rest.back() == '+';
                if (onwards) rest.remove_suffix(1);
                if (!always && (!ReadNumber(rest, &nth) || nth == 0)) return false;
                return Fail(name, nth, always || onwards ? -1 : 1, static_cast<CUresult>(result));
              });
  ForEachItem("SIMCUDA_DELAY", "entries such as cuMemMap:20 (microseconds)",
              [this](std::string_view name, std::string_view rest) {
                unsigned microseconds = 0;
                return ReadNumber(rest, &microseconds) && SetDelay(name, microseconds);
              });
}

CUresult ControlState::OnCall(size_t entry_id) {
  calls_[entry_id].fetch_add(1, std::memory_order_relaxed);
  const unsigned delay = delays_[entry_id].load(std::memory_order_relaxed);
  if (delay != 0) Delay(delay);
  return has_rules_.load(std::memory_order_acquire) ? ApplyRules(entry_id) : CUDA_SUCCESS;
}

CUresult ControlState::ApplyRules(size_t entry_id) {
  MutexLock lock(mutex_);
  CUresult result = CUDA_SUCCESS;
  for (FailRule& rule : rules_) {
    if (rule.left == 0 || !Matches(rule.name, Entry(entry_id))) continue;
    if (rule.skip > 0) {
      --rule.skip;
    } else if (result == CUDA_SUCCESS) {
      if (rule.left > 0) --rule.left;
      result = rule.result;
    }
  }
  if (result != CUDA_SUCCESS) failed_calls_.fetch_add(1, std::memory_order_relaxed);
  return result;
}

bool ControlState::Fail(std::string_view name, uint64_t nth, int64_t count, CUresult result) {
  if (!Known(name) || nth == 0) return false;
  MutexLock lock(mutex_);
  rules_.push_back({std::string(name), nth - 1, count, result});
  has_rules_.store(true, std::memory_order_release);
  return true;
}

bool ControlState::SetDelay(std::string_view name, unsigned microseconds) {
  if (!Known(name)) return false;
  for (size_t id = 0; id < EntryCount(); ++id) {
    if (Matches(name, Entry(id))) delays_[id].store(microseconds, std::memory_order_relaxed);
  }
  return true;
}

int64_t ControlState::CallCount(std::string_view name) const {
  if (!Known(name)) return -1;
  uint64_t sum = 0;
  for (size_t id = 0; id < EntryCount(); ++id) {
    if (Matches(name, Entry(id))) sum += calls_[id].load(std::memory_order_relaxed);
  }
  return static_cast<int64_t>(sum);
}

void ControlState::Reset() {
  MutexLock lock(mutex_);
  rules_.clear();
  has_rules_.store(false, std::memory_order_release);
  failed_calls_.store(0, std::memory_order_relaxed);
  for (auto& calls : calls_) calls.store(0, std::memory_order_relaxed);
  for (auto& delay : delays_) delay.store(0, std::memory_order_relaxed);
}

}  // namespace simcuda
