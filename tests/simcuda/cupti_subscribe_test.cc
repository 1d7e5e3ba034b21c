// Who may subscribe, and when callbacks end.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "tests/simcuda/cupti_fixture.h"

namespace simcuda {
namespace {

using Names = std::vector<std::string>;

constexpr auto kDriver = CUPTI_CB_DOMAIN_DRIVER_API;
constexpr auto kQuery = CUPTI_DRIVER_TRACE_CBID_cuStreamQuery;

void Ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

class CuptiSubscribeTest : public CuptiTest {
 protected:
  void Unsubscribe() {
    CUPTI_EXPECT_OK(cupti_.unsubscribe(subscriber_));
    subscriber_ = nullptr;
  }

  const Cupti& cupti_ = Cupti::Get();
};

TEST_F(CuptiSubscribeTest, OneAtATime) {
  CUpti_SubscriberHandle second = nullptr;
  EXPECT_EQ(cupti_.subscribe(&second, Ignore, nullptr),
            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  const CUpti_SubscriberHandle first = subscriber_;
  Enable(kQuery);
  Unsubscribe();

  char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = {};
  CUpti_SubscriberParams params = {CUpti_SubscriberParams_STRUCT_SIZE, "test", name, sizeof(name)};
  CUPTI_OK(cupti_.subscribe_v2(&subscriber_, Ignore, nullptr, &params));
  EXPECT_NE(subscriber_, first);
  EXPECT_EQ(cupti_.subscribe_v2(&second, Ignore, nullptr, &params),
            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_STREQ(name, "CUPTI for test");
  uint32_t enabled = 1;
  CUPTI_OK(cupti_.get_callback_state(&enabled, subscriber_, kDriver, kQuery));
  EXPECT_EQ(enabled, 0u);

  EXPECT_EQ(cupti_.unsubscribe(first), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cupti_.enable_callback(1, first, kDriver, kQuery), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cupti_.enable_domain(1, first, kDriver), CUPTI_ERROR_INVALID_PARAMETER);

  CUPTI_OK(cupti_.finalize());
  EXPECT_EQ(cupti_.unsubscribe(subscriber_), CUPTI_ERROR_INVALID_PARAMETER);
  CUPTI_OK(cupti_.subscribe(&subscriber_, Ignore, nullptr));
}

TEST_F(CuptiSubscribeTest, WhatIsNotThere) {
  EXPECT_EQ(cupti_.subscribe(nullptr, Ignore, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cupti_.unsubscribe(nullptr), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cupti_.enable_callback(1, subscriber_, kDriver, CUPTI_DRIVER_TRACE_CBID_SIZE),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cupti_.enable_domain(1, subscriber_, CUPTI_CB_DOMAIN_SIZE),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cupti_.enable_domain(1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API),
            CUPTI_ERROR_NOT_SUPPORTED);
  size_t count = 0;
  CUpti_DomainTable domains = nullptr;
  CUPTI_OK(cupti_.supported_domains(&count, &domains));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(domains[0], kDriver);
}

TEST_F(CuptiSubscribeTest, Names) {
  const char* text = nullptr;
  CUPTI_OK(cupti_.get_result_string(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, &text));
  EXPECT_STREQ(text, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
  EXPECT_EQ(cupti_.get_result_string(static_cast<CUptiResult>(998), &text),
            CUPTI_ERROR_INVALID_PARAMETER);
  CUPTI_OK(cupti_.get_callback_name(kDriver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &text));
  EXPECT_STREQ(text, "cuLaunchKernel");
  EXPECT_EQ(cupti_.get_callback_name(kDriver, CUPTI_DRIVER_TRACE_CBID_SIZE, &text),
            CUPTI_ERROR_INVALID_PARAMETER);
  uint32_t version = 0;
  CUPTI_OK(cupti_.get_version(&version));
  EXPECT_EQ(version, static_cast<uint32_t>(CUPTI_API_VERSION));
}

TEST_F(CuptiSubscribeTest, ACallIsDeliveredAtBothEndsOrAtNone) {
  Enable(kQuery);
  handler_ = [&](const Delivered&, const CUpti_CallbackData&) { Enable(kQuery, false); };
  SIM_OK(cuStreamQuery(stream_));
  SIM_OK(cuStreamQuery(stream_));
  EXPECT_EQ(Take(), (Names{"+cuStreamQuery", "-cuStreamQuery"}));
}

TEST_F(CuptiSubscribeTest, ACallbackMayUnsubscribe) {
  Enable(kQuery);
  handler_ = [&](const Delivered&, const CUpti_CallbackData&) {
    Unsubscribe();
    SIM_EXPECT_OK(cuStreamQuery(stream_));
  };
  SIM_OK(cuStreamQuery(stream_));
  EXPECT_EQ(Take(), (Names{"+cuStreamQuery"}));
}

TEST_F(CuptiSubscribeTest, UnsubscribingWaitsForARunningCallback) {
  std::atomic<bool> entered{false};
  std::atomic<bool> unsubscribed{false};
  Enable(kQuery);
  handler_ = [&](const Delivered&, const CUpti_CallbackData&) {
    entered.store(true);
    LetWorkersRun();
    EXPECT_FALSE(unsubscribed.load());
  };
  std::thread caller([this] {
    SIM_EXPECT_OK(cuCtxSetCurrent(context_));
    SIM_EXPECT_OK(cuStreamQuery(stream_));
  });
  EXPECT_TRUE(Eventually([&] { return entered.load(); }));
  Unsubscribe();
  unsubscribed.store(true);
  caller.join();
}

// The callback goes on in the parent only.
TEST_F(CuptiSubscribeTest, AForkedChildDoesNotWaitForCallbacksOfItsParent) {
  std::atomic<bool> entered{false};
  std::atomic<bool> leave{false};
  Enable(kQuery);
  handler_ = [&](const Delivered&, const CUpti_CallbackData&) {
    entered.store(true);
    EXPECT_TRUE(Eventually([&] { return leave.load(); }));
  };
  std::thread caller([this] {
    SIM_EXPECT_OK(cuCtxSetCurrent(context_));
    SIM_EXPECT_OK(cuStreamQuery(stream_));
  });
  EXPECT_TRUE(Eventually([&] { return entered.load(); }));
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(cupti_.unsubscribe(subscriber_) == CUPTI_SUCCESS ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  leave.store(true);
  caller.join();
}

// A subscriber that is gone at once after it has unsubscribed.
struct Visitor {
  static void Callback(void* self, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
    auto* const visitor = static_cast<Visitor*>(self);
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    EXPECT_EQ(visitor->alive.load(), 1);
    if (call.callbackSite == CUPTI_API_ENTER) *call.correlationData = visitor->number;
    EXPECT_EQ(*call.correlationData, visitor->number);
    visitor->delivered.fetch_add(1, std::memory_order_relaxed);
  }

  explicit Visitor(uint64_t its_number) : number(its_number) {}
  ~Visitor() { alive.store(0); }

  const uint64_t number;
  std::atomic<int> alive{1};
  std::atomic<int> delivered{0};
};

TEST_F(CuptiSubscribeTest, SubscribersComeAndGoWhileOthersCall) {
  Unsubscribe();
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      SIM_EXPECT_OK(cuCtxSetCurrent(context_));
      while (!stop.load(std::memory_order_relaxed)) SIM_EXPECT_OK(cuStreamQuery(stream_));
    });
  }
  for (uint64_t round = 1; round <= 100; ++round) {
    const auto visitor = std::make_unique<Visitor>(round);
    CUPTI_EXPECT_OK(cupti_.subscribe(&subscriber_, Visitor::Callback, visitor.get()));
    Enable(kQuery);
    EXPECT_TRUE(Eventually([&] { return visitor->delivered.load() > 2; }));
    Unsubscribe();
    const int delivered = visitor->delivered.load();
    std::this_thread::yield();
    EXPECT_EQ(visitor->delivered.load(), delivered);
  }
  stop.store(true);
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace simcuda
