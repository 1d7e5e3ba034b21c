#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLBACKS_REGISTRY_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLBACKS_REGISTRY_H_

// Who subscribes to the callbacks, and which of its callbacks run.
//
// A callback counts itself in `running` and then looks whether its subscription still stands; the
// end of a subscription takes it away and then looks at `running`. Both are sequentially
// consistent, so one of the two sees the other: after the end no callback runs or starts.

#include <atomic>
#include <deque>
#include <string>
#include <utility>

#include "tools/simcuda/callbacks.h"
#include "tools/simcuda/mutex.h"

namespace simcuda::callbacks {

// Never freed, so its address is a handle that is not used again.
struct Subscription {
  Subscription(CUpti_CallbackFunc its_function, void* its_userdata, std::string its_name)
      : function(its_function), userdata(its_userdata), name(std::move(its_name)) {}

  const CUpti_CallbackFunc function;
  void* const userdata;
  const std::string name;
  std::atomic<int> running{0};
};

// The one that stands, or null. Changes under Registry::mutex.
extern std::atomic<Subscription*> current;

struct Registry {
  Mutex mutex;
  CondVar ended;  // a callback of a subscription that stands no longer
  std::deque<Subscription> all SIMCUDA_GUARDED_BY(mutex);

  static Registry& Get();
};

// How many callbacks of the subscription the calling thread is inside of.
int RunningHere(const Subscription* subscription);

}  // namespace simcuda::callbacks

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLBACKS_REGISTRY_H_
