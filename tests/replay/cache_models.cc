#include "tests/replay/cache_models.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <list>
#include <optional>

namespace vramspan::replay {
namespace {

using Queue = std::list<uint32_t>;  // What came or was used last is at the back.

bool Take(Queue* queue, uint32_t id) {
  const auto at = std::find(queue->begin(), queue->end(), id);
  if (at == queue->end()) return false;
  queue->erase(at);
  return true;
}

class FifoOrLru final : public CacheModel {
 public:
  FifoOrLru(size_t room, bool lru) : room_(room), lru_(lru) {}
  bool Hit(uint32_t id) override {
    const bool hit = std::find(queue_.begin(), queue_.end(), id) != queue_.end();
    if (hit && !lru_) return true;
    Take(&queue_, id);
    if (queue_.size() == room_) queue_.pop_front();
    queue_.push_back(id);
    return hit;
  }

 private:
  const size_t room_;
  const bool lru_;
  Queue queue_;
};

struct Object {
  uint32_t id;
  int freq;
};

template <typename Objects>
auto Find(Objects& objects, uint32_t id) {
  return std::find_if(objects.begin(), objects.end(), [&](const Object& o) { return o.id == id; });
}

// Clock.c. The reference bit of what comes in is clear; ours sets it, for the work that it came for
// uses it.
class Clock final : public CacheModel {
 public:
  Clock(size_t room, bool ours) : room_(room), ours_(ours) {}
  bool Hit(uint32_t id) override {
    const auto at = Find(queue_, id);
    if (at != queue_.end()) {
      at->freq = 1;
      return true;
    }
    if (queue_.size() == room_) {
      while (queue_.front().freq > 0) {
        --queue_.front().freq;
        queue_.splice(queue_.end(), queue_, queue_.begin());
      }
      queue_.pop_front();
    }
    queue_.push_back({id, ours_ ? 1 : 0});
    return false;
  }

 private:
  const size_t room_;
  const bool ours_;
  std::list<Object> queue_;
};

// Sieve.c.
class Sieve final : public CacheModel {
 public:
  explicit Sieve(size_t room) : room_(room), hand_(queue_.end()) {}
  bool Hit(uint32_t id) override {
    const auto at = Find(queue_, id);
    if (at != queue_.end()) {
      at->freq = 1;
      return true;
    }
    if (queue_.size() == room_) {
      auto o = hand_ == queue_.end() ? queue_.begin() : hand_;
      while (o->freq > 0) {
        o->freq = 0;
        if (++o == queue_.end()) o = queue_.begin();
      }
      hand_ = queue_.erase(o);
    }
    const bool at_end = hand_ == queue_.end();
    queue_.push_back({id, 0});
    if (at_end) hand_ = queue_.end();
    return false;
  }

 private:
  const size_t room_;
  std::list<Object> queue_;           // Oldest first.
  std::list<Object>::iterator hand_;  // The end: at the oldest.
};

// S3FIFOv0.c, the version of the paper. Ours asks after each object that goes from the small queue
// to the main one which of them is to give the victim, and does not round a tenth down.
class S3Fifo final : public CacheModel {
 public:
  S3Fifo(size_t room, bool ours) : room_(room), ours_(ours) {}
  bool Hit(uint32_t id) override {
    for (std::list<Object>* queue : {&small_, &main_}) {
      const auto at = Find(*queue, id);
      if (at == queue->end()) continue;
      ++at->freq;
      return true;
    }
    // Ours makes room before it knows what comes: it may forget what comes for the victim.
    if (ours_) MakeRoom();
    const bool remembered = Take(&ghost_, id);
    MakeRoom();
    (remembered ? main_ : small_).push_back({id, 0});
    return false;
  }

 private:
  bool SmallGives() const {
    if (ours_) return 10 * small_.size() >= room_;
    const size_t main_room = room_ - room_ / 10;
    return main_.size() <= main_room && !small_.empty();
  }
  void MakeRoom() {
    while (small_.size() + main_.size() == room_) Evict();
  }
  void Evict() {
    if (!SmallGives()) {
      Object o = main_.front();
      main_.pop_front();
      if (o.freq == 0) return;
      main_.push_back({o.id, std::min(o.freq, 3) - 1});
      return;
    }
    while (!small_.empty()) {
      const Object o = small_.front();
      small_.pop_front();
      if (o.freq < 2) {
        ghost_.push_back(o.id);
        if (ghost_.size() > room_ * 9 / 10) ghost_.pop_front();
        return;
      }
      main_.push_back({o.id, 0});
      if (ours_) return;
    }
  }

  const size_t room_;
  const bool ours_;
  std::list<Object> small_, main_;
  Queue ghost_;
};

// ARC.c, the paper's Figure 4. Ours makes room before it knows what comes: with the aim as it was,
// without the rule for a tie, and the victim is always remembered.
class Arc final : public CacheModel {
 public:
  Arc(size_t room, bool ours) : c_(static_cast<double>(room)), ours_(ours) {}
  bool Hit(uint32_t id) override {
    if (Take(&t1_, id) || Take(&t2_, id)) {
      t2_.push_back(id);
      return true;
    }
    if (ours_ && Size(t1_) + Size(t2_) == c_) Replace(false);
    const double b1 = Size(b1_);
    const double b2 = Size(b2_);
    const bool in_b1 = Has(b1_, id);
    const bool in_b2 = Has(b2_, id);
    if (in_b1 || in_b2) {
      if (in_b1) p_ = std::min(p_ + std::max(b2 / b1, 1.0), c_);
      if (in_b2) p_ = std::max(p_ - std::max(b1 / b2, 1.0), 0.0);
      if (!ours_) Replace(in_b2);
      Take(in_b1 ? &b1_ : &b2_, id);
      t2_.push_back(id);
      return false;
    }
    if (Size(t1_) + Size(b1_) == c_) {
      if (ours_ || Size(t1_) < c_) {
        if (!b1_.empty()) b1_.pop_front();
        if (!ours_) Replace(false);
      } else {
        t1_.pop_front();
      }
    } else {
      const double all = Size(t1_) + Size(t2_) + b1 + b2;
      if (all == 2 * c_) b2_.pop_front();
      if (!ours_ && all >= c_) Replace(false);
    }
    t1_.push_back(id);
    return false;
  }

 private:
  static double Size(const Queue& queue) { return static_cast<double>(queue.size()); }
  static bool Has(const Queue& queue, uint32_t id) {
    return std::find(queue.begin(), queue.end(), id) != queue.end();
  }
  void Replace(bool in_b2) {
    const double t1 = Size(t1_);
    const bool first = !t1_.empty() && (t1 > p_ || (!ours_ && in_b2 && t1 == p_) || t2_.empty());
    Queue& from = first ? t1_ : t2_;
    (first ? b1_ : b2_).push_back(from.front());
    from.pop_front();
  }

  const double c_;
  const bool ours_;
  double p_ = 0;
  Queue t1_, t2_, b1_, b2_;
};

// LFU.c: of those used least the one that has been so longest. Ours stops counting at 63 and halves
// all counts after ten accesses for each object that is there.
class Lfu final : public CacheModel {
 public:
  Lfu(size_t room, bool ours) : room_(room), ours_(ours) {}
  bool Hit(uint32_t id) override {
    Object object{id, 0};
    const auto at = Find(order_, id);
    const bool hit = at != order_.end();
    if (hit) {
      object = *at;
      order_.erase(at);
    } else if (order_.size() == room_) {
      order_.pop_front();
    }
    ++object.freq;
    if (ours_) object.freq = std::min(object.freq, 63);
    order_.insert(std::find_if(order_.begin(), order_.end(),
                               [&](const Object& o) { return o.freq > object.freq; }),
                  object);
    if (ours_ && ++accesses_ >= 10 * order_.size()) {
      accesses_ = 0;
      for (Object& o : order_) o.freq /= 2;
    }
    return hit;
  }

 private:
  const size_t room_;
  const bool ours_;
  std::list<Object> order_;  // By frequency, then by how long it has been that.
  size_t accesses_ = 0;
};

// Belady.c. Ours lets what is needed last pass through, where that is what comes.
class Min final : public CacheModel {
 public:
  Min(size_t room, bool ours, const std::vector<uint32_t>& accesses)
      : room_(room), ours_(ours), accesses_(accesses) {}
  bool Hit(uint32_t id) override {
    ++now_;
    const bool hit = std::find(objects_.begin(), objects_.end(), id) != objects_.end();
    if (hit) return true;
    if (objects_.size() == room_ && !ours_) EvictFurthest();
    objects_.push_back(id);
    if (objects_.size() > room_) EvictFurthest();
    return false;
  }

 private:
  void EvictFurthest() {
    objects_.erase(std::max_element(objects_.begin(), objects_.end(), [&](uint32_t a, uint32_t b) {
      return NextUse(a) < NextUse(b);
    }));
  }
  ptrdiff_t NextUse(uint32_t id) const {
    const auto from = accesses_.begin() + now_;
    return std::find(from, accesses_.end(), id) - from;
  }

  const size_t room_;
  const bool ours_;
  const std::vector<uint32_t>& accesses_;
  ptrdiff_t now_ = 0;  // The accesses that were.
  std::vector<uint32_t> objects_;
};

}  // namespace

std::unique_ptr<CacheModel> MakeCacheModel(std::string_view policy, size_t room, bool ours,
                                           const std::vector<uint32_t>& accesses) {
  if (policy == "fifo") return std::make_unique<FifoOrLru>(room, false);
  if (policy == "lru") return std::make_unique<FifoOrLru>(room, true);
  if (policy == "clock") return std::make_unique<Clock>(room, ours);
  if (policy == "sieve") return std::make_unique<Sieve>(room);
  if (policy == "s3fifo") return std::make_unique<S3Fifo>(room, ours);
  if (policy == "arc") return std::make_unique<Arc>(room, ours);
  if (policy == "lfu") return std::make_unique<Lfu>(room, ours);
  if (policy == "min") return std::make_unique<Min>(room, ours, accesses);
  return nullptr;
}

uint64_t ModelMisses(CacheModel& model, const std::vector<uint32_t>& accesses) {
  absl::flat_hash_set<uint32_t> seen;
  uint64_t misses = 0;
  for (const uint32_t id : accesses) {
    const bool hit = model.Hit(id);
    misses += !seen.insert(id).second && !hit;
  }
  return misses;
}

}  // namespace vramspan::replay
