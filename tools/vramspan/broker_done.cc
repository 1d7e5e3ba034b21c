#include "tools/vramspan/broker_done.h"

#include "tools/broker/control/ask.h"

namespace vramspan::broker_command {

Status AskUntilDone(const std::string& run_directory, const nlohmann::json& request) {
  Status answered;
  VS_RETURN_IF_ERROR(broker::Ask(
      run_directory, request.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace),
      [&](const std::string& line) {
        const nlohmann::json answer = nlohmann::json::parse(line, nullptr, false);
        if (!answer.is_object() || answer.value("kind", "") != "done") {
          answered = absl::FailedPreconditionError(
              answer.is_object() ? answer.value("error", "the broker refused")
                                 : std::string("the broker's answer is no JSON object"));
        }
        return false;
      }));
  return answered;
}

}  // namespace vramspan::broker_command
