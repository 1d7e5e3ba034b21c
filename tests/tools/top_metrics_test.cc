// Metrics of programs: the text, by a strict reader, the file, and the dashboard.
#include "tools/vramspan/top_metrics.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/broker/server/prometheus.h"
#include "tests/tools/live_records.h"

namespace vramspan {
namespace {

using broker_test::Prometheus;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<top::Row> MetricRows() {
  std::vector<top::Row> rows(2);
  for (size_t i = 0; i < rows.size(); ++i) {
    top::Row& row = rows[i];
    LiveRecord& r = row.seen.record;
    r.pid = static_cast<uint32_t>(17 + i);
    r.move_mb_per_s = 25000;
    r.serve_mb_per_s = 12000;
    r.bytes_in = 1000 + i;
    r.bytes_out = 500;
    r.stall_copy_ns = 1'500'000'000;
    r.launches_proven = 7;
    r.device_budget = 4096;
    r.moved[0].bytes = 900;
    row.seen.program = "train \"it\"\\";
    row.seen.uuid = "GPU-1";
    row.resident = 64;
    row.on_host = 32;
    row.running = 10;
  }
  return rows;
}

TEST(TopMetrics, AreAsPrometheusReadsThem) {
  const Prometheus read(top::Metrics(MetricRows(), 1'700'000'000));
  ASSERT_EQ(read.error(), "");
  const Prometheus::Labels of = {{"gpu", "GPU-1"}, {"pid", "18"}, {"program", "train \"it\"\\"}};
  const auto get = [&](const char* name, Prometheus::Labels more = {}) {
    more.insert(of.begin(), of.end());
    return read.Get(std::string("vramspan_process_") + name, more);
  };
  EXPECT_EQ(read.Get("vramspan_processes"), 2);
  EXPECT_EQ(get("device_bytes"), 64);
  EXPECT_EQ(get("host_bytes"), 32);
  EXPECT_EQ(get("device_budget_bytes"), 4096);
  EXPECT_EQ(get("moved_bytes_total", {{"direction", "in"}}), 1001);
  EXPECT_EQ(get("moved_bytes_total", {{"direction", "out"}}), 500);
  EXPECT_EQ(get("decided_bytes_total", {{"cause", "needed"}}), 900);
  EXPECT_EQ(get("decided_bytes_total", {{"cause", "room"}}), 0);
  EXPECT_EQ(get("waited_seconds_total"), 1.5);
  EXPECT_EQ(get("launches_total", {{"trust", "proven"}}), 7);
  EXPECT_EQ(get("link_bytes_per_second"), 25e9);
  EXPECT_EQ(get("in_place_bytes_per_second"), 12e9);
  EXPECT_EQ(get("start_time_seconds"), 1'699'999'990);
}

TEST(TopMetrics, NoTwoSamplesHaveTheSameLabels) {
  std::vector<top::Row> rows = MetricRows();
  rows[1].seen.record.pid = 17;  // Two runtimes of one process on one device.
  EXPECT_EQ(Prometheus(top::Metrics(rows, 1)).error(), "");
  rows[1].seen.elsewhere = true;
  EXPECT_EQ(Prometheus(top::Metrics(rows, 1)).error(), "");
  EXPECT_EQ(Prometheus(top::Metrics({}, 1)).error(), "");
}

TEST(TopMetrics, HaveWhatTheDashboardAsksFor) {
  const Prometheus read(top::Metrics(MetricRows(), 1'700'000'000));
  const auto dashboard =
      nlohmann::json::parse(ReadText(SOURCE_FOLDER "/tools/vramspan/grafana.json"), nullptr, false);
  ASSERT_TRUE(dashboard.is_object());
  std::vector<std::string> expressions;
  for (const auto& panel : dashboard["panels"]) {
    for (const auto& target : panel["targets"]) expressions.push_back(target["expr"]);
  }
  for (const auto& variable : dashboard["templating"]["list"]) {
    if (variable["type"] == "query") expressions.push_back(variable["query"]);
  }
  EXPECT_GT(expressions.size(), 10u);
  for (const std::string& expression : expressions) {
    SCOPED_TRACE(expression);
    size_t at = expression.find("vramspan_");
    ASSERT_NE(at, std::string::npos);
    for (; at != std::string::npos; at = expression.find("vramspan_", at + 1)) {
      const size_t end = expression.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", at);
      EXPECT_GT(read.Count(expression.substr(at, end - at)), 0u);
    }
  }
}

class TopMetricsFile : public LiveRecords {
 protected:
  std::string path() const { return run() + "/it.prom"; }
};

TEST_F(TopMetricsFile, IsWritten) {
  Write(Own());
  const Output written = Top(pid() + " --once --metrics '" + path() + "'");
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(written.out, "");
  const std::string text = ReadText(path());
  EXPECT_THAT(text, StartsWith(std::string(top::kMetricsMark)));
  EXPECT_EQ(Prometheus(text.substr(top::kMetricsMark.size())).error(), "");
  EXPECT_THAT(text, HasSubstr("pid=\"" + pid() + "\""));
  EXPECT_EQ(Top(pid() + " --once --metrics '" + path() + "'").code, 0) << "again";
}

TEST_F(TopMetricsFile, WhatIsThereFromOthersStays) {
  std::ofstream(path()) << "precious";
  const Output refused = Top("--once --metrics '" + path() + "'");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("no vramspan top wrote"));
  EXPECT_EQ(ReadText(path()), "precious");
}

TEST_F(TopMetricsFile, ItsNameIsWhatTheCollectorReads) {
  EXPECT_EQ(Top("--once --metrics '" + run() + "/it.txt'").code, 2);
}

}  // namespace
}  // namespace vramspan
