// The sources of the report's page, report_page/* and third_party/uplot, embedded when the tool is
// built.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPORT_PAGE_H_
#define VRAMSPAN_TOOLS_REPLAY_REPORT_PAGE_H_

#include <string_view>

namespace vramspan::replay {

// With {{title}}, {{licence}}, {{style}}, {{data}}, {{script}} and {{script-hash}} in it.
std::string_view ReportPageHtml();
std::string_view ReportPageLicence();  // Of uPlot, which is in the script and the style.
std::string_view ReportPageStyle();    // CSS.
std::string_view ReportPageScript();   // JavaScript, all files in their order.
// The script's SHA-256 in base64: the page's policy lets nothing else run.
std::string_view ReportPageScriptSha256();

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPORT_PAGE_H_
