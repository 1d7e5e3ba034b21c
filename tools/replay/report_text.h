// Numbers as the report's sentences have them.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPORT_TEXT_H_
#define VRAMSPAN_TOOLS_REPLAY_REPORT_TEXT_H_

#include <optional>
#include <string>

namespace vramspan::replay {

std::string SizeWords(double bytes);    // "12 GiB", "1.5 GiB", "512 MiB".
std::string TimeWords(double ms);       // "0.42 ms", "12 ms", "1.3 s", "4.2 min".
std::string TimesWords(double factor);  // "1.42 times", "12.3 times".
std::string PercentWords(double part);  // 0.034 is "3.4 %".
std::string ChunkWords(double bytes);   // "8 MiB chunks"; 0 is "chunks chosen by size".
// A name of which the middle is left out where it is long.
std::string ShortName(const std::string& name);
// "12 GiB (50 %)".
std::string BudgetWords(double bytes, std::optional<double> percent);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPORT_TEXT_H_
