// `vramspan learned list`: the programs of which something is kept.
#include <absl/strings/str_format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "runtime/base/clean_text.h"
#include "tools/vramspan/amount_text.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/learned_action.h"

namespace vramspan::learned_command {
namespace {

using Json = nlohmann::ordered_json;

struct Row {
  KeyedFiles::Entry entry;
  StatusOr<Learned> learned;
};

class List final : public Action {
 public:
  std::string name() const override { return "list"; }

  void Define(CommandOptions& learned) override {
    CommandOptions options = learned.Action(name(), "List the programs of which something is kept");
    options.Option("--format", format_, "How the result is printed")
        .OneOf({"table", "json"})
        .ShowDefault();
    options.Footer(
        "  runs     how many of the program were short of memory\n"
        "  kernels  of how many kernels something is known\n"
        "\n"
        "Exit status\n"
        "  0  all files were read\n"
        "  1  one could not be read, or the folder; stderr says which\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan learned list\n"
        "  vramspan learned list --format json > learned.json\n"
        "\n"
        "Read more: docs/learned.md");
  }

  Status Run() override {
    VS_ASSIGN_OR_RETURN(const KeyedFiles files, KeyedFiles::OfUser(kLearnedFiles));
    VS_ASSIGN_OR_RETURN(const std::vector<KeyedFiles::Entry> entries, files.List());
    std::vector<Row> rows;
    for (const KeyedFiles::Entry& e : entries) rows.push_back({e, ReadLearned(files, e.key)});
    if (format_ == "json") {
      PrintJson(rows);
    } else {
      PrintTable(files, rows);
    }
    Status status;
    for (const Row& row : rows) {
      if (row.learned.ok()) continue;
      if (!status.ok()) SayError("vramspan learned list", status.message());
      status = absl::FailedPreconditionError(row.learned.status().message());
    }
    return status;
  }

 private:
  static void PrintTable(const KeyedFiles& files, const std::vector<Row>& rows) {
    if (rows.empty()) {
      std::cout << "nothing is kept in " << files.folder() << "\n";
      return;
    }
    std::cout << absl::StrFormat("%-16s %5s %8s %10s %15s  %s\n", "key", "runs", "kernels", "size",
                                 "written", "program");
    for (const Row& row : rows) {
      if (!row.learned.ok()) continue;
      std::cout << absl::StrFormat("%-16s %5d %8d %10s %15s  %s\n", KeyText(row.entry.key),
                                   row.learned->runs, row.learned->kernels.size(),
                                   SizeText(row.entry.size), AgoText(row.entry.written),
                                   CleanText(row.learned->program));
    }
  }

  static void PrintJson(const std::vector<Row>& rows) {
    Json all = Json::array();
    for (const Row& row : rows) {
      Json& file = all.emplace_back(Json{{"key", KeyText(row.entry.key)},
                                         {"size_bytes", row.entry.size},
                                         {"written", row.entry.written}});
      if (!row.learned.ok()) {
        file["error"] = row.learned.status().message();
        continue;
      }
      file["program"] = row.learned->program;
      file["device"] = row.learned->device;
      file["runs"] = row.learned->runs;
      file["kernels"] = row.learned->kernels.size();
    }
    const Json json = {{"schema", "vramspan.learned-list"}, {"schema_version", 1}, {"files", all}};
    std::cout << json.dump(2, ' ', true, Json::error_handler_t::replace) << "\n";
  }

  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Action> MakeList() { return std::make_unique<List>(); }

}  // namespace vramspan::learned_command
