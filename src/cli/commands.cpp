// Common options and exit codes of the commands.
#include "cli/commands.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/chosen_store.hpp"
#include "base/csv.hpp"
#include "base/style.hpp"
#include "base/text.hpp"
#include "cli/colours.hpp"
#include "cli/stored_answers.hpp"
#include "cli/terminal.hpp"
#include "core/device/backend_facts.hpp"
#include "core/device/device_info.hpp"
#include "core/record/record_log.hpp"
#include "core/run/check_spec.hpp"
#include "core/search/strategy.hpp"
#include "core/target/program_target.hpp"
#include "ipc/job_count.hpp"
#include "report/wrap.hpp"

namespace xtune::cli {

int exit_code_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::invalid_spec:
    case ErrorKind::invalid_argument:
      return bad_arguments;
    case ErrorKind::nothing_valid:
      return nothing_valid;
    case ErrorKind::unavailable:
    case ErrorKind::unsupported:
      return unavailable;
    case ErrorKind::interrupted:
      return interrupted;
    case ErrorKind::io:
      return own_failure;
  }
  return own_failure;
}

const std::vector<std::pair<int, std::string>>& exit_code_meanings() {
  static const std::vector<std::pair<int, std::string>> meanings{
      {done, "done"},
      {own_failure, "a failure of xtune itself or of the machine, or `store verify` found damage"},
      {bad_arguments, "wrong arguments or spec"},
      {nothing_valid,
       "nothing valid was found: no configuration passed, `validate` found one that fails, `cover` left cases without "
       "one, or `report` or `coverage` found no results"},
      {unavailable, "the device or backend is unavailable"},
      {regressed,
       "an answer is slower than `diff --fail-if-slower` allows, or lost; or `audit` found more than `--max-flips` or "
       "`--max-regret` allow"},
      {interrupted, "interrupted, or out of the job's time; everything measured so far is kept"}};
  return meanings;
}

std::filesystem::path CommonOptions::store_path() const { return base::chosen_store(store); }

spec::SpecOptions CommonOptions::spec_options(const std::string& for_backend) const {
  spec::SpecOptions options;
  options.backend = for_backend;
  options.filters = filters;
  options.partition = partition;
  options.suite = suite;
  for (const std::string& define : defines) {
    const std::size_t equals = define.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorKind::invalid_argument, "-D " + define + ": write -D NAME=value, for example -D M=8192");
    options.defines.emplace_back(define.substr(0, equals), define.substr(equals + 1));
  }
  options.choices = choices;
  return options;
}

std::vector<int> CommonOptions::devices() const {
  std::vector<int> indices;
  if (device == "all") return indices;
  for (const std::string& word : base::split(device, ',')) {
    int index = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
    if (error != std::errc() || end != word.data() + word.size() || index < 0)
      throw Error(ErrorKind::invalid_argument,
                  "--device '" + base::printable(device, 80) + "': write an index (0), several (0,2), or all");
    indices.push_back(index);
  }
  return indices;
}

target::TargetOptions CommonOptions::target_options(target::TargetNeed need) const {
  target::TargetOptions options;
  options.backend = backend;
  options.compiler = compiler;
  options.devices = devices();
  options.arch = arch;
  options.need = need;
  return options;
}

double share_of(const std::string& option, const std::string& text) {
  constexpr double max_share = 100;
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  const std::string rest(end, text.data() + text.size());
  if (error != std::errc() || !(rest.empty() || rest == "%") || std::isnan(share))
    throw Error(ErrorKind::invalid_argument,
                option + " '" + base::printable(text, 80) + "': write a share, for example 5% or 0.05");
  if (rest == "%") share /= 100;
  if (!(share >= 0) || !(share <= max_share))
    throw Error(ErrorKind::invalid_argument, fmt::format("{} '{}': a share is at least 0% and at most {:.0f}%", option,
                                                         base::printable(text, 80), max_share * 100));
  if (rest.empty() && share >= 1)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} {}: write {}% for {} per cent, or {}% for {} times the whole", option, text, text, text,
                            share * 100, text));
  return share;
}

CLI::Option* restrict_to(CLI::Option* option, std::vector<std::string> words) {
  return option->type_name(fmt::format("{}", fmt::join(words, "|")))->check(one_of(std::move(words)));
}

CLI::Option* add_strategy_option(CLI::App& command, std::string& strategy) {
  return command.add_option("--strategy", strategy, "Choose the search strategy instead of the spec's")
      ->check(CLI::Validator([](std::string& name) { return search::strategy_complaint(name); }, ""))
      ->type_name(fmt::format("{}", fmt::join(search::strategy_names(), "|")))
      ->group(option_group::search);
}

void add_jobs_option(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--jobs", options.jobs,
                  "Run at most this many compilers at once: a number, a fraction of the cores (0.5), a fraction with a "
                  "maximum (0.9:32) or auto; default: XTUNE_JOBS, else auto, 0.9 of the cores")
      ->type_name("N")
      ->check([](const std::string& text) { return text.empty() ? "the value is empty" : ""; })
      ->each([](const std::string& text) { ipc::job_count(text); })
      ->group(option_group::device);
}

void add_format_option(CLI::App& command, std::string& format, const std::string& summary, bool csv) {
  std::vector<std::string> forms{"text", "json"};
  if (csv) forms.emplace_back("csv");
  restrict_to(command.add_option("--format", format, summary), std::move(forms))
      ->capture_default_str()
      ->group(option_group::output);
}

void add_log_option(CLI::App& command, std::string& log, const std::string& what) {
  command.add_option("--log", log, "Append the " + what + " of each configuration to a file (XTUNE_LOG)")
      ->type_name("FILE")
      ->envname("XTUNE_LOG")
      ->group(option_group::output);
}

void add_store_option(CLI::App& command, std::string& store, const std::string& summary) {
  command.add_option("--store", store, summary + "; default: XTUNE_CACHE_DIR, else ~/.cache/xtune")
      ->type_name("DIR")
      ->group(option_group::store);
}

void add_backend_option(CLI::App& command, CommonOptions& options, const std::string& summary) {
  std::string words = "auto|gpu";
  for (const device::BackendFacts& facts : device::all_backends())
    if (facts.source != device::SourceKind::program) words += std::string("|") + facts.name;
  command.add_option("--backend", options.backend, summary)
      ->type_name(words)
      ->capture_default_str()
      ->group(option_group::device);
}

void add_compiler_option(CLI::App& command, CommonOptions& options) {
  std::vector<std::string> words{"auto"};
  for (const device::BackendFacts& facts : device::all_backends())
    for (std::string& name : device::compilers_of(facts.name)) words.push_back(std::move(name));
  restrict_to(
      command.add_option("--compiler", options.compiler,
                         "Choose a compiler of backend hip; auto takes hiprtc, unless it is missing or does not "
                         "know the architecture"),
      std::move(words))
      ->capture_default_str()
      ->group(option_group::device);
}

/// An empty text: each element may be an architecture.
static std::string arch_list_complaint(const std::string& archs) {
  if (archs.empty()) return "is empty; leave it out, or name one";
  for (const std::string& arch : base::split(archs, ',')) {
    if (arch.empty())
      return fmt::format("'{}' has an empty element (expected an architecture before and after each comma)",
                         base::printable(archs, 80));
    if (std::string complaint = device::feature_complaint(arch); !complaint.empty()) return complaint;
  }
  return {};
}

void add_arch_option(CLI::App& command, CommonOptions& options, const std::string& summary) {
  command.add_option("--arch", options.arch, summary)
      ->type_name("ARCH")
      ->check(arch_list_complaint)
      ->group(option_group::device);
}

void require_sanitizable(const device::DeviceInfo& device) {
  if (device::is_cpu(device)) return;
  if (device::is_emulated(device))
    throw Error(ErrorKind::unsupported,
                fmt::format("--sanitize: {}: the emulator always reports accesses outside of allocations, reads of LDS "
                            "that was not written, and missing barriers and waits. Leave --sanitize out",
                            device.name));
  throw Error(ErrorKind::unsupported,
              "--sanitize works with --backend host: AddressSanitizer cannot see a GPU's memory");
}

void add_device_option(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--device", options.device,
                  "Choose devices by their index in `xtune devices`: 0, or 0,2, or all: the first and those like it")
      ->type_name("LIST")
      ->capture_default_str()
      ->group(option_group::device);
}

void add_problem_options(CLI::App& command, CommonOptions& options) {
  command.add_option("-D", options.defines, "Set a problem size, or pin a parameter to one value")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(option_group::problem);
  command
      .add_option("--filter", options.filters,
                  "Keep only configurations that satisfy an expression over problem, parameters and device.*")
      ->type_name("EXPR")
      ->allow_extra_args(false)
      ->group(option_group::problem);
}

void add_common_options(CLI::App& command, CommonOptions& options, bool csv) {
  add_problem_options(command, options);
  add_backend_option(command, options,
                     "Choose the backend; auto takes the first with a device and a compiler, or the one that the spec "
                     "is for; gpu takes the first with a GPU, or fails");
  add_compiler_option(command, options);
  add_arch_option(command, options,
                  "Compile for an architecture such as sm_90a, gfx90a or x86_64_v3; default: the device's");
  add_device_option(command, options);
  if (csv)
    add_format_option(command, options.format, "Print text, or only JSON or CSV on standard output", true);
  else
    add_format_option(command, options.format);
}

void add_spec_argument(CLI::App& command, std::string& path) {
  command.add_option("spec", path, "Spec file (TOML)")->required()->type_name("SPEC");
}

void add_example(CLI::App& command, const std::string& example) { command.footer("Example:\n  " + example); }

spec::Spec read_spec(const std::string& path, const CommonOptions& options, const std::string& for_backend) {
  try {
    spec::Spec spec = spec::load_spec(path, options.spec_options(for_backend));
    run::check_spec(spec);
    return spec;
  } catch (const Error& error) {
    // A spec that cannot be read is a bad argument, not a failure of xtune.
    if (error.kind() == ErrorKind::io) throw Error(ErrorKind::invalid_argument, error.what());
    throw;
  }
}

target::TargetOptions for_kernel(const spec::Spec& spec, target::TargetOptions options) {
  if (spec.for_kokkos() && options.backend == "auto") options.backend = spec.kernel.backend;
  if (spec.for_kokkos() && options.backend != spec.kernel.backend)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("--backend {}: the spec's kernel is a Kokkos unit ([kernel] backend = \"kokkos\"), which "
                            "only backend kokkos compiles",
                            base::printable(options.backend, 80)));
  if (!spec.for_kokkos() && options.backend == "kokkos")
    throw Error(
        ErrorKind::invalid_argument,
        "--backend kokkos tunes Kokkos units, and the spec does not say that its kernel is one: [kernel] backend = "
        "\"kokkos\" does");
  return options;
}

target::Target target_for(const std::string& path, const CommonOptions& options, target::TargetNeed need) {
  return target_for(path, options, options.target_options(need));
}

target::Target target_for(const std::string& path, const CommonOptions& options,
                          const target::TargetOptions& target_options) {
  // An unknown backend is reported before other errors.
  device::backends_for(target_options.backend);
  const spec::Spec spec = read_spec(path, options, "");
  target::Target target = target::choose_target(spec, for_kernel(spec, target_options));
  if (target.assumed_arch)
    tell("note: no {} device here: taken for {}, its compiler's default (--arch names another)\n", target.backend.name,
         target.arch);
  return target;
}

spec::Spec load_spec_for(const std::string& path, const CommonOptions& options, const target::Target& target) {
  spec::Spec spec = read_spec(path, options, target.backend.name);
  tell_notes(spec);
  return spec;
}

void tell_no_gpu(const target::Target& target, const std::string& work) {
  if (!target.no_gpu.empty()) tell("note: {}: {} on the CPU\n", target.no_gpu, work);
}

void tell_notes(const spec::Spec& spec) {
  for (const std::string& note : spec.notes) tell("{}\n", note);
}

void tell_missing_store(const CommonOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::exists(options.store_path(), ignored))
    tell("note: the store {} does not exist\n", base::printable(options.store_path().string()));
}

std::vector<record::Record> stored_records(const spec::Spec& spec, const CommonOptions& options,
                                           const target::Target& target) {
  tell_missing_store(options);
  record::RecordSet set = record::read_records(options.store_path(), target.device.arch, spec.kernel.name);
  tell_warnings(set.warnings);
  return std::move(set.records);
}

std::vector<replay::Recording> read_given_recordings(const std::filesystem::path& path,
                                                     const replay::ReadOptions& options) {
  try {
    return replay::read_recordings(path, options);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::io) throw Error(ErrorKind::invalid_argument, error.what());
    throw;
  }
}

std::string counted(std::uint64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : what.ends_with('s') ? "es" : "s");
}

void warn_of(const replay::Recording& recording) {
  for (const std::string& warning : recording.warnings) tell("warning: {}\n", warning);
  if (recording.damage.count > 0)
    tell("warning: {}: {} of {} configurations are damaged and count as failed, first {}\n", recording.name,
         recording.damage.count, recording.space.size(), recording.damage.first);
}

namespace {

/// Adds a label for the kind of a message, by its first word.
std::string with_label(const std::string& text) {
  for (const auto& [label, style] : {std::pair("xtune:", base::Style::error), {"warning:", base::Style::warning}})
    if (text.starts_with(std::string(label) + " "))
      return styled(style, label) + text.substr(std::string(label).size());
  return text;
}

}  // namespace

void write_text(std::FILE* stream, const std::string& text) {
  std::string printable = base::printable(text);
  // Not errors: a compiler's lines, and what is marked in them, stay as they are.
  if (stream == stderr && printable.ends_with('\n') && !printable.starts_with("xtune:") && ::isatty(STDERR_FILENO) == 1)
    printable = report::wrapped_lines(printable, terminal_width(STDERR_FILENO));
  const std::string shown = base::painted(stream == stderr ? with_label(printable) : printable, has_colours(stream));
  std::fwrite(shown.data(), 1, shown.size(), stream);
}

void print_json(const nlohmann::ordered_json& json, int indent) {
  fmt::print("{}\n", base::printable_json(json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace)));
}

void print_json(const std::vector<nlohmann::ordered_json>& answers) {
  print_json(answers.size() == 1 ? answers[0] : nlohmann::ordered_json(answers));
}

void print_csv(const std::vector<nlohmann::ordered_json>& rows) { fmt::print("{}", base::csv_text(rows)); }

Place place_in(const std::string& message) {
  const std::string first = base::first_line(message);
  const auto number = [&](std::size_t& at, const char* end) -> std::uint64_t {
    std::uint64_t value = 0;
    const char* const last = first.data() + first.size();
    const auto [stop, error] = std::from_chars(first.data() + at, last, value);
    at = static_cast<std::size_t>(stop - first.data());
    return error == std::errc() && first.compare(at, std::string_view(end).size(), end) == 0 ? value : 0;
  };
  for (std::size_t colon = first.find(':'); colon != std::string::npos; colon = first.find(':', colon + 1)) {
    std::size_t at = colon + 1;
    const std::uint64_t line = number(at, ":");
    if (line == 0) continue;
    const std::uint64_t column = number(++at, ": ");
    if (column > 0) return {first.substr(0, colon), line, column};
  }
  return {};
}

CLI::Validator one_of(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
        return fmt::format("'{}' is not one of {}{}", base::printable(text, 80), fmt::join(words, ", "),
                           base::did_you_mean(text, words));
      },
      "");
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [least, most](std::string& text) {
        std::uint64_t value = 0;
        const char* const last = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), last, value);
        if (stop == last && error == std::errc() && value >= least && value <= most) return std::string();
        const bool too_large = stop == last && (error == std::errc::result_out_of_range || value > most);
        const std::string range = most == max_whole_number && !too_large ? fmt::format("of at least {}", least)
                                                                         : fmt::format("from {} to {}", least, most);
        return fmt::format("expected a whole number {}, got '{}'", range, base::printable(text, 80));
      },
      "");
}

CLI::Validator positive_seconds() {
  return CLI::Validator(
      [](std::string& text) {
        double value = 0;
        const char* const last = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), last, value);
        if (stop == last && error == std::errc() && value > 0 && value <= 1e9) return std::string();
        return fmt::format("expected seconds, more than 0 and at most 1e9, got '{}'", base::printable(text, 80));
      },
      "");
}

void choose_config(const std::string& config, CommonOptions& common) {
  if (config.empty()) return;
  for (const std::string& word : base::split(config, ',')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorKind::invalid_argument,
                  "--config '" + base::printable(config, 200) +
                      "': write NAME=value for each parameter, for example BLOCK=64,UNROLL=4");
    common.choices.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts = base::split(text, ',');
  std::erase(parts, "");
  return parts;
}

}  // namespace xtune::cli
