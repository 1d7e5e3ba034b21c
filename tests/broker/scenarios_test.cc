// Programs side by side for a while: GPUswap's experiments, and what an operator wants to see.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/broker/machine.h"

namespace vramspan::broker {
namespace {

double Jain(const std::vector<double>& shares) {
  double sum = 0, squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return sum * sum / (static_cast<double>(shares.size()) * squares);
}

// Two programs that leak 100 MiB every 10 ms; the second comes 20 s later. They converge to shares
// that are equal within one chunk, and stay there.
TEST(BrokerScenarios, TwoLeakersConvergeWithinOneChunk) {
  Machine machine(GiB(80), Settings());
  const ProcessId a = machine.Add(1);
  Bytes leaked_a, leaked_b;
  const auto run = [&](ProcessId id, Bytes& leaked) {
    leaked = Plus(leaked, MiB(100));
    machine.Works(id, leaked);
  };
  for (int i = 0; i < 2000; ++i) {
    run(a, leaked_a);
    machine.Run(std::chrono::milliseconds(10));
  }
  const Bytes room = Room(machine.state(), Place::kDevice);
  EXPECT_EQ(machine.Grant(a), room);
  const ProcessId b = machine.Add(2);
  for (int i = 0; i < 2000; ++i) {
    run(a, leaked_a);
    run(b, leaked_b);
    machine.Run(std::chrono::milliseconds(10));
    if (i > 1000) {
      const Bytes most = std::max(machine.Grant(a), machine.Grant(b));
      const Bytes least = std::min(machine.Grant(a), machine.Grant(b));
      ASSERT_LE(most - least, machine.state().settings.chunk) << i;
    }
  }
  // What the second has was recalled from the first, each byte once.
  EXPECT_LE(machine.recalled(), machine.Grant(b) + machine.state().settings.chunk);
}

TEST(BrokerScenarios, ANewcomersMemoryTakesAsLongAsTheLink) {
  Machine machine(GiB(80), Settings());
  machine.Works(machine.Add(1), GiB(80));
  const ProcessId b = machine.Add(2);
  machine.Works(b, GiB(8));
  const Instant begin = machine.now();
  while (machine.Grant(b) < GiB(8)) machine.Run(std::chrono::milliseconds(1));
  const double seconds = std::chrono::duration<double>(machine.now() - begin).count();
  EXPECT_LT(seconds, 1.15 * static_cast<double>(GiB(8).value) / 47e9);
}

// Five tenants of different weights that want everything, and wobble by some MiB: Jain's index of
// what they have for their weight, over every two seconds.
TEST(BrokerScenarios, FiveTenantsShareByWeight) {
  Machine machine(GiB(80), Settings());
  const uint32_t weights[] = {100, 100, 200, 300, 500};
  std::vector<ProcessId> ids;
  for (uint64_t i = 0; i < 5; ++i) {
    ids.push_back(machine.Add(i + 1, Weighs(weights[i])));
    machine.Works(ids.back(), GiB(100));
    machine.Run(std::chrono::seconds(1));
  }
  machine.Run(std::chrono::seconds(5));
  const Bytes recalled = machine.recalled();
  for (int window = 0; window < 10; ++window) {
    std::vector<double> shares(5);
    for (int i = 0; i < 200; ++i) {
      for (size_t j = 0; j < 5; ++j) {
        machine.Works(ids[j], GiB(90) + MiB((i * 37 + j * 101) % 500));
        shares[j] += static_cast<double>(machine.Grant(ids[j]).value) / weights[j];
      }
      machine.Run(std::chrono::milliseconds(10));
    }
    EXPECT_GE(Jain(shares), 0.995);
  }
  EXPECT_EQ(machine.recalled(), recalled) << "nothing goes back and forth";
}

// A demand that wobbles about the share by less than the hysteresis moves nothing.
TEST(BrokerScenarios, ALittleWobbleMovesNothing) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1), b = machine.Add(2);
  machine.Works(a, GiB(30));
  machine.Works(b, GiB(49));
  machine.Run(std::chrono::seconds(5));
  const Bytes recalled = machine.recalled();
  for (int i = 0; i < 1000; ++i) {
    machine.Works(a, GiB(30) + MiB(i % 2 == 0 ? 0 : 500));
    machine.Run(std::chrono::milliseconds(100));
  }
  EXPECT_LE(machine.recalled() - recalled, GiB(1));
}

// One wants everything and nothing by turns. It moves the other's memory once, and keeps its share.
TEST(BrokerScenarios, TurnsOfMuchAndLittleMoveNothing) {
  for (const int milliseconds : {10, 200, 1000}) {
    Machine machine(GiB(80));
    const ProcessId a = machine.Add(1), b = machine.Add(2);
    machine.Works(b, GiB(100));
    machine.Run(std::chrono::seconds(1));
    const Bytes before = machine.recalled();
    for (int i = 0; i < 10'000 / milliseconds; ++i) {
      machine.Works(a, i % 2 == 0 ? GiB(100) : Bytes());
      machine.Run(std::chrono::milliseconds(milliseconds));
    }
    EXPECT_LE(machine.recalled() - before, GiB(40)) << milliseconds;
    EXPECT_GE(machine.Grant(b), GiB(40));
  }
}

TEST(BrokerScenarios, ForeignGrowthIsMadeRoomFor) {
  Machine machine(GiB(80), Settings());
  const ProcessId a = machine.Add(1), b = machine.Add(2, Guaranteed(GiB(30)));
  machine.Works(a, GiB(60));
  machine.Works(b, GiB(60));
  machine.Run(std::chrono::seconds(10));
  machine.Tell(ForeignIs{Place::kDevice, GiB(40)});
  machine.Run(std::chrono::seconds(10));
  EXPECT_EQ(Excess(machine.state(), Place::kDevice), Bytes());
  EXPECT_EQ(machine.Grant(b), GiB(30));
  machine.Tell(ForeignIs{Place::kDevice, Bytes()});
  machine.Run(std::chrono::seconds(10));
  EXPECT_EQ(machine.Grant(a), machine.Grant(b));
}

TEST(BrokerScenarios, TwoHundredProcesses) {
  Machine machine(GiB(80), Settings());
  for (uint64_t i = 1; i <= 200; ++i) machine.Works(machine.Add(i), GiB(1));
  machine.Run(std::chrono::seconds(30));
  Bytes least = kAllBytes, most;
  for (uint64_t i = 1; i <= 200; ++i) {
    least = std::min(least, machine.Grant(ProcessId(i)));
    most = std::max(most, machine.Grant(ProcessId(i)));
  }
  // Two hundred times less than a chunk may be missing.
  EXPECT_LE(most - least, 2 * machine.state().settings.chunk);
}

}  // namespace
}  // namespace vramspan::broker
