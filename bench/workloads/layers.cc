// A model streamed through less room than its weights need: 16 layers of 268 MB, two 8192 x 8192
// half GEMMs each, the working set of every layer declared, several passes queued ahead.
//
//   layers_bench [--layers-fit 16,12,8] [--m 16384,8192,2048] [--chunk auto] [--passes 7]
//   layers_bench --overlap off,safe,all    nothing declared: launches are traced
//   layers_bench --check           right results at twice the budget, nothing else
//
// For each room and m: the time of a pass where plain device memory holds all ("resident"), the
// time that the fewest bytes take over the link of this machine, the time under the budget, and its
// ratio to the larger of the two. The outputs of every pass are compared with the resident run's,
// bit by bit; exit code 1 if any differ. --stand-in replaces cuBLAS, to try the program out without
// a GPU.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/workloads/arguments.h"
#include "bench/workloads/cycle.h"
#include "bench/workloads/layers_model.h"

namespace vramspan::bench {
namespace {

struct Options {
  ModelShape shape;
  std::vector<int> fits = {16, 12, 8};
  std::vector<int> columns = {16384, 8192, 2048};
  std::string chunk = "auto";
  std::string policy;
  std::vector<std::string> overlaps = {"declared"};
  int passes = 7;
  bool stand_in = false;
  bool check = false;
  bool json = false;
};

struct Row {
  int fit = 0;
  std::string overlap;
  int columns = 0;
  PassResult resident, budget;
  double fewest_layers = 0;  // Fetched a pass by MIN.
  double link_seconds = 0;   // What those take.
  double bytes_in = 0;       // Copied a pass.
  double bytes_out = 0;
  double vmm_seconds = 0;  // A pass.
  Statistics before = {}, after = {};
  bool identical = false;

  double bound() const { return std::max(resident.median_seconds, link_seconds); }
  double ratio() const { return budget.median_seconds / bound(); }
};

// The truth: weights in plain device memory, no runtime. One result for each of the columns.
std::vector<PassResult> MeasureResident(Machine& machine, Model& model, const Options& options) {
  const DriverApi& cu = machine.api();
  std::vector<CUdeviceptr> weights;
  for (int layer = 0; layer < options.shape.layers; ++layer) {
    CUdeviceptr ptr = 0;
    machine.Check(cu.MemAlloc(&ptr, options.shape.layer_bytes()), "cuMemAlloc");
    weights.push_back(ptr);
    model.FillLayer(layer, ptr);
  }
  std::vector<PassResult> results;
  for (const int columns : options.columns) {
    results.push_back(model.Run(weights, columns, options.passes,
                                [](int, const std::function<void()>& work) { work(); }));
  }
  for (const CUdeviceptr ptr : weights) machine.Check(cu.MemFree(ptr), "cuMemFree");
  return results;
}

void MeasureBudget(Machine& machine, Model& model, const Options& options, double link_rate,
                   int fit, const std::string& overlap, const std::vector<PassResult>& resident,
                   std::vector<Row>* rows) {
  const ModelShape& shape = options.shape;
  const bool declared = overlap == "declared";
  const Runtime runtime = MakeRuntime(machine, static_cast<size_t>(fit) * shape.layer_bytes(),
                                      options.chunk, options.policy, declared ? "" : overlap);
  const auto submit = [&](const vramspanRange& range, const std::function<void()>& work) {
    if (declared) {
      runtime.submit(model.stream(), {range}, work);
    } else {
      work();
    }
  };
  std::vector<Buffer<uint16_t>> layers;
  std::vector<CUdeviceptr> weights;
  for (int layer = 0; layer < shape.layers; ++layer) {
    layers.push_back(runtime.alloc<uint16_t>(shape.layer_bytes() / sizeof(uint16_t)));
    weights.push_back(layers.back().ptr());
    submit(write(layers.back()), [&] { model.FillLayer(layer, weights.back()); });
  }
  runtime.synchronize();
  for (size_t i = 0; i < options.columns.size(); ++i) {
    Row row;
    row.fit = fit;
    row.overlap = overlap;
    row.columns = options.columns[i];
    row.resident = resident[i];
    row.before = runtime.statistics();
    row.budget = model.Run(
        weights, row.columns, options.passes, [&](int layer, const std::function<void()>& work) {
          submit(vramspan::kernels_only(read(layers[static_cast<size_t>(layer)])), work);
        });
    runtime.synchronize();
    row.after = runtime.statistics();
    row.identical =
        row.resident.same && row.budget.same && row.budget.digest == row.resident.digest;
    row.fewest_layers = MinFetchesAPass(shape.layers, fit);
    row.link_seconds = row.fewest_layers * static_cast<double>(shape.layer_bytes()) / link_rate;
    row.bytes_in =
        static_cast<double>(row.after.bytes_in - row.before.bytes_in) / row.budget.passes;
    row.bytes_out =
        static_cast<double>(row.after.bytes_out - row.before.bytes_out) / row.budget.passes;
    row.vmm_seconds =
        static_cast<double>(row.after.vmm_ns - row.before.vmm_ns) / 1e9 / row.budget.passes;
    rows->push_back(row);
  }
}

void PrintTable(const Machine& machine, const Model& model, const Options& options,
                double link_rate, const std::vector<Row>& rows) {
  std::printf("%s; link in %.1f GB/s; %d layers of %.1f MB, chunk %s, %s\n", machine.name().c_str(),
              link_rate / 1e9, options.shape.layers,
              static_cast<double>(options.shape.layer_bytes()) / 1e6, options.chunk.c_str(),
              model.gemm().c_str());
  std::printf("times in ms a pass, medians of %d (mean); fewest: layers a pass by MIN\n\n",
              options.passes);
  std::printf("%5s %-8s %6s %9s %7s %5s %9s %9s %9s %6s %7s %7s %7s %6s %6s  %s\n", "fits",
              "overlap", "m", "resident", "fewest", "N-C", "link", "budget", "(mean)", "ratio",
              "in", "out", "VMM", "held", "place", "outputs");
  for (const Row& r : rows) {
    const double layer = static_cast<double>(options.shape.layer_bytes());
    std::printf(
        "%5d %-8s %6d %9.2f %7.2f %5d %9.2f %9.2f %9.2f %6.2f %7.2f %7.2f %7.2f %6llu %6llu  %s\n",
        r.fit, r.overlap.c_str(), r.columns, 1e3 * r.resident.median_seconds, r.fewest_layers,
        std::max(0, options.shape.layers - r.fit), 1e3 * r.link_seconds,
        1e3 * r.budget.median_seconds, 1e3 * r.budget.mean_seconds, r.ratio(), r.bytes_in / layer,
        r.bytes_out / layer, 1e3 * r.vmm_seconds,
        static_cast<unsigned long long>(r.after.works_held - r.before.works_held),
        static_cast<unsigned long long>(r.after.works_in_place - r.before.works_in_place),
        r.identical ? "identical" : "DIFFERENT");
  }
  std::printf(
      "\nin, out: layers copied a pass; held, place: launches held, and run with weights on the "
      "host, of %d\n",
      rows.empty() ? 0 : rows[0].budget.passes * options.shape.layers);
}

void PrintJson(const Machine& machine, const Model& model, const Options& options, double link_rate,
               const std::vector<Row>& rows) {
  using Json = nlohmann::ordered_json;
  Json json = {{"schema", "vramspan.bench.layers"},
               {"schema_version", "1.0.0"},
               {"machine", machine.name()},
               {"gemm", model.gemm()},
               {"link_in_gb_per_s", link_rate / 1e9},
               {"layers", options.shape.layers},
               {"k", options.shape.k},
               {"layer_bytes", options.shape.layer_bytes()},
               {"chunk", options.chunk},
               {"passes", options.passes},
               {"rows", Json::array()}};
  for (const Row& r : rows) {
    json["rows"].push_back({{"fits", r.fit},
                            {"overlap", r.overlap},
                            {"m", r.columns},
                            {"resident_ms", 1e3 * r.resident.median_seconds},
                            {"fewest_layers", r.fewest_layers},
                            {"link_ms", 1e3 * r.link_seconds},
                            {"budget_ms", 1e3 * r.budget.median_seconds},
                            {"budget_mean_ms", 1e3 * r.budget.mean_seconds},
                            {"ratio", r.ratio()},
                            {"submit_ms", 1e3 * r.budget.submit_seconds},
                            {"bytes_in", r.bytes_in},
                            {"bytes_out", r.bytes_out},
                            {"vmm_ms", 1e3 * r.vmm_seconds},
                            {"works", r.after.works - r.before.works},
                            {"works_held", r.after.works_held - r.before.works_held},
                            {"works_in_place", r.after.works_in_place - r.before.works_in_place},
                            {"deadlines", r.after.deadlines - r.before.deadlines},
                            {"identical", r.identical}});
  }
  std::printf("%s\n", json.dump(2).c_str());
}

int Measure(const Options& options) {
  Machine machine;
  const double link_rate =
      MeasureLink(machine, std::min<size_t>(options.shape.layer_bytes(), size_t{256} << 20), 7).in;
  Model model(machine, options.shape,
              *std::max_element(options.columns.begin(), options.columns.end()), options.stand_in);
  const std::vector<PassResult> resident = MeasureResident(machine, model, options);
  std::vector<Row> rows;
  for (const int fit : options.fits) {
    for (const std::string& overlap : options.overlaps) {
      MeasureBudget(machine, model, options, link_rate, fit, overlap, resident, &rows);
    }
  }
  const bool identical =
      std::all_of(rows.begin(), rows.end(), [](const Row& r) { return r.identical; });
  if (options.check) {
    std::printf(
        "%s: %s: %.1f MB of weights in room for %.1f MB, %d passes of %d GEMMs, results %s\n",
        identical ? "right" : "WRONG", machine.name().c_str(),
        static_cast<double>(options.shape.layer_bytes()) * options.shape.layers / 1e6,
        static_cast<double>(options.shape.layer_bytes()) * options.fits[0] / 1e6,
        rows[0].budget.passes, 2 * options.shape.layers,
        identical ? "identical to those in plain device memory" : "DIFFERENT");
  } else {
    (options.json ? PrintJson : PrintTable)(machine, model, options, link_rate, rows);
  }
  return identical ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app("A model streamed through less room than its weights need.");
  Options options;
  std::string format = "table";
  app.add_option("--layers-fit", options.fits, "Layers that the device budget has room for")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--m", options.columns, "Columns of the activation")
      ->delimiter(',')
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  app.add_option("--layers", options.shape.layers)
      ->check(CLI::Range(2, 1024))
      ->capture_default_str();
  app.add_option("--k", options.shape.k, "Rows and columns of a matrix")
      ->check(CLI::Range(64, 1 << 16))
      ->capture_default_str();
  app.add_option("--chunk", options.chunk)->capture_default_str();
  app.add_option("--policy", options.policy);
  app.add_option("--overlap", options.overlaps, "Working sets declared, or traced and trusted so")
      ->delimiter(',')
      ->check(CLI::IsMember({"declared", "off", "safe", "all"}))
      ->capture_default_str();
  app.add_option("--passes", options.passes, "Passes that are measured")
      ->check(CLI::Range(1, 200))
      ->capture_default_str();
  app.add_option("--format", format)
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app.add_flag("--stand-in", options.stand_in, "A plain kernel in place of cuBLAS");
  app.add_flag("--check", options.check, "Only results: half of the layers fit, one m, few passes");
  if (const auto code = vramspan::bench::ParseArguments(app, argc, argv)) return *code;
  options.json = format == "json";
  if (options.check) {
    options.fits = {options.shape.layers / 2};
    options.columns = {options.columns.back()};
    options.passes = std::min(options.passes, 3);
  }
  return RunMain("layers_bench", [&] { return Measure(options); });
}

}  // namespace
}  // namespace vramspan::bench

int main(int argc, char** argv) { return vramspan::bench::Main(argc, argv); }
