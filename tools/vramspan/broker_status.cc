// `vramspan broker status`: who has what, and is due what.
#include <absl/strings/str_cat.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/broker/control/ask.h"
#include "tools/vramspan/broker_action.h"
#include "tools/vramspan/broker_table.h"

namespace vramspan::broker_command {
namespace {

using Json = nlohmann::ordered_json;

// Puts an object of the broker's where it belongs. False: it does not say what it is.
bool Add(Json&& object, Json* report) {
  const std::string kind = object.value("kind", "");
  object.erase("kind");
  object.erase("device");
  Json& devices = (*report)["devices"];
  if (kind == "broker") {
    (*report)["broker"] = std::move(object);
    return true;
  }
  if (kind == "device") {
    object["tenants"] = Json::array();
    devices.push_back(std::move(object));
    return true;
  }
  if (devices.empty()) return false;
  Json& tenants = devices.back()["tenants"];
  if (kind == "tenant") {
    object["processes"] = Json::array();
    tenants.push_back(std::move(object));
    return true;
  }
  const std::string cgroup = object.value("cgroup", "");
  object.erase("cgroup");
  for (Json& tenant : tenants) {
    if (kind != "process" || tenant["cgroup"] != cgroup) continue;
    tenant["processes"].push_back(std::move(object));
    return true;
  }
  return false;
}

class ShowStatus final : public Action {
 public:
  std::string name() const override { return "status"; }

  void Define(CommandOptions& broker) override {
    CommandOptions options = broker.Action(name(), "Show who has what, and is due what");
    options.Option("--run-directory", run_directory_, "Where the broker's sockets lie")
        .Shown("DIR");
    options.Option("--format", format_, "How the result is printed")
        .OneOf({"table", "json"})
        .ShowDefault();
    options.Footer(
        "The target is what a process would be granted if memory were shared out now. More than "
        "that is lent.\n"
        "\n"
        "Exit status\n"
        "  0  shown\n"
        "  1  there is no broker, or it does not answer\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan broker status\n"
        "  vramspan broker status --format json > status.json\n"
        "\n"
        "Read more: docs/sharing.md");
  }

  Status Run() override {
    Json report = {{"schema", "vramspan.broker-status"},
                   {"schema_version", 1},
                   {"broker", Json()},
                   {"devices", Json::array()}};
    Status read;
    VS_RETURN_IF_ERROR(
        broker::Ask(run_directory_, R"({"verb":"status"})", [&](const std::string& line) {
          Json object = Json::parse(line, nullptr, false);
          const bool known = object.is_object();
          if (known && object.value("kind", "") == "end") return false;
          if (known && Add(std::move(object), &report)) return true;
          read = absl::DataLossError(absl::StrCat("the broker says what is not known: ", line));
          return false;
        }));
    VS_RETURN_IF_ERROR(read);
    std::cout << (format_ == "json"
                      ? report.dump(2, ' ', true, Json::error_handler_t::replace) + "\n"
                      : StatusTable(report));
    return absl::OkStatus();
  }

 private:
  std::string run_directory_, format_ = "table";
};

}  // namespace

std::unique_ptr<Action> MakeStatus() { return std::make_unique<ShowStatus>(); }

}  // namespace vramspan::broker_command
