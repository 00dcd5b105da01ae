// Kernels with <xtune/hopper.cuh>, compiled and run on the host with tensor maps as arguments.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/host/engine.hpp"
#include "backends/host/hopper/tiles.hpp"
#include "core/build/candidate_failure.hpp"

namespace xtune::test {

/// A compiled kernel that can be launched with any arguments.
class HopperKernel {
 public:
  explicit HopperKernel(const std::string& body, bool sanitize = false) {
    build::CompileRequest request;
    request.source_name = "kernel.cu";
    request.entry = "k";
    request.source =
        "#include <xtune/hopper.cuh>\n#include <xtune/narrow.cuh>\nusing namespace xtune::hopper;\n" + body;
    request.arch = toolchain().default_arch();
    request.sanitize = sanitize;
    artifact_ = toolchain().compile(request);
    library_ = std::make_unique<host::KernelLibrary>(artifact_, "");
    library_->bind(host::Engine::services());
  }

  const build::Artifact& artifact() const { return artifact_; }

  template <class... A>
  double run(const device::Launch& launch, const A&... values) const {
    const void* const addresses[] = {&values..., nullptr};
    return engine().launch(library_->entry(0), launch, const_cast<void* const*>(addresses));
  }
  /// Why the launch failed; empty: it did not.
  template <class... A>
  std::string failure(const device::Launch& launch, const A&... values) const {
    try {
      run(launch, values...);
    } catch (const build::CandidateFailure& failure) {
      return failure.what();
    }
    return {};
  }

 private:
  static build::Toolchain& toolchain() {
    static const auto backend = backend::make_backend("host");
    static const auto compiler = backend->open_toolchain();
    return *compiler;
  }
  static host::Engine& engine() {
    static host::Engine engine(227 << 10);
    return engine;
  }

  build::Artifact artifact_;
  std::unique_ptr<host::KernelLibrary> library_;
};

inline device::Launch launch_of(std::uint32_t grid, std::uint32_t block, std::uint32_t shared_bytes = 0,
                                std::uint32_t cluster = 0) {
  device::Launch launch;
  launch.grid = {grid, 1, 1};
  launch.block = {block, 1, 1};
  launch.shared_bytes = shared_bytes;
  if (cluster) launch.cluster = {cluster, 1, 1};
  return launch;
}

/// Of a dense array; shapes from the outermost dimension on.
template <class T>
host::TensorMap map_of(const std::vector<T>& values, std::vector<std::int64_t> shape, std::vector<std::int64_t> box,
                       std::int64_t swizzle = 0) {
  measure::TensorMap description;
  description.dtype = dtype_of<T>();
  description.strides = measure::dense_strides(shape);
  description.element_strides.assign(shape.size(), 1);
  description.shape = std::move(shape);
  description.box = std::move(box);
  description.swizzle = swizzle;
  return host::encode_tensor_map(description, const_cast<T*>(values.data()));
}

}  // namespace xtune::test
