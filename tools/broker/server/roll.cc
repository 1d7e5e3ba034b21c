#include "tools/broker/server/roll.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

#include <vector>

#include "runtime/base/small_file.h"
#include "tools/broker/server/system_error.h"

namespace vramspan::broker {
namespace {

constexpr size_t kMostRoll = 1 << 20;

bool Lives(int pid) { return kill(pid, 0) == 0 || errno == EPERM; }

}  // namespace

std::map<Uuid, uint64_t> LivingIn(std::string_view text) {
  std::map<Uuid, uint64_t> living;
  const std::vector<std::string_view> lines = absl::StrSplit(text, '\n');
  for (const std::string_view line : lines) {
    const std::vector<std::string_view> words = absl::StrSplit(line, ' ');
    int pid = 0;
    if (words.size() != 2 || !absl::SimpleAtoi(words[0], &pid) || pid <= 0) continue;
    const std::optional<Uuid> uuid = ParseUuid(words[1]);
    if (uuid && Lives(pid)) ++living[*uuid];
  }
  return living;
}

StatusOr<std::map<Uuid, uint64_t>> Roll::Living() const {
  const StatusOr<std::string> text = ReadSmallFile(path_, kMostRoll);
  if (absl::IsNotFound(text.status())) return std::map<Uuid, uint64_t>();
  if (!text.ok()) return text.status();
  return LivingIn(*text);
}

Status Roll::Keep(const Clients& clients) {
  std::string text;
  for (const auto& [id, client] : clients) {
    if (client->joined && client->socket) {
      absl::StrAppend(&text, client->peer.pid, " ", client->device->name, "\n");
    }
  }
  if (text == kept_) return absl::OkStatus();
  const std::string next = path_ + ".new";
  Fd file(open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return SystemError(next);
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(file.get(), text.data() + at, text.size() - at);
    if (written <= 0) return SystemError(next);
    at += static_cast<size_t>(written);
  }
  if (rename(next.c_str(), path_.c_str()) != 0) return SystemError(path_);
  kept_ = std::move(text);
  return absl::OkStatus();
}

}  // namespace vramspan::broker
