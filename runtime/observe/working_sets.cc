#include "runtime/observe/working_sets.h"

#include <absl/algorithm/container.h>
#include <absl/hash/hash.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace vramspan {
namespace {

// What is the same for launches that go as far from each of their pointers; never 0.
uint32_t KindOf(const Submission& s) {
  size_t hash = absl::HashOf(s.code, s.shape, s.numbers);
  // What a graph does is told by nothing else, and may have been exchanged.
  if (s.kind == Submission::Kind::kGraph) {
    for (const Touch& touch : s.touches) hash = absl::HashOf(hash, touch.ptr.value);
  }
  return static_cast<uint32_t>(hash >> 32) | 1;
}

// The code of a launch, told from others; WorkingSets::kSeveral for a graph, which is many.
uint32_t CodeOf(const Submission& s) {
  if (s.kind == Submission::Kind::kGraph) return 0;
  return static_cast<uint32_t>(absl::HashOf(s.code) >> 32) | 1;
}

}  // namespace

void WorkingSets::Infer(const Submission& submission, bool possible,
                        absl::FunctionRef<Extent(const Touch&)> allocation,
                        std::vector<InferredRange>* out, Repeatable* again) {
  out->clear();
  MutexLock lock(mu_);
  ++infers_;
  named_.clear();
  const uint32_t code = CodeOf(submission);
  const uint32_t kind = possible ? KindOf(submission) : 0;
  const Launch launch{submission, code, code == kSeveral ? kind : code, kind,
                      possible && submission.trust >= Trust::kArrays};
  // All pointers of the launch bound each other, so all are seen before any range is told.
  Known* last = nullptr;
  DevicePtr last_base;
  for (const Touch& touch : submission.touches) {
    const Extent extent = allocation(touch);
    named_.push_back({extent, nullptr});
    if (extent.size.value == 0 || touch.size.value != 0 || touch.via >= Via::kGlobal) continue;
    if (extent.past) continue;
    // Many a launch names one allocation several times in a row.
    if (last == nullptr || extent.base != last_base) {
      last = &KnownOf(extent.base);
      last_base = extent.base;
    }
    Known& known = *last;
    named_.back().known = last;
    if (known.counted != infers_) ++known.launches;
    known.counted = infers_;
    See(known, (touch.ptr - extent.base).value, extent, launch);
  }
  const uint64_t before = again != nullptr ? Changes(launch) : 0;
  for (size_t i = 0; i < submission.touches.size(); ++i) {
    const Touch& touch = submission.touches[i];
    const Extent& extent = named_[i].extent;
    if (extent.size.value == 0) continue;
    if (extent.past) {
      // Whoever goes there all the same finds memory, as does who counts from there.
      if (possible) {
        out->push_back({.ptr = touch.ptr, .size = Bytes(1), .likely = false, .write = touch.write});
        out->push_back({.ptr = extent.base,
                        .size = extent.size,
                        .likely = false,
                        .write = touch.write,
                        .told = true});
      }
      continue;
    }
    if (touch.via >= Via::kGlobal) {
      // By kGlobal or kEncoded the kernel could go there, and most likely does not.
      if (!possible) continue;
      const bool sized = touch.size.value != 0;
      out->push_back({.ptr = sized ? touch.ptr : extent.base,
                      .size = sized ? touch.size : extent.size,
                      .likely = false,
                      .write = touch.write,
                      .settled = touch.via == Via::kGlobal,
                      .told = extent.block_size != Bytes(0)});
      continue;
    }
    InferredRange range{
        .ptr = touch.ptr, .size = touch.size, .write = touch.write, .slot = touch.slot};
    if (touch.size.value != 0) {
      range.exact = true;
      out->push_back(range);
      continue;
    }
    const uint64_t offset = (touch.ptr - extent.base).value;
    const End end = EndOf(*named_[i].known, extent, touch, launch);
    range.size = Bytes(end.offset - offset);
    if (launch.arrays) {
      const uint64_t array_end = named_[i].known->ArrayEnd(offset, extent.size);
      range.array = array_end != 0;
      if (range.array) range.size = Bytes(array_end - offset);
    }
    out->push_back(range);
    if (range.array) continue;
    if (possible && (offset != 0 || end.offset != extent.size.value)) {
      out->push_back({.ptr = extent.base,
                      .size = extent.size,
                      .likely = false,
                      .write = touch.write,
                      .settled = end.settled,
                      .of_last = true,
                      .told = extent.block_size != Bytes(0)});
    }
  }
  if (again != nullptr) NoteWhere(launch, before, again);
}

uint64_t WorkingSets::Known::ArrayEnd(uint64_t offset, Bytes allocation) {
  if (pool || !uploads.Fill(allocation)) return 0;
  const Bytes size = uploads.SizeAt(offset);
  const auto start = From(offset);
  if (size == Bytes(0) || start == boundaries.end() || start->offset != offset) return 0;
  const auto next = std::next(start);
  const uint64_t end =
      next == boundaries.end() ? allocation.value : std::min(next->offset, allocation.value);
  const uint64_t told = offset + size.value;
  return told <= end && end <= told + kPadding.value ? end : 0;
}

WorkingSets::Known& WorkingSets::KnownOf(DevicePtr base) {
  std::unique_ptr<Known>& known = allocations_[base.value];
  if (known == nullptr) known = std::make_unique<Known>();
  return *known;
}

WorkingSets::Boundaries::iterator WorkingSets::Known::From(uint64_t offset) {
  // Pointers of programs are multiples of some power of two.
  uint16_t& hint = hints[offset * 0x9e3779b97f4a7c15u >> (64 - hints_log2)];
  if (hint < boundaries.size() && boundaries[hint].offset == offset) [[likely]]
    return boundaries.begin() + hint;
  const auto it = absl::c_lower_bound(
      boundaries, offset, [](const Boundary& b, uint64_t value) { return b.offset < value; });
  if (it != boundaries.end()) hint = static_cast<uint16_t>(it - boundaries.begin());
  return it;
}

void WorkingSets::Known::Insert(Boundaries::iterator before, const Boundary& boundary) {
  ++changes;
  boundaries.insert(before, boundary);
  if (boundaries.size() <= hints.size() / 2) return;
  ++hints_log2;
  hints.assign(size_t{1} << hints_log2, 0);
}

uint32_t WorkingSets::BlockOf(const Extent& extent) {
  if (extent.block_size == Bytes(0)) return 0;
  return static_cast<uint32_t>(absl::HashOf(extent.block.value, extent.block_size.value) >> 32) | 1;
}

void WorkingSets::See(Known& known, uint64_t offset, const Extent& extent, const Launch& launch) {
  auto& list = known.boundaries;
  const auto it = known.From(offset);
  if (it != list.end() && it->offset == offset) {
    known.changes += it->See(known.launches, BlockOf(extent));
    const bool several = it->code != launch.code && std::exchange(it->code, kSeveral) != kSeveral;
    known.changes += it->Name(launch.namer) || several;
    return;
  }
  const uint64_t before_it = it == list.begin() ? 0 : std::prev(it)->offset;
  if (offset % kAlignment.value != 0 && offset - before_it < kApart.value) return;
  if (it != list.begin() && std::prev(it)->named >= kSettled) known.pool = true;
  ++known.changes;
  const Boundary seen{.offset = offset,
                      .seen = known.launches,
                      .code = launch.code,
                      .namers = {launch.namer},
                      .block = BlockOf(extent),
                      .in_block = 1};
  // One within the array that begins here, seen first since the call names it first.
  if (it != list.end() && it->offset % kAlignment.value != 0 &&
      it->offset - offset < kApart.value && offset % kAlignment.value == 0) {
    *it = seen;
    return;
  }
  if (list.size() < kMostBoundaries) {
    known.Insert(it, seen);
    return;
  }
  const size_t before = list.size();
  std::erase_if(list, [&](const Boundary& b) { return b.seen + kAge < known.launches; });
  // All of them in use: finer than that nothing is told apart.
  if (list.size() != before) See(known, offset, extent, launch);
}

WorkingSets::Boundary::User& WorkingSets::Boundary::Use(uint32_t launch, uint64_t now) {
  User* least = users.data();
  for (User& user : users) {
    if (user.launch == launch) {
      // A launch may hold the pointer several times over.
      if (used != now) ++user.times;
      used = now;
      return user;
    }
    if (user.times < least->times) least = &user;
  }
  used = now;
  *least = {launch, 1};
  return *least;
}

bool WorkingSets::Boundary::Name(uint32_t namer) {
  for (uint32_t& known : namers) {
    if (known == namer) return false;
    if (known != 0) continue;
    known = namer;
    return true;
  }
  return false;
}

bool WorkingSets::Boundary::EndsAt(const Boundary& by) {
  if (end_seen == by.seen) return seen != by.seen && ++alone >= kAlone;
  end_seen = by.seen;
  alone = 0;
  ++renewed;
  return false;
}

bool WorkingSets::Boundary::NamedBy(uint32_t namer) const {
  return absl::c_linear_search(namers, namer);
}

WorkingSets::Boundaries::iterator WorkingSets::BehindRow(Boundaries& list, uint64_t offset,
                                                         Boundaries::iterator end, uint32_t code) {
  const uint32_t maker = end->code;
  if (maker == kSeveral || maker == code) return end;
  const uint64_t step = end->offset - offset;
  uint64_t before = offset;
  size_t length = 0;
  auto it = end;
  while (it != list.end() && it->code == maker && it->offset - before == step) {
    before = it->offset;
    ++it;
    if (++length > kLongestRow) return end;
  }
  return length < kRow ? end : it;
}

WorkingSets::Boundaries::iterator WorkingSets::EndInBlock(const Known& known, Boundaries& list,
                                                          Boundaries::iterator start,
                                                          const Extent& extent,
                                                          const Launch& launch) {
  const uint32_t block = BlockOf(extent);
  auto it = std::next(start);
  for (size_t i = 0; i < kMostInBlock && it != list.end(); ++i, ++it) {
    if (it->offset >= extent.reach().value) break;
    if (it->block != block || it->in_block < kSettled || it->seen + kAge < known.launches) continue;
    // Views of a matrix begin near each other, and each goes on as far as the others.
    if (it->offset - start->offset >= kApart.value && it->NamedBy(launch.namer)) return it;
  }
  return list.end();
}

WorkingSets::End WorkingSets::EndOf(Known& known, const Extent& extent, const Touch& touch,
                                    const Launch& launch) const {
  const uint64_t offset = (touch.ptr - extent.base).value;
  const uint64_t size = extent.reach().value;
  auto& list = known.boundaries;
  const auto start_it = known.From(offset);
  // A pointer into an array may be no boundary itself.
  const bool known_start = start_it != list.end() && start_it->offset == offset;
  auto end = known_start ? std::next(start_it) : start_it;
  if (extent.IsBlock(touch.ptr)) {
    end = known_start ? EndInBlock(known, list, start_it, extent, launch) : list.end();
    // Not proved: a launch that comes again goes by it, though the block may be another's then.
    if (end == list.end()) return {size, false};
  } else {
    if (known.pool && size <= whole_.load(std::memory_order_relaxed).value) return {size, false};
    const auto aged = [&] { return end->seen + kAge < known.launches; };
    while (end != list.end() && aged()) ++end;
    if (end != list.end()) end = BehindRow(list, offset, end, launch.code);
  }
  const Submission& s = launch.submission;
  const bool by_numbers = !known.pool && launch.kind != 0 && touch.via == Via::kCall &&
                          s.kind == Submission::Kind::kKernel;
  if (end == list.end() || end->offset >= size) {
    // Nothing names the end of an allocation by turns with the last piece: only others prove it.
    return {size,
            known_start && by_numbers && known.lengths.Hold(s, touch, {offset, size - offset})};
  }
  if (!known_start) return {end->offset, false};
  Boundary& start = *start_it;
  if (start.end != end->offset) {
    start.end = end->offset;
    start.end_seen = end->seen;
    start.alone = start.renewed = 0;
    start.users = {};
    ++known.changes;
  } else if (start.EndsAt(*end)) {
    known.pool = true;
    ++known.changes;
    list.erase(end);
    return EndOf(known, extent, touch, launch);
  }
  Boundary::User& user = start.Use(launch.kind, known.launches);
  if (known.pool || launch.kind == 0) return {end->offset, false};
  const ProvenLengths::Piece piece{offset, end->offset - offset};
  if (start.renewed >= kRenewed && user.times > kRenewed && end->NamedBy(launch.namer)) {
    if (by_numbers && !user.noted) {
      known.lengths.Note(s, touch, piece);
      ++known.changes;
    }
    user.noted = true;
    return {end->offset, true};
  }
  return {end->offset, by_numbers && known.lengths.Hold(s, touch, piece)};
}

void WorkingSets::Uploaded(const Extent& allocation, DevicePtr ptr, Bytes size) {
  const Bytes offset = ptr - allocation.base;
  if (size < Uploads::kLeast || offset > allocation.size) return;
  size = std::min(size, allocation.size - offset);
  // All of it: that is what an allocation tells anyway.
  if (size == allocation.size) return;
  MutexLock lock(mu_);
  Known& known = KnownOf(allocation.base);
  if (!known.pool) known.upload_changes += known.uploads.Add(offset.value, size);
}

void WorkingSets::Forget(DevicePtr base) {
  MutexLock lock(mu_);
  allocations_.erase(base.value);
  ++forgotten_;
}

}  // namespace vramspan
