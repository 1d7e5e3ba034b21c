// `vramspan replay` as a user runs it.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "tests/tools/run_binary.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

Output Replay(const std::string& arguments) { return RunBinary("", "replay " + arguments); }

constexpr char kLoop[] = "synthetic:loop,layers=8,passes=5,mib=16,us=1000 ";

TEST(ReplayCommand, TheTableHasARowForEachRun) {
  const Output run = Replay(std::string(kLoop) + "--policy all --device-memory 50%,64MiB,100%");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, AllOf(HasSubstr("40 pieces of work, 8 allocations, at most 128 MiB"),
                             HasSubstr("64 MiB (50 %)"), HasSubstr("128 MiB (100 %)"),
                             HasSubstr(" s3fifo "), HasSubstr(" min ")));
  // 50 % and 64 MiB are one budget.
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 7 + 2 * 11);
  EXPECT_THAT(run.out, HasSubstr("\nPrices: an H100's ("));
  EXPECT_THAT(run.out, HasSubstr("  A round of 8 pieces of work, 4 times: 8.000 ms each\n"));
}

// What examples/traces has was recorded on a GPU.
TEST(ReplayCommand, ReadsTheTracesThatAreShipped) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(VRAMSPAN_TRACES)) {
    if (file.path().extension() != ".vramspan") continue;
    ++count;
    EXPECT_LE(file.file_size(), 1u << 20) << file.path();
    const Output run = Replay("'" + file.path().string() +
                              "' --device-memory 50% --policy all --chunk 32MiB --format json");
    ASSERT_EQ(run.code, 0) << run.err;
    const Json json = Json::parse(run.out);
    EXPECT_THAT(json.at("trace").at("device").get<std::string>(),
                AnyOf("NVIDIA H200", "NVIDIA H100 80GB HBM3"));
    EXPECT_TRUE(json.at("trace").at("problems").empty()) << json.at("trace").at("problems");
    ASSERT_EQ(json.at("runs").size(), 11u);
    const Json& min = json.at("runs").back();
    ASSERT_EQ(min.at("policy"), "min");
    for (const Json& r : json.at("runs")) {
      EXPECT_LE(min.at("fetches"), r.at("fetches")) << file.path() << r.at("policy");
      EXPECT_GT(r.at("predicted_ms"), r.at("resident_ms")) << file.path() << r.at("policy");
    }
  }
  EXPECT_GE(count, 6);
}

TEST(ReplayCommand, JsonHasEveryField) {
  const Output run =
      Replay(std::string(kLoop) +
             "synthetic:random,works=200,allocations=6 --policy lru,min --chunk "
             "auto,2MiB --device-memory 50% --overlap safe --timeline --format json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json.at("tool"), "vramspan replay");
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("traces").size(), 2u);
  const Json& trace = json.at("trace");
  EXPECT_EQ(trace.at("works"), 40);
  EXPECT_EQ(trace.at("kernels"), 40);
  EXPECT_EQ(trace.at("allocations"), 8);
  EXPECT_EQ(trace.at("peak_bytes"), 128 << 20);
  EXPECT_EQ(trace.at("recorded_ms"), 40);
  EXPECT_EQ(trace.at("round_works"), 8);
  EXPECT_EQ(trace.at("rounds"), 4);
  EXPECT_EQ(json.at("traces")[1].at("rounds"), 0) << "nothing repeats there";
  for (const char* field : {"file", "program", "device", "estimated_times", "problems"}) {
    EXPECT_TRUE(trace.contains(field)) << field;
  }
  EXPECT_EQ(json.at("prices").at("copy_gb_per_s").at("in"), 55.1);
  EXPECT_EQ(json.at("prices").at("begin_us"), 160000);
  ASSERT_EQ(json.at("runs").size(), 2u * 2 * 2);
  for (const Json& r : json.at("runs")) {
    for (const char* field :
         {"predicted_ms", "resident_ms", "slowdown", "stall_ms", "stall_copy_ms", "stall_vmm_ms",
          "stall_drain_ms", "fetches", "bound_fetches", "moves_in", "moves_out", "served_in_place",
          "bytes_in", "bytes_out", "bytes_in_place", "chunk_bytes", "device_memory_bytes"}) {
      ASSERT_TRUE(r.at(field).is_number()) << field;
      EXPECT_GE(r.at(field), 0) << field;
    }
    EXPECT_EQ(r.at("device_memory_percent"), 50);
    EXPECT_GE(r.at("predicted_ms"), r.at("resident_ms"));
    if (r.at("trace") == trace.at("file")) {
      EXPECT_EQ(r.at("resident_round_ms"), 8);
      EXPECT_GE(r.at("round_ms"), 8);
    } else {
      EXPECT_TRUE(r.at("resident_round_ms").is_null() && r.at("round_ms").is_null());
    }
    EXPECT_GE(r.at("fetches"), r.at("bound_fetches"));
    EXPECT_NEAR(r.at("stall_ms"),
                r.at("stall_copy_ms").get<double>() + r.at("stall_vmm_ms").get<double>() +
                    r.at("stall_drain_ms").get<double>(),
                1e-6);
    ASSERT_FALSE(r.at("kernels").empty());
    EXPECT_LE(r.at("kernels").size(), 20u);
    for (const Json& k : r.at("kernels")) {
      EXPECT_THAT(k.at("why").get<std::string>(), Not(IsEmpty()));
      EXPECT_GT(k.at("launches"), 0);
      EXPECT_GE(k.at("predicted_ms"), k.at("resident_ms"));
    }
    const Json& timeline = r.at("timeline");
    const size_t bins = timeline.at("bins");
    for (const char* field : {"device_bytes", "fetches", "stall_ms"}) {
      EXPECT_EQ(timeline.at(field).size(), bins) << field;
    }
    for (const Json& a : timeline.at("allocations")) EXPECT_EQ(a.at("resident").size(), bins);
    EXPECT_GE(bins * timeline.at("bin_ms").get<double>(), r.at("predicted_ms").get<double>());
  }
  const Json& first = json.at("runs")[0];
  EXPECT_EQ(first.at("trace"), trace.at("file"));
  EXPECT_EQ(first.at("policy"), "lru");
  EXPECT_EQ(first.at("chunk_bytes"), 0);
  EXPECT_FALSE(Json::parse(Replay(std::string(kLoop) + "--format json").out)
                   .at("runs")[0]
                   .contains("timeline"));
}

TEST(ReplayCommand, CsvHasAsManyColumnsInEveryRow) {
  const Output run = Replay("'synthetic:loop,layers=8' --format csv --device-memory 64MiB,50%");
  ASSERT_EQ(run.code, 0) << run.err;
  std::istringstream lines(run.out);
  std::string line;
  size_t rows = 0;
  while (std::getline(lines, line)) {
    // The trace's name is quoted, and has a comma in it.
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), rows == 0 ? 22 : 23) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 1u + 2 * 3);
}

TEST(ReplayCommand, ThreadsChangeNothing) {
  const std::string asked =
      "synthetic:random,works=400,streams=2 --policy all --timeline --format json --threads ";
  const Output one = Replay(asked + "1");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out, Replay(asked + "3").out);
  EXPECT_EQ(one.out, Replay(asked + "64").out);
}

// A file of prices as `vramspan info` keeps it, with a twentieth of an H100's link.
std::string SlowPrices() {
  std::string chunks;
  for (int log2 = 21; log2 <= 26; ++log2) {
    chunks += (chunks.empty() ? "" : ",") + std::string("{\"bytes\":") +
              std::to_string(uint64_t{1} << log2) +
              R"(,"device":{"create":1,"map":1,"access":20,"unmap":10,"release":5},)"
              R"("host":{"create":1,"map":1,"access":20,"unmap":10,"release":5}})";
  }
  return R"({"schema":"vramspan.costs","schema_version":1,"uuid":"x","driver":1,"costs":{)"
         R"("handle_us":[)" +
         chunks +
         R"(],"copy_gb_per_s":{"to_device":2.7,"to_host":2.7,"both":5.4},)"
         R"("kernel_on_host_gb_per_s":{"read":5,"write":5},"hold_us":{"call":2,"release":8}}})";
}

TEST(ReplayCommand, PricesComeFromAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/prices.json";
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write(SlowPrices());
  const auto predicted = [&](const std::string& prices) {
    const Output run =
        Replay(std::string(kLoop) + "--device-memory 50% --policy lru --format json " + prices);
    EXPECT_EQ(run.code, 0) << run.err;
    return Json::parse(run.out).at("runs")[0].at("predicted_ms").get<double>();
  };
  EXPECT_GT(predicted("--prices '" + path + "'"), 2 * predicted(""));
  // What `vramspan info` prints has them by device.
  const Json slow = {{"uuid", "GPU-1"}, {"costs", Json::parse(SlowPrices()).at("costs")}};
  const Json none = {{"uuid", "GPU-2"}, {"costs", nullptr}};
  write(Json{{"schema", "vramspan.info"}, {"devices", {none, slow}}}.dump());
  EXPECT_GT(predicted("--prices '" + path + "'"), 2 * predicted(""));
  write(Json{{"devices", {slow, slow}}}.dump());
  const Output several = Replay(std::string(kLoop) + "--prices '" + path + "'");
  EXPECT_EQ(several.code, 1);
  EXPECT_THAT(several.err, AllOf(HasSubstr(path), HasSubstr("several devices")));
  for (const char* devices : {"[]", "3", "[{}, 7]", "[{\"costs\": null}]", "{\"costs\": 1}"}) {
    write(std::string("{\"devices\": ") + devices + "}");
    const Output bad = Replay(std::string(kLoop) + "--prices '" + path + "'");
    EXPECT_EQ(bad.code, 1) << devices;
    EXPECT_THAT(bad.err, HasSubstr(path)) << devices;
  }
  write("{}");
  const Output empty = Replay(std::string(kLoop) + "--prices '" + path + "'");
  EXPECT_EQ(empty.code, 1);
  EXPECT_THAT(empty.err, AllOf(HasSubstr(path), HasSubstr("vramspan info")));
  EXPECT_EQ(Replay(std::string(kLoop) + "--prices /nowhere/prices").code, 1);
}

// By default, those of the device that the trace was recorded on.
TEST(ReplayCommand, PricesOfTheRecordedDeviceAreTakenWhereTheyAreKept) {
  const TemporaryFolder folder;
  const std::string trace = "'" VRAMSPAN_TRACES "/gemm-chain.vramspan'";
  const Output info = RunBinary("", "trace info --format json " + trace);
  const std::string uuid = Json::parse(info.out).at("device_uuid");
  const std::string path = folder.path() + "/vramspan/" + uuid + ".json";
  std::filesystem::create_directory(folder.path() + "/vramspan");
  const auto replay = [&](const std::string& options) {
    const Output run =
        RunBinary("XDG_CACHE_HOME=" + folder.path(),
                  "replay " + trace + " --device-memory 50% --policy lru --format json " + options);
    EXPECT_EQ(run.code, 0) << run.err;
    const Json json = Json::parse(run.out);
    return std::tuple(json.at("runs")[0].at("predicted_ms").get<double>(),
                      json.at("prices").at("source").get<std::string>(), run.err);
  };
  const auto [before, h100, said] = replay("");
  EXPECT_THAT(h100, HasSubstr("an H100's"));
  std::ofstream(path) << SlowPrices();
  const auto [slow, source, nothing] = replay("");
  EXPECT_GT(slow, 2 * before);
  EXPECT_EQ(source, path);
  // One that says nothing is left out, with a warning.
  std::ofstream(path) << "{}";
  const auto [again, fallen_back, warned] = replay("");
  EXPECT_EQ(again, before);
  EXPECT_EQ(fallen_back, h100);
  EXPECT_THAT(warned, AllOf(HasSubstr(path), HasSubstr("an H100's are taken")));
}

TEST(ReplayCommand, WhatCannotBeReadIsNamed) {
  const Output missing = Replay("/nowhere/trace.vramspan");
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("/nowhere/trace.vramspan"));
  EXPECT_THAT(missing.out, IsEmpty());
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.vramspan";
  std::ofstream(path) << "not a trace";
  const Output wrong = Replay("'" + path + "' " + kLoop);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr(path));
  EXPECT_THAT(wrong.out, IsEmpty());
}

TEST(ReplayCommand, MistakesExitWithTwoAndSayWhatIsAllowed) {
  const struct {
    const char* arguments;
    const char* words;
  } cases[] = {
      {"", "traces is required"},
      {"--nonsense", "--nonsense"},
      {"--policy best", "--policy: there is no policy 'best'; use all, or a list of arc"},
      {"--policy lru,", "--policy: there is no policy ''"},
      {"--chunk 3MiB", "--chunk: '3MiB' is not a chunk size; use a list of auto"},
      {"--chunk auto,128MiB", "--chunk: '128MiB'"},
      {"--device-memory 0", "--device-memory: '0'"},
      {"--device-memory 101%", "--device-memory: '101%'"},
      {"--device-memory 8Gib", "--device-memory: '8Gib'"},
      {"--overlap some",
       "--overlap: 'some' is not a way to overlap; use auto, off, proven, safe, all"},
      {"--keep 8MiB:1", "--keep: '8MiB:1' should keep an allocation of 1048577 to"},
      {"--keep 8388608:0", "--keep: '8388608:0' should say which allocation of that size"},
      {"--format xml", "--format"},
      {"--timeline", "--timeline: the table has no room for it; add --format json"},
      {"--curves --format csv", "--curves: the csv has no room for it; add --format json"},
      {"--threads 0", "--threads"},
      {"--threads many", "--threads"},
      {"synthetic:spiral", "'synthetic:spiral' is not a synthetic run; use synthetic:loop"},
      {"synthetic:loop,layers=0", "'layers=0'"},
      {"synthetic:loop,layers=1e9", "'layers=1e9'"},
      {"synthetic:loop,wheels=4", "'wheels=4' in 'synthetic:loop,wheels=4' is not a key; use "},
      {"synthetic:loop,layers=100000,passes=1000000", "at most"},
      {"synthetic:training,layers=10000,passes=100000", "at most"},
      {"synthetic:training,group=0", "'group=0'"},
      {"synthetic:choice,models=0", "'models=0'"},
      {"synthetic:choice,layers=10000,turns=10000", "at most"},
  };
  for (const auto& c : cases) {
    const bool whole = std::string(c.arguments).empty() || c.arguments[0] == 's';
    const Output run = Replay(whole ? c.arguments : kLoop + std::string(c.arguments));
    EXPECT_EQ(run.code, 2) << c.arguments;
    EXPECT_THAT(run.err, HasSubstr(c.words)) << c.arguments;
    EXPECT_THAT(run.out, IsEmpty()) << c.arguments;
  }
}

TEST(ReplayCommand, WhatIsToBeKeptMustBeThere) {
  const Output ninth = Replay(std::string(kLoop) + "--device-memory 50% --keep 16777216:9");
  EXPECT_EQ(ninth.code, 1);
  EXPECT_THAT(ninth.err, HasSubstr("--keep 16777216:9: there are 8 allocations of 16777216 bytes"));
  EXPECT_EQ(Replay(std::string(kLoop) + "--device-memory 50% --keep 16777216:8").code, 0);
}

TEST(ReplayCommand, HelpTeaches) {
  const Output help = Replay("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out,
              AllOf(HasSubstr("Examples"), HasSubstr("vramspan run --record"),
                    HasSubstr("synthetic:loop,layers=24"), HasSubstr("--device-memory 8GiB,12GiB"),
                    HasSubstr("(default: 25%,50%,75%,100%)")));
}

constexpr char kTwo[] =
    "synthetic:loop,layers=8,passes=5,mib=16,us=1000 synthetic:sweep,layers=8,passes=5,mib=16 ";

TEST(ReplayCommand, ABrokerSharesADeviceAmongTraces) {
  const std::string arguments = std::string(kTwo) +
                                "--broker --device-memory 128MiB --tenant "
                                "synthetic:loop:weight=200 --tenant 2:limit=64MiB,start=5ms ";
  const Output table = Replay(arguments);
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("2 programs on 128 MiB of device memory"),
                               HasSubstr("synthetic:sweep"), HasSubstr("one after the other")));
  const Output run = Replay(arguments + "--format json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json json = Json::parse(run.out).at("runs").at(0);
  EXPECT_EQ(json.at("tenants").at(0).at("weight"), 200);
  EXPECT_EQ(json.at("tenants").at(1).at("start_ms"), 5);
  for (const Json& share : json.at("shares")) EXPECT_LE(share.at("bytes").at(1), 64 << 20);
}

TEST(ReplayCommand, TurnsAreShownWithWhoHadThemAndHowLong) {
  const std::string loop = "synthetic:loop,layers=32,passes=20,mib=32,us=200,lead=200 ";
  const std::string arguments = loop + loop +
                                "--broker --device-memory 60% --overlap all "
                                "--tenant 1:rounds=1500 --tenant 2:rounds=1500 ";
  EXPECT_THAT(Replay(arguments).out, AllOf(HasSubstr(" turns "), HasSubstr(" turn ms ")));
  const auto run = [&](const std::string& more) {
    return Json::parse(Replay(arguments + "--format json" + more).out).at("runs").at(0);
  };
  const Json with = run("");
  ASSERT_GE(with.at("turns").size(), 4u);
  std::vector<double> count(2), time(2);
  for (const Json& turn : with.at("turns")) {
    const size_t i = turn.at("tenant");
    ++count.at(i);
    time.at(i) += turn.at("to_ms").get<double>() - turn.at("ms").get<double>();
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(with.at("tenants").at(i).at("gpu_turns"), count[i]);
    EXPECT_NEAR(with.at("tenants").at(i).at("gpu_turn_ms").get<double>(), time[i], 1e-3);
    EXPECT_GT(with.at("tenants").at(i).at("slowdown"), 1.0);
  }
  const Json without = run(" --turns off");
  EXPECT_TRUE(without.at("turns").empty());
  EXPECT_LT(with.at("makespan_ms"), without.at("makespan_ms"));
}

TEST(ReplayCommand, WhatABrokerCannotTakeIsSaid) {
  const auto says = [](const std::string& arguments) {
    const Output run = Replay(std::string(kTwo) + arguments);
    EXPECT_EQ(run.code, 2) << arguments << run.out;
    return run.err;
  };
  EXPECT_THAT(says("--tenant 1:weight=2"), HasSubstr("with --broker alone"));
  EXPECT_THAT(says("--turns off"), HasSubstr("there are turns with --broker alone"));
  EXPECT_THAT(says("--broker --turns on"), HasSubstr("--turns takes auto or off, not 'on'"));
  EXPECT_THAT(says("--broker --tenant 1:rounds=0"), HasSubstr("is no number of rounds"));
  EXPECT_THAT(says("--broker --tenant 1:rounds=2"), HasSubstr("the recording has"));
  EXPECT_THAT(says("--broker --tenant 3:weight=2"), HasSubstr("there is no tenant '3'"));
  EXPECT_THAT(says("--broker --tenant 1:weight=0"), HasSubstr("is not a weight; use 1 to 10000"));
  EXPECT_THAT(says("--broker --tenant 1:size=3"), HasSubstr("'size' is not known"));
  EXPECT_THAT(says("--broker --tenant 1:start=-1s"), HasSubstr("is no time"));
  EXPECT_THAT(says("--broker --tenant 1"), HasSubstr("it is no NAME:KEY=VALUE"));
  EXPECT_THAT(says("--broker --policy min"), HasSubstr("which is not min"));
  EXPECT_THAT(says("--broker --format csv"), HasSubstr("for single programs"));
  EXPECT_THAT(says("--broker --device-memory 64MiB --tenant 1:guarantee=1GiB"),
              HasSubstr("the guarantees would be more"));
}

}  // namespace
}  // namespace vramspan
