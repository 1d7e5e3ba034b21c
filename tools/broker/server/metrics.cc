#include "tools/broker/server/metrics.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "tools/broker/core/amounts.h"
#include "tools/broker/server/clock.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/listen_address.h"
#include "tools/broker/server/metrics_text.h"

namespace vramspan::broker {
namespace {

constexpr Duration kFresh = std::chrono::seconds(1);

}  // namespace

Metrics::Metrics(Loop& loop, const Dispatcher& dispatcher, const Accounts& accounts,
                 const Devices& devices, const Clients& clients, bool sees_use)
    : loop_(loop),
      dispatcher_(dispatcher),
      accounts_(accounts),
      devices_(devices),
      clients_(clients),
      sees_use_(sees_use),
      started_(ReadClock(CLOCK_REALTIME)),
      server_(loop, [this] { return Text(); }) {}

Status Metrics::Start(const Options& options) {
  if (!options.metrics.empty()) {
    VS_ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(options.metrics));
    VS_ASSIGN_OR_RETURN(Fd socket,
                        ListenAtAddress(address, absl::StrCat("--metrics ", options.metrics)));
    Journal::Say(absl::StrCat("metrics are at http://", AddressText(socket.get()), "/metrics",
                              address.loopback ? "" : ", for whoever reaches that address"));
    VS_RETURN_IF_ERROR(server_.Start(std::move(socket)));
  }
  if (options.metrics_file.empty()) return absl::OkStatus();
  VS_RETURN_IF_ERROR(CheckMetricsPath(options.metrics_file));
  VS_RETURN_IF_ERROR(alarm_.Start(loop_, [this] { OnAlarm(); }));
  file_.emplace(options.metrics_file);
  alarm_.Set(Now());
  return absl::OkStatus();
}

std::shared_ptr<const std::string> Metrics::Text() {
  const Instant now = Now();
  if (text_ != nullptr && now < text_until_) return text_;
  text_ = std::make_shared<const std::string>(MetricsText({.accounts = accounts_,
                                                           .devices = devices_,
                                                           .clients = clients_,
                                                           .counts = dispatcher_.counts(),
                                                           .sees_use = sees_use_,
                                                           .lost_lines = Journal::Lost(),
                                                           .spent = Spent(),
                                                           .started = started_}));
  text_until_ = After(now, kFresh);
  return text_;
}

void Metrics::OnAlarm() {
  const Instant now = Now();
  if (now < write_at_) {
    file_->Look();
    return alarm_.Set(write_at_);
  }
  file_->Write(Text());
  write_at_ = After(now, kRound);
  alarm_.Set(After(now, kLook));
}

}  // namespace vramspan::broker
