#include "tools/broker/words/policy_text.h"

#include <absl/strings/str_cat.h>

#include "runtime/base/clean_text.h"
#include "runtime/base/digits.h"
#include "runtime/base/size_text.h"
#include "tools/broker/core/amounts.h"

namespace vramspan::broker {
namespace {

Status Refused(std::string_view key, std::string_view value, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": '", Repeated(value), "' ", why));
}

Status SetBytes(std::string_view key, std::string_view value, std::string_view none_word,
                Bytes none, Bytes* bytes) {
  if (value == none_word) {
    *bytes = none;
    return absl::OkStatus();
  }
  const StatusOr<Bytes> size = ParseSize(value);
  if (!size.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, ": ", size.status().message(), ", or ", none_word));
  }
  *bytes = *size;
  return absl::OkStatus();
}

}  // namespace

Status SetPolicy(std::string_view key, std::string_view value, Policy* policy) {
  if (key == "weight") {
    uint64_t weight = 0;
    if (!ParseDigits(value, &weight) || weight < 1 || weight > kMostWeight) {
      return Refused(key, value, absl::StrCat("is not a weight; use 1 to ", kMostWeight));
    }
    policy->weight = static_cast<uint32_t>(weight);
    return absl::OkStatus();
  }
  if (key == "class") {
    for (const Class klass : {Class::kBatch, Class::kNormal, Class::kLatency}) {
      if (value != ClassText(klass)) continue;
      policy->klass = klass;
      return absl::OkStatus();
    }
    return Refused(key, value, "is not a class; use batch, normal or latency");
  }
  for (const Place place : kPlaces) {
    const std::string_view prefix = place == Place::kHost ? "host_" : "";
    if (key == absl::StrCat(prefix, "guarantee")) {
      return SetBytes(key, value, "0", Bytes(), &policy->guarantee[place]);
    }
    if (key == absl::StrCat(prefix, "limit")) {
      return SetBytes(key, value, "none", kAllBytes, &policy->limit[place]);
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", Repeated(key),
                   "' is not known; use weight, guarantee, limit, class, host_guarantee or "
                   "host_limit"));
}

std::string_view ClassText(Class klass) {
  switch (klass) {
    case Class::kBatch:
      return "batch";
    case Class::kNormal:
      return "normal";
    case Class::kLatency:
      return "latency";
  }
  return "normal";
}

}  // namespace vramspan::broker
