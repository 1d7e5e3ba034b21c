// The page that `vramspan report` writes, opened in a browser: it has drawn what the data say,
// reads well in dark and light, wide and narrow, says nothing on the console and reaches for
// nothing.
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_replace.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/report/browser.h"
#include "tests/report/drawing.h"
#include "tests/report/sample_replay.h"
#include "tests/report/shell.h"

namespace vramspan::replay {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kPixel = 0.75;
// The headline's: the budget at half of the peak, and what is best there.
constexpr double kFocusBudget = kSamplePeak / 2;
constexpr double kFocusChunk = 16 * kSampleMiB;

struct Page {
  std::string html;
  Seen seen;
  json drawn;  // What the probe left in the document.
};

json ProbeOf(const std::string& dom) {
  constexpr std::string_view kStart = "<script type=\"application/json\" id=\"probe\">";
  const size_t start = dom.find(kStart);
  if (start == std::string::npos) return nullptr;
  const size_t begin = start + kStart.size();
  return json::parse(dom.substr(begin, dom.find("</script>", begin) - begin));
}

// Writes the data, has the command make its page, and opens the page between canvas.js and the
// probe.
Page MakePage(const std::string& name, const json& replay, const View& view) {
  const std::string base = absl::StrCat(TestFolder(), "/", name);
  WriteWhole(base + ".json", replay.dump());
  EXPECT_EQ(
      Shell(absl::StrCat("'", VRAMSPAN_BINARY, "' report '", base, ".json' -o '", base, ".html'")),
      0);
  Page page{.html = ReadWhole(base + ".html"), .seen = {}, .drawn = nullptr};
  const auto script = [](const char* file) {
    return absl::StrCat("<script nonce=\"probe\">",
                        ReadWhole(absl::StrCat(VRAMSPAN_REPORT_TESTS, "/", file)), "</script>");
  };
  // The page's policy knows its own script alone; here it is made to know these, too.
  WriteWhole(base + ".probed.html",
             absl::StrReplaceAll(page.html, {{"<style>", script("canvas.js") + "<style>"},
                                             {"</body>", script("probe.js") + "</body>"},
                                             {"; script-src ", "; script-src 'nonce-probe' "}}));
  page.seen = OpenInBrowser(base + ".probed.html", view, base);
  page.drawn = ProbeOf(page.seen.dom);
  EXPECT_FALSE(page.drawn.is_null()) << page.seen.log << page.seen.dom.substr(0, 2'000);
  return page;
}

// Without what may be missing, and with a bound that takes longer than a policy.
json WithoutExtras(json replay) {
  replay.erase("curves");
  replay.erase("prices");
  for (json& run : replay["runs"]) run.erase("kernels");
  for (json& run : replay["runs"]) run.erase("timeline");
  for (json& run : replay["runs"]) {
    if (run["policy"] == "min") run["slowdown"] = 20;
  }
  return replay;
}

const Page& Light() {
  static const Page page = MakePage("light", SampleReplay(), {});
  return page;
}
const Page& DarkAndNarrow() {
  static const Page page =
      MakePage("dark", SampleReplay(), {.width = 500, .height = 3000, .dark = true});
  return page;
}
const Page& Hostile() {
  static const Page page = MakePage("hostile", HostileReplay(), {.width = 500});
  return page;
}
const Page& Shared() {
  static const Page page = MakePage("shared", SharedSample(), {});
  return page;
}
const Page& Bare() {
  static const Page page = MakePage("bare", WithoutExtras(SmallReplay()), {});
  return page;
}

// The run of the sample.
const json& RunOf(const std::string& policy, double budget, double chunk) {
  static const json sample = SampleReplay();
  for (const json& run : sample["runs"]) {
    if (run["policy"] == policy && run["device_memory_bytes"] == budget &&
        run["chunk_bytes"] == chunk) {
      return run;
    }
  }
  ADD_FAILURE() << policy << " " << budget << " " << chunk;
  return sample["runs"][0];
}

std::string TimesText(double factor) {
  return factor < 9.995 ? absl::StrFormat("%.2f×", factor) : absl::StrFormat("%.1f×", factor);
}

double SlowdownOf(const std::string& policy, double budget, double chunk) {
  return RunOf(policy, budget, chunk)["slowdown"];
}

std::vector<double> Budgets() {
  std::vector<double> budgets;
  for (const double percent : kSamplePercents) budgets.push_back(percent / 100 * kSamplePeak);
  return budgets;
}

void ExpectAt(const Place& place, double x, double y, const std::string& what) {
  EXPECT_NEAR(place[0], x, kPixel) << what;
  EXPECT_NEAR(place[1], y, kPixel) << what;
}

// Every policy's line goes through its runs, at `slowdown(policy, budget)`.
template <typename SlowdownAt>
void ExpectSlowdownLines(const json& plot, SlowdownAt slowdown) {
  const DrawnAxis x(plot.at("x")), y(plot.at("y"));
  ASSERT_EQ(plot.at("series").size(), kSamplePolicies.size());
  for (const std::string& policy : kSamplePolicies) {
    const json& series = Named(plot.at("series"), "name", policy);
    EXPECT_TRUE(series.at("visible")) << policy;
    EXPECT_TRUE(series.at("dotsSeen")) << policy;
    EXPECT_EQ(series.at("floor"), policy == "min") << policy;
    const auto dots = series.at("dots").get<std::vector<Place>>();
    const auto vertices = series.at("vertices").get<std::vector<Place>>();
    ASSERT_EQ(dots.size(), Budgets().size()) << policy;
    ASSERT_EQ(vertices.size(), Budgets().size()) << policy;
    for (size_t i = 0; i < dots.size(); ++i) {
      const double budget = Budgets()[i];
      const double height = y.PlaceOf(slowdown(policy, budget));
      ExpectAt(dots[i], x.PlaceOf(budget), height, absl::StrCat(policy, " dot ", i));
      ExpectAt(vertices[i], x.PlaceOf(budget), height, absl::StrCat(policy, " line ", i));
    }
  }
}

// A policy's best chunk size; where choosing by size is as good to half a percent, that.
double OverChunks(const std::string& policy, double budget) {
  const double by_size = SlowdownOf(policy, budget, 0);
  double least = by_size;
  for (const double chunk : kSampleChunks) {
    least = std::min(least, SlowdownOf(policy, budget, chunk));
  }
  return by_size <= least * 1.005 ? by_size : least;
}

TEST(ReportPage, DrawsSlowdownOfTheHeadlinesChunkSize) {
  ExpectSlowdownLines(Light().drawn.at("slowdown"), [](const std::string& policy, double budget) {
    return SlowdownOf(policy, budget, kFocusChunk);
  });
  ExpectSlowdownLines(DarkAndNarrow().drawn.at("slowdown"),
                      [](const std::string& policy, double budget) {
                        return SlowdownOf(policy, budget, kFocusChunk);
                      });
}

TEST(ReportPage, DrawsSlowdownOfEachPolicysBestChunkSizeWhenAsked) {
  ExpectSlowdownLines(Light().drawn.at("after").at("slowdown"), OverChunks);
}

TEST(ReportPage, TellsTheLinesApart) {
  std::set<std::string> looks;
  double widest = 0;
  std::string strongest;
  for (const json& series : Light().drawn.at("slowdown").at("series")) {
    looks.insert(absl::StrCat(series.at("stroke").get<std::string>(), " ",
                              series.at("dashes").get<std::string>()));
    if (series.at("width") > widest) {
      widest = series.at("width");
      strongest = series.at("name");
    }
  }
  EXPECT_EQ(looks.size(), kSamplePolicies.size());
  EXPECT_EQ(strongest, "cost");
}

TEST(ReportPage, ListsThePoliciesByTheirSlowdownAtTheHeadlinesBudget) {
  const json& legend = Light().drawn.at("slowdown").at("legend");
  ASSERT_EQ(legend.size(), kSamplePolicies.size() + 1);  // And the line of 5 %.
  for (const std::string& policy : kSamplePolicies) {
    const std::string value = TimesText(SlowdownOf(policy, kFocusBudget, kFocusChunk));
    EXPECT_TRUE(std::any_of(legend.begin(), legend.end(),
                            [&](const json& row) {
                              const std::string text = row;
                              return absl::StartsWith(text, policy) && absl::EndsWith(text, value);
                            }))
        << policy << " " << value << " " << legend;
  }
  EXPECT_THAT(legend.front(), HasSubstr("fifo"));
}

TEST(ReportPage, DrawsMissRatioCurves) {
  const json& plot = Light().drawn.at("curves");
  const DrawnAxis x(plot.at("x")), y(plot.at("y"));
  ASSERT_EQ(plot.at("series").size(), kSamplePolicies.size());
  const json sample = SampleReplay();
  for (const json& curve : sample["curves"]) {
    if (curve["chunk_bytes"] != kFocusChunk) continue;
    const std::string policy = curve["policy"];
    const json& series = Named(plot.at("series"), "name", policy);
    EXPECT_TRUE(series.at("visible")) << policy;
    EXPECT_EQ(series.at("floor"), policy == "min") << policy;
    EXPECT_EQ(!series.at("band").is_null(), policy == "lru") << policy;
    const auto vertices = series.at("vertices").get<std::vector<Place>>();
    ASSERT_GE(vertices.size(), 50u);
    ASSERT_LE(vertices.size(), 200u) << "not thinned";
    for (const json& point : curve["points"]) {
      const double at = x.PlaceOf(point["device_memory_bytes"]);
      EXPECT_NEAR(HeightAt(vertices, at), y.PlaceOf(100 * point["miss_ratio"].get<double>()),
                  kPixel)
          << policy << " " << point;
      if (series["band"].is_null()) continue;
      const auto edges = series["band"].get<std::vector<std::vector<Place>>>();
      for (size_t edge = 0; edge < 2; ++edge) {  // What was sampled is right to two points.
        const double off = 100 * (point["miss_ratio"].get<double>() + (edge == 0 ? 0.02 : -0.02));
        EXPECT_NEAR(HeightAt(edges.at(edge), at), y.PlaceOf(std::max(0., off)), 1.5) << point;
      }
    }
  }
}

// The best of a cell among all policies but the bound.
double BestOf(double budget, double chunk) {
  double best = SlowdownOf("cost", budget, chunk);
  for (const std::string& policy : kSamplePolicies) {
    if (policy != "min") best = std::min(best, SlowdownOf(policy, budget, chunk));
  }
  return best;
}

// One cell for each size and budget, at its labels, with its number, and the more colour the
// slower.
template <typename SlowdownAt>
void ExpectHeat(const json& heat, SlowdownAt slowdown) {
  const auto rows = heat.at("rows").get<std::vector<Place>>();
  const auto columns = heat.at("columns").get<std::vector<Place>>();
  ASSERT_EQ(rows.size(), kSampleChunks.size());
  ASSERT_EQ(columns.size(), kSamplePercents.size());
  ASSERT_EQ(heat.at("cells").size(), rows.size() * columns.size());
  std::map<double, double> shares;
  for (const auto& [chunk, height] : rows) {
    for (const auto& [budget, across] : columns) {
      const auto cell = std::find_if(
          heat["cells"].begin(), heat["cells"].end(), [x = across, y = height](const json& one) {
            const Place place = one.at("center");
            return std::abs(place[0] - x) < 4 && std::abs(place[1] - y) < 6;
          });
      ASSERT_NE(cell, heat["cells"].end()) << chunk << " " << budget;
      const double expected = slowdown(budget, chunk);
      EXPECT_EQ(cell->at("text"), TimesText(expected)) << chunk << " " << budget;
      shares[expected] = cell->at("share");
    }
  }
  double last = 0;
  for (const auto& [expected, share] : shares) {
    EXPECT_GE(share, last) << expected;
    last = share;
  }
  EXPECT_LT(shares.begin()->second, 0.1);
  EXPECT_NEAR(last, 1, 1e-6);
}

TEST(ReportPage, DrawsTheBestOfEachChunkSizeAndBudget) {
  const json& heat = Light().drawn.at("heat");
  ExpectHeat(heat, BestOf);
  size_t chosen = 0;
  for (const json& cell : heat.at("cells")) {
    if (!cell.at("chosen")) continue;
    ++chosen;
    EXPECT_EQ(cell.at("policy"), "cost");
    EXPECT_EQ(cell.at("text"), TimesText(BestOf(kFocusBudget, kFocusChunk)));
  }
  EXPECT_EQ(chosen, 1u);
}

TEST(ReportPage, DrawsTheChosenPolicysChunkSizes) {
  ExpectHeat(Light().drawn.at("after").at("heat"),
             [](double budget, double chunk) { return SlowdownOf("lru", budget, chunk); });
}

TEST(ReportPage, WritesReadablyOnEveryCell) {
  for (const Page* page : {&Light(), &DarkAndNarrow()}) {
    const Colour paper = ParseColour(page->drawn.at("colours").at("page"));
    for (const json& cell : page->drawn.at("heat").at("cells")) {
      const Colour under = Blend(ParseColour(cell.at("fill")), cell.at("share"), paper);
      EXPECT_GE(Contrast(ParseColour(cell.at("ink")), under), 3.5) << cell;
    }
  }
}

// The sample's timeline with two bins in one, as 300 become at most 200.
constexpr size_t kJoined = 2;

double Joined(const json& bins, size_t bin) {
  double sum = 0;
  for (size_t i = 0; i < kJoined; ++i) sum += bins.at(bin * kJoined + i).get<double>();
  return sum;
}

TEST(ReportPage, DrawsAStripForEachAllocation) {
  const json& timeline = RunOf("cost", kFocusBudget, kFocusChunk)["timeline"];
  const json& strips = Light().drawn.at("timeline").at("strips");
  ASSERT_EQ(strips.size(), 40u);
  const size_t bins = timeline["bins"].get<size_t>() / kJoined;
  for (size_t row = 0; row < strips.size(); ++row) {
    const json& strip = strips[row];
    const json& allocation = timeline["allocations"][row];
    const std::string name = allocation["name"];
    EXPECT_EQ(strip.at("label")[0], name.empty() ? "(no name)" : name);
    const auto frame = strip.at("frame").get<std::array<double, 4>>();
    for (size_t bin = 0; bin < bins; ++bin) {
      const double x = frame[0] + (static_cast<double>(bin) + 0.5) / static_cast<double>(bins) *
                                      (frame[1] - frame[0]);
      double opacity = 0;
      for (const json& rect : strip.at("rects")) {
        const auto box = rect.at("box").get<std::array<double, 4>>();
        EXPECT_NEAR(box[2], frame[2], kPixel);
        if (box[0] <= x && x < box[1]) opacity = rect.at("opacity");
      }
      const double part = Joined(allocation["resident"], bin) / kJoined;
      EXPECT_NEAR(opacity, part, 0.051) << name << " in bin " << bin;
      EXPECT_EQ(opacity == 0, part < 0.0005) << name << " in bin " << bin;
    }
    const json& colours = Light().drawn.at("colours");
    const Colour full = ParseColour(colours.at("resident")),
                 empty = ParseColour(colours.at("empty"));
    for (const json& pixel : strip.at("pixels")) {
      const auto bin =
          static_cast<size_t>(pixel.at("at").get<double>() * static_cast<double>(bins));
      const double part = Joined(allocation["resident"], bin) / kJoined;
      EXPECT_EQ(pixel.at("alpha"), 1);
      const Colour seen = ParseColour(pixel.at("colour")), want = Blend(full, part, empty);
      EXPECT_NEAR(seen.red, want.red, 14) << name << " in bin " << bin;
      EXPECT_NEAR(seen.blue, want.blue, 14) << name << " in bin " << bin;
    }
  }
}

// A bar for each bin that is not nothing, the highest as high as the panel: it, or `most`, is named
// beside it.
void ExpectBars(const json& panel, const json& data, double most = 0) {
  const auto ticks = panel.at("ticks").get<std::vector<Place>>();
  ASSERT_EQ(ticks.size(), 2u);
  const double bottom = ticks[0][1], top = ticks[1][1], high = ticks[1][0];
  const auto frame = Light().drawn["timeline"]["strips"][0]["frame"].get<std::array<double, 4>>();
  const size_t bins = data.size() / kJoined;
  const double width = (frame[1] - frame[0]) / static_cast<double>(bins);
  size_t bars = 0;
  double highest = most;
  for (size_t bin = 0; bin < bins; ++bin) {
    const double value = Joined(data, bin) / (most > 0 ? kJoined : 1);
    highest = std::max(highest, value);
    if (value == 0) continue;
    const auto bar = panel.at("bars").at(bars++).get<std::array<double, 4>>();
    EXPECT_NEAR((bar[0] + bar[1]) / 2, frame[0] + (static_cast<double>(bin) + 0.5) * width, kPixel);
    EXPECT_NEAR(bar[1] - bar[0], width, 1.5) << bin;
    EXPECT_NEAR(bar[3], bottom, kPixel) << bin;
    EXPECT_NEAR(bottom - bar[2], value / high * (bottom - top), kPixel) << bin;
  }
  EXPECT_EQ(panel.at("bars").size(), bars);
  EXPECT_TRUE(panel.at("seen"));
  EXPECT_DOUBLE_EQ(high, highest);
}

TEST(ReportPage, DrawsMissesAndStallsOverTime) {
  const json& timeline = RunOf("cost", kFocusBudget, kFocusChunk)["timeline"];
  const json& panels = Light().drawn.at("timeline").at("panels");
  ExpectBars(panels.at("fetches"), timeline["fetches"]);
  ExpectBars(panels.at("stall"), timeline["stall_ms"]);
  // Up to the budget, which is a line from end to end.
  const json& device = panels.at("device");
  ExpectBars(device, timeline["device_bytes"], kFocusBudget);
  const auto frame = Light().drawn["timeline"]["strips"][0]["frame"].get<std::array<double, 4>>();
  const auto budget = device.at("line").get<std::vector<Place>>();
  ASSERT_GE(budget.size(), 2u);
  ExpectAt(budget.front(), frame[0], device.at("ticks")[1][1], "the budget");
  ExpectAt(budget.back(), frame[1], device.at("ticks")[1][1], "the budget");
  // The whole predicted time lies between the ends of the strips.
  const DrawnAxis time(Light().drawn.at("timeline").at("x"));
  EXPECT_NEAR(time.PlaceOf(0), frame[0], kPixel);
  EXPECT_NEAR(time.PlaceOf(RunOf("cost", kFocusBudget, kFocusChunk)["predicted_ms"]), frame[1],
              kPixel);
}

TEST(ReportPage, TipsSayWhatIsUnderThePointer) {
  const json& after = Light().drawn.at("after");
  // The first series is drawn through all, so that any dot of the smallest budget will do.
  EXPECT_THAT(after.at("slowdownTip"), HasSubstr("6 GiB (25 %)"));
  for (const std::string& policy : kSamplePolicies) {
    EXPECT_THAT(after.at("slowdownTip"), HasSubstr(policy));
    EXPECT_THAT(after.at("slowdownTip"),
                HasSubstr(TimesText(SlowdownOf(policy, kSamplePeak / 4, kFocusChunk))));
  }
  // And when it has left, they stand at the headline's budget as before.
  EXPECT_EQ(after.at("legend"), Light().drawn["slowdown"]["legend"]);
  EXPECT_THAT(Light().drawn["slowdown"]["title"], HasSubstr("12 GiB (50 %)"));
  EXPECT_THAT(after.at("timelineTip"), HasSubstr("layer.0.weight"));
  EXPECT_THAT(after.at("timelineTip"), HasSubstr("100 % of 1012 MiB"));
  EXPECT_TRUE(after.at("tipGone"));
}

TEST(ReportPage, NamesTheValuesAtTheAxes) {
  using Label = std::pair<double, std::string>;
  const json& drawn = Light().drawn;
  const auto labels = [](const json& axis) { return axis.at("labels").get<std::vector<Label>>(); };
  for (const auto& [value, text] : labels(drawn["slowdown"]["y"])) {
    EXPECT_EQ(text, absl::StrCat(value, "×"));
  }
  for (const char* plot : {"slowdown", "curves"}) {
    for (const auto& [value, text] : labels(drawn[plot]["x"])) {
      EXPECT_EQ(text, value == 0 ? "0 B" : absl::StrCat(value / kSampleGiB, " GiB")) << plot;
    }
  }
  for (const auto& [value, text] : labels(drawn["curves"]["y"])) {
    EXPECT_EQ(text, absl::StrCat(value));
  }
  for (const auto& [value, text] : labels(drawn["timeline"]["x"])) {
    EXPECT_EQ(text, absl::StrCat(value / 1000, " s"));
  }
  for (const auto& [value, text] : labels(drawn["after"]["timelineZoom"]["near"]["x"])) {
    EXPECT_EQ(text, absl::StrCat(value / 1000, " s"));
  }
}

// A range of an axis: its ends.
using Range = std::array<double, 2>;

TEST(ReportPage, ShowsAPartOfAPlotAndAllOfItAgain) {
  for (const char* which : {"slowdownZoom", "timelineZoom"}) {
    const json& zoom = Light().drawn["after"][which];
    const auto all = zoom.at("all").get<std::vector<Range>>();
    const auto near = zoom.at("near").at("ranges").get<std::vector<Range>>();
    EXPECT_EQ(all.size(), which == std::string("slowdownZoom") ? 1u : 4u);
    for (size_t i = 0; i < all.size(); ++i) {  // What lies below another goes with it.
      const double span = all[i][1] - all[i][0];
      EXPECT_NEAR(near.at(i)[0], all[i][0] + span / 3, span / 100) << which << " " << i;
      EXPECT_NEAR(near.at(i)[1], all[i][0] + span * 2 / 3, span / 100) << which << " " << i;
    }
    EXPECT_EQ(zoom.at("again"), zoom.at("all")) << which;
    // The axis says where that is, and its labels differ.
    const auto ticks = zoom.at("near").at("x").at("ticks").get<std::vector<Place>>();
    ASSERT_FALSE(ticks.empty()) << which;
    for (const auto& [value, place] : ticks) {
      EXPECT_GE(value, near.back()[0]) << which;
      EXPECT_LE(value, near.back()[1]) << which;
    }
  }
}

TEST(ReportPage, SaysInWordsWhatAPlotShows) {
  const json& drawn = Light().drawn;
  EXPECT_THAT(drawn["slowdown"]["label"], HasSubstr("Slowdown against budget"));
  EXPECT_THAT(drawn["curves"]["label"], HasSubstr("Miss ratio against memory"));
  const json& allocation = RunOf("cost", kFocusBudget, kFocusChunk)["timeline"]["allocations"][0];
  double sum = 0;
  for (const json& part : allocation["resident"]) sum += part.get<double>();
  EXPECT_THAT(
      drawn["timeline"]["label"],
      HasSubstr(absl::StrFormat("layer.0.weight %.3g %% of 1012 MiB",
                                100 * sum / static_cast<double>(allocation["resident"].size()))));
}

TEST(ReportPage, ListsTheDearestKernelsFirst) {
  const json& rows = Light().drawn.at("kernels");
  json kernels = RunOf("cost", kFocusBudget, kFocusChunk)["kernels"];
  ASSERT_EQ(rows.size(), kernels.size());
  for (size_t i = 0; i < rows.size(); ++i) {  // The sample has them in this order.
    EXPECT_EQ(rows[i][0], kernels[i]["name"]);
    EXPECT_EQ(rows[i].back(), kernels[i]["why"]);
  }
  EXPECT_EQ(rows[0][1], "1.49 s");
}

TEST(ReportPage, SaysTheAnswerAndWhatToChange) {
  const json& texts = Light().drawn.at("texts");
  EXPECT_EQ(
      texts.at("headline"),
      "At 12 GiB (50 %) this program takes 1.37 times as long as with all of its memory on the "
      "device; cost with 16 MiB chunks is best, and the bound is 1.28 times.");
  for (const char* part :
       {"Only the largest budget", "fifo (3.52 times)", "5 of the 6 budgets", "16 MiB chunks (1.37",
        "75 % wait for copies", "85 % of the added time", "'layer.7.weight'",
        "vramspan run --device-memory 12GiB --policy cost --chunk 16MiB -- PROGRAM"}) {
    EXPECT_THAT(texts.at("advice"), HasSubstr(part));
  }
  for (const char* part : {"what follows is lost", "3 mentions of tensors were left out",
                           "waited for its device 120 times, 3.4 s in all"}) {
    EXPECT_THAT(texts.at("assumptions"), HasSubstr(part));
  }
  for (const char* price :
       {"copy in\n51.2 GB/s", "copies both ways, the sum\n44.5 GB/s", "drain\n25 µs",
        "remap, µs\tdevice map\tdevice unmap\n2 MiB\t14\t9\n64 MiB\t21\t12"}) {
    EXPECT_THAT(texts.at("assumptions"), HasSubstr(price));
  }
  EXPECT_THAT(texts.at("runs"), HasSubstr("330 runs"));
  EXPECT_THAT(texts.at("advice"), HasSubstr("A round of 1204 pieces of work takes"));
}

TEST(ReportPage, ReadsWellInDarkAndLight) {
  const json light = Light().drawn.at("colours"), dark = DarkAndNarrow().drawn.at("colours");
  EXPECT_EQ(light.at("theme"), "light");
  EXPECT_EQ(dark.at("theme"), "dark");
  EXPECT_GT(Luminance(ParseColour(light.at("page"))), 0.8);
  EXPECT_LT(Luminance(ParseColour(dark.at("page"))), 0.05);
  for (const json& colours : {light, dark}) {
    const Colour page = ParseColour(colours.at("page"));
    EXPECT_GE(Contrast(ParseColour(colours.at("ink")), page), 7);
    EXPECT_GE(Contrast(ParseColour(colours.at("soft")), page), 4.5);
    EXPECT_GE(Contrast(ParseColour(colours.at("resident")), page), 3);
    for (const std::string stroke : colours.at("lines")) {
      EXPECT_GE(Contrast(ParseColour(stroke), page), 3) << stroke;
    }
    EXPECT_GE(colours.at("lines").size(), kSamplePolicies.size());
    for (const std::string bar : colours.at("bars")) EXPECT_GE(Contrast(ParseColour(bar), page), 3);
    for (const std::string label : colours.at("labels")) {
      EXPECT_GE(Contrast(ParseColour(label), page), 4.5) << label;
    }
  }
  // The button turns one into the other.
  // All that is drawn goes with it.
  const auto first = [](const json& colours) {
    return colours.is_array() ? colours.at(0) : colours;
  };
  for (const char* part : {"page", "lines", "labels", "bars", "resident", "empty"}) {
    const json& to_dark = Light().drawn["after"]["colours"][part];
    const json& to_light = DarkAndNarrow().drawn["after"]["colours"][part];
    EXPECT_EQ(first(to_dark), first(dark.at(part))) << part;
    EXPECT_EQ(first(to_light), first(light.at(part))) << part;
  }
}

TEST(ReportPage, NothingOverlapsOrSticksOut) {
  for (const Page* page : {&Light(), &DarkAndNarrow(), &Shared()}) {
    const json& layout = page->drawn.at("layout");
    EXPECT_THAT(layout.at("overlaps"), IsEmpty()) << layout;
    EXPECT_THAT(layout.at("outside"), IsEmpty()) << layout;
    EXPECT_LE(layout.at("scroll"), layout.at("width"));
  }
  // Its names are longer than the page is wide.
  EXPECT_LE(Hostile().drawn.at("layout").at("scroll"), Hostile().drawn["layout"]["width"]);
  EXPECT_THAT(Hostile().drawn.at("layout").at("broken"), IsEmpty());
}

// The second trace is twice as slow as the first.
json TwoTraces() {
  json replay = SmallReplay();
  for (json run : json(replay["runs"])) {
    run["trace"] = "other.vramspan";
    run["slowdown"] = 2 * run["slowdown"].get<double>();
    replay["runs"].push_back(run);
  }
  return replay;
}

TEST(ReportPage, ShowsTheTraceThatIsChosen) {
  const Page page = MakePage("two", TwoTraces(), {.width = 500});
  EXPECT_THAT(page.seen.console, IsEmpty());
  const json& other = page.drawn.at("after").at("other");
  EXPECT_THAT(page.drawn["texts"]["subtitle"], Not(HasSubstr("other.vramspan")));
  EXPECT_THAT(other.at("texts").at("subtitle"), HasSubstr("other.vramspan"));
  const auto best = [](const json& plot) {
    const json& points = Named(plot.at("series"), "name", "cost").at("vertices");
    const DrawnAxis x(plot.at("x")), y(plot.at("y"));
    for (const Place point : points) {
      if (std::abs(point[0] - x.PlaceOf(kFocusBudget)) < 1) {
        return std::pair(point[1], y.PlaceOf(SlowdownOf("cost", kFocusBudget, kFocusChunk)));
      }
    }
    ADD_FAILURE() << "nothing is drawn at half of the peak: " << plot;
    return std::pair(0., 0.);
  };
  const auto [first, as_first] = best(page.drawn.at("slowdown"));
  EXPECT_NEAR(first, as_first, kPixel);
  const auto [second, as_second] = best(other.at("slowdown"));
  EXPECT_LT(second, as_second - 10) << "slower than that";
  // Both traces are for the theme that was chosen, and fit a narrow page.
  EXPECT_EQ(other["colours"]["page"], page.drawn["after"]["colours"]["page"]);
  EXPECT_EQ(other["colours"]["labels"][0], page.drawn["after"]["colours"]["labels"][0]);
  EXPECT_THAT(other.at("layout").at("overlaps"), IsEmpty());
  EXPECT_LE(other["layout"]["scroll"], other["layout"]["width"]);
}

TEST(ReportPage, AbsentDataIsASentence) {
  const json& drawn = Bare().drawn;
  EXPECT_THAT(drawn.at("curves").at("absent"), HasSubstr("No miss-ratio curves"));
  EXPECT_THAT(drawn.at("timeline").at("absent"), HasSubstr("--timeline"));
  EXPECT_THAT(drawn.at("texts").at("kernels"), HasSubstr("No kernels are listed"));
  EXPECT_THAT(drawn.at("texts").at("assumptions"), HasSubstr("not in the data"));
}

TEST(ReportPage, ABoundThatIsSlowerIsNoFloor) {
  EXPECT_TRUE(Light().drawn.at("slowdown").at("note").is_null());
  const json& plot = Bare().drawn.at("slowdown");
  EXPECT_THAT(plot.at("note"), HasSubstr("The bound is not drawn here"));
  ASSERT_EQ(plot.at("series").size(), 2u);
  for (const json& series : plot.at("series")) EXPECT_NE(series.at("name"), "min");
}

TEST(ReportPage, HostileTextsStayTexts) {
  const json& drawn = Hostile().drawn;
  const json& texts = drawn.at("texts");
  EXPECT_THAT(texts.at("subtitle"), HasSubstr("</script><script>document.title='broken'</script>"));
  EXPECT_THAT(texts.at("whole"), HasSubstr("onerror=\"document.title='bad'\""));
  EXPECT_EQ(texts.at("title"), texts.at("heading"));
  EXPECT_THAT(texts.at("title"), HasSubstr("document.title='worse'"));  // The text of it.
  EXPECT_GT(texts.at("title").get<std::string>().size(), 20u);
  EXPECT_EQ(drawn.at("scripts"), 2);  // The data and the page's own.
  EXPECT_THAT(drawn.at("timeline").at("label"), HasSubstr("</script>"));
  EXPECT_THAT(drawn.at("slowdown").at("legend").dump(), HasSubstr("</script>"));
  EXPECT_THAT(drawn.at("foreign"), IsEmpty());
  EXPECT_THAT(drawn.at("timeline").at("strips"), testing::SizeIs(40));
}

// Should something of the data get into the page as HTML after all, it runs nothing.
TEST(ReportPage, ScriptsThatAreNotItsOwnDoNotRun) {
  const std::string base = absl::StrCat(TestFolder(), "/injected");
  std::string injected;
  for (const char* nonce : {"", " nonce=\"report\"", " nonce=\"probe\"", " nonce"}) {
    absl::StrAppend(&injected, "<script", nonce,
                    ">document.documentElement.dataset.ran=1</script>");
  }
  absl::StrAppend(
      &injected, "<img src=\"none:\" onerror=\"document.documentElement.dataset.ran=2\">",
      "<svg onload=\"document.documentElement.dataset.ran=3\"></svg>",
      "<iframe srcdoc=\"<script>parent.document.documentElement.dataset.ran=4</script>\">",
      "</iframe></body>");
  WriteWhole(base + ".html", absl::StrReplaceAll(Light().html, {{"</body>", injected}}));
  const Seen seen = OpenInBrowser(base + ".html", {}, base);
  EXPECT_EQ(seen.exit, 0);
  EXPECT_THAT(seen.dom, Not(ContainsRegex("<html[^>]*data-ran")));
  EXPECT_THAT(seen.console, Not(IsEmpty())) << "the browser says what it refused";
  EXPECT_THAT(seen.dom, HasSubstr("<canvas ")) << "the page's own ran";
  // A word more in its own script, and it is another one.
  WriteWhole(
      base + ".html",
      absl::StrReplaceAll(Light().html, {{"<script>\"use strict\";", "<script>\"use strict\"; "}}));
  const std::string other = OpenInBrowser(base + ".html", {}, base).dom;
  EXPECT_THAT(other, AllOf(HasSubstr("<script>\"use strict\"; "), Not(HasSubstr("<canvas "))));
}

TEST(ReportPage, ShowsWhoHadHowMuchAndWhoseTurnItWas) {
  const std::string& dom = Shared().seen.dom;
  EXPECT_THAT(dom, HasSubstr("Together on 3 GiB they take 60 s, 1.50× the time of one after the "
                             "other. Each takes 3.00× and 3.00×"));
  // Of one program alone there is nothing to see, and its name is a text.
  EXPECT_THAT(dom, ContainsRegex("<section id=\"slowdown\" hidden=\"\">"));
  EXPECT_THAT(dom, Not(ContainsRegex("<section id=\"shared\" hidden")));
  EXPECT_THAT(dom, HasSubstr("&lt;/script&gt;&lt;b&gt;second"));
  const json& strips = Shared().drawn.at("shared").at("strips");
  ASSERT_EQ(strips.size(), 2u);
  const auto frame = strips[0].at("frame").get<std::array<double, 4>>();
  const double left = frame[0], width = frame[1] - frame[0];
  const DrawnAxis time(Shared().drawn.at("shared").at("x"));
  EXPECT_NEAR(time.PlaceOf(0), left, kPixel);
  EXPECT_NEAR(time.PlaceOf(60e3), left + width, kPixel);
  // The turns of the first, and then those of the second: 10 s of 60 each.
  const double begins[2][2] = {{20, 40}, {30, 50}};
  for (size_t row = 0; row < 2; ++row) {
    EXPECT_THAT(strips[row].at("label").dump(), HasSubstr(row == 0 ? "first" : "second"));
    ASSERT_EQ(strips[row].at("marks").size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      const auto turn = strips[row]["marks"][i]["box"].get<std::array<double, 4>>();
      EXPECT_NEAR(turn[0], left + width * begins[row][i] / 60, kPixel) << row << " " << i;
      EXPECT_NEAR(turn[1] - turn[0], width / 6, kPixel) << row << " " << i;
      EXPECT_GT(turn[2], strips[row]["frame"][3]) << "below the strip";
    }
  }
  // Where the second had all that the first had not: from 10 s on.
  std::vector<std::array<double, 4>> filled;
  for (const json& rect : strips[1].at("rects")) {
    if (rect.at("opacity") > 0) filled.push_back(rect.at("box"));
  }
  ASSERT_FALSE(filled.empty());
  EXPECT_NEAR(filled.front()[0], left + width / 6, width / 200 + kPixel);
  EXPECT_NEAR(filled.back()[1], left + width, kPixel);
}

TEST(ReportPage, IsQuietAndReachesForNothing) {
  for (const Page* page : {&Light(), &DarkAndNarrow(), &Hostile(), &Bare(), &Shared()}) {
    EXPECT_EQ(page->seen.exit, 0);
    EXPECT_THAT(page->seen.console, IsEmpty());
    EXPECT_THAT(page->drawn.at("foreign"), IsEmpty());
    EXPECT_THAT(page->html, HasSubstr("default-src 'none'"));
    // Where uPlot is from: in the note on its licence, and in its own first line.
    constexpr const char* kFrom = "https://github.com/leeoniya/uPlot";
    const std::string rest = absl::StrReplaceAll(
        page->html,
        {{absl::StrCat("(", kFrom, ")"), ""}, {absl::StrCat("/*! ", kFrom, " (v"), ""}});
    EXPECT_THAT(rest, HasSubstr("Permission is hereby granted, free of charge"));
    for (const char* reach :
         {"http:", "https:", "url(", "@import", "fetch(", "XMLHttp", "WebSocket"}) {
      EXPECT_EQ(rest.find(reach), std::string::npos) << reach;
    }
  }
}

}  // namespace
}  // namespace vramspan::replay
