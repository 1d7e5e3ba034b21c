#include "tools/vramspan/redact.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace vramspan {
namespace {

bool InWord(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Where in `text` the name is from `from` on, and ends nowhere within a word.
size_t FindWord(std::string_view text, std::string_view name, size_t from) {
  for (size_t at = text.find(name, from); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !InWord(text[at - 1]) || !InWord(name.front());
    const bool ends = end == text.size() || !InWord(text[end]) || !InWord(name.back());
    if (begins && ends) return at;
  }
  return std::string_view::npos;
}

std::string Replace(std::string_view text, std::string_view name, std::string_view by) {
  std::string out;
  size_t done = 0;
  for (size_t at = FindWord(text, name, 0); at != std::string_view::npos;
       at = FindWord(text, name, done)) {
    absl::StrAppend(&out, text.substr(done, at - done), by);
    done = at + name.size();
  }
  absl::StrAppend(&out, text.substr(done));
  return out;
}

// "/home/somebody/x" becomes "~/x".
std::string ReplaceHomes(std::string_view text) {
  constexpr std::string_view kHomes = "/home/";
  std::string out;
  while (true) {
    const size_t at = text.find(kHomes);
    absl::StrAppend(&out, text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + kHomes.size());
    text.remove_prefix(std::min(text.size(), text.find_first_of("/'\":;,() \n\t")));
    absl::StrAppend(&out, "~");
  }
}

void Add(std::vector<std::string>* names, std::string_view name) {
  if (name.size() < 2 || name == "root") return;
  names->emplace_back(name);
}

void AddVariable(std::vector<std::string>* names, const char* variable) {
  if (const char* const value = std::getenv(variable); value != nullptr) Add(names, value);
}

}  // namespace

Secrets OwnSecrets() {
  Secrets secrets;
  for (const char* variable : {"USER", "LOGNAME", "SUDO_USER", "USERNAME"}) {
    AddVariable(&secrets.users, variable);
  }
  AddVariable(&secrets.homes, "HOME");
  std::ifstream passwd("/etc/passwd");
  for (std::string line; std::getline(passwd, line);) {
    const std::vector<std::string_view> fields = absl::StrSplit(line, ':');
    if (fields.size() < 7 || fields[2] != absl::StrCat(getuid())) continue;
    Add(&secrets.users, fields[0]);
    Add(&secrets.homes, fields[5]);
  }
  secrets.homes.emplace_back("/root");
  utsname system{};
  if (uname(&system) == 0) {
    const std::string_view name = system.nodename;
    Add(&secrets.hosts, name);
    Add(&secrets.hosts, name.substr(0, name.find('.')));
  }
  AddVariable(&secrets.hosts, "HOSTNAME");
  return secrets;
}

std::string Redact(std::string_view text, const Secrets& secrets) {
  std::string out(text);
  std::vector<std::string> homes = secrets.homes;
  // Before a part of it is.
  const auto longer = [](const auto& a, const auto& b) { return a.size() > b.size(); };
  std::sort(homes.begin(), homes.end(), longer);
  for (std::string_view home : homes) {
    while (absl::ConsumeSuffix(&home, "/")) {
    }
    if (!home.empty()) out = Replace(out, home, "~");
  }
  out = ReplaceHomes(out);
  std::vector<std::string> hosts = secrets.hosts;
  std::sort(hosts.begin(), hosts.end(), longer);
  for (const std::string& host : hosts) out = Replace(out, host, "HOST");
  for (const std::string& user : secrets.users) out = Replace(out, user, "USER");
  return out;
}

}  // namespace vramspan
