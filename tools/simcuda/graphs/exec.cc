#include "tools/simcuda/graphs/exec.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "tools/simcuda/context.h"
#include "tools/simcuda/copy.h"

namespace simcuda::graphs {
namespace {

// How often a blocked worker looks whether its context died.
constexpr std::chrono::milliseconds kAbandonPoll{50};

void AwaitTicket(const Ticket& ticket, const simcuda::Exec& exec) {
  while (!ticket.Done() && !exec.Abandoned()) {
    ticket.progress->WaitFor(ticket.step, kAbandonPoll);
  }
}

bool HasCycle(const Graph& graph) SIMCUDA_REQUIRES(graph_mutex) {
  std::vector<Node*> order;
  if (!graph.Sort(&order)) return true;
  return std::any_of(order.begin(), order.end(), [](const Node* node) SIMCUDA_NO_ANALYSIS {
    return node->work().child && HasCycle(*node->work().child);
  });
}

void Flatten(const Graph& graph, Program* program) SIMCUDA_REQUIRES(graph_mutex) {
  std::vector<Node*> order;
  graph.Sort(&order);
  for (const Node* node : order) {
    if (!node->enabled()) continue;
    const NodeWork& work = node->work();
    switch (work.type) {
      case CU_GRAPH_NODE_TYPE_EMPTY:
        break;
      case CU_GRAPH_NODE_TYPE_GRAPH:
        Flatten(*work.child, program);
        break;
      case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        program->push_back({nullptr, work.event, nullptr});
        break;
      case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        program->push_back({nullptr, nullptr, work.event});
        break;
      default:
        program->push_back({work.op, nullptr, nullptr});
        break;
    }
  }
}

// Compares two graphs node by node in the order of their making.
CUgraphExecUpdateResult Compare(const Graph& ours, const Graph& theirs,
                                CUgraphExecUpdateResultInfo* info) {
  if (ours.nodes().size() != theirs.nodes().size()) {
    return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  }
  std::unordered_map<const Node*, const Node*> counterpart;
  for (size_t i = 0; i < ours.nodes().size(); ++i) {
    counterpart[theirs.nodes()[i].get()] = ours.nodes()[i].get();
  }
  for (size_t i = 0; i < ours.nodes().size(); ++i) {
    const Node& our = *ours.nodes()[i];
    const Node& their = *theirs.nodes()[i];
    info->errorNode = their.handle();
    if (our.work().type != their.work().type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (our.dependencies().size() != their.dependencies().size()) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    for (const Node* dependency : their.dependencies()) {
      if (!our.DependsOn(*counterpart[dependency])) {
        info->errorFromNode = dependency->handle();
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
      }
    }
    if (our.work().child) {
      const CUgraphExecUpdateResult result = Compare(*our.work().child, *their.work().child, info);
      if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return result;
    }
  }
  info->errorNode = nullptr;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

void TakeOver(const Graph& ours, const Graph& theirs) {
  for (size_t i = 0; i < ours.nodes().size(); ++i) {
    Node& our = *ours.nodes()[i];
    NodeWork work = theirs.nodes()[i]->work();
    if (our.work().child) {
      TakeOver(*our.work().child, *work.child);
      continue;
    }
    our.set_work(std::move(work));
  }
}

// What captured fills name is looked up when the graph is instantiated, copies not again. An H200
// takes a graph whose copy has lost its memory; that it refuses fills is inferred: it has refused
// graphs of kernels, fills and copies.
bool FillsAreMapped(const Graph& graph) SIMCUDA_REQUIRES(graph_mutex) {
  for (const NodePtr& node : graph.nodes()) {
    const NodeWork& work = node->work();
    if (work.child && !FillsAreMapped(*work.child)) return false;
    if (work.type != CU_GRAPH_NODE_TYPE_MEMSET) continue;
    const FillShape& fill = static_cast<const MemsetOp&>(*work.op).shape();
    const size_t bytes = (fill.height - 1) * fill.pitch + fill.width * fill.element_size;
    if (CheckMapped(fill.dst, bytes) != CUDA_SUCCESS) return false;
  }
  return true;
}

}  // namespace

CUresult Exec::Create(const Graph& graph, unsigned long long flags, ExecPtr* exec) {
  if (HasCycle(graph) || !FillsAreMapped(graph)) return CUDA_ERROR_INVALID_VALUE;
  exec->reset(new Exec(graph.Clone(GraphOwner::kExec), flags));
  return CUDA_SUCCESS;
}

Node* Exec::Find(CUgraphNode origin) { return graph_->FindCopyOf(origin, /*recursive=*/true); }

CUresult Exec::SetWork(Node& node, NodeWork work) {
  if (work.type != node.work().type) return CUDA_ERROR_INVALID_VALUE;
  if (work.child) {
    CUgraphExecUpdateResultInfo info = {};
    if (Compare(*node.work().child, *work.child, &info) != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
      return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    TakeOver(*node.work().child, *work.child);
  } else {
    node.set_work(std::move(work));
  }
  program_.reset();
  return CUDA_SUCCESS;
}

void Exec::SetEnabled(Node& node, bool enabled) {
  node.set_enabled(enabled);
  program_.reset();
}

CUresult Exec::Update(const Graph& graph, CUgraphExecUpdateResultInfo* info) {
  *info = {};
  info->result = Compare(*graph_, graph, info);
  if (info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  TakeOver(*graph_, graph);
  program_.reset();
  return CUDA_SUCCESS;
}

std::shared_ptr<const Program> Exec::CurrentProgram() {
  if (!program_) {
    auto program = std::make_shared<Program>();
    Flatten(*graph_, program.get());
    program_ = std::move(program);
  }
  return program_;
}

CUresult Exec::Launch(Stream& stream) {
  MutexLock launch_lock(launch_mutex_);
  std::shared_ptr<const Program> program;
  {
    MutexLock lock(graph_mutex);
    program = CurrentProgram();
  }
  auto op = std::make_shared<GraphOp>(graph_, std::move(program), last_launch_);
  op->PrepareEvents(stream);
  Ticket ticket;
  const CUresult result = stream.Submit(op, &ticket);
  // Without a ticket it was captured: nothing runs.
  if (result != CUDA_SUCCESS || !ticket.progress) return result;
  op->PublishEvents(ticket);
  last_launch_ = std::move(ticket);
  return CUDA_SUCCESS;
}

HandleTable<CUgraphExec, Exec>& Execs() {
  static auto* const table = new HandleTable<CUgraphExec, Exec>();
  return *table;
}

CUresult FindExec(CUgraphExec handle, ExecPtr* exec) {
  *exec = Execs().Find(handle);
  return *exec ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void GraphOp::PrepareEvents(Stream& stream) {
  waits_.resize(program_->size());
  records_.resize(program_->size());
  for (size_t i = 0; i < program_->size(); ++i) {
    const Step& step = (*program_)[i];
    if (step.wait) {
      const std::shared_ptr<EventRecord> latest = step.wait->record();
      if (latest) waits_[i] = latest->ticket;
    } else if (step.record) {
      records_[i] = std::make_shared<EventRecord>();
      records_[i]->context = stream.context();
    }
  }
}

void GraphOp::PublishEvents(const Ticket& ticket) {
  for (size_t i = 0; i < program_->size(); ++i) {
    if (!records_[i]) continue;
    records_[i]->ticket = ticket;
    (*program_)[i].record->set_record(records_[i]);
  }
}

CUresult GraphOp::Run(const simcuda::Exec& exec) const {
  AwaitTicket(after_, exec);
  for (size_t i = 0; i < program_->size() && !exec.Abandoned(); ++i) {
    const Step& step = (*program_)[i];
    if (step.wait) {
      AwaitTicket(waits_[i], exec);
    } else if (step.record) {
      records_[i]->time = std::chrono::steady_clock::now();
    } else {
      const CUresult result = step.op->Run(exec);
      if (result != CUDA_SUCCESS) return result;
    }
  }
  return CUDA_SUCCESS;
}

void GraphOp::Skip(CUresult error) const {
  for (size_t i = 0; i < program_->size(); ++i) {
    const Step& step = (*program_)[i];
    if (step.record) records_[i]->time = std::chrono::steady_clock::now();
    if (step.op) step.op->Skip(error);
  }
}

}  // namespace simcuda::graphs
