// The host backend of this machine, which compiles a kernel k().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"

namespace xtune::fakes {

struct HostKernels {
  std::unique_ptr<xtune::backend::Backend> backend = xtune::backend::make_backend("host");
  std::unique_ptr<build::Toolchain> toolchain = backend->open_toolchain();
  std::unique_ptr<measure::Device> device = backend->open_device(0);

  build::Artifact compile_source(const std::string& source, const std::vector<std::string>& options = {}) const {
    build::CompileRequest request;
    request.source_name = "kernel.cu";
    request.entry = "k";
    request.source = source;
    request.arch = toolchain->default_arch();
    request.options = options;
    return toolchain->compile(request);
  }
};

}  // namespace xtune::fakes
