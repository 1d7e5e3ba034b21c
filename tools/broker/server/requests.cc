#include "tools/broker/server/requests.h"

#include <absl/strings/str_cat.h>

#include <nlohmann/json.hpp>

#include "runtime/base/clean_text.h"

namespace vramspan::broker {
namespace {

std::string Word(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string Answered(const nlohmann::json& answer) {
  return answer.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

StatusOr<Request> ReadRequest(std::string_view text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return absl::InvalidArgumentError("the request is no JSON object");
  const std::string verb = Word(object, "verb");
  Request request;
  if (verb == "status") return request;
  if (verb == "reread") {
    request.verb = Request::Verb::kReread;
    return request;
  }
  if (verb == "drain" || verb == "undrain") {
    request.verb = verb == "drain" ? Request::Verb::kDrain : Request::Verb::kUndrain;
    request.who = Word(object, "who");
    // What is no name means nobody, and not everybody.
    if (request.who.empty() && object.contains("who")) {
      return absl::InvalidArgumentError(absl::StrCat(verb, ": 'who' is no name"));
    }
    return request;
  }
  if (verb != "set") {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", Repeated(verb), "' is not a verb; use status, set, drain, undrain or reread"));
  }
  request.verb = Request::Verb::kSet;
  request.tenant = Word(object, "tenant");
  if (request.tenant.empty()) return absl::InvalidArgumentError("set: the tenant is missing");
  const auto changes = object.find("changes");
  if (changes == object.end() || !changes->is_object() || changes->empty()) {
    return absl::InvalidArgumentError("set: there is nothing to change");
  }
  for (const auto& [key, value] : changes->items()) {
    if (!value.is_string()) {
      return absl::InvalidArgumentError(absl::StrCat(Repeated(key), ": it is no text"));
    }
    request.changes[key] = value.get<std::string>();
  }
  return request;
}

std::string DoneAnswer() { return Answered({{"kind", "done"}}); }

std::string ErrorAnswer(std::string_view error) {
  return Answered({{"kind", "error"}, {"error", std::string(error)}});
}

}  // namespace vramspan::broker
