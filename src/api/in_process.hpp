// Measuring in the application's own process.
#pragma once

#include <functional>
#include <memory>

#include "core/measure/device.hpp"
#include "ipc/services.hpp"
#include "worker/bench_session.hpp"

namespace xtune {

/// A BenchService without a worker: each job is done whole within a turn of the loop. Nothing can be stopped, so no
/// timeout holds. Once a kernel has faulted the context is lost, and every later job is Error(unavailable) out of the
/// loop.
class InProcessBenchService final : public BenchService {
 public:
  using OpenDevice = std::function<std::unique_ptr<Device>(int index)>;
  InProcessBenchService(EventLoop& loop, OpenDevice open_device);
  ~InProcessBenchService() override;
  void set_problem(OpenJob job) override;
  void bench(const BenchJob& job, double timeout_s, Callback callback) override;
  void measure_rounds(const RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override;

 private:
  BenchSession& session();
  void later(std::function<void()> call);
  EventLoop& loop_;
  OpenDevice open_device_;
  OpenJob problem_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<BenchSession> session_;
  std::shared_ptr<bool> wanted_;  ///< false: what was asked for is not any more
  bool lost_ = false;
};

}  // namespace xtune
