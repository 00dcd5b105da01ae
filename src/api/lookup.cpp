// best() and candidates(): the selector of dispatch and the cost model, for devices that may be absent.
#include "xtune/lookup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/checks.hpp"
#include "api/tunable_state.hpp"
#include "api/workers.hpp"
#include "base/text.hpp"
#include "core/device/backend_facts.hpp"
#include "core/device/device_info.hpp"
#include "core/model/rank.hpp"
#include "dispatch/selector.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"
#include "worker/ipc/target.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

/// The device of an architecture, without a driver, or that of this machine.
device::DeviceInfo device_for(const std::string& arch, const std::string& backend) {
  if (arch.empty()) {
    find_worker_program();
    worker::TargetOptions options;
    options.backend = backend;
    try {
      return worker::choose_target(options).device;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unavailable) throw;
      throw Error(error.kind(), std::string(error.what()) + "\nname a device that is not here by settings.arch");
    }
  }
  std::optional<device::DeviceInfo> device = device::known_device(device::base_arch(arch));
  if (!device)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("settings: unknown architecture '{}'{}; known: {}", base::printable(arch, 80),
                            device::did_you_mean_arch(arch), fmt::join(device::known_archs(), ", ")));
  device->backend = device::backend_of_vendor(device->vendor);
  if (backend == "auto") return *device;
  const bool belongs =
      backend == "gpu" ? !device::is_cpu(*device) : device->vendor == device::require_backend(backend).vendor;
  if (!belongs)
    throw Error(ErrorKind::invalid_argument, fmt::format("settings: architecture '{}' belongs to backend {}, not to {}",
                                                         arch, device->backend, backend));
  if (backend != "gpu") device->backend = backend;
  return *device;
}

/// The spec of a problem on a device, with its space restricted by code.
struct Question {
  device::DeviceInfo device;
  spec::Spec spec;
  Bindings problem;
};

Question question_of(const Tunable& tunable, const Bindings& problem, const std::string& arch,
                     const std::string& backend) {
  Question question;
  question.spec = spec_of(tunable);
  if (question.spec.process && arch.empty() && backend.empty()) {  // whose results are those of the command line
    find_worker_program();
    question.device = worker::choose_target(question.spec, worker::TargetOptions{}).device;
  } else {
    question.device = device_for(arch, backend.empty() ? "auto" : backend);
    question.spec = spec_of(tunable, question.device.backend);
  }
  question.problem = choose_problem(question.spec, problem);
  apply_predicates(tunable, question.spec, question.problem, device::device_facts(question.device));
  return question;
}

}  // namespace

Choice best(const Tunable& tunable, const Bindings& problem, const LookupSettings& settings) {
  const system::RememberNothing writes_nothing(settings.frozen);
  const Question question = question_of(tunable, problem, settings.arch, settings.backend);
  const auto bundle = dispatch::open_bundle(settings.bundle, question.spec.kernel.name);
  dispatch::Selector selector(question.spec, dispatch::store_for(settings.store, settings.bundle, settings.frozen),
                              bundle, settings.other_architectures, !settings.frozen, [&](const std::string& text) {
                                if (settings.on_message) settings.on_message(text);
                              });
  dispatch::Selection selection = selector.select(question.spec, question.problem, question.device,
                                                  dispatch::compiled_archs(question.device, settings.arch));
  selection.choice.expected = selector.expected(selection.choice, question.spec, question.problem, question.device);
  return std::move(selection.choice);
}

Choice best(const std::filesystem::path& spec, const Bindings& problem, const LookupSettings& settings) {
  return best(Tunable::from_file(spec), problem, settings);
}

std::vector<Candidate> candidates(const Tunable& tunable, const CandidateSettings& settings) {
  const Question question = question_of(tunable, settings.problem, settings.arch, settings.backend);
  if (!question.spec.candidates)
    throw Error(ErrorKind::invalid_spec,
                question.spec.kernel.name +
                    ": the spec has no [candidates], which says what the parameters mean to the cost model; add it "
                    "(Tunable::candidates, docs/candidates.md)");
  if (device::is_cpu(question.device))
    throw Error(ErrorKind::invalid_argument, "the cost model knows GPUs only, and '" + question.device.arch +
                                                 "' is a CPU: name a GPU by settings.arch");
  const space::Space space = spec::make_space(question.spec, question.problem, device::device_facts(question.device));
  model::RankOptions options = model::rank_options(*question.spec.candidates);
  if (settings.count > 0) options.top_k = settings.count;
  std::vector<Candidate> best;
  for (model::RankedConfig& ranked :
       model::rank_candidates(question.spec, space, question.problem, device::device_model(question.device), options)
           .configs) {
    Candidate candidate;
    candidate.config = space.named(space.at(ranked.index));
    if (ranked.estimate) candidate.estimated_ms = ranked.estimate->time_ms;
    candidate.reason = std::move(ranked.reason);
    best.push_back(std::move(candidate));
  }
  return best;
}

}  // namespace xtune
