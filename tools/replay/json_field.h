// Reads JSON that nobody vouches for: every value is asked for by type and range, and what is not
// as asked is one sentence that names the field ("runs[3].policy: not a text"). The first such
// sentence is kept and defaults come back from there on, so that callers check once, at the end.
#ifndef VRAMSPAN_TOOLS_REPLAY_JSON_FIELD_H_
#define VRAMSPAN_TOOLS_REPLAY_JSON_FIELD_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan::replay {

class JsonField {
 public:
  // `json` and `status` outlive this; `path` is "" for the document itself.
  JsonField(const nlohmann::json& json, std::string path, Status* status)
      : json_(&json), path_(std::move(path)), status_(status) {}

  // A member that must be there; where it is not, or this is no object, a field that reads as
  // nothing.
  JsonField At(const char* key) const;
  // The same for one that may be missing or null.
  std::optional<JsonField> Find(const char* key) const;
  // Its elements. An array of more than `most` is an error.
  std::vector<JsonField> Items(size_t most) const;
  // Finite, and in [low, high].
  double Number(double low, double high) const;
  // Control characters and what turns the direction of text are replaced, and what is longer than
  // `most` bytes is cut.
  std::string Text(size_t most) const;
  bool Flag() const;

  const nlohmann::json& json() const { return *json_; }
  const std::string& path() const { return path_; }
  void Fail(std::string_view why) const;

 private:
  const nlohmann::json* json_;
  std::string path_;
  Status* status_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_JSON_FIELD_H_
