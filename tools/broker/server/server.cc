#include "tools/broker/server/server.h"

#include <absl/strings/str_cat.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <chrono>
#include <utility>

#include "tools/broker/control/run_directory.h"
#include "tools/broker/core/amounts.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/nvml.h"
#include "tools/broker/server/requests.h"
#include "tools/broker/server/run_folder.h"
#include "tools/broker/server/socket.h"
#include "tools/broker/server/status_report.h"
#include "tools/broker/server/system_error.h"

namespace vramspan::broker {
namespace {

constexpr Duration kCatchUp = std::chrono::seconds(1);

StatusOr<std::unique_ptr<Machine>> MachineFor(const Options& options) {
  if (options.capacity) {
    return std::unique_ptr<Machine>(std::make_unique<StatedMachine>(options.capacity->device));
  }
  StatusOr<std::unique_ptr<Machine>> nvml = OpenNvml();
  if (nvml.ok()) return nvml;
  return absl::FailedPreconditionError(
      absl::StrCat("no device is seen: ", nvml.status().message(),
                   "; install the driver, or use --capacity for a trial without a GPU"));
}

std::optional<Bytes> StatedHost(const Options& options) {
  if (!options.capacity) return std::nullopt;
  return options.capacity->host;
}

}  // namespace

StatusOr<std::unique_ptr<Server>> Server::Make(const Options& options, ServiceManager& manager) {
  VS_ASSIGN_OR_RETURN(Fd folder, ClaimRunFolder(options.run_directory));
  VS_ASSIGN_OR_RETURN(std::unique_ptr<Machine> machine, MachineFor(options));
  VS_ASSIGN_OR_RETURN(std::unique_ptr<Loop> loop, Loop::Make());
  std::unique_ptr<Server> server(
      new Server(options, std::move(loop), std::move(machine), std::move(folder)));
  VS_RETURN_IF_ERROR(server->Start(manager));
  return server;
}

Server::Server(const Options& options, std::unique_ptr<Loop> loop, std::unique_ptr<Machine> machine,
               Fd folder)
    : options_(options),
      loop_(std::move(loop)),
      machine_(std::move(machine)),
      folder_(std::move(folder)),
      host_(StatedHost(options), options.proc),
      roll_(options.run_directory + "/processes"),
      maker_(devices_, accounts_, *machine_, host_),
      dispatcher_(*loop_, devices_, clients_),
      inspector_(dispatcher_, accounts_, devices_, clients_, *machine_, host_, maker_, roll_),
      drains_(dispatcher_, accounts_, clients_),
      reception_(*loop_, dispatcher_, inspector_, accounts_, clients_, *machine_, maker_, drains_,
                 options.proc),
      operator_(dispatcher_, accounts_, devices_, maker_, options.config, options.run_directory),
      control_(*loop_, [this](std::string_view text) { return Answer(text); }),
      metrics_(*loop_, dispatcher_, accounts_, devices_, clients_, machine_->sees_use()) {}

Server::~Server() {
  // A new process is to find nobody at once. Those connected see the end, and come again.
  // Where the sockets are kept, who comes waits for the next broker.
  for (const std::string& path : own_paths_) unlink(path.c_str());
}

Status Server::Run(ServiceManager& manager) {
  VS_RETURN_IF_ERROR(manager.Ready(*loop_));
  return loop_->Run();
}

Status Server::Start(ServiceManager& manager) {
  VS_RETURN_IF_ERROR(WatchSignals());
  VS_RETURN_IF_ERROR(host_.Look().status());
  VS_RETURN_IF_ERROR(dispatcher_.Start());
  VS_RETURN_IF_ERROR(inspector_.Start(*loop_, [this](Instant now) { reception_.Resume(now); }));
  VS_ASSIGN_OR_RETURN(auto before, roll_.Living());
  VS_RETURN_IF_ERROR(maker_.Start(options_.settings, std::move(before)));
  VS_RETURN_IF_ERROR(operator_.Start(*loop_));
  VS_RETURN_IF_ERROR(WatchJournal());
  const mode_t mode = geteuid() == 0 ? 0666 : 0600;
  const std::string control_path = options_.run_directory + kControlSocket;
  VS_ASSIGN_OR_RETURN(Fd control, manager.ListenAt(control_path, 0600));
  if (!manager.Keep(control, control_path)) own_paths_.push_back(control_path);
  VS_RETURN_IF_ERROR(control_.Start(std::move(control)));
  VS_RETURN_IF_ERROR(metrics_.Start(options_));
  VS_RETURN_IF_ERROR(MakeClientsFolder(options_.run_directory));
  const std::string path = options_.run_directory + kClientsSocket;
  VS_ASSIGN_OR_RETURN(Fd processes, manager.ListenAt(path, mode));
  if (!manager.Keep(processes, path)) {
    own_paths_.insert(own_paths_.end(), {options_.run_directory + kBrokerSocket, path});
  }
  return reception_.Start(std::move(processes));
}

Status Server::WatchJournal() {
  VS_RETURN_IF_ERROR(owed_lines_.Start(*loop_, [] { Journal::CatchUp(); }));
  loop_->Afterwards([this] {
    dispatcher_.Bury();
    // What there was no room for is said when there is, though nothing else be said.
    if (Journal::Owes() && !owed_lines_.is_set()) owed_lines_.Set(After(Now(), kCatchUp));
  });
  return absl::OkStatus();
}

Status Server::WatchSignals() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return SystemError("sigprocmask");
  signals_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return SystemError("signalfd");
  return loop_->Watch(signals_.get(), EPOLLIN, [this](uint32_t) { OnSignal(); }).status();
}

void Server::OnSignal() {
  signalfd_siginfo info = {};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGHUP) {
      operator_.RereadAndSay();
    } else {
      loop_->Stop();
    }
  }
}

std::vector<std::string> Server::Answer(std::string_view text) {
  const StatusOr<Request> request = ReadRequest(text);
  if (!request.ok()) return {ErrorAnswer(request.status().message())};
  Status done;
  switch (request->verb) {
    case Request::Verb::kStatus:
      return StatusReport({accounts_, devices_, clients_, options_.run_directory,
                           machine_->sees_use(), Now(), started_});
    case Request::Verb::kSet:
      done = operator_.Set(request->tenant, request->changes);
      break;
    case Request::Verb::kDrain:
      done = drains_.Drain(request->who);
      break;
    case Request::Verb::kUndrain:
      done = drains_.Undrain(request->who);
      // A tenant that nobody needs to know of is forgotten.
      inspector_.Wake();
      break;
    case Request::Verb::kReread:
      done = operator_.Reread();
      break;
  }
  return {done.ok() ? DoneAnswer() : ErrorAnswer(done.message())};
}

}  // namespace vramspan::broker
