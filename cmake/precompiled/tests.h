// For test programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "cmake/precompiled/core.h"

// The compiler makes these of their templates once, too, where it can.
inline std::string PrecompiledJson(const std::string& text) {
  nlohmann::json json = nlohmann::json::parse(text);
  json["number"] = json.value("number", 1);
  return json.at("text").get<std::string>() + json.dump();
}
