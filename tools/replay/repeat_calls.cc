// Each event as the call that it was, where the scheduler's owner may make it.
#include <absl/strings/str_cat.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <utility>

#include "tools/replay/repeat_events.h"

namespace vramspan::replay {
namespace {

using Stage = ChunkMove::Stage;
using trace::EventRecord;

// As far from the first as any time may be, so that many of them can be added.
constexpr Duration kLongest{int64_t{1} << 50};
constexpr uint32_t kMostPolicyChunks = 1 << 20;
constexpr double kMostTaughtPasses = 1e6;
constexpr size_t kMostPlaces = 1 << 16;
constexpr uint64_t kLargest = uint64_t{1} << 56;  // Bytes.

}  // namespace

bool EventRepeater::IsTime(Instant time) {
  if (!first_time_) first_time_ = time;
  const Duration far = time - *first_time_;
  return far < kLongest && far > -kLongest;
}

void EventRepeater::Forget(const KnownWork& work) { known_.erase(work.id); }

bool EventRepeater::Acted(const Action& action) {
  if (action.kind == Action::Kind::kRelease) {
    ready_ = static_cast<KnownWork*>(action.work);
    ready_->stage = WorkStage::kReady;
  }
  if (action.kind == Action::Kind::kMapOnHost) mapping_ = action.chunk;
  if (action.kind != Action::Kind::kEvict && action.kind != Action::Kind::kFetch) return true;
  const uint32_t place = action.move->place;
  if (place >= kMostPlaces) return false;
  if (moves_.size() <= place) moves_.resize(place + size_t{1});
  moves_[place] = action.move;
  return true;
}

bool EventRepeater::Call(const EventRecord& e, EventAnswer* answer) {
  // What may go is let go before anything else happens.
  if (ready_ != nullptr && (e.kind != Kind::kReleased || e.work != ready_->id)) return false;
  const EventFields has = FieldsOf(e.kind);
  if (has.work) return CallOfWork(e, answer);
  if (has.move) return CallOfMove(e, answer);
  if (has.chunk) return CallOfChunk(e, answer);
  return CallOfAll(e, answer);
}

bool EventRepeater::CallOfAll(const EventRecord& e, EventAnswer* answer) {
  Scheduler& s = *scheduler_;
  switch (e.kind) {
    case Kind::kNext:
      answer->action = s.Next(e.at);
      return true;
    case Kind::kDue:
      answer->value = static_cast<uint64_t>(s.Due(e.at, e.other).time_since_epoch().count());
      return true;
    case Kind::kLookAgain:
      s.LookAgain();
      return true;
    case Kind::kTrack:
      if (e.value > static_cast<uint64_t>(Tracking::kAll)) return false;
      s.Track(static_cast<Tracking>(e.value));
      return true;
    case Kind::kShareContext:
      s.ShareContext();
      return true;
    case Kind::kTeach: {
      const auto passes = std::bit_cast<double>(e.second);
      if (!std::isfinite(passes) || passes < 0 || passes > kMostTaughtPasses) return false;
      if (e.third > static_cast<uint64_t>(kLongest.count())) return false;
      s.Teach(e.value, passes, e.third);
      return true;
    }
    case Kind::kKnow:
      if (e.second > static_cast<uint64_t>(kLongest.count()) || e.third > kLargest) return false;
      s.Know(e.value, e.second, Bytes(e.third));
      return true;
    case Kind::kKnowArgument: {
      const auto passes = std::bit_cast<double>(e.third);
      if (!std::isfinite(passes) || passes < 0 || passes > kMostTaughtPasses) return false;
      s.KnowArgument(e.value, UnpackedPrice(e.second, passes));
      return true;
    }
    case Kind::kFull:
      answer->value = static_cast<uint64_t>(
          s.work().Full((e.value & 1) != 0, static_cast<uint32_t>(e.value >> 1)));
      return true;
    case Kind::kLooked:
      answer->value = static_cast<uint64_t>(s.work().Looked(e.now));
      return true;
    case Kind::kForeignWorkBegan:
      s.work().ForeignWorkBegan(e.now);
      return true;
    case Kind::kForeignWorkEnded:
      answer->value = static_cast<uint64_t>(s.work().ForeignWorkEnded());
      return true;
    case Kind::kAnyMayBeWritten:
      s.work().AnyMayBeWritten(e.value != 0);
      return true;
    case Kind::kContextDied:
      s.work().ContextDied();
      return true;
    case Kind::kAllInPlace:
      s.work().AllInPlace();
      return true;
    case Kind::kQueryBegan:
      s.reachability().QueryBegan();
      return true;
    case Kind::kQueryMustWait:
      answer->value = static_cast<uint64_t>(s.reachability().QueryMustWait());
      return true;
    case Kind::kQueryEnded:
      answer->value = static_cast<uint64_t>(s.reachability().QueryEnded());
      return true;
    case Kind::kKeepMappedUntil:
      s.unmapped().KeepMappedUntil(e.other);
      return true;
    case Kind::kMapAll:
      s.unmapped().MapAll(e.value != 0);
      return true;
    default:
      return false;
  }
}

bool EventRepeater::CallOfWork(const EventRecord& e, EventAnswer* answer) {
  const auto found = known_.find(e.work);
  if (found == known_.end()) return false;
  KnownWork& w = *found->second;
  Scheduler& s = *scheduler_;
  const bool is_new = w.stage == WorkStage::kNew, held = w.stage == WorkStage::kHeld;
  const bool captured = w.kind == Work::Kind::kCaptured;
  const bool released = w.stage == WorkStage::kReleased;
  switch (e.kind) {
    case Kind::kWant:
      if (!is_new) return false;
      s.Want(&w);
      return true;
    case Kind::kMustWait:
      answer->value = static_cast<uint64_t>(s.reachability().MustWait(w));
      return true;
    case Kind::kSubmit:
      if (!is_new || captured || !IsTime(e.other) || !UsesLive(w)) return false;
      w.needs_arrival = (e.value & 1) != 0;
      w.submitted = (e.value & 2) != 0;
      w.submitted_at = e.other;
      answer->value = static_cast<uint64_t>(s.work().Submit(&w, e.at));
      w.stage = answer->value != 0 ? WorkStage::kReleased : WorkStage::kHeld;
      return true;
    case Kind::kSetInSubmission:
      if (w.stage == WorkStage::kCounted || (is_new && !(captured && UsesLive(w)))) return false;
      s.work().SetInSubmission(&w, e.value != 0);
      if (captured && e.value == 0) Forget(w);
      return true;
    case Kind::kFollowedBy:
      if (!held || w.prints.launches != 0 || e.value > UINT16_MAX) return false;
      s.work().FollowedBy(&w, static_cast<uint32_t>(e.value));
      return true;
    case Kind::kCancelled:
      if (!held && !released) return false;
      answer->value = static_cast<uint64_t>(s.work().Cancelled(&w));
      Forget(w);
      return true;
    case Kind::kCounted:
      if (!is_new || captured || !UsesLive(w)) return false;
      s.work().Counted(&w);
      w.stage = WorkStage::kCounted;
      return true;
    case Kind::kCountedEnded:
      if (w.stage != WorkStage::kCounted) return false;
      s.work().CountedEnded(w);
      Forget(w);
      return true;
    case Kind::kArrived:
      if (!held) return false;
      s.work().Arrived(&w);
      return true;
    case Kind::kArrivesUntold:
      if (!held) return false;
      s.work().ArrivesUntold(&w);
      return true;
    case Kind::kReleased:
      if (&w != ready_) return false;
      ready_ = nullptr;
      s.work().Released(&w, e.at);
      answer->value = w.remote.value << 1 | static_cast<uint64_t>(w.timed);
      w.stage = WorkStage::kReleased;
      if (w.kind == Work::Kind::kPin) Forget(w);
      return true;
    case Kind::kFinished:
      if (!released || w.in_submission) return false;
      s.work().Finished(&w, e.other, e.value != 0, e.now);
      Forget(w);
      return true;
    default:
      return false;
  }
}

bool EventRepeater::UsesLive(const KnownWork& work) const {
  for (const ChunkUse& use : work.all) {
    if ((*chunks_)[use.chunk].state == ChunkState::kNone) return false;
  }
  return true;
}

bool EventRepeater::CallOfMove(const EventRecord& e, EventAnswer* answer) {
  if (e.move >= moves_.size() || moves_[e.move] == nullptr) return false;
  ChunkMove* const move = moves_[e.move];
  Scheduler& s = *scheduler_;
  const Stage stage = move->stage;
  switch (e.kind) {
    case Kind::kStarted:
      if (stage != Stage::kStarting) return false;
      s.moves().Started(move);
      return true;
    case Kind::kRefused:
      // The mover says that a move has started before it takes the memory, which may be gone.
      if (stage != Stage::kStarting && stage != Stage::kCopying) return false;
      moves_[e.move] = nullptr;
      s.Refused(move, e.value != 0, e.now);
      return true;
    case Kind::kCopied:
      if (stage != Stage::kCopying) return false;
      s.moves().Copied(move,
                       {.ok = (e.value & 1) != 0, .equal = (e.value & 2) != 0, .print = e.print});
      return true;
    case Kind::kBeginRemap:
      if (stage != Stage::kCopied) return false;
      answer->value = static_cast<uint64_t>(s.BeginRemap(move, e.now));
      return true;
    case Kind::kNotRemapped:
      if (stage != Stage::kCopied && stage != Stage::kRemapping) return false;
      s.moves().NotRemapped(move);
      return true;
    case Kind::kRemapped: {
      const bool mends = stage == Stage::kLost && !move->ahead;
      if (e.value > static_cast<uint64_t>(RemapOutcome::kLost)) return false;
      if (stage != Stage::kRemapping && !mends) return false;
      const auto outcome = static_cast<RemapOutcome>(e.value);
      if (outcome == RemapOutcome::kDone) moves_[e.move] = nullptr;
      s.Remapped(move, outcome, {.now = e.now, .host_has_room = e.second != 0});
      return true;
    }
    case Kind::kUnmapped:
      if (!move->ahead ||
          (stage != Stage::kFailed && stage != Stage::kLost && stage != Stage::kRemapping)) {
        return false;
      }
      s.Unmapped(move, e.value != 0, e.now);
      return true;
    case Kind::kGiveUp:
      if (stage != Stage::kFailed || move->ahead) return false;
      moves_[e.move] = nullptr;
      s.GiveUp(move, e.value != 0, e.now);
      return true;
    case Kind::kDetach:
      if (stage != Stage::kCopying) return false;
      s.moves().Detach(move);
      return true;
    case Kind::kDetachedEnded:
      if (stage != Stage::kDetached) return false;
      moves_[e.move] = nullptr;
      s.moves().DetachedEnded(move);
      return true;
    default:
      return false;
  }
}

bool EventRepeater::CallOfChunk(const EventRecord& e, EventAnswer* answer) {
  // Who tells a policy may be ahead of what is told of the chunk.
  if (!e.chunk || e.chunk.value >= kMostPolicyChunks) return false;
  switch (e.kind) {
    case Kind::kInserted:
      policy_->OnInsert(e.chunk);
      return true;
    case Kind::kRemoved:
      policy_->OnRemove(e.chunk);
      return true;
    case Kind::kAdvised:
      policy_->Advise(e.chunk, (e.value & 1) != 0, (e.value & 2) != 0);
      return true;
    default:
      break;
  }
  if (!IsChunk(e.chunk)) return false;
  Scheduler& s = *scheduler_;
  switch (e.kind) {
    case Kind::kMappedOnHost:
      if (e.chunk != mapping_) return false;
      mapping_ = ChunkIndex();
      s.MappedOnHost(e.chunk, e.value != 0, e.now);
      return true;
    case Kind::kUsersDeclared:
      s.UsersDeclared(e.chunk);
      return true;
    case Kind::kGivenUp:
      s.work().GivenUp(e.chunk, e.value != 0);
      return true;
    case Kind::kOwned:
      s.work().Owned(e.chunk);
      return true;
    case Kind::kFound:
      if (!e.print.has_value()) return false;
      answer->value = static_cast<uint64_t>(s.Found(e.chunk, e.value, *e.print));
      return true;
    default:
      return false;
  }
}

}  // namespace vramspan::replay
