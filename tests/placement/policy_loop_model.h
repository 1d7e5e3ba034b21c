// loop_watch.h in plain words: every chunk's last visit in a map, time as a number without end.
#ifndef VRAMSPAN_TESTS_PLACEMENT_POLICY_LOOP_MODEL_H_
#define VRAMSPAN_TESTS_PLACEMENT_POLICY_LOOP_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

namespace vramspan {

class LoopModel {
 public:
  // What the use is: "same", "first", "soon", "stayed" or "returned".
  std::string Use(uint32_t id, int64_t present) {
    const bool known = chunks_.contains(id);
    Chunk& chunk = chunks_[id];
    const int64_t age = epoch_ - chunk.visited;
    const bool same = known && !chunk.away && age <= 1;
    if (same) return "same";
    const bool returned = known && chunk.away;
    chunk = {.visited = epoch_, .away = false, .returned = returned};
    if (returned && age < 256) Return(age, present);
    const bool soon = known && !returned && age <= 4;
    if ((!soon || present < 16) && ++visits_ >= width_) {
      visits_ = 0;
      ++epoch_;
      const int64_t fitting = std::max<int64_t>(present / 16, 1);
      if (4 * fitting < 3 * width_ || fitting >= 2 * width_) {
        for (width_ = 1; width_ * 2 <= fitting;) width_ *= 2;
      }
    }
    return !known ? "first" : returned ? "returned" : soon ? "soon" : "stayed";
  }
  void Insert(uint32_t id) {
    if (chunks_.contains(id)) chunks_[id].returned = false;
  }
  void Remove(uint32_t id) {
    if (chunks_.contains(id)) chunks_[id].away = true;
  }

  bool looping() const { return looping_; }
  // Of chunks that are present and were used.
  bool Returned(uint32_t id) const { return chunks_.at(id).returned; }
  bool DroppedOut(uint32_t id) const {
    return epoch_ - chunks_.at(id).visited > std::min<int64_t>(stay_, 255);
  }

 private:
  struct Chunk {
    int64_t visited = 0;
    bool away = false;
    bool returned = false;
  };

  void Return(int64_t interval, int64_t present) {
    const int64_t enough = std::max(present / 4, std::min<int64_t>(present, 4));
    if (std::abs(interval - period_) <= period_ / 64 + 1) {
      agreed_ = std::min(agreed_ + 1, enough * 2);
    } else if (agreed_ > 4) {
      agreed_ -= 4;
    } else {
      agreed_ = 0;
      period_ = interval;
      stay_ = interval + interval / 8 + 1;
    }
    looping_ = looping_ ? 4 * agreed_ >= enough : agreed_ >= enough;
  }

  std::map<uint32_t, Chunk> chunks_;
  int64_t epoch_ = 0;
  int64_t visits_ = 0;
  int64_t width_ = 1;
  int64_t agreed_ = 0;
  int64_t period_ = 0;
  int64_t stay_ = 0;
  bool looping_ = false;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_PLACEMENT_POLICY_LOOP_MODEL_H_
