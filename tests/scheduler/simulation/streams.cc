#include "tests/scheduler/simulation/streams.h"

#include <algorithm>
#include <bit>

namespace vramspan::simulation {

Streams::Streams(Common* common, ModelMemory* memory)
    : common_(*common), memory_(*memory), streams_(common->options.streams) {}

SimWork* Streams::New() {
  if (spare_.empty()) {
    works_.push_back(std::make_unique<SimWork>());
    spare_.push_back(works_.back().get());
  }
  SimWork* const work = spare_.back();
  spare_.pop_back();
  work->Renew();
  work->id = next_id_++;
  ++under_way_;
  return work;
}

void Streams::Recycle(SimWork* work) {
  work->submission = 0;
  --under_way_;
  spare_.push_back(work);
}

void Streams::Push(SimWork* work) {
  Stream& s = streams_[work->stream];
  s.works.push_back(work);
  if (common_.options.follows_writers) ChoosePrints(work);
  if (work->needs_arrival && s.works.size() == s.ended + 1) {
    if (common_.Strikes(Fault::kLateArrival)) {
      work->seen_at =
          common_.now + common_.random.Between(Duration(0), std::chrono::milliseconds(30));
      common_.heap.Add(work->seen_at, Event::Kind::kSeen, work->stream);
    }
    LookAt(work->stream);
  }
}

void Streams::Enqueued(SimWork* work) {
  work->enqueued = true;
  TryStart(work->stream);
}

void Streams::Left(SimWork* work) {
  work->submitted = true;
  LookAt(work->stream);
}

void Streams::ChoosePrints(SimWork* work) {
  if (!prints_) prints_.emplace(&memory_.table(), &common_.scheduler->queue());
  prints_->Choose(work, /*host_used=*/true, [this]() -> std::optional<uint32_t> {
    if (common_.random.Chance(100)) return std::nullopt;
    return 0;
  });
  if (!work->held || work->prints.places.empty()) return;
  common_.scheduler->work().FollowedBy(work, common_.random.Between(1, 3));
}

void Streams::Released(SimWork* work) {
  if (work->stream == SimWork::kNoStream) return;
  if (common_.options.follows_writers) {
    std::vector<WorkPrint> asked;
    prints_->Ask(*work, /*host_used=*/true, [&](const WorkPrint& p) { asked.push_back(p); });
    work->prints.places = std::move(asked);
  }
  TryStart(work->stream);
}

void Streams::Cancel(SimWork* work) {
  if (prints_) prints_->Drop(work);
  Stream& s = streams_[work->stream];
  std::erase(s.works, work);
  NoLongerAwaited(*work);
  TryStart(work->stream);
  LookAt(work->stream);
}

bool Streams::MakeOneWaitFor(SimWork* work) {
  if (!HasEnded(spins_) || work->ended) return false;
  for (uint32_t i = 0; i < streams_.size(); ++i) {
    Stream& s = streams_[i];
    if (i == work->stream || s.ended == s.works.size()) continue;
    SimWork* const runs = s.works[s.ended];
    if (!runs->started || runs->kind != Work::Kind::kScope || runs->submission > work->submission) {
      continue;
    }
    runs->spins = true;
    ++s.generation;  // It does not end by itself any more.
    spins_ = {runs, runs->submission};
    target_ = {work, work->submission};
    common_.Log("spins", runs->id, work->id);
    return true;
  }
  return false;
}

void Streams::TryStart(uint32_t stream) {
  Stream& s = streams_[stream];
  while (s.ended < s.works.size()) {
    SimWork* const work = s.works[s.ended];
    if (work->started || !work->released || !work->enqueued) return;
    work->started = true;  // Before it looks: that it was released is some time ago.
    const bool runs = work->kind == Work::Kind::kScope && !common_.dead;
    if (runs) {
      memory_.CheckFound(*work, "starting");
      memory_.Touch(*work, /*all=*/true);
      ScheduleEnd(stream, work->duration);
      return;
    }
    End(stream);
  }
}

void Streams::ScheduleEnd(uint32_t stream, Duration after) {
  common_.heap.Add(common_.now + after, Event::Kind::kWorkEnd, stream,
                   ++streams_[stream].generation);
}

void Streams::EndFirst(const Event& event) {
  Stream& s = streams_[event.which];
  if (event.generation != s.generation || s.ended == s.works.size()) return;
  SimWork* const work = s.works[s.ended];
  if (!work->started || work->spins) return;
  ++common_.events;
  if (!common_.dead) {
    memory_.CheckFound(*work, "ending");
    memory_.Touch(*work, /*all=*/false);
  }
  End(event.which);
  TryStart(event.which);
}

void Streams::End(uint32_t stream) {
  Stream& s = streams_[stream];
  SimWork* const work = s.works[s.ended++];
  work->ended = true;
  common_.wakes = true;
  if (common_.options.follows_writers) TakePrints(work);
  if (common_.Strikes(Fault::kLateEnd)) {
    work->seen_at =
        common_.now + common_.random.Between(Duration(0), std::chrono::milliseconds(30));
    common_.heap.Add(work->seen_at, Event::Kind::kSeen, stream);
  }
  LookAt(stream);
  NoLongerAwaited(*work);
}

void Streams::NoLongerAwaited(const SimWork& work) {
  if (target_.work != &work || target_.submission != work.submission) return;
  target_ = {};
  const WorkName spins = std::exchange(spins_, {});
  if (HasEnded(spins)) return;
  spins.work->spins = false;
  ScheduleEnd(spins.work->stream, std::chrono::microseconds(1));
}

void Streams::TakePrints(SimWork* work) {
  if (common_.dead) return;
  for (const WorkPrint& p : work->prints.places) {
    work->found.push_back({p.chunk, {memory_[p.chunk].mapped_version(), p.chunk.value}});
  }
}

void Streams::ContextDied() {
  for (uint32_t i = 0; i < streams_.size(); ++i) {
    Stream& s = streams_[i];
    if (s.ended < s.works.size() && s.works[s.ended]->started) {
      s.works[s.ended]->spins = false;
      ScheduleEnd(i, Duration(0));
    }
    LookAt(i);
  }
}

void Streams::ForEachRunning(absl::FunctionRef<void(const Work&)> visit) {
  for (const Stream& s : streams_) {
    if (!s.works.empty() && s.works.front()->released) visit(*s.works.front());
  }
}

void Streams::Drains(size_t works) {
  counted_ = works;
  common_.draining = works != 0;
  if (works == 0) common_.scheduler->Track(Tracking::kAll);
}

void Streams::Report() {
  for (; look_ != 0; look_ &= look_ - 1) {
    ReportStream(static_cast<uint32_t>(std::countr_zero(look_)));
  }
  common_.scheduler->work().Looked(common_.now);
}

void Streams::ReportStream(uint32_t stream) {
  Stream& s = streams_[stream];
  while (s.ended != 0) {
    SimWork* const work = s.works.front();
    if (!work->submitted || (work->seen_at > common_.now && !common_.dead)) break;
    s.works.pop_front();
    --s.ended;
    ReportEnd(&s, work);
  }
  if (s.ended == s.works.size()) return;
  SimWork* const next = s.works[s.ended];
  if (!next->held || !next->needs_arrival || next->arrival_seen) return;
  if (next->seen_at > common_.now) return;
  next->arrival_seen = true;
  ++common_.events;
  common_.Log("arrived", next->id);
  common_.scheduler->work().Arrived(next);
}

void Streams::ReportEnd(Stream* s, SimWork* work) {
  ++common_.events;
  common_.wakes = true;
  common_.Log("ended", work->id);
  NoteReleased(*work, -1);
  memory_.Released(*work, -1);
  if (common_.Lies(Sabotage::kForgetFinished)) return;
  if (work->counted) {
    common_.scheduler->work().CountedEnded(*work);
    Drains(counted_ - 1);
  } else {
    for (const SimWork::Print& print : work->found) {
      if (common_.scheduler->Found(print.chunk, work->id, print.print)) {
        memory_.chunk(print.chunk).Transition(ChunkState::kDevice);
        memory_.table().NoteChange(print.chunk);
        memory_.GiveHost(print.chunk);
      }
    }
    common_.scheduler->work().Finished(work, s->last_seen, /*at_once=*/work->seen_at == Instant(),
                                       common_.now);
    s->last_seen = common_.now;
  }
  if (work->uses.size() != 0) memory_.Check(work->uses.front().chunk);
  Recycle(work);
}

}  // namespace vramspan::simulation
