// What an audit takes for a disturbance: by how close together launches were counted. So nothing
// may run beside it.
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/audit/unchanged.h"
#include "tests/tools/run_binary.h"

namespace vramspan {
namespace {

using Json = nlohmann::json;

// Somebody else used host memory during one launch of few, or during two that follow each other.
TEST(AuditDisturbedTest, DisturbancesAreTakenForNoMisses) {
  const auto level = [](const std::string& disturbed, const std::string& what) {
    const Output audit = RunBinary(kEnvironment + disturbed,
                                   "audit --simulate --device-memory 64MiB --chunk 2MiB "
                                   "--format json" +
                                       (kUnchanged + what));
    EXPECT_EQ(audit.code, 0) << audit.err;
    const Json report = Json::parse(audit.out.substr(audit.out.find('{')), nullptr, false);
    for (const Json& k : report.value("kernels", Json::array())) {
      if (k.at("name") == "add_constant") {
        return absl::StrCat(std::string(k.at("level")), " ", int{k.at("doubtful_launches")});
      }
    }
    return audit.out;
  };
  EXPECT_EQ(level("SIMCUDA_DISTURBED_FROM=8 ", "equal"), "proven, if given this 1");
  EXPECT_EQ(level("SIMCUDA_DISTURBED_FROM=8 SIMCUDA_DISTURBED=2 ", "equal"), "missed 2");
  EXPECT_EQ(level("SIMCUDA_DISTURBED_FROM=8 ", "same"), "too few launches 1") << "of two sets";
  EXPECT_EQ(level("SIMCUDA_DISTURBED_FROM=19 SIMCUDA_DISTURBED=2 ", "twins"), "proven 2");
  EXPECT_EQ(level("SIMCUDA_DISTURBED_FROM=19 SIMCUDA_DISTURBED=4 ", "twins"), "missed 4");
}

}  // namespace
}  // namespace vramspan
