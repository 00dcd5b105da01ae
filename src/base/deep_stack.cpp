#include "base/deep_stack.hpp"

#include <pthread.h>

#include <cstring>
#include <exception>
#include <string>

#include "xtune/error.hpp"

namespace xtune::base {

namespace {

struct Job {
  const std::function<void()>& work;
  std::exception_ptr failure;
};

void* run_job(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  try {
    job.work();
  } catch (...) {
    job.failure = std::current_exception();
  }
  return nullptr;
}

class ThreadAttributes {
 public:
  ThreadAttributes() {
    pthread_attr_init(&attributes_);
    pthread_attr_setstacksize(&attributes_, deep_stack_bytes);
  }
  ThreadAttributes(const ThreadAttributes&) = delete;
  ThreadAttributes& operator=(const ThreadAttributes&) = delete;
  ~ThreadAttributes() { pthread_attr_destroy(&attributes_); }

  const pthread_attr_t* get() const noexcept { return &attributes_; }

 private:
  pthread_attr_t attributes_ = {};
};

}  // namespace

void on_deep_stack(const std::function<void()>& work) {
  const ThreadAttributes attributes;
  Job job{work, nullptr};
  pthread_t thread = {};
  if (const int failed = pthread_create(&thread, attributes.get(), run_job, &job))
    throw Error(ErrorKind::unavailable, "no thread with a stack of 64 MiB can be started (ulimit -u, ulimit -v): " +
                                            std::string(std::strerror(failed)));
  pthread_join(thread, nullptr);
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace xtune::base
