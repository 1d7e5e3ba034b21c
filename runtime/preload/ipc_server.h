// Who answers the processes that open handles of ours: a thread `vramspan-ipc` with the socket, and
// a thread `vramspan-export` that asks the driver for what is handed out.
//
// The first has a table of descriptors of its own, with nothing of the program's in it: whatever
// the program closes, what it accepts comes from our socket, and what the program closes is closed.
// Where the system refuses such a table (kernels before 5.9 in a container that forbids unshare)
// it shares the program's, and every use of a number asks first whether that is ours still
// (OwnDescriptor); when it is not, the thread ends and handles lead nowhere from then on.
//
// The driver opens descriptors in the table of whoever calls it, and needs those that it has opened
// before. So the second thread shares the program's table. It keeps nothing open: what the driver
// gives it goes to the first at once, through a connection to the socket.
//
// All peers are served at once; one that says nothing or does not read is dropped after a while,
// and the oldest that has said nothing at once where there are too many. Never taken apart.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_IPC_SERVER_H_
#define VRAMSPAN_RUNTIME_PRELOAD_IPC_SERVER_H_

#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/mutex.h"
#include "runtime/base/own_descriptor.h"
#include "runtime/preload/ipc_wire.h"

namespace vramspan::preload {

class IpcServer {
 public:
  // What there is for such a request, and a piece of it. Called on the one and the other thread.
  using Describe = IpcAnswer (*)(const IpcRequest& request);
  using Export = StatusOr<OwnedFd> (*)(const IpcRequest& request, uint64_t index, IpcPiece* piece);
  IpcServer(Describe describe, Export exports) : describe_(describe), export_(exports) {}

  // Once. The key that, with the process, names the socket.
  StatusOr<uint64_t> Start();
  // A thread of it runs, so it has to stay, also where Start has failed.
  bool running() const { return running_; }
  // The socket is lost, and why.
  Status gone() const VS_EXCLUDES(mu_);

 private:
  using Clock = std::chrono::steady_clock;
  struct Piece {
    IpcPiece piece;
    OwnedFd fd;
  };
  struct Peer {
    uint64_t id = 0;
    bool delivers = false;  // The other thread, with pieces.
    OwnDescriptor socket;
    Clock::time_point since;  // It was heard of, or something got through to it.
    bool asked = false;       // And what for:
    IpcRequest request;
    IpcAnswer answer;
    bool answered = false;
    uint64_t wanted = 0, sent = 0;  // Pieces, up to the end of what is being exported.
    std::deque<Piece> pieces;

    bool exporting() const { return asked && pieces.empty() && sent < wanted; }
  };
  using Peers = std::list<Peer>;
  // For the other thread: pieces [from, to) of a request.
  struct Job {
    uint64_t peer = 0;
    IpcRequest request;
    uint64_t from = 0, to = 0;
  };
  struct Failure {
    uint64_t peer = 0;
    Status status;
  };

  void Serve();
  Status Open();
  // Not OK: the socket is lost.
  Status Round();
  Status Accept();
  // Hears or tells a peer what it can right now. False: it is done with, and `why` says how.
  bool Attend(Peer* peer, Status* why);
  Status Hear(Peer* peer);
  Status HearPiece(int socket);
  Status Tell(Peer* peer);
  void DropOldestMute();
  void TakeFailures();
  void ExportLoop();
  Status Deliver(const Job& job);
  // The other thread says it: descriptor 2 means nothing here.
  void Say(LogLevel level, std::string text) VS_EXCLUDES(mu_);
  void SayRefused(const Status& why);

  const Describe describe_;
  const Export export_;
  // Set before there are threads.
  IpcAddress address_;
  IpcSecret secret_{};  // By which pieces are known to come from here.
  bool running_ = false;
  std::atomic<bool> shared_{false};  // The program's table of descriptors.

  // The first thread's.
  OwnDescriptor listener_;
  std::vector<OwnedFd> places_;  // Of what is 0, 1 and 2 elsewhere.
  Peers peers_;
  uint64_t last_id_ = 0;
  Clock::time_point accepts_from_;  // Not before then, since there was no descriptor to be had.

  mutable Mutex mu_;
  CondVar work_, opened_;
  bool tried_ VS_GUARDED_BY(mu_) = false;
  Status status_ VS_GUARDED_BY(mu_);  // Of the first thread.
  std::deque<Job> jobs_ VS_GUARDED_BY(mu_);
  std::deque<std::pair<LogLevel, std::string>> said_ VS_GUARDED_BY(mu_);
  std::vector<Failure> failures_ VS_GUARDED_BY(mu_);
};

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_IPC_SERVER_H_
