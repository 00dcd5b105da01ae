// Measuring in the application's own process.
#pragma once

#include <functional>
#include <memory>

#include "core/measure/device.hpp"
#include "ipc/services.hpp"
#include "worker/bench_session.hpp"

namespace xtune {

/// A BenchService without a worker: each job is done completely within one turn of the loop. Nothing can be stopped, so
/// there are no timeouts. Once a kernel has faulted the context is lost, and every later job throws Error(unavailable)
/// out of the loop.
class InProcessBenchService final : public ipc::BenchService {
 public:
  using OpenDevice = std::function<std::unique_ptr<measure::Device>(int index)>;
  InProcessBenchService(base::EventLoop& loop, OpenDevice open_device);
  ~InProcessBenchService() override;
  void set_problem(ipc::Problem problem) override;
  void bench(const ipc::BenchJob& job, double timeout_s, Callback callback) override;
  void measure_rounds(const ipc::RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override;

 private:
  worker::BenchSession& session();
  void later(std::function<void()> call);
  base::EventLoop& loop_;
  OpenDevice open_device_;
  ipc::Problem problem_;
  std::unique_ptr<measure::Device> device_;
  std::unique_ptr<worker::BenchSession> session_;
  std::shared_ptr<bool> wanted_;  ///< false: the pending job was cancelled
  bool lost_ = false;
};

}  // namespace xtune
