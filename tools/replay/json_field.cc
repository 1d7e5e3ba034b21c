#include "tools/replay/json_field.h"

#include <absl/strings/str_cat.h>

#include <cmath>
#include <utility>

#include "runtime/base/clean_text.h"

namespace vramspan::replay {
namespace {

using nlohmann::json;

const json& Nothing() {
  static const json nothing;
  return nothing;
}

}  // namespace

void JsonField::Fail(std::string_view why) const {
  if (!status_->ok()) return;
  *status_ =
      absl::InvalidArgumentError(absl::StrCat(path_.empty() ? "the document" : path_, ": ", why));
}

std::optional<JsonField> JsonField::Find(const char* key) const {
  if (!json_->is_object()) {
    Fail("it is not an object");
    return std::nullopt;
  }
  const auto found = json_->find(key);
  if (found == json_->end() || found->is_null()) return std::nullopt;
  return JsonField(*found, absl::StrCat(path_, path_.empty() ? "" : ".", key), status_);
}

JsonField JsonField::At(const char* key) const {
  if (const std::optional<JsonField> found = Find(key)) return *found;
  const JsonField missing(Nothing(), absl::StrCat(path_, path_.empty() ? "" : ".", key), status_);
  missing.Fail("missing");
  return missing;
}

std::vector<JsonField> JsonField::Items(size_t most) const {
  std::vector<JsonField> items;
  if (!json_->is_array()) {
    Fail("it is not a list");
    return items;
  }
  if (json_->size() > most) {
    Fail(absl::StrCat("it is a list of ", json_->size(), "; use at most ", most));
    return items;
  }
  items.reserve(json_->size());
  for (size_t i = 0; i < json_->size(); ++i) {
    items.emplace_back((*json_)[i], absl::StrCat(path_, "[", i, "]"), status_);
  }
  return items;
}

double JsonField::Number(double low, double high) const {
  if (!json_->is_number()) {
    Fail("it is not a number");
    return low;
  }
  const double value = json_->get<double>();
  if (!std::isfinite(value) || value < low || value > high) {
    Fail(absl::StrCat(value, " is not between ", low, " and ", high));
    return low;
  }
  return value;
}

std::string JsonField::Text(size_t most) const {
  if (!json_->is_string()) {
    Fail("it is not a string");
    return {};
  }
  return CleanText(json_->get_ref<const std::string&>(), most);
}

bool JsonField::Flag() const {
  if (!json_->is_boolean()) {
    Fail("it is neither true nor false");
    return false;
  }
  return json_->get<bool>();
}

}  // namespace vramspan::replay
