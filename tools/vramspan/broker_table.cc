#include "tools/vramspan/broker_table.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <vector>

#include "runtime/base/clean_text.h"
#include "tools/vramspan/amount_text.h"

namespace vramspan::broker_command {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

std::string Amount(const Json& bytes) {
  return bytes.is_null() ? "none" : SizeText(bytes.get<uint64_t>());
}

// Columns as wide as what is in them; the first is to the left.
std::string Columns(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const int width = static_cast<int>(widths[i]);
      absl::StrAppend(
          &text, i == 0 ? "  " : "   ",
          i == 0 ? absl::StrFormat("%-*s", width, row[i]) : absl::StrFormat("%*s", width, row[i]));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

// Older brokers do not say it.
std::string Since(const Json& object, const char* key) {
  const int64_t seconds = object.value(key, int64_t{-1});
  if (seconds < 0) return "";
  if (seconds < 120) return absl::StrCat(seconds, " s");
  if (seconds < 120 * 60) return absl::StrCat(seconds / 60, " min");
  if (seconds < 48 * 3600) return absl::StrCat(seconds / 3600, " h");
  return absl::StrCat(seconds / 86400, " d");
}

std::string DeviceLines(const Json& device) {
  const Json& memory = device["device_memory"];
  const Json& host = device["host_memory"];
  return absl::StrCat(
      CleanText(device["uuid"].get<std::string>()), "\n  device memory ",
      Amount(memory["capacity_bytes"]), ", foreign use ", Amount(memory["foreign_bytes"]),
      ", reserve ", Amount(device["reserve_bytes"]), ", held ", Amount(memory["held_bytes"]),
      ", free ", Amount(memory["free_bytes"]), "\n  host memory ", Amount(host["capacity_bytes"]),
      ", foreign use ", Amount(host["foreign_bytes"]), ", held ", Amount(host["held_bytes"]),
      ", free ", Amount(host["free_bytes"]), "\n",
      device["adopting"].get<bool>() ? "  waits for processes of the broker before\n" : "");
}

Row TenantRow(const Json& tenant) {
  return {CleanText(tenant["name"].get<std::string>()),
          absl::StrCat(tenant["weight"].get<uint64_t>()),
          Amount(tenant["guarantee_bytes"]),
          Amount(tenant["limit_bytes"]),
          "",
          "",
          "",
          "",
          tenant.value("drained", false) ? "drained" : "",
          tenant["class"].get<std::string>(),
          absl::StrCat(tenant.value("recalls", uint64_t{0})),
          SizeText(tenant.value("moved_bytes", uint64_t{0})),
          ""};
}

// Beside who waits for its turn on the GPU, one has it.
const char* TurnText(const Json& process) {
  const auto turn = process.value("turn", std::string("none"));
  return turn == "has" ? ", has the turn" : turn == "waits" ? ", waits for its turn" : "";
}

Row ProcessRow(const Json& process) {
  const Json& lease = process["device_memory"];
  return {absl::StrCat("  ", process["pid"].get<int64_t>(), " ",
                       CleanText(process["program"].get<std::string>())),
          "",
          "",
          "",
          Amount(lease["target_bytes"]),
          Amount(lease["grant_bytes"]),
          Amount(lease["used_bytes"]),
          Amount(lease["wanted_bytes"]),
          absl::StrCat(process["state"].get<std::string>(),
                       process["overruns"].get<bool>() ? ", overruns" : "",
                       !process.value("drained", false)            ? ""
                       : lease["grant_bytes"].get<uint64_t>() == 0 ? ", drained"
                                                                   : ", draining",
                       TurnText(process)),
          "",
          "",
          "",
          Since(process, "connected_seconds")};
}

}  // namespace

std::string StatusTable(const Json& report) {
  const Json& broker = report["broker"];
  std::string text =
      absl::StrCat("broker ", broker["pid"].get<int64_t>(),
                   Since(broker, "running_seconds").empty()
                       ? ""
                       : absl::StrCat(" since ", Since(broker, "running_seconds")),
                   " in ", CleanText(broker["run_directory"].get<std::string>()), ", enforcement ",
                   broker["enforcement"].get<std::string>(),
                   broker["sees_use"].get<bool>() ? "" : "; what processes use is not seen",
                   broker.value("drained", false) ? "; everybody is drained" : "", "\n");
  if (report["devices"].empty()) absl::StrAppend(&text, "no device is in use\n");
  for (const Json& device : report["devices"]) {
    absl::StrAppend(&text, "\n", DeviceLines(device));
    std::vector<Row> rows = {{"tenant", "weight", "guarantee", "limit", "target", "grant", "used",
                              "wanted", "state", "class", "recalls", "moved", "since"}};
    for (const Json& tenant : device["tenants"]) {
      rows.push_back(TenantRow(tenant));
      for (const Json& process : tenant["processes"]) rows.push_back(ProcessRow(process));
    }
    absl::StrAppend(&text, rows.size() > 1 ? Columns(rows) : "  no tenants\n");
  }
  return text;
}

}  // namespace vramspan::broker_command
