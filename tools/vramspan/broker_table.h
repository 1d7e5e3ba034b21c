// What `vramspan broker status` found, for people.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_BROKER_TABLE_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_BROKER_TABLE_H_

#include <nlohmann/json.hpp>
#include <string>

namespace vramspan::broker_command {

// `report` is what --format json prints.
std::string StatusTable(const nlohmann::ordered_json& report);

}  // namespace vramspan::broker_command

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_BROKER_TABLE_H_
