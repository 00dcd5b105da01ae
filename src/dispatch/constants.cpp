// Modules are shared between kernels by the key of their artifact, so a kernel with constants has its own keys.
#include "dispatch/constants.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "xtune/outcome.hpp"

namespace xtune::dispatch {
namespace {

/// Makes a context current, and the one before again on destruction.
class InContext {
 public:
  InContext(backend::Runtime& runtime, std::uintptr_t context) : runtime_(runtime), before_(runtime.current()) {
    if (context != before_) runtime_.adopt(context);
  }
  ~InContext() {
    try {
      if (runtime_.current() != before_) runtime_.adopt(before_);
    } catch (...) {  // a destructor never throws
    }
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

 private:
  backend::Runtime& runtime_;
  const std::uintptr_t before_;
};

const spec::ArgSpec& constant_named(const spec::Spec& spec, const std::string& name) {
  const spec::ArgSpec* const found = base::find_named(spec.args, name);
  if (found && found->kind == spec::ArgKind::constant) return *found;
  std::vector<std::string> names;
  for (const spec::ArgSpec& argument : spec.args)
    if (argument.kind == spec::ArgKind::constant) names.push_back(argument.name);
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{} has no constant '{}'{}", spec.kernel.name, base::printable(name, 80),
                          names.empty() ? "; its spec has none" : base::did_you_mean(name, names)));
}

std::vector<backend::LoadedKernel> load_steps(const build::Artifact& artifact, const device::LaunchPlan& plan,
                                              backend::Runtime& runtime) {
  std::vector<backend::LoadedKernel> kernels;
  for (const device::Step& step : plan.steps) try {
      kernels.push_back(runtime.load(artifact, step.launch, step.kernel));
    } catch (const build::CandidateFailure& failure) {
      if (step.name.empty() || build::lack_of(failure) != build::Lack::none) throw;
      throw build::CandidateFailure(failure.outcome(), step.named(failure.what()), failure.log());
    }
  return kernels;
}

}  // namespace

void Constants::set(const std::string& name, std::optional<DType> dtype, std::span<const std::byte> contents,
                    backend::Runtime& runtime) {
  const spec::ArgSpec& constant = constant_named(spec_, name);
  const std::string place = spec_.kernel.name + ": the constant '" + name + "'";
  if (dtype && *dtype != constant.dtype)
    throw Error(ErrorKind::invalid_argument, fmt::format("{} has elements of type {}, and was given {}", place,
                                                         to_string(constant.dtype), to_string(*dtype)));
  std::size_t number = 0;
  for (const spec::ArgSpec& argument : spec_.args) {
    if (&argument == &constant) break;
    number += argument.kind == spec::ArgKind::constant ? 1 : 0;
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [address, loaded] : modules_)
    if (const std::size_t bytes = loaded.variables.at(number).bytes; bytes < contents.size())
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{} was given {} bytes, and its variable holds {}", place, contents.size(), bytes));
  given_[name].assign(contents.begin(), contents.end());
  for (const auto& [address, loaded] : modules_) {
    const InContext inside(runtime, loaded.context);
    runtime.write(loaded.variables.at(number).address, contents.data(), contents.size());
  }
}

std::vector<std::byte> Constants::contents_of(const validate::ArgumentLayout& layout) const {
  if (const auto given = given_.find(layout.name); given != given_.end()) return given->second;
  if (layout.value.empty() && layout.file.empty())
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("{0}: the constant '{1}' has no contents: call set_constant(\"{1}\", data) before the first "
                    "call, or give it a value or a file in the spec",
                    spec_.kernel.name, layout.name));
  std::vector<std::byte> contents(layout.bytes());
  validate::fill_input(layout, 0, contents);
  return contents;
}

void Constants::write(backend::Runtime& runtime, const validate::ArgumentLayout& layout,
                      const backend::LoadedVariable& variable) const {
  const std::vector<std::byte> contents = contents_of(layout);
  if (contents.size() > variable.bytes)
    throw build::CandidateFailure(
        Outcome::launch_failed, fmt::format("constant '{}': the variable in the source has {} bytes, and its contents "
                                            "are {}",
                                            layout.name, variable.bytes, contents.size()));
  runtime.write(variable.address, contents.data(), contents.size());
}

std::vector<backend::LoadedKernel> Constants::load(const Build& build, backend::Runtime& runtime) {
  if (build.constants.empty()) return load_steps(build.artifact, build.launch, runtime);
  const std::lock_guard lock(mutex_);
  build::Artifact own = build.artifact;
  own.key += fmt::format(" of kernel {}", static_cast<const void*>(this));
  // A value follows the problem, and problems may share an artifact.
  for (const validate::ArgumentLayout& layout : build.constants)
    for (const std::byte byte : layout.value) own.key += fmt::format(" {:02x}", std::to_integer<unsigned>(byte));
  std::vector<backend::LoadedKernel> kernels = load_steps(own, build.launch, runtime);
  const backend::LoadedKernel& loaded = kernels.front();  // all are in one module
  if (loaded.variables.size() != build.constants.size())
    throw build::CandidateFailure(Outcome::launch_failed,
                                  "the binary does not name the variables of the constants; compile it again");
  const void* const first = loaded.variables.front().address;
  if (modules_.contains(first)) return kernels;  // another problem's, filled already
  for (std::size_t i = 0; i < build.constants.size(); ++i) write(runtime, build.constants[i], loaded.variables[i]);
  modules_[first] = {runtime.current(), loaded.variables};
  return kernels;
}

void require_no_constants(const spec::Spec& spec) {
  const auto is_constant = [](const spec::ArgSpec& argument) { return argument.kind == spec::ArgKind::constant; };
  const auto found = std::find_if(spec.args.begin(), spec.args.end(), is_constant);
  if (found != spec.args.end())
    throw Error(ErrorKind::unsupported,
                fmt::format("{} cannot be called from its result: it has the constant '{}', and a result does not tell "
                            "where its variable is; xtune::load gives a kernel that can",
                            spec.kernel.name, found->name));
}

}  // namespace xtune::dispatch
