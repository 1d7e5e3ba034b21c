#include "tests/odd/streams.h"

namespace odd {

Streams::Streams(size_t count) : streams_(count + 2) {
  for (CUstream& stream : streams_) ODD_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  ODD_CU(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
}

Streams::~Streams() {
  for (const CUstream stream : streams_) cuStreamDestroy(stream);
  cuEventDestroy(event_);
}

void Streams::Use(size_t stream, const std::vector<size_t>& arrays, Memory* memory) {
  for (const size_t i : arrays) {
    size_t& last = i == kVariable ? variable_last_ : (*memory)[i].last_stream;
    if (last == stream) continue;
    ODD_CU(cuEventRecord(event_, streams_[last]));
    ODD_CU(cuStreamWaitEvent(streams_[stream], event_, 0));
    last = stream;
  }
}

void Streams::Wait() const {
  for (const CUstream stream : streams_) ODD_CU(cuStreamSynchronize(stream));
}

bool Streams::Idle(size_t but) const {
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (i == but) continue;
    const CUresult r = cuStreamQuery(streams_[i]);
    if (r == CUDA_ERROR_NOT_READY) return false;
    ODD_CU(r);
  }
  return true;
}

}  // namespace odd
