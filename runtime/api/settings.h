// What a program and its user ask of a runtime: each field of vramspanConfig, else its variable,
// else the default. It is read whole before anything is started. Errors name the setting, its value
// and what is allowed.
#ifndef VRAMSPAN_RUNTIME_API_SETTINGS_H_
#define VRAMSPAN_RUNTIME_API_SETTINGS_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "include/vramspan/vramspan.h"
#include "runtime/api/graph_sets.h"
#include "runtime/api/recorder.h"
#include "runtime/api/tracer.h"
#include "runtime/api/tracing.h"
#include "runtime/backing/host_limits.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/placement/kernel_prices.h"
#include "runtime/placement/pins.h"
#include "runtime/placement/policy.h"

namespace vramspan {

// A setting as the program gave it, else as the environment has it. An empty variable is as good as
// none; an empty field of the program's is a mistake.
struct Setting {
  const char* name;
  std::optional<std::string> text;

  Setting(const char* field, const char* environment);
  std::string Or(const char* otherwise) const { return text.value_or(otherwise); }
  // Puts the setting's name before what was wrong with its value.
  Status Error(const Status& status) const;
};

struct Settings {
  std::string driver;  // Empty: the default.
  int device = 0;
  bool quiet = false, use_host = true, share_context = false;
  std::chrono::microseconds deadline{0};  // 0: the default.

  // Parts of what the machine has, which is not known yet.
  Setting device_memory, host_memory;
  int chunk_log2 = 0;          // 0: by an allocation's size.
  std::optional<Bytes> arena;  // None: the default.
  std::string policy_name;
  std::unique_ptr<EvictionPolicy> policy;
  std::vector<Pin> pins;

  Setting tracer;
  LaunchSource source = LaunchSource::kAuto;
  Overlap overlap = kDefaultOverlap;
  GraphLaunch graphs = GraphLaunch::kAuto;
  std::vector<KernelPrice> kernels;
  bool learns = false;
  std::optional<std::string> tuned_for;  // The device that a profile is for.

  Setting record, events;
  bool record_matters = false;  // The program asks for it: it is an error where it cannot be.
  Recorder::Times times = Recorder::Times::kSome;
};

StatusOr<Settings> ReadSettings(const vramspanConfig* config);

// Of a device with so much memory, so much of which is free.
StatusOr<Bytes> DeviceBudget(const Setting& setting, Bytes total, Bytes free);
// Of this machine.
StatusOr<Bytes> HostBudget(const Setting& setting);
Status CheckHostBudget(Bytes budget, const HostLimits& limits);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_SETTINGS_H_
