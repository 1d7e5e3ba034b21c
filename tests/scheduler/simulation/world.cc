#include "tests/scheduler/simulation/world.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <utility>

namespace vramspan::simulation {
namespace {

constexpr Duration kOutsidePeriod = std::chrono::milliseconds(5);
constexpr uint64_t kEventsOfDrain = 400'000;
constexpr uint32_t kMostStill = 50'000;
// Chunks compared after each event, and events between two looks at all held work.
constexpr uint32_t kComparedEach = 2;
constexpr uint64_t kEventsOfQueueCheck = 512;

SchedulerOptions OptionsOf(const WorldOptions& o, EventSink* sink) {
  return {.deadline = o.deadline,
          .traced = o.traced,
          .idle_fetches = o.idle_fetches,
          .always_prints = o.always_prints,
          .device_memory = ChunkBytes(static_cast<int>(o.largest)) * o.chunks,
          .sink = sink};
}

}  // namespace

World::World(const WorldOptions& options, EventSink* sink)
    : common_(options),
      policy_(std::make_unique<ToldPolicy>(MakePolicy(options.policy).value(), sink)),
      memory_(&common_),
      scheduler_(&memory_.table(), policy_->decides(), OptionsOf(options, sink), this),
      streams_(&common_, &memory_),
      mover_(&common_, &memory_, &streams_, policy_.get()),
      program_(&common_, &memory_, policy_.get()),
      threads_(&common_, &memory_, &streams_, &mover_, &program_) {
  common_.scheduler = &scheduler_;
  if (options.shares_context) scheduler_.ShareContext();
  if (options.knows) program_.TellWhatIsKnown();
  if (options.tracked_late) {
    threads_.SubmitCounted();
  } else {
    scheduler_.Track(Tracking::kAll);
  }
  common_.heap.Add(Instant(kOutsidePeriod), Event::Kind::kOutside, 0);
}

void World::DropHostCopy(ChunkIndex c) {
  Chunk& real = memory_.chunk(c);
  if (real.state != ChunkState::kDeviceTwin && real.state != ChunkState::kDeviceStale) return;
  real.Transition(ChunkState::kDevice);
  memory_.table().NoteChange(c);
  memory_.GiveHost(c);
}

bool World::Run() {
  while (common_.events < common_.options.events && common_.verdict.ok()) Step();
  Drain();
  return common_.verdict.ok();
}

void World::Step() {
  const Event event = common_.heap.Take();
  if (event.at < common_.now) common_.verdict.Fail("time goes back");
  still_ = event.at > common_.now ? 0 : still_ + 1;
  if (still_ > kMostStill) common_.verdict.Fail("nothing comes of what happens, and time stands");
  common_.now = event.at;
  Happens(event);
  mover_.Act();
  if (std::exchange(common_.wakes, false)) {
    threads_.Poll();
    mover_.Act();
  }
  memory_.CheckSome(kComparedEach);
  CheckHead();
  if (common_.events % kEventsOfQueueCheck == 0) CheckQueue();
}

void World::Happens(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kThread:
      return threads_.GoesOn(event);
    case Event::Kind::kWorkEnd:
      return streams_.EndFirst(event);
    case Event::Kind::kCopyEnd:
      return mover_.CopyEnded(event);
    case Event::Kind::kCallEnd:
      return mover_.EndCall();
    case Event::Kind::kSeen:
      return streams_.LookAt(event.which);
    case Event::Kind::kOutside:
      return Outside();
    case Event::Kind::kDue:
      return;
  }
}

void World::Outside() {
  ++common_.events;
  common_.wakes = true;  // Who waits looks again from time to time.
  common_.heap.Add(common_.now + kOutsidePeriod, Event::Kind::kOutside, 0);
  common_.quiet = !common_.faults_on || !common_.random.Chance(50);
  if (common_.quiet) return;
  const uint64_t hundredth = memory_.total().value / 100;
  const Bytes budget(hundredth * common_.random.Between(common_.options.budget_percent / 2, 100));
  memory_.SetBudget(std::max(budget, ChunkBytes(static_cast<int>(common_.options.largest))));
  common_.Log("budget", memory_.budget().value);
  scheduler_.LookAgain();
}

void World::CheckHead() {
  const WorkQueue& queue = scheduler_.queue();
  most_held_ = std::max(most_held_, queue.size());
  if (queue.empty()) {
    head_ = nullptr;
    return;
  }
  const auto* const head = static_cast<const SimWork*>(queue.front());
  if (head != head_ || head->submission != head_submission_) {
    head_ = head;
    head_submission_ = head->submission;
    Bytes bytes;
    head->ForEach([&](const ChunkUse& use) { bytes += memory_.chunk(use.chunk).size(); });
    // The wait grows with what work was seen to take, and with what running kernels may.
    const Duration wait = std::max(common_.options.deadline, Patience::kMostKnown);
    // In a shared context its copy may be stuck as well, which is given up after as long.
    const int waits = common_.options.shares_context ? 22 : 11;
    head_until_ = common_.now + waits * wait + Duration(bytes.value);
    head_slow_ = common_.slow;
  } else if (common_.now > head_until_ + (common_.slow - head_slow_)) {
    common_.verdict.Fail("work %llu is the first that is held, and is not let go:%s",
                         static_cast<unsigned long long>(head->id), Describe(*head).c_str());
  }
}

std::string World::Describe(const SimWork& work) {
  Scheduler& s = scheduler_;
  std::string text = absl::StrFormat(
      " kind %d, access %d, in place %d, needs arrival %d, in submission %d; %d barriers, queried "
      "%d, %d unknown in submission, %d unmapped, %d moves;",
      work.kind, work.access, work.run_in_place, work.needs_arrival, work.in_submission,
      s.counts().barriers(), s.reachability().queried(), s.counts().unknown_in_submission(),
      s.residency().unmapped(), s.moves().size());
  work.ForEach([&](const ChunkUse& use) {
    const Chunk& c = memory_.chunk(use.chunk);
    absl::StrAppendFormat(&text, " %d %s%s%s,", use.chunk.value, ChunkStateName(c.state),
                          c.unmapped ? " unmapped" : "", c.lost ? " lost" : "");
  });
  return text;
}

void World::CheckQueue() {
  uint64_t before = 0;
  for (const Work* work : scheduler_.queue()) {
    const uint64_t submission = static_cast<const SimWork*>(work)->submission;
    if (submission <= before) common_.verdict.Fail("held work is not in order");
    before = submission;
  }
}

void World::Drain() {
  common_.faults_on = false;
  threads_.Stop();
  const uint64_t until = common_.events + kEventsOfDrain;
  const auto drained = [&] {
    return threads_.done() && streams_.under_way() == 0 && scheduler_.queue().empty() &&
           !scheduler_.moving() && mover_.detached() == 0 && !mover_.calling();
  };
  while (common_.verdict.ok() && !drained() && common_.events < until) Step();
  if (!common_.verdict.ok()) return;
  if (!drained()) {
    common_.verdict.Fail("without faults it does not end: %zu held, %zu works, %zu moves",
                         scheduler_.queue().size(), streams_.under_way(),
                         scheduler_.moves().size());
    return;
  }
  CheckEnd();
}

void World::CheckEnd() {
  memory_.CheckIdle();
  if (scheduler_.counts().barriers() != 0 || scheduler_.counts().in_submission() != 0 ||
      scheduler_.counts().unknown_in_submission() != 0 || scheduler_.reachability().queried()) {
    common_.verdict.Fail(
        "at the end the scheduler counts %u barriers, %u in submission, %u of "
        "unknown work",
        scheduler_.counts().barriers(), scheduler_.counts().in_submission(),
        scheduler_.counts().unknown_in_submission());
  }
}

}  // namespace vramspan::simulation
