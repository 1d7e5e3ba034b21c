#include "tests/broker/server/prometheus.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace vramspan::broker_test {
namespace {

bool IsName(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 128 && (std::isalnum(c) != 0 || c == '_'); });
}

// Of shortest form, and no surrogates.
bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : 4;
    if (length == 4 && lead >> 3 != 30) return false;
    if (i + length > text.size()) return false;
    uint32_t code = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (size_t k = 1; k < length; ++k) {
      const auto c = static_cast<unsigned char>(text[i + k]);
      if (c >> 6 != 2) return false;
      code = code << 6 | (c & 63u);
    }
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kLeast[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += length;
  }
  return true;
}

std::string_view TakeWord(std::string_view* line) {
  const size_t end = std::min(line->find(' '), line->size());
  const std::string_view word = line->substr(0, end);
  line->remove_prefix(std::min(end + 1, line->size()));
  return word;
}

bool EndsIn(std::string_view* name, std::string_view suffix) {
  if (!name->ends_with(suffix)) return false;
  name->remove_suffix(suffix.size());
  return true;
}

}  // namespace

Prometheus::Prometheus(std::string_view text) {
  if (!text.ends_with('\n')) Fail("the text does not end in a new line", "");
  if (!IsUtf8(text)) Fail("the text is no UTF-8", "");
  bool first = true;
  while (!text.empty() && error_.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // Comments that are neither HELP nor TYPE may be there. Here one is, and in the first line.
    if (!first || line != "# Written by vramspan broker.") TakeLine(line);
    first = false;
  }
  if (!helped_.empty()) Fail("there is help, and no type", helped_);
  CheckHistograms();
}

void Prometheus::TakeLine(std::string_view line) {
  if (line.starts_with("#")) return TakeComment(line);
  TakeSample(line);
}

void Prometheus::TakeComment(std::string_view line) {
  std::string_view rest = line;
  if (TakeWord(&rest) != "#") return Fail("an odd comment", line);
  const std::string_view kind = TakeWord(&rest);
  const std::string name(TakeWord(&rest));
  if (!IsName(name)) return Fail("no name", line);
  if (kind == "HELP") {
    if (!helped_.empty()) return Fail("help without a type before it", line);
    if (types_.contains(name)) return Fail("a name that was there before", line);
    if (rest.empty() || rest.find('\\') != std::string_view::npos) return Fail("odd help", line);
    helped_ = name;
    return;
  }
  if (kind != "TYPE") return Fail("an odd comment", line);
  if (helped_ != name) return Fail("a type that is not behind its help", line);
  if (rest != "gauge" && rest != "counter" && rest != "histogram") return Fail("odd type", line);
  if ((rest == "counter") != name.ends_with("_total")) return Fail("_total is for counters", line);
  for (const std::string_view suffix : {"_bucket", "_sum", "_count"}) {
    if (name.ends_with(suffix)) return Fail("a name for histograms alone", line);
  }
  helped_.clear();
  current_ = name;
  types_[name] = rest;
}

void Prometheus::TakeSample(std::string_view line) {
  std::string_view rest = line;
  const size_t end = std::min(rest.find_first_of("{ "), rest.size());
  const std::string name(rest.substr(0, end));
  rest.remove_prefix(end);
  std::string_view family = name;
  const bool histogram = !current_.empty() && types_[current_] == "histogram";
  if (histogram && !EndsIn(&family, "_bucket") && !EndsIn(&family, "_sum") &&
      !EndsIn(&family, "_count")) {
    return Fail("no part of a histogram", line);
  }
  if (!helped_.empty() || family != current_) return Fail("a sample in a wrong place", line);
  Labels labels;
  if (rest.starts_with('{') && !TakeLabels(&rest, &labels)) return Fail("odd labels", line);
  if (labels.contains("le") != name.ends_with("_bucket")) return Fail("le is for buckets", line);
  if (!rest.starts_with(' ')) return Fail("no value", line);
  const std::string number(rest.substr(1));
  char* last = nullptr;
  const double value = std::strtod(number.c_str(), &last);
  if (number.empty() || number.find_first_not_of("0123456789.e+-") != std::string::npos ||
      *last != '\0') {
    return Fail("the value is no number", line);
  }
  if (value < 0) return Fail("nothing here is negative", line);
  if (!series_.emplace(name, labels).second) return Fail("a series that was there before", line);
  samples_[name].emplace_back(std::move(labels), value);
}

bool Prometheus::TakeLabels(std::string_view* line, Labels* labels) {
  do {
    line->remove_prefix(1);  // { or ,
    const size_t equals = line->find('=');
    if (equals == std::string_view::npos) return false;
    const std::string name(line->substr(0, equals));
    if (!IsName(name) || name.starts_with("__") || labels->contains(name)) return false;
    line->remove_prefix(equals + 1);
    if (!line->starts_with('"')) return false;
    line->remove_prefix(1);
    std::string value;
    while (!line->empty() && line->front() != '"') {
      if (line->front() == '\\') {
        line->remove_prefix(1);
        if (line->empty() ||
            std::string_view("\\\"n").find(line->front()) == std::string_view::npos)
          return false;
      }
      value += line->front();
      line->remove_prefix(1);
    }
    if (!line->starts_with('"')) return false;
    line->remove_prefix(1);
    (*labels)[name] = value;
  } while (line->starts_with(','));
  if (!line->starts_with('}')) return false;
  line->remove_prefix(1);
  return true;
}

void Prometheus::CheckHistograms() {
  for (const auto& [name, type] : types_) {
    if (type != "histogram" || !error_.empty()) continue;
    for (const auto& [labels, count] : samples_[name + "_count"]) {
      if (!Get(name + "_sum", labels)) return Fail("a histogram without a sum", name);
      double before = -1, bound = -1;
      for (const auto& [bucket, value] : samples_[name + "_bucket"]) {
        Labels own = bucket;
        own.erase("le");
        if (own != labels) continue;
        const double le = bucket.at("le") == "+Inf" ? 1e300 : std::atof(bucket.at("le").c_str());
        if (le <= bound || value < before) return Fail("buckets that do not grow", name);
        bound = le;
        before = value;
      }
      if (bound != 1e300 || before != count) return Fail("the last bucket is not all", name);
    }
  }
}

std::optional<double> Prometheus::Get(const std::string& name, const Labels& some) const {
  const auto found = samples_.find(name);
  if (found == samples_.end()) return std::nullopt;
  for (const auto& sample : found->second) {
    const Labels& labels = sample.first;
    const bool has = std::all_of(some.begin(), some.end(), [&](const auto& label) {
      const auto other = labels.find(label.first);
      return other != labels.end() && other->second == label.second;
    });
    if (has) return sample.second;
  }
  return std::nullopt;
}

size_t Prometheus::Count(const std::string& name) const {
  const auto found = samples_.find(name);
  return found == samples_.end() ? 0 : found->second.size();
}

void Prometheus::Fail(std::string_view what, std::string_view line) {
  if (error_.empty()) error_ = std::string(what) + ": " + std::string(line);
}

}  // namespace vramspan::broker_test
