#include "tools/vramspan/prove_report.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "runtime/base/clean_text.h"

namespace vramspan::prove {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;
constexpr int kNameWidth = 44;

struct Counts {
  size_t images = 0, kernels = 0, proven = 0, on_condition = 0;

  double Percent() const {
    return kernels == 0 ? 0 : 100 * static_cast<double>(proven) / static_cast<double>(kernels);
  }
  OrderedJson Json() const {
    return {{"images", images},
            {"kernels", kernels},
            {"proven", proven},
            {"on_condition", on_condition}};
  }
};

Counts CountsOf(const FileVerdict& file) {
  Counts counts{.images = file.images};
  for (const ImageVerdict& image : file.own) {
    counts.kernels += image.kernels.size();
    counts.proven += image.proven();
    counts.on_condition += image.on_condition();
  }
  return counts;
}

Counts CountsOf(const std::vector<FileVerdict>& files) {
  Counts sum;
  for (const FileVerdict& file : files) {
    const Counts counts = CountsOf(file);
    sum.images += counts.images;
    sum.kernels += counts.kernels;
    sum.proven += counts.proven;
    sum.on_condition += counts.on_condition;
  }
  return sum;
}

// Why kernels are not proven, and how many: the most frequent ones first.
std::vector<std::pair<std::string, size_t>> Reasons(const std::vector<FileVerdict>& files) {
  std::map<std::string, size_t> counts;
  for (const FileVerdict& file : files) {
    for (const ImageVerdict& image : file.own) {
      for (const auto& [name, verdict] : image.kernels) {
        if (!verdict.proven) ++counts[verdict.why];
      }
    }
  }
  std::vector<std::pair<std::string, size_t>> reasons(counts.begin(), counts.end());
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return reasons;
}

size_t Shown(size_t all, size_t top) { return top == 0 ? all : std::min(all, top); }

// What a program loaded has no path that says anything: its hash, and of which kernels it is.
std::string NameOf(const FileVerdict& file) {
  if (file.loaded_by.empty() || file.own.empty()) return file.path;
  const ImageVerdict& image = file.own.front();
  const std::string hash = absl::StrFormat("%016x", image.module);
  return image.kernels.empty() ? hash : absl::StrCat(hash, " ", image.kernels.begin()->first);
}

// Of a path its end: that is where paths differ.
std::string ShortName(const FileVerdict& file) {
  const std::string text = CleanText(NameOf(file));
  if (text.size() <= kNameWidth) return text;
  if (!file.loaded_by.empty()) {
    return CleanText(absl::StrCat(text.substr(0, kNameWidth - 3), "..."));
  }
  return CleanText(absl::StrCat("...", text.substr(text.size() - (kNameWidth - 3))));
}

void AppendRow(std::string_view name, const Counts& counts, std::string* out) {
  absl::StrAppendFormat(out, "%-*s %7d %8d %8d %5.1f %% %13d\n", kNameWidth, name, counts.images,
                        counts.kernels, counts.proven, counts.Percent(), counts.on_condition);
}

std::string WhyNotAlways(const Verdict& verdict) {
  if (!verdict.proven) return verdict.why;
  return absl::StrCat("it is proven when ", ParameterCasesInWords(verdict.when));
}

OrderedJson KernelsJson(const FileVerdict& file) {
  OrderedJson kernels = OrderedJson::array();
  for (const ImageVerdict& image : file.own) {
    for (const auto& [name, verdict] : image.kernels) {
      const bool always = verdict.proven && verdict.when.empty();
      OrderedJson kernel = {
          {"module", absl::StrFormat("%016x", image.module)}, {"name", name}, {"proven", always}};
      if (!always) kernel.update({{"why", WhyNotAlways(verdict)}, {"gpu", verdict.gpu}});
      if (!verdict.when.empty()) kernel["when"] = ParameterCasesText(verdict.when);
      kernels.push_back(std::move(kernel));
    }
  }
  return kernels;
}

}  // namespace

std::string ToTable(const std::vector<FileVerdict>& files, size_t top) {
  std::string out = absl::StrFormat("%-*s %7s %8s %8s %7s %13s\n", kNameWidth, "file", "images",
                                    "kernels", "proven", "part", "on condition");
  for (const FileVerdict& file : files) AppendRow(ShortName(file), CountsOf(file), &out);
  if (files.size() > 1) AppendRow("all", CountsOf(files), &out);
  const auto reasons = Reasons(files);
  if (reasons.empty()) return out;
  const size_t shown = Shown(reasons.size(), top);
  absl::StrAppend(&out, "\n kernels why not\n");
  size_t left = 0;
  for (size_t i = 0; i < reasons.size(); ++i) {
    if (i < shown) {
      absl::StrAppendFormat(&out, "%8d %s\n", reasons[i].second, CleanText(reasons[i].first));
    } else {
      left += reasons[i].second;
    }
  }
  if (left != 0) {
    absl::StrAppendFormat(&out, "%8d for %d other reasons\n", left, reasons.size() - shown);
  }
  return out;
}

std::string ToList(const std::vector<FileVerdict>& files) {
  std::string out;
  for (const FileVerdict& file : files) {
    for (const ImageVerdict& image : file.own) {
      if (image.kernels.empty() && image.why.empty()) continue;
      absl::StrAppendFormat(&out, "%s, image %016x%s\n",
                            CleanText(file.loaded_by.empty() ? file.path : file.loaded_by),
                            image.module, image.why.empty() ? "" : ": " + CleanText(image.why));
      for (const auto& [name, verdict] : image.kernels) {
        if (verdict.proven && !verdict.when.empty()) {
          absl::StrAppend(&out, "  on condition  ", CleanText(name), "  when ",
                          ParameterCasesInWords(verdict.when), "\n");
          continue;
        }
        absl::StrAppend(&out, verdict.proven ? "  proven  " : "  -       ", CleanText(name));
        if (!verdict.proven) {
          absl::StrAppend(&out, "  ", verdict.gpu, verdict.gpu.empty() ? "" : ": ",
                          CleanText(verdict.why));
        }
        absl::StrAppend(&out, "\n");
      }
    }
  }
  return out;
}

std::string ToJson(const std::vector<FileVerdict>& files, const std::string& nvdisasm, size_t top,
                   bool list) {
  OrderedJson rows = OrderedJson::array();
  for (const FileVerdict& file : files) {
    OrderedJson row = {{"path", file.loaded_by.empty() ? OrderedJson(file.path) : nullptr}};
    if (!file.loaded_by.empty()) {
      row.update({{"loaded_by", file.loaded_by}, {"name", NameOf(file)}});
    }
    row.update(CountsOf(file).Json());
    if (list) row["verdicts"] = KernelsJson(file);
    rows.push_back(std::move(row));
  }
  const auto reasons = Reasons(files);
  const size_t shown = Shown(reasons.size(), top);
  OrderedJson why = OrderedJson::array();
  for (size_t i = 0; i < shown; ++i) {
    why.push_back({{"kernels", reasons[i].second}, {"why", reasons[i].first}});
  }
  const OrderedJson json = {{"schema", "vramspan.prove"},
                            {"schema_version", kSchemaVersion},
                            {"vramspan_version", VRAMSPAN_VERSION_TEXT},
                            {"nvdisasm", nvdisasm},
                            {"total", CountsOf(files).Json()},
                            {"files", std::move(rows)},
                            {"reasons", std::move(why)},
                            {"reasons_left_out", reasons.size() - shown}};
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace vramspan::prove
