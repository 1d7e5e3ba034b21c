#include "tools/replay/json_stream.h"

#include <absl/strings/str_cat.h>

#include <istream>
#include <utility>
#include <vector>

#include "tools/replay/json_text.h"
#include "tools/replay/text_encoding.h"

namespace vramspan::replay {
namespace {

using nlohmann::json;

constexpr size_t kMostMembers = 64;
constexpr size_t kValueSize = 64;  // Of a value in memory, with its key's place.

class Handler final : public nlohmann::json_sax<json> {
 public:
  Handler(std::string_view array, absl::FunctionRef<Status(const json&)> element,
          const JsonStreamLimits& limits)
      : array_(array), element_(element), limits_(limits) {}

  bool null() override { return Value(nullptr, 0); }
  bool boolean(bool value) override { return Value(value, 0); }
  bool number_integer(number_integer_t value) override { return Value(value, 0); }
  bool number_unsigned(number_unsigned_t value) override { return Value(value, 0); }
  bool number_float(number_float_t value, const string_t&) override { return Value(value, 0); }
  bool string(string_t& value) override {
    const size_t size = value.size();
    return Value(std::move(value), size);
  }
  bool binary(binary_t&) override { return Fail("it has binary data"); }
  bool start_object(size_t) override { return Start(json::object()); }
  bool start_array(size_t) override {
    if (depth_ == 1 && key_ == array_) {
      if (result_.found) return Fail("it has a second array of that name");
      result_.found = true;
      in_array_ = true;
      ++depth_;
      return true;
    }
    return Start(json::array());
  }
  bool key(string_t& name) override {
    if (open_.empty()) {
      key_ = std::move(name);
      return true;
    }
    if (!Take(name.size())) return false;
    keys_.back() = std::move(name);
    return true;
  }
  bool end_object() override {
    ended_ = depth_ == 1;
    return End();
  }
  bool end_array() override {
    if (depth_ == 2 && in_array_ && open_.empty()) {
      in_array_ = false;
      --depth_;
      return true;
    }
    return End();
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& e) override {
    if (!status_.ok()) return false;
    no_json_ = true;
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string_view what = e.what();
    const size_t start = what.find("] ");
    status_ = absl::FailedPreconditionError(
        absl::StrCat("it is not JSON at byte ", position, ": ",
                     start == what.npos ? what : what.substr(start + 2)));
    return false;
  }

  const Status& status() const { return status_; }
  // The text is what ended it, and no limit or element.
  bool no_json() const { return no_json_; }
  // The document was read to its end.
  bool ended() const { return ended_; }
  JsonStreamResult& result() { return result_; }

 private:
  bool Fail(std::string_view why) {
    if (status_.ok()) {
      status_ = absl::FailedPreconditionError(
          absl::StrCat(why, " (in element ", result_.elements, " of '", array_, "')"));
    }
    return false;
  }
  bool Take(size_t bytes) {
    size_ += bytes + kValueSize;
    if (size_ <= limits_.element_size) return true;
    return Fail(absl::StrCat("it has an element of more than ", limits_.element_size, " bytes"));
  }
  template <typename T>
  bool Value(T value, size_t size) {
    if (depth_ == 0) return Fail("it is not an object");
    if (depth_ == 1) {
      if (result_.members.size() < kMostMembers && size < 4096) {
        result_.members[key_] = std::move(value);
      }
      return true;
    }
    if (!in_array_) return true;
    if (!Take(size)) return false;
    return Add(std::move(value));
  }
  // A value of the element that is open, or an element by itself.
  bool Add(json value) {
    if (open_.empty()) return Element(value);
    if (open_.back().is_array()) {
      open_.back().push_back(std::move(value));
    } else {
      open_.back()[keys_.back()] = std::move(value);
    }
    return true;
  }
  bool Start(json value) {
    if (depth_ == 0 && !value.is_object()) return Fail("it is not an object");
    if (++depth_ > limits_.depth) {
      return Fail(absl::StrCat("it has more than ", limits_.depth, " levels of nesting"));
    }
    if (depth_ == 1 || !in_array_) return true;
    if (!Take(0)) return false;
    open_.push_back(std::move(value));
    keys_.emplace_back();
    return true;
  }
  bool End() {
    --depth_;
    if (open_.empty()) return true;
    json value = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return Add(std::move(value));
  }
  bool Element(const json& value) {
    if (++result_.elements > limits_.elements) {
      return Fail(absl::StrCat("it has more than ", limits_.elements, " elements"));
    }
    size_ = 0;
    status_ = element_(value);
    return status_.ok();
  }

  const std::string array_;
  const absl::FunctionRef<Status(const json&)> element_;
  const JsonStreamLimits limits_;
  size_t depth_ = 0;
  bool in_array_ = false;
  std::string key_;         // Of the document's member that is being read.
  std::vector<json> open_;  // Of the element, from the outside in.
  std::vector<std::string> keys_;
  size_t size_ = 0;  // Of the element so far.
  Status status_;
  bool no_json_ = false;
  bool ended_ = false;
  JsonStreamResult result_;
};

}  // namespace

StatusOr<JsonStreamResult> ReadJsonStream(std::streambuf* text, std::string_view array,
                                          absl::FunctionRef<Status(const json&)> element,
                                          const JsonStreamLimits& limits) {
  JsonText clean(text, limits.element_size);
  std::istream in(&clean);
  Handler handler(array, element, limits);
  if (json::sax_parse(in, &handler)) return std::move(handler.result());
  if (const std::string_view other = OtherEncoding(clean.begin()); !other.empty()) {
    return absl::FailedPreconditionError(NotInUtf8(other));
  }
  if (clean.too_long()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "it has a name, number or string of more than ", limits.element_size, " bytes"));
  }
  // What the program did not get to write before it was killed; it wrote the rest in order.
  if (handler.no_json() && !handler.ended() && clean.ended() && handler.result().found) {
    handler.result().cut = true;
    return std::move(handler.result());
  }
  return handler.status().ok() ? absl::FailedPreconditionError("it is not JSON") : handler.status();
}

}  // namespace vramspan::replay
