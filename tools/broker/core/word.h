// What a process says is taken as far as it can be true.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_WORD_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_WORD_H_

#include "runtime/base/units.h"
#include "tools/broker/core/names.h"
#include "tools/broker/core/process.h"

namespace vramspan::broker {

// Remembers it: used memory within the grants, its parts within that.
void TakeWord(Process& process, const Said& said);

// The process gave back what its grant no longer has; of that, `copied` went to the host. Until it
// says so itself, this is what it would say. What it needs stays the same.
void ReckonGiven(Process& process, Place place, Bytes copied);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_WORD_H_
