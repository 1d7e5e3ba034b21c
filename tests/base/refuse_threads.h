// Threads that cannot be had, as under a pids cgroup or `ulimit -u`: the program that links this
// has a pthread_create of its own.
#ifndef VRAMSPAN_TESTS_BASE_REFUSE_THREADS_H_
#define VRAMSPAN_TESTS_BASE_REFUSE_THREADS_H_

namespace vramspan {

// While it stands nobody gets a thread of ours once `allowed` more have been made; the driver's and
// the test's own are made as ever.
class RefuseThreads {
 public:
  explicit RefuseThreads(int allowed = 0);
  ~RefuseThreads();
  RefuseThreads(const RefuseThreads&) = delete;
  RefuseThreads& operator=(const RefuseThreads&) = delete;
  static int refused();  // So far.
};

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_BASE_REFUSE_THREADS_H_
