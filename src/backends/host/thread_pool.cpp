// Workers asleep on an atomic: one wake-up starts them all, which keeps short launches short.
#include "backends/host/thread_pool.hpp"

namespace xtune::host {

ThreadPool::ThreadPool(unsigned size) {
  for (unsigned worker = 1; worker < size; ++worker) threads_.emplace_back([this, worker] { wait_and_work(worker); });
}

ThreadPool::~ThreadPool() {
  ending_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(const std::function<void(unsigned)>& work) {
  work_ = &work;
  unfinished_ = static_cast<std::uint32_t>(threads_.size());
  if (!threads_.empty()) {
    ++round_;
    round_.notify_all();
  }
  work(0);
  for (std::uint32_t left = unfinished_; left != 0; left = unfinished_) unfinished_.wait(left);
}

void ThreadPool::wait_and_work(unsigned worker) {
  for (std::uint32_t seen = 0;;) {
    round_.wait(seen);
    seen = round_;
    if (ending_) return;
    (*work_)(worker);
    if (--unfinished_ == 0) unfinished_.notify_one();
  }
}

}  // namespace xtune::host
