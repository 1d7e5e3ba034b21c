// Events as a program makes them, the same for the same seed.
#ifndef VRAMSPAN_TESTS_TRACE_SAMPLE_H_
#define VRAMSPAN_TESTS_TRACE_SAMPLE_H_

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/trace/writer.h"

namespace vramspan::trace {

inline std::vector<Event> SampleEvents(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<Event> events;
  uint64_t time = 100;
  for (uint64_t i = 0; i < count; ++i) {
    time += random() % 5000;
    const DevicePtr base(0x7f0000000000 + (random() % 64 << 21));
    switch (random() % 15) {
      case 0:
        events.emplace_back(AllocateEvent{time, base, Bytes(random() % (1 << 30))});
        break;
      case 1:
        events.emplace_back(FreeEvent{time, base});
        break;
      case 2:
        events.emplace_back(CodeEvent{static_cast<uint32_t>(random() % 7), random(),
                                      std::string(random() % 200, 'k')});
        break;
      case 3:
        events.emplace_back(TimesEvent{i, time - random() % 90, random() % 10000, MiB(2)});
        break;
      case 4:
        events.emplace_back(MoveEvent{time, random() % 90, base, MiB(2), i % 2 == 0, i % 3 == 0});
        break;
      case 5:
        events.emplace_back(BudgetEvent{time, Bytes(random())});
        break;
      case 6:
        events.emplace_back(CompareEvent{base, MiB(16), i / 2, i, i % 3 == 0});
        break;
      case 7: {
        const auto what = static_cast<WaitEvent::For>(i % 3);
        const auto stream = static_cast<uint32_t>(random() % 300);
        events.emplace_back(WaitEvent{time, random() % 90, what, i % 3 == 2 ? stream : 0});
        break;
      }
      case 8:
        events.emplace_back(CostEvent{random() % 40, random() % 90000});
        break;
      case 10:
        events.emplace_back(
            AlikeEvent{static_cast<uint32_t>(random() % 7), static_cast<uint32_t>(random() % 7)});
        break;
      case 9:
        events.emplace_back(
            DiscardEvent{time - random() % 90, base, Bytes(random() % (1 << 28)), i % 2 == 0});
        break;
      case 11:
        events.emplace_back(OwnEvent{time - random() % 90, base, Bytes(random() % (1 << 28))});
        break;
      default: {
        WorkEvent work;
        work.time = time;
        work.id = i;
        work.stream = static_cast<uint32_t>(random() % 3);
        work.code = static_cast<uint32_t>(random() % 7);
        work.kind = static_cast<WorkEvent::Kind>(random() % 6);
        work.complete = random() % 4 != 0;
        std::mt19937_64 again(work.code + random() % 2);
        for (uint64_t n = again() % 6; n > 0; --n) {
          work.ranges.push_back({DevicePtr(base.value + again() % 4096), Bytes(again() % (1 << 28)),
                                 static_cast<uint16_t>(again()), again() % 2 == 0, again() % 2 == 0,
                                 again() % 2 == 0, again() % 2 == 0, again() % 2 == 0});
        }
        events.emplace_back(work);
      }
    }
  }
  return events;
}

// What can be compared: the bytes that an event is written as.
inline std::vector<uint8_t> Copy(const BlockBytes& bytes) {
  return {bytes.data(), bytes.data() + bytes.size()};
}

inline std::vector<uint8_t> BytesOf(const Event& event) {
  Encoder encoder;
  encoder.Start(0);
  std::visit([&](const auto& e) { encoder.Add(e); }, event);
  return Copy(encoder.Take());
}

// A folder of the test's own, gone with it.
class TestFolder {
 public:
  TestFolder() {
    std::string name = std::filesystem::temp_directory_path() / "vramspan_trace_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline Header SampleHeader() {
  Header header;
  header.pid = 4711;
  header.program = "python3 train.py --name \"a\\b\nc=d\"";
  header.device = "A GPU";
  header.device_memory = GiB(80);
  header.serve_gb_per_s = 51.25;
  header.chunk_log2 = 24;
  header.waits = 1;
  return header;
}

}  // namespace vramspan::trace

#endif  // VRAMSPAN_TESTS_TRACE_SAMPLE_H_
