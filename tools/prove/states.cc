#include "tools/prove/states.h"

namespace vramspan::prove {
namespace {

// Of 3,143 kernels of libraries none needed more than 2 MiB, nor 51 units for each instruction.
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr uint64_t kMostWork = 1 << 16, kMostWorkEach = 512;
// Of taking one state into another, in instructions gone through.
constexpr uint64_t kJoin = 8, kBytesPerUnit = 256;

}  // namespace

States::States(size_t instructions)
    : before_(instructions), function_(instructions, kNone), queued_(instructions) {}

void States::Enter(size_t at, const State& state, size_t function) {
  if (at >= before_.size()) {
    odd_ = "its code has no end";
    return;
  }
  Work(kJoin + state.Bytes() / kBytesPerUnit);
  bool changed = true;
  if (before_[at] == nullptr) {
    before_[at] = std::make_unique<State>(state);
    function_[at] = function;
    Keep(state.Bytes());
  } else {
    const size_t bytes = before_[at]->Bytes();
    changed = before_[at]->Join(state);
    Keep(before_[at]->Bytes() - bytes);
    // Whom it returns to depends on the function.
    if (function_[at] != function) odd_ = "two functions have code in common";
  }
  if (!changed || queued_[at]) return;
  queued_[at] = true;
  queue_.push_back(at);
}

std::optional<size_t> States::Next() {
  if (queue_.empty()) return std::nullopt;
  const size_t at = queue_.front();
  queue_.pop_front();
  queued_[at] = false;
  return at;
}

void States::RepeatAll() {
  for (size_t at = 0; at < before_.size(); ++at) {
    if (before_[at] == nullptr || queued_[at]) continue;
    queued_[at] = true;
    queue_.push_back(at);
  }
}

std::string_view States::Limit() const {
  if (!odd_.empty()) return odd_;
  if (bytes_ > kMostBytes) return "too much is to be kept in mind";
  if (work_ > kMostWork + kMostWorkEach * before_.size()) return "it takes too long to follow";
  return "";
}

}  // namespace vramspan::prove
