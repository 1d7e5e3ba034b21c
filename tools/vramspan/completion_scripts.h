// Scripts by which shells complete command lines of vramspan.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_COMPLETION_SCRIPTS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_COMPLETION_SCRIPTS_H_

#include <string>
#include <string_view>

#include "tools/vramspan/command_table.h"

namespace vramspan::completion {

// Each is the shell's functions, which are files of the folder completion, and the table for them.
std::string BashScript(const CommandTable& root);
std::string ZshScript(const CommandTable& root);
std::string FishScript(const CommandTable& root);

// The functions, embedded.
std::string_view BashFunctions();
std::string_view ZshFunctions();
std::string_view FishFunctions();

// `text` as one word of any of these shells.
std::string Quoted(std::string_view text);

// What `vramspan help` takes: all that has actions, without options.
CommandTable HelpTable(const CommandTable& root);

}  // namespace vramspan::completion

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_COMPLETION_SCRIPTS_H_
