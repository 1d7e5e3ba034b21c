#include "tools/vramspan/action.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace vramspan {

void ActionsCommand::Offer(CommandOptions& options, std::initializer_list<Make> actions) {
  for (const Make make : actions) {
    actions_.push_back(make());
    actions_.back()->Define(options);
  }
  options_ = options;
}

int ActionsCommand::Run() {
  const std::string chosen = options_->ChosenAction();
  const auto action = std::find_if(actions_.begin(), actions_.end(), [&](const auto& candidate) {
    return candidate->name() == chosen;
  });
  const Status status = (*action)->Run();
  if (status.ok()) return kExitOk;
  SayError(absl::StrCat("vramspan ", name(), " ", chosen), status.message());
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailure;
}

}  // namespace vramspan
