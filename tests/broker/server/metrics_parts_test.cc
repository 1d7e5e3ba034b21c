// Metrics in parts: the text, requests, addresses and files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/broker/server/prometheus.h"
#include "tools/broker/core/decide.h"
#include "tools/broker/server/http_request.h"
#include "tools/broker/server/listen_address.h"
#include "tools/broker/server/metrics_file.h"
#include "tools/broker/server/metrics_text.h"
#include "tools/metrics/exposition.h"

namespace vramspan::broker {
namespace {

using metrics::Exposition;
using metrics::Joined;
using metrics::LabelText;

using broker_test::Prometheus;
using testing::HasSubstr;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A device of 10 GiB less 1, tenants, and their processes.
class Fixture {
 public:
  Fixture() {
    Device& device = devices[Uuid{1}];
    device.name = UuidText({1});
    Tell(CapacityIs{Place::kDevice, GiB(10)});
    Tell(CapacityIs{Place::kHost, GiB(100)});
  }
  void Tell(Happening what) { Decide(device().state, {at += std::chrono::seconds(1), what}); }
  Account& Tenant(const std::string& cgroup, const std::string& name) {
    Account& account = accounts.At(cgroup, at);
    account.name = name;
    account.appeared = true;
    Tell(TenantAppears{account.id, kRoot, account.policy});
    return account;
  }
  Client& Process(Account& account, pid_t pid, const std::string& name, Bytes wants) {
    const ProcessId id(static_cast<uint64_t>(pid));
    auto& client = clients[id] = std::make_unique<Client>();
    client->id = id;
    client->peer.pid = pid;
    client->peer.name = name;
    client->account = &account;
    client->device = &device();
    client->joined = true;
    client->socket = Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    ++account.processes;
    Tell(Joins{id, account.id, {.wanted = {{wants, Bytes()}}}});
    return *client;
  }
  Device& device() { return devices.begin()->second; }
  std::string Text() {
    return MetricsText({.accounts = accounts,
                        .devices = devices,
                        .clients = clients,
                        .counts = counts,
                        .sees_use = true,
                        .lost_lines = 7,
                        .spent = std::chrono::milliseconds(1500),
                        .started = std::chrono::seconds(1'700'000'000)});
  }

  Instant at;
  Accounts accounts;
  Devices devices;
  Clients clients;
  Counts counts;
};

TEST(MetricsText, IsWhatPrometheusReads) {
  Fixture fixture;
  fixture.counts.refusals[4] = 3;
  Account& a = fixture.Tenant("/a", "a");
  fixture.Tenant("/b", "b").policy.limit[Place::kDevice] = GiB(2);
  fixture.Process(a, 12, "python3", GiB(3));
  const Prometheus read(fixture.Text());
  ASSERT_EQ(read.error(), "");
  const std::string gpu = UuidText({1});
  EXPECT_EQ(read.Get("vramspan_device_capacity_bytes", {{"gpu", gpu}}), 0x1p30 * 10);
  EXPECT_EQ(read.Get("vramspan_device_memory_bytes", {{"state", "reserve"}}), 0x1p30);
  EXPECT_EQ(read.Get("vramspan_device_memory_bytes", {{"state", "held"}}), 0x1p30 * 9);
  EXPECT_EQ(read.Get("vramspan_tenant_share_bytes",
                     {{"tenant", "a"}, {"place", "device"}, {"bound", "target"}}),
            0x1p30 * 3);
  EXPECT_EQ(read.Get("vramspan_tenant_share_bytes", {{"tenant", "a"}, {"bound", "limit"}}),
            std::nullopt);
  EXPECT_EQ(read.Get("vramspan_tenant_share_bytes", {{"tenant", "b"}, {"bound", "limit"}}),
            0x1p30 * 2);
  EXPECT_EQ(read.Get("vramspan_tenant_processes", {{"tenant", "a"}, {"state", "steady"}}), 1);
  EXPECT_EQ(read.Get("vramspan_process_memory_bytes",
                     {{"process", "12"}, {"program", "python3"}, {"kind", "wanted"}}),
            0x1p30 * 3);
  EXPECT_EQ(read.Get("vramspan_broker_refusals_total", {{"reason", "not_now"}}), 3);
  EXPECT_EQ(read.Get("vramspan_broker_log_lines_lost_total"), 7);
  EXPECT_EQ(read.Get("vramspan_broker_cpu_seconds_total"), 1.5);
  EXPECT_EQ(read.Get("vramspan_broker_start_time_seconds"), 1.7e9);
  EXPECT_EQ(read.Get("vramspan_fairness_jain"), 1);
}

TEST(MetricsText, ABrokerWithNobodyHasAllNames) {
  Fixture fixture;
  const Prometheus one(fixture.Text());
  EXPECT_EQ(one.error(), "");
  fixture.devices.clear();
  const Prometheus none(fixture.Text());
  EXPECT_EQ(none.error(), "");
  EXPECT_EQ(none.types(), one.types());
  EXPECT_TRUE(none.Has("vramspan_recall_seconds"));
}

TEST(MetricsText, NamesOfOthersForgeNothing) {
  Fixture fixture;
  const std::string evil = "x\",tenant=\"y\"} 1\nvramspan_broker_clients 9\n#\\\x80\xed\xa0\x80";
  Account& a = fixture.Tenant("/a", evil);
  fixture.Process(a, 3, evil, GiB(1));
  // What looks the same once it is clean.
  fixture.Tenant("/b", "x\x01");
  fixture.Tenant("/c", "x\x02");
  fixture.Tenant("/d", "#2 x\xef\xbf\xbd");
  fixture.Tenant("/e", std::string(5000, 'e'));
  fixture.Tenant("/f", std::string(5000, 'e') + "f");
  const std::string text = fixture.Text();
  const Prometheus read(text);
  ASSERT_EQ(read.error(), "") << text;
  EXPECT_EQ(read.Get("vramspan_broker_clients"), 1);
  EXPECT_EQ(read.Count("vramspan_tenant_weight"), 6u);
}

TEST(MetricsText, HasABound) {
  Fixture fixture;
  Account* last = nullptr;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "/" + std::string(150, 'n') + std::to_string(i);
    last = &fixture.Tenant(name, name);
  }
  last->source = Source::kFile;
  for (int i = 0; i < 300; ++i) fixture.Process(*last, 1000 + i, "p", MiB(2));
  const std::string text = fixture.Text();
  const Prometheus read(text);
  ASSERT_EQ(read.error(), "");
  EXPECT_EQ(read.Get("vramspan_metrics_left_out", {{"kind", "tenant"}}), 44);
  EXPECT_EQ(read.Get("vramspan_metrics_left_out", {{"kind", "process"}}), 44);
  EXPECT_EQ(read.Count("vramspan_tenant_weight"), 256u);
  // Whom an operator told of is there.
  EXPECT_EQ(read.Count("vramspan_process_memory_bytes"), size_t{256 * 8});
  EXPECT_TRUE(read.Get("vramspan_process_memory_bytes", {{"tenant", last->name}}).has_value());
  EXPECT_LT(text.size(), size_t{4} << 20);
}

TEST(MetricsText, CountsAnswersAndTheirTimes) {
  Fixture fixture;
  Account& a = fixture.Tenant("/a", "a");
  const Recall recall{.bytes = MiB(8), .copied = MiB(4), .sent = fixture.at};
  using Result = Acknowledges::Result;
  RecallTimes& times = fixture.device().recall_times;
  Tally& tally = a.tallies[&fixture.device()];
  const Instant sent = recall.sent;
  CountAnswer({.result = Result::kDone}, recall, sent + std::chrono::milliseconds(5), tally, times);
  CountAnswer({.result = Result::kPartial, .bytes = MiB(2)}, recall,
              sent + std::chrono::milliseconds(30), tally, times);
  CountAnswer({.place = Place::kHost, .result = Result::kDeferred}, recall,
              sent + std::chrono::seconds(9), tally, times);
  const Prometheus read(fixture.Text());
  ASSERT_EQ(read.error(), "");
  EXPECT_EQ(read.Get("vramspan_recalls_total", {{"tenant", "a"}, {"result", "done"}}), 1);
  EXPECT_EQ(read.Get("vramspan_recalls_total", {{"result", "deferred"}}), 1);
  EXPECT_EQ(read.Get("vramspan_tenant_recalled_bytes_total", {{"place", "device"}}), 0x1p20 * 10);
  EXPECT_EQ(read.Get("vramspan_tenant_moved_bytes_total"), 0x1p20 * 6);
  EXPECT_EQ(read.Get("vramspan_recall_seconds_bucket", {{"le", "0.005"}}), 1);
  EXPECT_EQ(read.Get("vramspan_recall_seconds_bucket", {{"le", "0.05"}}), 2);
  EXPECT_EQ(read.Get("vramspan_recall_seconds_count"), 3);
  EXPECT_DOUBLE_EQ(read.Get("vramspan_recall_seconds_sum").value_or(0), 9.035);
}

TEST(MetricsText, FairnessIsOfWhatIsDue) {
  Fixture fixture;
  Account& a = fixture.Tenant("/a", "a");
  Account& b = fixture.Tenant("/b", "b");
  const ProcessId first = fixture.Process(a, 1, "a", GiB(20)).id;
  const ProcessId second = fixture.Process(b, 2, "b", GiB(20)).id;
  auto& processes = fixture.device().state.processes;
  const auto grant = [&](ProcessId id, Bytes bytes) {
    processes.at(id).leases[Place::kDevice].target = GiB(4);
    processes.at(id).leases[Place::kDevice].grant = bytes;
  };
  grant(first, GiB(4));
  grant(second, GiB(4));
  EXPECT_EQ(Prometheus(fixture.Text()).Get("vramspan_fairness_jain"), 1);
  // What is lent is no one's due.
  grant(first, GiB(5));
  EXPECT_EQ(Prometheus(fixture.Text()).Get("vramspan_fairness_jain"), 1);
  grant(second, GiB(0));
  EXPECT_EQ(Prometheus(fixture.Text()).Get("vramspan_fairness_jain"), 0.5);
}

// The page that says what they are names all of them, and no others.
TEST(MetricsText, IsWhatThePageSays) {
  Fixture fixture;
  const Prometheus read(fixture.Text());
  const std::string page = ReadAll(REPOSITORY "/docs/sharing.md");
  std::set<std::string> told;
  for (size_t at = page.find("`vramspan_"); at != std::string::npos;
       at = page.find("`vramspan_", at + 1)) {
    told.insert(page.substr(at + 1, page.find('`', at + 1) - at - 1));
  }
  std::set<std::string> known;
  for (const auto& [name, type] : read.types()) known.insert(name);
  EXPECT_EQ(told, known);
}

// Each expression asks for something that is there, by labels that it has.
TEST(MetricsText, HasWhatTheDashboardAsksFor) {
  Fixture fixture;
  Account& a = fixture.Tenant("/a", "a");
  fixture.Process(a, 12, "python3", GiB(3));
  const std::string text = fixture.Text();
  const Prometheus read(text);
  const auto dashboard =
      nlohmann::json::parse(ReadAll(REPOSITORY "/tools/broker/grafana.json"), nullptr, false);
  ASSERT_TRUE(dashboard.is_object());
  std::vector<std::string> expressions;
  for (const auto& panel : dashboard["panels"]) {
    for (const auto& target : panel["targets"]) expressions.push_back(target["expr"]);
  }
  for (const auto& variable : dashboard["templating"]["list"]) {
    if (variable["type"] == "query") expressions.push_back(variable["query"]);
  }
  EXPECT_GT(expressions.size(), 10u);
  const std::string letters = "abcdefghijklmnopqrstuvwxyz_";
  for (const std::string& expression : expressions) {
    SCOPED_TRACE(expression);
    size_t at = expression.find("vramspan_");
    ASSERT_NE(at, std::string::npos);
    for (; at != std::string::npos; at = expression.find("vramspan_", at + 1)) {
      const size_t end = expression.find_first_not_of(letters, at);
      const std::string name = expression.substr(at, end - at);
      EXPECT_GT(read.Count(name), 0u) << name;
      // Of labels, those that are asked for with a plain value.
      if (end == std::string::npos || expression[end] != '{') continue;
      Prometheus::Labels labels;
      size_t from = end + 1;
      while (from < expression.size() && expression[from - 1] != '}') {
        const size_t equals = expression.find('=', from);
        const size_t quote = expression.find('"', equals), last = expression.find('"', quote + 1);
        ASSERT_NE(last, std::string::npos);
        if (quote == equals + 1) {
          labels[expression.substr(from, equals - from)] =
              expression.substr(quote + 1, last - quote - 1);
        } else {
          EXPECT_THAT(text, HasSubstr(expression.substr(from, equals - from) + "=\""));
        }
        from = last + 2;
      }
      EXPECT_TRUE(read.Get(name, labels).has_value());
    }
  }
}

// The checker finds what is wrong.
TEST(PrometheusChecker, TakesNothingElse) {
  const std::string head = "# HELP a_total A.\n# TYPE a_total counter\n";
  EXPECT_EQ(Prometheus(head + "a_total{b=\"c\\\\\\\"\"} 1\na_total 2.5\n").error(), "");
  for (const char* const wrong :
       {"a_total",
        "a_total x\n",
        "a_total 1",
        "a_total{} 1\n",
        "a_total{b=\"c\",b=\"d\"} 1\n",
        "a_total{b=\"c} 1\n",
        "a_total{b=\"\\x\"} 1\n",
        "a_total{1b=\"c\"} 1\n",
        "b_total 1\n",
        "a_total 1\na_total 1\n",
        "a_total{b=\"c\"} 1\na_total{b=\"c\"} 2\n",
        "a_total 1 2\n",
        "a_total -1\n",
        "a_total NaN\n",
        "\n",
        "# HELP b B.\n",
        "# TYPE b gauge\n",
        "# HELP a_total A.\n# TYPE a_total counter\n",
        "# HELP b B.\n# TYPE b counter\n",
        "a_total{b=\"\xff\"} 1\n",
        "# words\n",
        "# HELP h H.\n# TYPE h histogram\nh 1\n",
        "# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 2\n",
        "# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n"}) {
    EXPECT_NE(Prometheus(head + wrong).error(), "") << wrong;
  }
}

TEST(HttpRequest, IsReadAsFarAsItMatters) {
  const auto code = [](std::string_view text) { return ReadHttpRequest(text).code; };
  EXPECT_EQ(code("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
  EXPECT_EQ(code("GET /metrics?x=y HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(code("GET /metrics HTTP/1.1\n\n"), 200);
  EXPECT_EQ(ReadHttpRequest("HEAD /metrics HTTP/1.1\r\n\r\n").body, HttpAnswer::Body::kNone);
  EXPECT_EQ(code("POST /metrics HTTP/1.1\r\n\r\n"), 405);
  EXPECT_EQ(code("GET / HTTP/1.1\r\n\r\n"), 404);
  EXPECT_EQ(code("GET /metricsx HTTP/1.1\r\n\r\n"), 404);
  EXPECT_EQ(code("PRI * HTTP/2.0\r\n\r\n"), 400);
  EXPECT_EQ(code("\r\n\r\n"), 400);
  EXPECT_EQ(code("GET\r\n\r\n"), 400);
  EXPECT_EQ(code("GET /metrics\r\n\r\n"), 400);
  EXPECT_EQ(code(std::string_view("\0\xff\n\n", 4)), 400);
  EXPECT_EQ(code("GET /metrics HTTP/1.1\r\nHost: a\r\n"), 0);
  EXPECT_EQ(code(""), 0);
  EXPECT_EQ(code(std::string(kMostOfAnHttpRequest, 'x')), 431);
}

TEST(ListenAddress, IsANumber) {
  for (const char* const text : {"9477", "127.0.0.1:9477", "127.9.9.9:1", "[::1]:9477", "0"}) {
    const auto address = ParseListenAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_TRUE(address->loopback) << text;
  }
  for (const char* const text : {"0.0.0.0:9477", "[::]:9477", "10.1.2.3:65535", "[fe80::1]:1"}) {
    const auto address = ParseListenAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_FALSE(address->loopback) << text;
  }
  for (const char* const text : {"", ":9477", "localhost:9477", "::1:9477", "[::1]", "127.0.0.1:",
                                 "127.0.0.1:65536", "127.0.0.1:-1", "1.2.3.4", "[]:1", "a"}) {
    EXPECT_FALSE(ParseListenAddress(text).ok()) << text;
  }
}

class MetricsFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "metrics files XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ + "/vramspan.prom";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  size_t Entries() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++count;
    return count;
  }

  std::string folder_, path_;
};

TEST_F(MetricsFileTest, IsReplacedAsAWhole) {
  const mode_t mask = umask(0077);
  ASSERT_TRUE(WriteMetricsFile(path_, "a 1\n").ok());
  umask(mask);
  const int before = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_TRUE(WriteMetricsFile(path_, "b 2\n").ok());
  EXPECT_EQ(ReadAll(path_), std::string(kMetricsMark) + "b 2\n");
  // Who reads the one before still has all of it.
  char text[64] = {};
  EXPECT_GT(read(before, text, sizeof text), 0);
  EXPECT_EQ(text, std::string(kMetricsMark) + "a 1\n");
  close(before);
  struct stat found = {};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0644u);
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(MetricsFileTest, WhatNoBrokerWroteStays) {
  std::ofstream(folder_ + "/other") << kMetricsMark << "precious\n";
  const auto refused = [&] {
    const Status written = WriteMetricsFile(path_, "a 1\n");
    EXPECT_THAT(std::string(written.message()), HasSubstr("no broker wrote"));
  };
  std::ofstream(path_) << "precious\n";
  refused();
  EXPECT_EQ(ReadAll(path_), "precious\n");
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(folder_ + "/other", path_);
  refused();
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_THAT(ReadAll(folder_ + "/other"), HasSubstr("precious"));
  std::filesystem::remove(path_);
  // Nobody reads or writes it: to open it would wait.
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  refused();
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  refused();
  EXPECT_EQ(Entries(), 2u);
}

TEST_F(MetricsFileTest, NoFolderIsAnError) {
  EXPECT_FALSE(WriteMetricsFile(folder_ + "/none/x.prom", "").ok());
  ASSERT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(WriteMetricsFile(folder_ + "/pipe/x.prom", "").ok());
  EXPECT_FALSE(CheckMetricsPath("/x/metrics.txt").ok());
  EXPECT_FALSE(CheckMetricsPath("/x/.prom").ok());
  EXPECT_TRUE(CheckMetricsPath("/x/y.prom").ok());
}

TEST_F(MetricsFileTest, AFolderThatHangsHoldsNobodyUp) {
  struct Gate {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<int> began = 0, ended = 0;
  };
  const auto gate = std::make_shared<Gate>();
  pthread_mutex_lock(&gate->mutex);
  MetricsFile file(path_, [gate](const std::string&, std::string_view) {
    ++gate->began;
    pthread_mutex_lock(&gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
    ++gate->ended;
    return absl::OkStatus();
  });
  const auto text = std::make_shared<const std::string>("a 1\n");
  const auto until = [](const auto& done) {
    for (int i = 0; i < 60'000 && !done(); ++i) usleep(1000);
    return done();
  };
  file.Write(text);
  ASSERT_TRUE(until([&] { return gate->began == 1; }));
  for (int i = 0; i < 100; ++i) file.Write(text);
  EXPECT_EQ(gate->began, 1);
  pthread_mutex_unlock(&gate->mutex);
  // The one that hung is over: the next is written.
  ASSERT_TRUE(until([&] {
    file.Write(text);
    return gate->ended >= 2;
  }));
}

}  // namespace
}  // namespace vramspan::broker
