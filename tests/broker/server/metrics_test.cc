// The daemon's metrics: over HTTP and as a file, and who is hostile to them.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/broker/server/program.h"
#include "tests/broker/server/prometheus.h"

namespace vramspan::broker_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int kScrapeMs = 40'000;

// The port that the daemon said.
uint16_t PortOf(const Daemon& daemon) {
  const std::string before = "metrics are at http://127.0.0.1:";
  const size_t at = daemon.said().find(before);
  VS_CHECK(at != std::string::npos);
  return static_cast<uint16_t>(std::stoi(daemon.said().substr(at + before.size())));
}

class Scraper {
 public:
  explicit Scraper(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    VS_CHECK(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  ~Scraper() { close(fd_); }
  Scraper(const Scraper&) = delete;
  Scraper& operator=(const Scraper&) = delete;

  void Say(const std::string& text) { send(fd_, text.data(), text.size(), MSG_NOSIGNAL); }
  // All, until the daemon ends it.
  std::string Hear() {
    std::string all;
    char buffer[4096];
    for (;;) {
      pollfd poll = {fd_, POLLIN, 0};
      VS_CHECK(::poll(&poll, 1, kScrapeMs) == 1);
      const ssize_t size = recv(fd_, buffer, sizeof buffer, 0);
      if (size <= 0) return all;
      all.append(buffer, static_cast<size_t>(size));
    }
  }

 private:
  const int fd_;
};

std::string Scrape(uint16_t port,
                   const std::string& request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") {
  Scraper scraper(port);
  scraper.Say(request);
  return scraper.Hear();
}

std::string BodyOf(const std::string& answer) {
  const size_t at = answer.find("\r\n\r\n");
  return at == std::string::npos ? "" : answer.substr(at + 4);
}

TEST(Metrics, AreServed) {
  Daemon daemon;
  daemon.WriteTenant("train.toml", "cgroup = \"/a\"\nweight = 300\n");
  daemon.Start({.options = {"--metrics", "0"}});
  Program a(daemon, "/a"), b(daemon, "/b");
  a.BeGreedy(kAll);
  // What it says comes another way than what b says.
  ASSERT_TRUE(Until({&a}, [&] { return DeviceUse(daemon, a) == kAll; }));
  b.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a, &b}, [&] { return b.grant() >= GiB(2) - MiB(2); })) << b.grant().value;
  const uint16_t port = PortOf(daemon);
  // What was shown a moment ago may be shown once more. Of a's 2 GiB each slice is recalled, and
  // copied.
  std::string answer;
  EXPECT_TRUE(Until({&a, &b}, [&] {
    answer = Scrape(port);
    const Prometheus now(BodyOf(answer));
    const auto is_granted = [&](const char* tenant, const Program& program) {
      return now.Get("vramspan_tenant_share_bytes",
                     {{"tenant", tenant}, {"place", "device"}, {"bound", "granted"}}) ==
             static_cast<double>(program.grant().value);
    };
    return is_granted("/b", b) && is_granted("train", a) &&
           now.Get(
               "vramspan_process_memory_bytes",
               {{"process", std::to_string(a.pid())}, {"place", "device"}, {"kind", "granted"}}) ==
               static_cast<double>(a.grant().value) &&
           now.Get("vramspan_recalls_total", {{"tenant", "train"}, {"result", "done"}}) >= 8 &&
           now.Get("vramspan_tenant_recalled_bytes_total",
                   {{"tenant", "train"}, {"place", "device"}}) >= 0x1p31 - 0x1p21 &&
           now.Get("vramspan_tenant_moved_bytes_total", {{"tenant", "train"}}) >= 0x1p30;
  })) << answer;
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: " + std::to_string(BodyOf(answer).size())));
  const Prometheus read(BodyOf(answer));
  ASSERT_EQ(read.error(), "") << answer;
  EXPECT_EQ(read.Get("vramspan_tenant_weight", {{"tenant", "train"}}), 300);
  EXPECT_EQ(read.Get("vramspan_broker_clients"), 2);
  EXPECT_EQ(read.Get("vramspan_recall_seconds_count"),
            read.Get("vramspan_recalls_total", {{"tenant", "train"}, {"result", "done"}}));
  EXPECT_EQ(read.Get("vramspan_tenant_seen_bytes"), std::nullopt);
  EXPECT_GT(read.Get("vramspan_broker_start_time_seconds"), 1.6e9);
}

TEST(Metrics, StallsAreWhatProcessesSayOfThem) {
  Daemon daemon;
  daemon.Start({.options = {"--metrics", "0"}});
  Program a(daemon, "/a");
  a.Hello(GiB(1));
  ASSERT_TRUE(Until({&a}, [&] { return a.welcomed(); }));
  const auto seconds = [&] {
    return Prometheus(BodyOf(Scrape(PortOf(daemon))))
        .Get("vramspan_tenant_stall_seconds_total", {{"tenant", "/a"}})
        .value_or(-1);
  };
  // What it had waited when it came is not counted.
  Duration said = std::chrono::hours(1);
  ASSERT_TRUE(Until({&a}, [&] {
    a.set_stalled(said += std::chrono::seconds(1));
    a.Say(MiB(2), Bytes());
    return seconds() > 0;
  }));
  EXPECT_LT(seconds(), 3600);
  // It cannot have waited so long since it was looked at.
  a.set_stalled(std::chrono::hours(200'000));
  a.Say(MiB(4), Bytes());
  ASSERT_TRUE(Until({&a}, [&] { return seconds() > 60; }));
  EXPECT_LT(seconds(), 3600.0 * 1000);
}

TEST(Metrics, AreAnsweredAsHttpHasIt) {
  Daemon daemon;
  daemon.Start({.options = {"--metrics", "127.0.0.1:0"}});
  const uint16_t port = PortOf(daemon);
  EXPECT_THAT(Scrape(port, "GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Scrape(port, "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"),
              StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Scrape(port, "\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Scrape(port, std::string(5000, 'x')), StartsWith("HTTP/1.1 431 "));
  const std::string head = Scrape(port, "HEAD /metrics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(BodyOf(head), "");
  // A byte at a time.
  Scraper slow(port);
  for (const char c : std::string("GET /metrics HTTP/1.1\r\n\r\n")) slow.Say(std::string(1, c));
  EXPECT_EQ(Prometheus(BodyOf(slow.Hear())).error(), "");
}

TEST(Metrics, WhoSitsOnTheConnectionsKeepsNobodyOut) {
  Daemon daemon;
  daemon.Start({.options = {"--metrics", "0"}});
  const uint16_t port = PortOf(daemon);
  std::vector<std::unique_ptr<Scraper>> sitting;
  for (int i = 0; i < 12; ++i) {
    sitting.push_back(std::make_unique<Scraper>(port));
    sitting.back()->Say("GET /metrics");
    EXPECT_THAT(Scrape(port), StartsWith("HTTP/1.1 200 OK"));
  }
  EXPECT_TRUE(Serves(daemon, "/a"));
  // All have a deadline, and are told nothing.
  for (const auto& scraper : sitting) EXPECT_EQ(scraper->Hear(), "");
}

TEST(Metrics, WhoScrapesWithoutEndCostsLittle) {
  Daemon daemon;
  daemon.Start({.options = {"--metrics", "0"}});
  const uint16_t port = PortOf(daemon);
  const pid_t scraper = fork();
  if (scraper == 0) {
    // Where the queue is full connecting fails at once.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < end) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      static_cast<void>(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
      const char request[] = "GET /metrics HTTP/1.1\r\n\r\n";
      send(fd, request, sizeof request - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      usleep(200);
      close(fd);
    }
    _exit(0);
  }
  Program a(daemon, "/a");
  a.Hello(GiB(1));
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() >= GiB(1); }));
  // What was saved up is spent in the first of them.
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::steady_clock::now() - start; };
  const double before = daemon.CpuSeconds();
  ASSERT_TRUE(Until({&a}, [&] { return passed() > std::chrono::seconds(5); }));
  const double spent = daemon.CpuSeconds() - before;
  EXPECT_LT(spent, 0.25 + 0.05 * std::chrono::duration<double>(passed()).count());
  EXPECT_TRUE(Serves(daemon, "/b"));
  kill(scraper, SIGKILL);
  waitpid(scraper, nullptr, 0);
}

TEST(Metrics, ALogThatNobodyReadsHoldsNobodyUp) {
  Daemon daemon;
  daemon.Start({.options = {"--metrics", "0"}});
  const uint16_t port = PortOf(daemon);
  daemon.FillItsPipe();
  const auto lost = [&] {
    return Prometheus(BodyOf(Scrape(port))).Get("vramspan_broker_log_lines_lost_total");
  };
  // Lines, of which none has room. Where they are too many in a second they are lost as well.
  EXPECT_EQ(daemon.Set("/a", "weight", "200"), "");
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(nlohmann::json::parse(daemon.Ask(R"({"verb":"drain","who":"/a"})").at(0))["kind"],
              "error");
  }
  EXPECT_TRUE(Serves(daemon, "/b"));
  ASSERT_TRUE(Until({}, [&] { return lost() >= 3; }));
  // Somebody reads again: what is said next says how many there were.
  EXPECT_TRUE(Until({}, [&] {
    daemon.Ask(R"({"verb":"drain","who":"/a"})");
    daemon.ReadWhatIsThere();
    return daemon.said().find(" lines were lost, because nobody read them") != std::string::npos;
  }));
}

TEST(Metrics, TheFileIsWritten) {
  Daemon daemon;
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/a b.prom";
  daemon.Start({.options = {"--metrics-file", file}});
  Program a(daemon, "/a");
  ASSERT_TRUE(Until({&a}, [&] { return !ReadText(file).empty(); }));
  const Prometheus read(ReadText(file));
  EXPECT_EQ(read.error(), "") << ReadText(file);
  EXPECT_TRUE(read.Has("vramspan_broker_clients"));
  EXPECT_THAT(daemon.said(), testing::Not(HasSubstr("metrics are at")));
}

TEST(Metrics, AFileOfOthersIsSaidAndStays) {
  Daemon daemon;
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/pipe.prom";
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  daemon.Start({.options = {"--metrics-file", file}});
  EXPECT_TRUE(Serves(daemon, "/a"));
  daemon.WaitToSay("something is there that no broker wrote");
  EXPECT_TRUE(std::filesystem::is_fifo(file));
  EXPECT_TRUE(Serves(daemon, "/b"));
}

TEST(Metrics, WrongOptionsAreSaid) {
  const auto said = [](const std::string& options) {
    const TemporaryFolder folder;
    return RunBinary("", "broker serve --run-directory '" + folder.path() +
                             "/run' --capacity device=9GiB,host=9GiB " + options)
        .err;
  };
  EXPECT_THAT(said("--metrics localhost:9477"), HasSubstr("use 127.0.0.1:9477"));
  EXPECT_THAT(said("--metrics-file /tmp/x"), HasSubstr(".prom"));
  Daemon daemon;
  daemon.Start({.options = {"--metrics", "0"}});
  EXPECT_THAT(said("--metrics " + std::to_string(PortOf(daemon))), HasSubstr("already in use"));
}

}  // namespace
}  // namespace vramspan::broker_test
