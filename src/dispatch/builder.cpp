// Searches an artifact under the keys of today's source with every known compiler.
#include "dispatch/builder.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/build/manifest.hpp"
#include "core/build/shortage.hpp"
#include "dispatch/selector.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::dispatch {

Build build_without_artifact(const resolve::CandidateResolver& resolver, const space::Config& config) {
  Build build{{}, resolver.launch(config), resolver.scalars(config),
              {}, resolver.constants(),    resolver.tensor_maps(config)};
  for (const validate::ArgumentLayout& layout : resolver.scratch(config)) build.scratch_bytes.push_back(layout.bytes());
  return build;
}

std::map<std::string, std::uint64_t> scratch_of(const spec::Spec& spec, const Bindings& problem,
                                                const device::DeviceInfo& device, const Bindings& config) {
  std::map<std::string, std::uint64_t> bytes;
  const auto is_scratch = [](const spec::ArgSpec& argument) { return argument.role == spec::ArgRole::scratch; };
  if (std::none_of(spec.args.begin(), spec.args.end(), is_scratch)) return bytes;
  const space::Space space =
      space::Space::listed(spec.parameters, {std::vector<std::uint32_t>(spec.parameters.size(), std::uint32_t{0})});
  space::Config values;
  for (const space::Parameter& parameter : spec.parameters) values.push_back(config.at(parameter.name));
  const resolve::CandidateResolver resolver(spec, space, problem, device, device.arch, "", false);
  for (const validate::ArgumentLayout& layout : resolver.scratch(values)) bytes.emplace(layout.name, layout.bytes());
  return bytes;
}

Builder::Builder(std::filesystem::path store, std::shared_ptr<const store::Bundle> bundle, Usable usable,
                 OpenToolchain open, std::function<void(const std::string&)> say)
    : cache_(store.empty() ? std::nullopt : std::optional<build::ArtifactCache>(std::in_place, store)),
      store_(std::move(store)),
      bundle_(std::move(bundle)),
      usable_(std::move(usable)),
      open_(std::move(open)),
      say_(std::move(say)) {}

std::optional<build::Artifact> Builder::find(const std::string& key, const store::Record* record) const {
  const auto is_right = [&](const std::optional<build::Artifact>& artifact, const char* place) {
    if (!artifact || !usable_(*artifact)) return false;
    if (!record || store::is_measured(*record, *artifact)) return true;
    say_(fmt::format("artifact {} in the {} is not the one that its record measured: not loaded", key, place));
    return false;
  };
  {
    const std::lock_guard lock(remembered_mutex_);
    if (const auto own = remembered_.find(key); own != remembered_.end()) return own->second;
  }
  if (cache_)
    if (auto artifact = cache_->find(key); is_right(artifact, "store")) return artifact;
  if (!bundle_) return std::nullopt;
  try {
    if (auto artifact = bundle_->artifact(key); is_right(artifact, "bundle")) return artifact;
  } catch (const Error& error) {
    say_(error.what());
  }
  return std::nullopt;
}

build::Manifest Builder::manifest_of_artifact(const std::string& key) const {
  {
    const std::lock_guard lock(remembered_mutex_);
    if (const auto own = remembered_.find(key); own != remembered_.end()) return own->second.manifest;
  }
  return manifest_of(key, store_, bundle_.get());
}

void Builder::remember(build::Artifact artifact) {
  const std::lock_guard lock(remembered_mutex_);
  std::string key = artifact.key;
  remembered_.insert_or_assign(std::move(key), std::move(artifact));
}

Builder::Opened& Builder::toolchain(const std::string& arch) {
  const std::lock_guard lock(mutex_);
  Opened& opened = toolchains_[arch];
  if (opened.toolchain || !opened.lack.empty()) return opened;
  if (!open_) {
    opened.lack = "compiling was not allowed";
    return opened;
  }
  try {
    opened.toolchain = open_(arch);
    opened.toolchain->fingerprint();
  } catch (const Error& error) {
    opened.toolchain.reset();
    opened.lack = error.what();
  }
  return opened;
}

Build Builder::build(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                     const device::DeviceInfo& device, const space::Config& config, const store::Record* record,
                     const std::vector<std::string>& toolchains, const std::vector<std::string>& archs) {
  const auto resolver_for = [&](const std::string& arch, const std::string& fingerprint) {
    return resolve::CandidateResolver(spec, space, problem, device, arch, fingerprint, false, store_);
  };
  Build build = build_without_artifact(resolver_for(archs.front(), ""), config);
  const auto stored = [&](const std::string& arch, const std::string& fingerprint) {
    const resolve::CandidateResolver resolver = resolver_for(arch, fingerprint);
    const build::CompileRequest request = resolver.compile_request(config);
    if (record) resolver.learn(request.source_name, manifest_of_artifact(record->artifact_key));
    for (const std::string& key : resolver.artifact_keys(request))
      if (auto artifact = find(key, record)) {
        build.artifact = std::move(*artifact);
        return true;
      }
    return false;
  };
  std::vector<std::string> makers = toolchains;
  if (record) {
    std::erase(makers, record->toolchain);
    makers.insert(makers.begin(), record->toolchain);
  }
  for (const std::string& maker : makers)
    for (const std::string& arch : archs)
      if (stored(arch, maker)) return build;

  const Opened& opened = toolchain(archs.front());
  build::Toolchain* const compiler = opened.toolchain.get();
  if (!compiler)
    throw NotStored(ErrorKind::unavailable,
                    "the store has no compiled kernel of this configuration for " + archs.front() + ": " + opened.lack);
  const std::string own = compiler->fingerprint();
  if (std::find(makers.begin(), makers.end(), own) == makers.end())
    for (const std::string& arch : archs)
      if (stored(arch, own)) return build;
  const resolve::CandidateResolver resolver = resolver_for(archs.front(), own);
  const build::CompileRequest request = resolver.compile_request(config);
  build::CompileKey made;
  build.artifact = build::compile_checked(*compiler, request, &made);
  build.artifact.key = made.key.empty() ? resolver.artifact_key(request) : made.key;
  build.artifact.backend = device.backend;
  if (!cache_) {
    remember(build.artifact);
    return build;
  }
  try {
    cache_->insert(build.artifact, build::with_reads(request, made.reads));
    build::store_manifest(store_, device.backend, request.source_name, made.reads.manifest);
  } catch (const Error& error) {
    remember(build.artifact);
    if (!told_not_kept_.exchange(true))
      say_(fmt::format("compiled kernels serve only this process, because they cannot be stored: {}", error.what()));
  }
  return build;
}

// Modules are shared between kernels by the key of their artifact, so a kernel with constants has its own keys.

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
