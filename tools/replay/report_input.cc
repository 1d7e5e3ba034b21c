#include "tools/replay/report_input.h"

#include <absl/strings/str_cat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "tools/replay/text_encoding.h"

namespace vramspan::replay {
namespace {

using nlohmann::json;

// Counts what a document holds before any of it is kept: a few bytes of text can be forty in
// memory.
class Counter final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return One(); }
  bool boolean(bool) override { return One(); }
  bool number_integer(number_integer_t) override { return One(); }
  bool number_unsigned(number_unsigned_t) override { return One(); }
  bool number_float(number_float_t, const string_t&) override { return One(); }
  bool string(string_t&) override { return One(); }
  bool binary(binary_t&) override { return One(); }
  bool key(string_t&) override { return One(); }
  bool start_object(size_t) override { return Deeper(); }
  bool start_array(size_t) override { return Deeper(); }
  bool end_object() override { return --depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string_view what = error.what();
    const size_t end = what.find("] ");
    status_ = absl::InvalidArgumentError(
        absl::StrCat("it is not valid JSON at byte ", position, ": ",
                     end == std::string_view::npos ? what : what.substr(end + 2)));
    return false;
  }

  const Status& status() const { return status_; }

 private:
  bool One() {
    if (++values_ <= kMostReplayValues) return true;
    status_ = absl::InvalidArgumentError(
        absl::StrCat("it has more than ", kMostReplayValues,
                     " values; replay fewer budgets, policies or chunk sizes"));
    return false;
  }
  bool Deeper() {
    if (++depth_ <= kMostReplayDepth) return One();
    status_ = absl::InvalidArgumentError(
        absl::StrCat("it is nested more than ", kMostReplayDepth, " levels deep"));
    return false;
  }

  size_t values_ = 0, depth_ = 0;
  Status status_;
};

Status CannotRead(const std::string& path, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": the file cannot be read: ", std::strerror(error)));
}

StatusOr<std::string> ReadBounded(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return CannotRead(path, EISDIR);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CannotRead(path, errno);
  std::string text;
  std::string block(size_t{1} << 20, '\0');
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    text.append(block, 0, static_cast<size_t>(file.gcount()));
    if (text.size() > kMostReplayBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the file is longer than the ", kMostReplayBytes >> 20,
                       " MiB that are read; replay fewer budgets, policies or chunk sizes"));
    }
  }
  if (file.bad()) return CannotRead(path, errno);
  return text;
}

}  // namespace

bool LooksLikeJson(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return true;
  std::ifstream file(path, std::ios::binary);
  std::string begin(64, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<size_t>(file.gcount()));
  if (!OtherEncoding(begin).empty()) return true;
  if (begin.starts_with(kByteOrderMark)) begin.erase(0, kByteOrderMark.size());
  const size_t first = begin.find_first_not_of(" \t\r\n");
  return first == std::string::npos || begin[first] == '{' || begin[first] == '[';
}

StatusOr<json> ParseReplay(std::string_view text) {
  if (const std::string_view other = OtherEncoding(text); !other.empty()) {
    return absl::InvalidArgumentError(NotInUtf8(other));
  }
  Counter counter;
  json::sax_parse(text.begin(), text.end(), &counter);
  VS_RETURN_IF_ERROR(counter.status());
  return json::parse(text.begin(), text.end());
}

StatusOr<json> ReadReplayFile(const std::string& path) {
  VS_ASSIGN_OR_RETURN(const std::string text, ReadBounded(path));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": it is empty; `vramspan replay --format json` prints one"));
  }
  StatusOr<json> parsed = ParseReplay(text);
  if (parsed.ok()) return parsed;
  return Status(parsed.status().code(), absl::StrCat(path, ": ", parsed.status().message()));
}

}  // namespace vramspan::replay
