// Ends a connection without waiting for what hangs in it.
//
// A peer may have passed descriptors that take long to close: a TCP socket that lingers, a file of
// a FUSE server. Whoever has the last of them waits. Since Linux 6.16 nobody can pass us any
// (ListenAt). Before that a thread of its own closes a socket with such messages in it.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_HANG_UP_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_HANG_UP_H_

#include "tools/broker/server/fd.h"

namespace vramspan::broker {

// Where the system gives no thread the socket stays open. REQUIRES: a connection of ListenAt's.
void HangUp(Fd socket);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_HANG_UP_H_
