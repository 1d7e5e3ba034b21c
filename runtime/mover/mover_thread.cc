#include "runtime/mover/mover_thread.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <thread>
#include <utility>

#include "runtime/backing/device_room.h"
#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/mover/now.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

// Polling without a pause for this long after the last progress, then with short sleeps.
constexpr std::chrono::microseconds kSpin{200};
constexpr std::chrono::microseconds kShortSleep{20};
constexpr std::chrono::milliseconds kLongSleep{1};
// Between two looks while there is something to wait for: the lock is free for others meanwhile.
constexpr std::chrono::microseconds kBetweenLooks{3};
// In one round, so that other things are looked at.
constexpr std::chrono::nanoseconds kRoundTime{kRemapTimeNs};

}  // namespace

Status MoverThread::Start() {
  if (parts_.showing != nullptr) parts_.showing->Serve(&memory_.mu, parts_.signals);
  VS_ASSIGN_OR_RETURN(thread_, StartThread("vramspan-mover", [this] { Loop(); }));
  return absl::OkStatus();
}

void MoverThread::Stop() {
  {
    MutexLock lock(memory_.mu);
    stop_ = true;
    parts_.signals->Wake();
  }
  thread_.Join();
}

void MoverThread::Loop() {
  const OwnCalls own;
  // For the thread's whole life: its queries must not ruin a capture, hence the relaxed mode.
  std::optional<ScopedContext> current;
  for (bool ended = false; !ended;) {
    try {
      ended = Turn(&current);
    } catch (const std::exception& e) {
      Rest(e.what());
    }
  }
}

bool MoverThread::Turn(std::optional<ScopedContext>* current) {
  if (!current->has_value() || !(*current)->status().ok()) {
    current->emplace(memory_.driver(), memory_.options().context);
    MutexLock lock(memory_.mu);
    parts_.accounts->Record((*current)->status());
  }
  LookForRoom();
  if (memory_.supply().owes_word()) memory_.supply().TellShortage();
  if (parts_.showing != nullptr) parts_.showing->ShowIfDue();
  if (Round()) {
    last_progress_ = Clock::now();
    Changed();
    return false;
  }
  {
    MutexLock lock(memory_.mu);
    if (stop_) return true;
  }
  Pause();
  return false;
}

void MoverThread::LookForRoom() {
  DeviceRoom* const room = memory_.options().room;
  if (room == nullptr || Clock::now() < next_room_) return;
  next_room_ = Clock::now() + kRoomPeriod;
  room->Tick(memory_.supply().host_used() &&
             memory_.counts().charged > memory_.device_pool().used());
}

void MoverThread::Rest(const char* why) {
  {
    MutexLock lock(memory_.mu);
    parts_.streams->StopTracking();
    parts_.scheduler->unmapped().KeepMappedUntil(Instant::max());
    parts_.scheduler->unmapped().MapAll(memory_.any_unmapped());
    parts_.scheduler->work().AllInPlace();
    if (!std::exchange(resting_, true)) {
      char text[256];  // There may be no memory for more.
      std::snprintf(text, sizeof(text),
                    "no memory moves from here on, because an exception ended the mover's thread "
                    "(%s); the program goes on",
                    why);
      Log(LogLevel::kError, text);
    }
  }
  std::this_thread::sleep_for(kLongSleep);
}

void MoverThread::AccountStall() {
  const auto now = Clock::now();
  const WorkQueue& queue = parts_.scheduler->queue();
  const bool moving = parts_.scheduler->moves().size() != 0;
  const uint64_t calls = parts_.accounts->stats.vmm_ns;
  const bool held = held_since_ != Instant();
  if (held) {
    stalls_.Add(InstantOf(now) - held_since_, Duration(calls - held_calls_), held_moves_ || moving);
  }
  // What came since the last look has waited since it came.
  held_since_ = queue.empty() ? Instant() : held ? InstantOf(now) : queue.front()->submitted_at;
  held_moves_ = moving;
  held_calls_ = calls;
}

bool MoverThread::Round() {
  bool ends = false;
  {
    MutexLock lock(memory_.mu);
    parts_.signals->Looks();
    ends = parts_.recording->MayEnd();
  }
  if (ends) parts_.recording->TryEnd();
  bool progress = parts_.recording->TryBegin();
  if (!parts_.recording->begun()) {
    // Nothing is recorded, but streams may have been forgotten, and what was recorded may still
    // run, and keep memory that was freed.
    progress |= memory_.has_dying() && memory_.freed().Reclaim();
    MutexLock lock(memory_.mu);
    return parts_.work->PollMarks() || progress;
  }
  for (const auto until = Clock::now() + kRoundTime; Act();) {
    progress = true;
    if (Clock::now() > until) break;
  }
  if (action_ != Action::Kind::kNothing) {
    MutexLock lock(memory_.mu);
    Busy(std::exchange(action_, Action::Kind::kNothing), performs_, Clock::now());
  }
  if (memory_.has_dying() && memory_.freed().Reclaim()) {
    progress = true;
    MutexLock lock(memory_.mu);
    parts_.scheduler->LookAgain();
  }
  return progress;
}

bool MoverThread::Act() {
  MoveMaker& maker = *parts_.maker;
  const auto looked = Clock::now();
  maker.Poll();
  if (maker.any_detached()) maker.ReapDetached();
  Action action;
  bool any = false;
  {
    MutexLock lock(memory_.mu);
    if (action_ != Action::Kind::kNothing) Busy(action_, performs_, looked);
    any |= parts_.work->PollMarks();
    any |= parts_.work->PollArrivals();
    action = Decide(&any);
    performs_ = Clock::now();
    action_ = action.kind;
    if (any || action_ != Action::Kind::kNothing) Busy(Action::Kind::kNothing, looked, performs_);
  }
  maker.Perform(action);
  // Somebody may wait for the end of a move, not for its beginning.
  const bool begins = action.kind == Action::Kind::kEvict || action.kind == Action::Kind::kFetch;
  if (action.kind != Action::Kind::kNothing && !begins) parts_.signals->Done();
  return any || action.kind != Action::Kind::kNothing;
}

void MoverThread::Busy(Action::Kind with, Clock::time_point from, Clock::time_point to) {
  parts_.accounts->stats.times.Of(with) += static_cast<uint64_t>((to - from).count());
}

Action MoverThread::Decide(bool* any) {
  MoveMaker& maker = *parts_.maker;
  maker.Locked();
  *any |= maker.TakeCopied();
  maker.MakePlace();
  AccountStall();
  size_t released = 0;
  Action action = parts_.scheduler->Next(parts_.work->At());
  for (; action.kind == Action::Kind::kRelease;
       action = parts_.scheduler->Next(parts_.work->At())) {
    parts_.work->Release(static_cast<StreamWork*>(action.work));
    ++released;
  }
  const bool begins = action.kind == Action::Kind::kEvict || action.kind == Action::Kind::kFetch;
  if (begins) maker.Begin(action.move);
  if (released != 0) {
    *any = true;
    AccountStall();
    parts_.signals->Done();
    parts_.work->MadeRoom();
  }
  return action;
}

bool MoverThread::MustLook() {
  const DevicePool& pool = memory_.device_pool();
  return parts_.work->begun() != 0 || parts_.streams->draining() || memory_.has_dying() ||
         parts_.recording->asked() || pool.used() > pool.budget() || memory_.any_unmapped() ||
         (parts_.recording->begun() && parts_.scheduler->planning().pending());
}

void MoverThread::Pause() {
  const auto idle = Clock::now() - last_progress_;
  Signals& signals = *parts_.signals;
  MutexLock lock(memory_.mu);
  if (signals.pending() || stop_) return;
  signals.Done();
  Scheduler& scheduler = *parts_.scheduler;
  const bool active =
      !scheduler.queue().empty() || scheduler.moving() || parts_.maker->any_detached();
  if (active) Changed();
  if ((active && idle < kSpin) || scheduler.trials().TimedRuns(Now())) {
    memory_.mu.Unlock();
    std::this_thread::yield();
    for (const auto until = Clock::now() + kBetweenLooks; Clock::now() < until;) {
    }
    memory_.mu.Lock();
    return;
  }
  if (active) {
    signals.Sleep(memory_.mu, kShortSleep);
  } else if (MustLook()) {
    // Or what runs leaves room for what is expected behind it.
    const Duration each = std::min<Duration>(scheduler.planning().looks_each(), kLongSleep);
    signals.Sleep(memory_.mu, std::chrono::duration_cast<std::chrono::microseconds>(each));
    // What happened on the device meanwhile tells nobody.
    if (parts_.work->begun() != 0 || parts_.streams->draining()) signals.Wake();
  } else {
    Duration most = parts_.showing != nullptr ? parts_.showing->Due() : Duration::max();
    if (memory_.options().room != nullptr) most = std::min<Duration>(most, kRoomPeriod);
    if (const auto word = memory_.supply().WordDue()) most = std::min<Duration>(most, *word);
    // None at all would be no end.
    most = std::max<Duration>(most, std::chrono::microseconds(1));
    signals.Sleep(memory_.mu, most == Duration::max()
                                  ? std::chrono::microseconds(0)
                                  : std::chrono::ceil<std::chrono::microseconds>(most));
  }
}

}  // namespace vramspan
