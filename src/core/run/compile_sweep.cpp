// One compile job for each artifact, one result for each configuration.
#include "core/run/compile_sweep.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/build/unread_headers.hpp"
#include "core/device/device_info.hpp"
#include "core/spec/spec.hpp"
#include "xtune/error.hpp"

namespace xtune::run {

std::optional<std::int64_t> shared_bytes(const SweptConfig& swept) {
  std::optional<std::int64_t> max_bytes;
  for (const device::Step& step : swept.launch.steps) {
    const build::ResourceUsage& usage = swept.entries.empty() ? swept.usage : swept.entries.at(step.kernel).usage;
    if (!usage.static_shared_bytes && step.launch.shared_bytes == 0) continue;
    max_bytes = std::max(max_bytes.value_or(0), usage.static_shared_bytes.value_or(0) + step.launch.shared_bytes);
  }
  return max_bytes;
}

CompileSweep::CompileSweep(const spec::Spec& spec, const space::Space& space,
                           const resolve::CandidateResolver& resolver, std::string backend, std::filesystem::path store,
                           system::EventLoop& loop, CompileService& compiler)
    : spec_(spec),
      space_(space),
      resolver_(resolver),
      backend_(std::move(backend)),
      store_(std::move(store)),
      loop_(loop),
      compiler_(compiler) {}

std::vector<SweptConfig> CompileSweep::compile(const std::vector<std::uint64_t>& indices,
                                               const std::function<bool()>& stopped, bool keep_going) {
  // Answers refer to this object and to the result: none may come after this function has ended.
  struct Abandon {
    CompileSweep& sweep;
    ~Abandon() {
      sweep.compiler_.cancel_all();
      sweep.outstanding_ = 0;
      sweep.sharing_.clear();
    }
  } abandon{*this};
  std::vector<SweptConfig> result(indices.size());
  const std::vector<std::uint64_t> asked = keep_going ? indices : common_.to_ask(space_, indices);
  const std::set<std::uint64_t> first(asked.begin(), asked.end());
  const auto start_those = [&](bool of_first) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      result[i].index = indices[i];
      if (first.contains(indices[i]) == of_first) start(result[i]);
    }
  };
  const auto wait_while = [&](const std::function<bool()>& wanted) {
    while (outstanding_ > 0 && wanted() && !stopped()) {
      const std::size_t before = outstanding_;
      if (!loop_.run_once() && outstanding_ == before)
        throw Error(ErrorKind::io, "the compile workers ended without an answer");
    }
  };
  start_those(true);
  wait_while([&] { return !common_.refuted(); });
  if (outstanding_ == 0 && common_.suspected() && first.size() < indices.size()) {
    given_up_ = common_.text(indices.size() - first.size());
    return result;
  }
  start_those(false);
  wait_while([] { return true; });
  return result;
}

void CompileSweep::start(SweptConfig& swept) {
  const space::Config config = space_.at(swept.index);
  build::CompileRequest request = resolver_.compile_request(config);
  swept.key = resolver_.artifact_key(request);
  try {
    swept.launch = resolver_.launch(config);
    if (const auto violation = resolver_.limit_violation(swept.launch, nullptr))
      throw build::CandidateFailure(Outcome::rejected, *violation);
  } catch (const build::CandidateFailure& failure) {
    swept.outcome = failure.outcome();
    swept.message = failure.what();
    swept.done = true;
    return;
  }
  if (const auto known = answers_.find(swept.key); known != answers_.end()) return take(swept, known->second);
  auto& sharing = sharing_[swept.key];
  sharing.push_back(&swept);
  if (sharing.size() > 1) return;
  ++outstanding_;
  const std::string source = request.source_name;
  compiler_.compile({backend_, store_, swept.key, std::move(request)}, spec_.kernel.compile_timeout_s,
                    [this, key = swept.key, index = swept.index, source](const CompileAnswer& answer) {
                      --outstanding_;
                      if (!common_.refuted())
                        common_.add(index, key, resolver_.compile_request(space_.at(index)), answer);
                      resolver_.learn(source, answer.artifact.manifest);
                      if (warning_.empty()) warning_ = build::unread_warning(answer.artifact);
                      for (SweptConfig* const waiting : sharing_[key]) take(*waiting, answer);
                      answers_.emplace(key, answer);
                    });
}

void CompileSweep::take(SweptConfig& swept, const CompileAnswer& answer) {
  images_.add(swept.index, resolver_, space_, answer);
  swept.done = true;
  swept.outcome = answer.outcome;
  swept.message = answer.message;
  swept.log = answer.log;
  if (!answer.artifact.key.empty()) swept.key = answer.artifact.key;
  swept.usage = answer.artifact.usage;
  swept.entries = answer.artifact.entries;
  swept.cached = answer.cached;
  swept.seconds = answer.cached ? 0 : answer.artifact.compile_s;
  if (answer.outcome != Outcome::ok) return;
  if (const auto violation = resolver_.limit_violation(swept.launch, &answer.artifact)) {
    swept.outcome = Outcome::rejected;
    swept.message = *violation;
  }
}

std::string other_compilers(const spec::Spec& spec, const Bindings& problem, const Target& target,
                            const Bindings& config, const std::filesystem::path& store, system::EventLoop& loop,
                            CompileService& compiler, const std::function<bool()>& stopped) {
  constexpr double max_seconds = 60;
  spec::Spec bounded = spec;
  bounded.kernel.compile_timeout_s = std::min(spec.kernel.compile_timeout_s, max_seconds);
  const space::Space space = spec::make_space(spec, problem, device::device_facts(target.device));
  const auto index = space.index_of(config);
  std::vector<std::string> accept, refuse;
  for (const CompilerState& other : target.backend.compilers) {
    if (!index || other.toolchain.empty() || other.toolchain == target.backend.toolchain ||
        !device::knows_arch(other.archs, target.arch))
      continue;
    const resolve::CandidateResolver resolver(bounded, space, problem, target.device, target.arch, other.toolchain,
                                              false, store);
    CompileSweep sweep(bounded, space, resolver, target.backend.name, store, loop, compiler);
    const SweptConfig swept = sweep.compile({*index}, stopped, true).front();
    if (stopped()) return {};
    (swept.outcome == Outcome::compile_failed || !swept.done ? refuse : accept).push_back(other.name);
  }
  if (!accept.empty())
    return fmt::format("{} compiled it when asked with this configuration: --compiler {}", fmt::join(accept, " and "),
                       accept.front());
  if (refuse.empty()) return {};
  return fmt::format("{} {} it, too", fmt::join(refuse, " and "),
                     refuse.size() == 1 ? "was asked and refuses" : "were asked and refuse");
}

}  // namespace xtune::run
