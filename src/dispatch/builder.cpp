// Searches an artifact under the keys of today's source with every known compiler.
#include "dispatch/builder.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/build/checked_compile.hpp"
#include "dispatch/selector.hpp"
#include "xtune/error.hpp"

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

std::optional<build::Artifact> Builder::find(const std::string& key, const record::Record* record) const {
  const auto is_right = [&](const std::optional<build::Artifact>& artifact, const char* place) {
    if (!artifact || !usable_(*artifact)) return false;
    if (!record || record::is_measured(*record, *artifact)) return true;
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
                     const device::DeviceInfo& device, const space::Config& config, const record::Record* record,
                     const std::vector<std::string>& toolchains, const std::vector<std::string>& archs) {
  const auto resolver_for = [&](const std::string& arch, const std::string& fingerprint) {
    return resolve::CandidateResolver(spec, space, problem, device, arch, fingerprint, false, store_);
  };
  Build build = build_without_artifact(resolver_for(archs.front(), ""), config);
  const auto stored = [&](const std::string& arch, const std::string& fingerprint) {
    const resolve::CandidateResolver resolver = resolver_for(arch, fingerprint);
    const build::CompileRequest request = resolver.compile_request(config);
    if (record) resolver.learn(request, manifest_of_artifact(record->artifact_key));
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

}  // namespace xtune::dispatch
