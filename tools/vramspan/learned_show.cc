// `vramspan learned show`: what is kept of one program.
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "runtime/base/clean_text.h"
#include "tools/vramspan/amount_text.h"
#include "tools/vramspan/audit_report.h"
#include "tools/vramspan/learned_action.h"

namespace vramspan::learned_command {
namespace {

using Json = nlohmann::ordered_json;

std::string PricesText(const LearnedKernel& kernel) {
  std::string text;
  for (const auto& [price, age] : kernel.arguments) {
    absl::StrAppendFormat(&text, "%s%d%s: %.2f%s", text.empty() ? "" : ", ", price.slot,
                          price.wide ? " wide" : "", price.passes, price.sure ? "" : "?");
  }
  return text.empty() ? "-" : text;
}

class Show final : public Action {
 public:
  std::string name() const override { return "show"; }

  void Define(CommandOptions& learned) override {
    CommandOptions options = learned.Action(name(), "Show what is kept of one program");
    options.Option("key", key_,
                   "The key of `vramspan learned list`, or what it begins with (default: the file "
                   "that was written last)");
    options.Option("--format", format_, "How the result is printed")
        .OneOf({"table", "json"})
        .ShowDefault();
    options.Footer(
        "  alone     what a launch takes with all its memory on the device; - if not known\n"
        "  touched   the memory that it names, as far as can be inferred\n"
        "  age       runs since one launched it\n"
        "  in place  for each argument that lay on the host, by where it stands in the "
        "parameters: how often its bytes cross the bus. `wide` is more than 1 GiB of it; a "
        "question mark says that it was seen too seldom\n"
        "\n"
        "Exit status\n"
        "  0  done as asked; also if nothing is kept and no key was given\n"
        "  1  the file cannot be read, or there is none with that key\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan learned show\n"
        "  vramspan learned show --format json > learned.json\n"
        "\n"
        "Read more: docs/learned.md");
  }

  Status Run() override {
    VS_ASSIGN_OR_RETURN(const KeyedFiles files, KeyedFiles::OfUser(kLearnedFiles));
    VS_ASSIGN_OR_RETURN(const std::vector<KeyedFiles::Entry> entries, files.List());
    Learned learned;
    if (!entries.empty() || !key_.empty()) {
      VS_ASSIGN_OR_RETURN(const KeyedFiles::Entry entry, FindEntry(entries, key_));
      VS_ASSIGN_OR_RETURN(learned, ReadLearned(files, entry.key));
    } else if (format_ == "table") {
      std::cout << "nothing is kept in " << files.folder() << "\n";
      return absl::OkStatus();
    }
    if (format_ == "json") {
      PrintJson(learned);
    } else {
      PrintTable(learned);
    }
    return absl::OkStatus();
  }

 private:
  static void PrintTable(const Learned& learned) {
    std::cout << "program  " << CleanText(learned.program) << "\ndevice   "
              << CleanText(learned.device) << "\nruns     " << learned.runs << "\n\n"
              << absl::StrFormat("%10s %10s %4s  %-28s  %s\n", "alone", "touched", "age",
                                 "in place", "kernel");
    for (const LearnedKernel& k : learned.kernels) {
      std::cout << absl::StrFormat("%10s %10s %4d  %-28s  %s\n",
                                   k.resident_ns == 0 ? "-" : TimeText(k.resident_ns),
                                   k.resident_ns == 0 ? "-" : SizeText(k.touched.value), k.age,
                                   PricesText(k), audit::ShortName(CleanText(k.name), 60));
    }
  }

  static void PrintJson(const Learned& learned) {
    Json kernels = Json::array();
    for (const LearnedKernel& k : learned.kernels) {
      Json arguments = Json::array();
      for (const auto& [price, age] : k.arguments) {
        arguments.push_back({{"slot", price.slot},
                             {"wide", price.wide},
                             {"sure", price.sure},
                             {"passes", price.passes},
                             {"age", age}});
      }
      kernels.push_back({{"name", k.name},
                         {"module", KeyText(k.id.module)},
                         {"resident_ns", k.resident_ns},
                         {"touched_bytes", k.touched.value},
                         {"resident_age", k.resident_age},
                         {"age", k.age},
                         {"arguments", arguments}});
    }
    const Json json = {{"schema", "vramspan.learned"},
                       {"schema_version", 1},
                       {"key", KeyText(learned.key)},
                       {"program", learned.program},
                       {"device", learned.device},
                       {"runs", learned.runs},
                       {"kernels", kernels}};
    std::cout << json.dump(2, ' ', true, Json::error_handler_t::replace) << "\n";
  }

  std::string key_, format_ = "table";
};

}  // namespace

std::unique_ptr<Action> MakeShow() { return std::make_unique<Show>(); }

}  // namespace vramspan::learned_command
