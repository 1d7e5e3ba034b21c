// How fast the mover moves: out, in, and both ways at once, for every chunk size, beside the rate
// of the link in the same run. Everything that leaves was written before, so that it must be
// copied.
//
//   moves_bench [--size 4GiB] [--repetitions 7] [--chunks 2,4,8,16,32,64] [--format table|json]
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/workloads/arguments.h"
#include "bench/workloads/machine.h"
#include "runtime/backing/budget.h"

namespace vramspan::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  size_t size = 0;
  int repetitions = 7;
  std::vector<int> chunks = {2, 4, 8, 16, 32, 64};
  bool json = false;
};

// One kind of move at one chunk size.
struct Rate {
  double gb_per_s = 0;   // Copied bytes, both ways together.
  double copied = 0;     // Of the bytes that were to move, the part that was copied.
  double vmm_share = 0;  // Of the time, inside VMM calls.
  double chunk_us = 0;   // A chunk moved.
};

class Measurement {
 public:
  Measurement(Machine& machine, const Runtime& runtime)
      : machine_(machine), runtime_(runtime), stream_(machine.MakeStream()) {}

  void Write(const Buffer<uint8_t>& buffer) {
    runtime_.submit(stream_, {write(buffer)}, [&] {
      machine_.Check(machine_.api().MemsetD8Async(buffer.ptr(), ++value_, buffer.size(), stream_),
                     "cuMemsetD8Async");
    });
    runtime_.synchronize();
  }

  // `move` asks for moves of `bytes` in all; `prepare` makes them possible again.
  template <typename Prepare, typename Move>
  Rate Repeat(int repetitions, size_t bytes, Prepare prepare, Move move) {
    std::vector<double> rates, copied, shares, chunk_us;
    for (int i = -2; i < repetitions; ++i) {  // The first make host memory and warm up.
      prepare();
      const Statistics before = runtime_.statistics();
      const auto start = Clock::now();
      move();
      runtime_.synchronize();
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const Statistics after = runtime_.statistics();
      if (i < 0) continue;
      const double moved = static_cast<double>(after.bytes_in - before.bytes_in) +
                           static_cast<double>(after.bytes_out - before.bytes_out);
      rates.push_back(moved / seconds / 1e9);
      copied.push_back(moved / static_cast<double>(bytes));
      shares.push_back(static_cast<double>(after.vmm_ns - before.vmm_ns) / 1e9 / seconds);
      chunk_us.push_back(seconds * 1e6 / static_cast<double>(after.remaps - before.remaps));
    }
    return {Median(rates), Median(copied), Median(shares), Median(chunk_us)};
  }

 private:
  Machine& machine_;
  const Runtime& runtime_;
  const CUstream stream_;
  unsigned char value_ = 0;
};

struct Row {
  int chunk_mib;
  Rate out, in, both;
};

Row MeasureChunk(Machine& machine, const Options& options, int chunk_mib) {
  Row row{chunk_mib, {}, {}, {}};
  // Room for one of two buffers and for what is on its way between the two.
  const size_t slack = std::max<size_t>(options.size / 8, size_t{8} * chunk_mib << 20);
  const Runtime runtime =
      MakeRuntime(machine, options.size + slack, std::to_string(chunk_mib) + "MiB");
  const CUstream streams[2] = {machine.MakeStream(), machine.MakeStream()};
  Measurement measurement(machine, runtime);
  Buffer<uint8_t> a = runtime.alloc<uint8_t>(options.size);
  const auto fetch = [&](const Buffer<uint8_t>& buffer, CUstream stream) {
    runtime.prefetch(buffer, Location::device, stream);
  };
  const auto evict = [&](const Buffer<uint8_t>& buffer, CUstream stream) {
    runtime.prefetch(buffer, Location::host, stream);
  };
  row.out = measurement.Repeat(
      options.repetitions, options.size,
      [&] {
        fetch(a, streams[0]);
        measurement.Write(a);
      },
      [&] { evict(a, streams[0]); });
  row.in = measurement.Repeat(
      options.repetitions, options.size,
      [&] {
        fetch(a, streams[0]);
        measurement.Write(a);
        evict(a, streams[0]);
        runtime.synchronize();
      },
      [&] { fetch(a, streams[0]); });

  Buffer<uint8_t> b = runtime.alloc<uint8_t>(options.size);
  const Buffer<uint8_t>* here = &a;
  const Buffer<uint8_t>* there = &b;
  measurement.Write(b);
  row.both = measurement.Repeat(
      options.repetitions, 2 * options.size,
      [&] {
        evict(*there, streams[0]);
        runtime.synchronize();
        fetch(*here, streams[1]);
        measurement.Write(*here);
      },
      [&] {
        evict(*here, streams[0]);
        fetch(*there, streams[1]);
        std::swap(here, there);
      });
  return row;
}

void PrintTable(const Machine& machine, const LinkRates& link, const Options& options,
                const std::vector<Row>& rows) {
  std::printf("%s: %zu MiB moved at a time, medians of %d\n", machine.name().c_str(),
              options.size >> 20, options.repetitions);
  std::printf("link, pinned copies: in %.1f, out %.1f, both ways %.1f GB/s\n\n", link.in / 1e9,
              link.out / 1e9, link.both / 1e9);
  std::printf("%-8s %-28s %-28s %-28s\n", "", "out", "in", "both ways, sum");
  std::printf("%-8s", "chunk");
  for (int i = 0; i < 3; ++i) std::printf(" %6s %6s %7s %6s", "GB/s", "copied", "us/chk", "VMM");
  std::printf("\n");
  for (const Row& row : rows) {
    std::printf("%2d MiB  ", row.chunk_mib);
    for (const Rate* r : {&row.out, &row.in, &row.both}) {
      std::printf(" %6.1f %5.0f%% %7.0f %5.0f%%", r->gb_per_s, 100 * r->copied, r->chunk_us,
                  100 * r->vmm_share);
    }
    std::printf("\n");
  }
}

void PrintJson(const Machine& machine, const LinkRates& link, const Options& options,
               const std::vector<Row>& rows) {
  using Json = nlohmann::ordered_json;
  Json json = {{"schema", "vramspan.bench.moves"},
               {"schema_version", "1.0.0"},
               {"machine", machine.name()},
               {"bytes", options.size},
               {"repetitions", options.repetitions},
               {"link_gb_per_s",
                {{"in", link.in / 1e9}, {"out", link.out / 1e9}, {"both", link.both / 1e9}}},
               {"chunks", Json::array()}};
  const auto rate = [](const Rate& r) {
    return Json{{"gb_per_s", r.gb_per_s},
                {"copied_share", r.copied},
                {"us_per_chunk", r.chunk_us},
                {"vmm_share", r.vmm_share}};
  };
  for (const Row& row : rows) {
    json["chunks"].push_back({{"mib", row.chunk_mib},
                              {"out", rate(row.out)},
                              {"in", rate(row.in)},
                              {"both", rate(row.both)}});
  }
  std::printf("%s\n", json.dump(2).c_str());
}

int Main(int argc, char** argv) {
  CLI::App app("How fast memory moves between device and host.");
  std::string size = "4GiB";
  std::string format = "table";
  Options options;
  app.add_option("--size", size, "Bytes moved at a time")->capture_default_str();
  app.add_option("--repetitions", options.repetitions)
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--chunks", options.chunks, "Chunk sizes in MiB")
      ->delimiter(',')
      ->check(CLI::IsMember({2, 4, 8, 16, 32, 64}))
      ->capture_default_str();
  app.add_option("--format", format)
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  if (const auto code = vramspan::bench::ParseArguments(app, argc, argv)) return *code;
  const StatusOr<Bytes> bytes = ParseSize(size);
  if (!bytes.ok()) {
    std::fprintf(stderr, "moves_bench: --size: %s\n",
                 std::string(bytes.status().message()).c_str());
    return 2;
  }
  // Whole chunks of every size.
  options.size = RoundUp(*bytes, ChunkBytes(kMaxChunkLog2)).value;
  options.json = format == "json";
  return RunMain("moves_bench", [&] {
    Machine machine;
    const LinkRates link = MeasureLink(machine, std::min<size_t>(options.size, size_t{256} << 20),
                                       options.repetitions);
    std::vector<Row> rows;
    for (const int chunk : options.chunks) rows.push_back(MeasureChunk(machine, options, chunk));
    (options.json ? PrintJson : PrintTable)(machine, link, options, rows);
    return 0;
  });
}

}  // namespace
}  // namespace vramspan::bench

int main(int argc, char** argv) { return vramspan::bench::Main(argc, argv); }
