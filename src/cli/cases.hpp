// The specs of a command and their cases: files and the entries of suites, the device for them, what the store holds
// for them, and the loop over them.
#pragma once

#include <atomic>
#include <csignal>
#include <optional>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "core/resolve/resolve.hpp"
#include "core/run/first_answer.hpp"
#include "core/spec/suite.hpp"
#include "core/store/bundle.hpp"
#include "core/store/lookup.hpp"
#include "core/store/objective.hpp"
#include "core/store/store_view.hpp"
#include "system/event_loop.hpp"
#include "system/files.hpp"

namespace xtune::run {
struct TuneServices;
}  // namespace xtune::run

namespace xtune::cli {

/// load_spec with the given -D options; a file that cannot be read is Error(invalid_argument).
spec::Spec read_spec(const std::string& path, const CommonOptions& options, const std::string& for_backend);
/// The options with the backend of the spec's kernel, if it is only for one. Throws Error(invalid_argument) if another
/// one is requested, or a Kokkos backend for another kernel.
worker::TargetOptions for_kernel(const spec::Spec& spec, worker::TargetOptions options);
/// choose_target for the kernel or the program of this spec; if neither a device nor --arch determines the
/// architecture, prints the chosen one to stderr.
run::Target target_for(const std::string& path, const CommonOptions& options,
                       const worker::TargetOptions& target_options);
run::Target target_for(const std::string& path, const CommonOptions& options, worker::TargetNeed need);
/// Loads the spec with the overlay of the target's backend; prints its notes to stderr.
spec::Spec load_spec_for(const std::string& path, const CommonOptions& options, const run::Target& target);
/// Throws Error(invalid_spec) for a spec without a kernel. work: "tune".
void require_more_than_space(const std::string& path, const spec::Spec& spec, const std::string& work);
/// For --sanitize. Throws Error(unsupported) for GPUs, whose kernels are not instrumented.
void require_sanitizable(const device::DeviceInfo& device);
/// Prints why a command uses the CPU, if the user did not choose it. work: "tuning".
void tell_no_gpu(const run::Target& target, const std::string& work);
void tell_notes(const spec::Spec& spec);  ///< prints the changes by its overlays and -D

// One case on a device.
space::Space space_of(const spec::Spec& spec, const Bindings& problem, const run::Target& target);
resolve::CandidateResolver resolver_of(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                                       const run::Target& target, const std::filesystem::path& store,
                                       bool sanitize = false);
/// manifest_of: as for SpecFit.
store::SpecFit fit_of(const spec::Spec& spec, const Bindings& problem, const run::Target& target,
                      const std::filesystem::path& store,
                      std::function<build::Manifest(const std::string& artifact_key)> manifest_of = {});

/// What a call runs for a problem without an answer.
Bindings default_of(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device);

/// Prints damage and a missing store to standard error. spec and target must outlive it. bundle: its records are read
/// instead of the store's.
run::StoredAnswers stored_answers(const spec::Spec& spec, const CommonOptions& options, const run::Target& target,
                                  const store::Bundle* bundle = nullptr);

/// One case of a replay: the recorded device, and the services that answer in simulated time.
struct ReplayedCase {
  virtual ~ReplayedCase() = default;
  virtual run::TuneServices services(const std::atomic<bool>& stop) = 0;
  run::Target target;     ///< under the backend "replay"
  std::string recording;  ///< its name
};
/// Recordings that answer a spec in the place of workers.
struct Replay {
  virtual ~Replay() = default;
  /// The recording of a problem, which `this` must outlive. The first time, warns if a part of the space is not
  /// recorded. Throws Error(invalid_argument) if nothing is.
  virtual std::unique_ptr<ReplayedCase> open(system::EventLoop& loop, const Bindings& problem) = 0;
  spec::Spec spec;  ///< without what a replay cannot do
};
using ReplayOpener = std::unique_ptr<Replay>(const std::string& path, const CommonOptions& options,
                                             const std::string& recording);
inline ReplayOpener* replay_opener = nullptr;  ///< set by add_lab_commands() in builds with lab/
/// Reads the spec, and the recordings of --recording or else the spec's. options must outlive the result. Throws
/// Error(unavailable) in builds without lab/.
ReplayOpener open_replay;
/// --recording
void add_recording_option(CLI::App& command, std::string& recording);
/// Whether the options or the spec ask for a replay. recording: of --recording. Throws Error(invalid_argument) for
/// options that exclude each other.
bool wants_replay(const std::string& path, const CommonOptions& options, const std::string& recording);

/// While it lives, SIGINT and SIGTERM do not end the process: they set a flag, the next time that the loop runs.
class StopSignals {
 public:
  explicit StopSignals(system::EventLoop& loop)
      : interrupt_(loop.on_signal(SIGINT, [this] { asked_ = true; })),
        terminate_(loop.on_signal(SIGTERM, [this] { asked_ = true; })) {}
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  const std::atomic<bool>& asked() const noexcept { return asked_; }

 private:
  std::atomic<bool> asked_{false};
  system::EventLoop::Watch interrupt_, terminate_;
};

struct SpecList {
  struct Item {
    std::string path;
    std::optional<spec::SuiteEntry> entry;  ///< of a suite
    std::optional<Error> error;             ///< set if the spec is unusable; it was reported
  };
  std::vector<Item> items;
  bool several = false;  ///< a suite or several files: answers are a list of any length
};

/// Throws Error(invalid_spec) for an invalid suite.
SpecList list_specs(const std::vector<std::string>& paths);
/// The options for one of them, which must outlive the result.
CommonOptions options_for(const SpecList::Item& item, const CommonOptions& options);

/// Reads and checks all specs of a list of several before anything runs, and reports their errors. Then throws the
/// Error of a file on the command line that is unusable; an unusable entry of a suite keeps its error and is skipped.
/// Does not look for devices and compilers.
void read_all(SpecList& list, const CommonOptions& options);

/// The answers of a command, in the order of its specs.
using Answers = std::vector<std::vector<Json>>;

/// Calls `work` for each: an error of one is reported, and the others still run. `work` appends to the answers and
/// returns an exit code; "spec" is added to its answers, and one that failed has "error". If there is only one spec,
/// its Error is thrown. Returns the worst code.
int for_each_spec(
    const SpecList& list, const std::vector<std::size_t>& order, Answers& answers,
    const std::function<int(const SpecList::Item&, std::vector<Json>&)>& work,
    const std::function<bool()>& stopped = [] { return false; });
/// The numbers 0, 1, 2 ... of the specs.
std::vector<std::size_t> in_order(const SpecList& list);
/// Prints the answers of all as JSON, without a list if there is one spec with one answer; csv: their tables as one.
void print_answers(const SpecList& list, const Answers& answers, bool csv = false);

/// The options of commands that take several specs and work until they are stopped.
struct SpecsOptions {
  CommonOptions common;
  std::vector<std::string> paths;
  std::string path;  ///< one of them
  bool quiet = false;
};
/// What the work on all specs of such a command shares.
struct SpecsWork {
  system::EventLoop loop;
  const StopSignals signals{loop};
  const std::atomic<bool>& stop = signals.asked();
};

/// Calls body(options of one spec, work, a printer for its answers) for each spec, until a signal. Prints the answers
/// as JSON if that is the format; lists: as a list even if there is one. Returns the exit code.
template <class Options, class Body>
int for_each_spec(const Options& options, const Body& body, bool lists = false) {
  SpecList list = list_specs(options.paths);
  read_all(list, options.common);
  SpecsWork work;
  system::remove_abandoned_temporaries();
  Answers answers;
  const auto one_item = [&](const SpecList::Item& item, std::vector<Json>& own) {
    Options one = options;
    one.path = item.path;
    one.common = options_for(item, options.common);
    Printer printer(one.common.format);
    const int code = body(one, work, printer);
    own = std::move(printer.answers());
    return code;
  };
  const int code = for_each_spec(list, in_order(list), answers, one_item, [&] { return work.stop.load(); });
  list.several = list.several || lists;
  if (options.common.json()) print_answers(list, answers);
  return work.stop ? static_cast<int>(interrupted) : code;
}

}  // namespace xtune::cli
