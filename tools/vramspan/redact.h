// Takes out of a text what tells who somebody is, before it is shown to others.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_REDACT_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_REDACT_H_

#include <string>
#include <string_view>
#include <vector>

namespace vramspan {

struct Secrets {
  std::vector<std::string> homes;  // Folders: become "~".
  std::vector<std::string> users;  // Words: become "USER".
  std::vector<std::string> hosts;  // Words: become "HOST".
};

// Of this process: its environment, its user's line in /etc/passwd, and the machine's name. "root"
// is nobody's name, and neither are names of one letter.
Secrets OwnSecrets();

// The names are replaced as whole words. So is what /home has, whoever's it is.
std::string Redact(std::string_view text, const Secrets& secrets);

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_REDACT_H_
