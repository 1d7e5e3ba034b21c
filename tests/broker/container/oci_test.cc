// What a runtime says to a hook. The container's user chose much of it.
#include "tools/broker/container/oci.h"

#include <gmock/gmock.h>

#include "tools/broker/container/request.h"

namespace vramspan::broker {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kState[] =
    R"({"ociVersion":"1.0.2","id":"a1","status":"creating","pid":7,"bundle":"/b","annotations":{}})";

std::string StateError(const std::string& text) {
  return std::string(ReadContainerState(text).status().message());
}

TEST(Oci, TheStateIsRead) {
  const auto state = ReadContainerState(kState);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->id, "a1");
  EXPECT_EQ(state->bundle, "/b");
  EXPECT_EQ(state->pid, 7);
  EXPECT_FALSE(state->ended);
  const auto ended = ReadContainerState(R"({"id":"a1","status":"stopped"})");
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_TRUE(ended->ended);
}

TEST(Oci, AHostileStateIsRefused) {
  for (const char* text : {"", "[]", "7", "{", "{}", "\xff", R"({"id":7})"}) {
    EXPECT_FALSE(ReadContainerState(text).ok()) << text;
  }
  for (const char* id : {"../../etc/x", "a/b", ".a", "", "a b", "a\\u0000b", "a\\n"}) {
    EXPECT_THAT(StateError(std::string(R"({"status":"stopped","id":")") + id + "\"}"),
                HasSubstr("is not a container's id"))
        << id;
  }
  EXPECT_THAT(StateError(R"({"status":"stopped","id":")" + std::string(129, 'a') + "\"}"),
              HasSubstr("is not a container's id"));
  for (const char* pid : {"0", "-1", "1.5", "\"1\"", "99999999999", "18446744073709551616"}) {
    EXPECT_THAT(
        StateError(std::string(R"({"id":"a","status":"created","bundle":"/b","pid":)") + pid + "}"),
        HasSubstr("no pid"))
        << pid;
  }
  EXPECT_THAT(StateError(R"({"id":"a","status":"created","pid":1,"bundle":"b"})"),
              HasSubstr("bundle"));
  EXPECT_THAT(StateError(R"({"id":"a","status":"gone","pid":1,"bundle":"/b"})"),
              HasSubstr("'gone' is not known"));
  EXPECT_THAT(StateError(std::string(kMostOfState + 1, ' ')), HasSubstr("longer"));
  // As deep as it can be.
  EXPECT_FALSE(ReadContainerState(std::string(kMostOfState, '[')).ok());
}

TEST(Oci, VariablesAreThoseThatMatter) {
  const auto variables = ReadContainerVariables(
      R"({"process":{"env":["PATH=/bin","VRAMSPAN_WEIGHT=7","VRAMSPAN_WEIGHT=9000",3,"x",
          "NVIDIA_GPU_MEMORY_LIMIT=8Gi=","VRAMSPAN_BROKER=off"]}})");
  ASSERT_TRUE(variables.ok()) << variables.status();
  EXPECT_THAT(*variables, UnorderedElementsAre(Pair("VRAMSPAN_WEIGHT", "7"),
                                               Pair("NVIDIA_GPU_MEMORY_LIMIT", "8Gi=")));
  for (const char* text : {"{}", R"({"process":[]})", R"({"process":{"env":{}}})"}) {
    EXPECT_THAT(*ReadContainerVariables(text), IsEmpty()) << text;
  }
  EXPECT_FALSE(ReadContainerVariables("[]").ok());
}

TEST(Oci, ARequestIsATenantsPolicy) {
  const auto request = ReadContainerRequest({{"NVIDIA_GPU_MEMORY_REQUEST", "2Gi"},
                                             {"NVIDIA_GPU_MEMORY_LIMIT", "4294967296"},
                                             {"VRAMSPAN_WEIGHT", "50"},
                                             {"VRAMSPAN_CLASS", "batch"}});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(*request, UnorderedElementsAre(Pair("guarantee", "2GiB"), Pair("limit", "4294967296"),
                                             Pair("weight", "50"), Pair("class", "batch")));
  EXPECT_THAT(*ReadContainerRequest({{"VRAMSPAN_WEIGHT", ""}}), IsEmpty());
  const auto error = [](const char* variable, const char* value) {
    return std::string(ReadContainerRequest({{variable, value}}).status().message());
  };
  EXPECT_THAT(error("NVIDIA_GPU_MEMORY_LIMIT", "8Gb"), HasSubstr("NVIDIA_GPU_MEMORY_LIMIT: limit"));
  EXPECT_THAT(error("NVIDIA_GPU_MEMORY_REQUEST", "-1"), HasSubstr("guarantee"));
  EXPECT_THAT(error("NVIDIA_GPU_MEMORY_LIMIT", "1\"\nweight = 9"), HasSubstr("limit"));
  EXPECT_THAT(error("VRAMSPAN_WEIGHT", "10001"), HasSubstr("use 1 to 10000"));
  EXPECT_THAT(error("VRAMSPAN_CLASS", "best"), HasSubstr("use batch, normal or latency"));
}

}  // namespace
}  // namespace vramspan::broker
