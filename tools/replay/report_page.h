// The sources of the report's page, report_page/*, embedded when the tool is built.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPORT_PAGE_H_
#define VRAMSPAN_TOOLS_REPLAY_REPORT_PAGE_H_

#include <string_view>

namespace vramspan::replay {

std::string_view ReportPageHtml();    // With {{title}}, {{style}}, {{data}} and {{script}} in it.
std::string_view ReportPageStyle();   // CSS.
std::string_view ReportPageScript();  // JavaScript, all files in their order.

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPORT_PAGE_H_
