// As call_fields.h, for the calls that make, change, launch and end executable graphs. Inside this
// folder only.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_GRAPH_FIELDS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_GRAPH_FIELDS_H_

#include <cuda.h>

#include "runtime/observe/call_fields.h"
#include "runtime/observe/knowledge.h"
#include "runtime/observe/submission.h"

namespace vramspan::fields {

template <typename P>
CUgraphExec ExecOf(const P& p) {
  if constexpr (requires { p.hGraphExec; }) {
    return p.hGraphExec;
  } else {
    return p.hGraph;
  }
}

template <typename P>
void LaunchGraph(Knowledge& known, const void* params, Submission* out) {
  const CUgraphExec exec = ExecOf(As<P>(params));
  out->kind = Submission::Kind::kGraph;
  out->code = exec;
  out->incomplete = known.any_may_be_reached();
  if (known.graphs.Launch(exec, out)) return;
  out->kind = Submission::Kind::kUnknown;
  out->incomplete = true;
}

template <typename P>
void Instantiated(Knowledge& known, const void* params) {
  const P& p = As<P>(params);
  unsigned long long flags = 0;
  if constexpr (requires { p.flags; }) {
    flags = p.flags;
  } else if constexpr (requires { p.instantiateParams; }) {
    flags = p.instantiateParams->flags;
  }
  known.graphs.Set(*p.phGraphExec, ReadGraph(known, p.hGraph),
                   (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0);
}

template <typename P>
void Updated(Knowledge& known, const void* params) {
  const P& p = As<P>(params);
  known.graphs.Update(p.hGraphExec, ReadGraph(known, p.hGraph));
}

template <typename P>
void SetNode(Knowledge& known, const void* params) {
  const P& p = As<P>(params);
  NodeWork work;
  if constexpr (requires { p.nodeParams; }) {
    work = DecodeNode(known, *p.nodeParams);
  } else if constexpr (requires { p.copyParams; }) {
    work = DecodeNode(known, *p.copyParams);
  } else if constexpr (requires { p.memsetParams; }) {
    work = DecodeNode(known, *p.memsetParams);
  } else {
    work = ReadChildGraph(known, p.childGraph);
  }
  known.graphs.SetNode(p.hGraphExec, p.hNode, std::move(work));
}

template <typename P>
void ForgetGraph(Knowledge& known, const void* params) {
  known.graphs.Forget(As<P>(params).hGraphExec);
}

}  // namespace vramspan::fields

#endif  // VRAMSPAN_RUNTIME_OBSERVE_GRAPH_FIELDS_H_
