// Options and exit codes that the commands share.
#include "cli/commands.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/chosen_store.hpp"
#include "base/csv.hpp"
#include "base/text.hpp"
#include "cli/stored_answers.hpp"
#include "core/device/backend_facts.hpp"
#include "core/record/record_log.hpp"
#include "core/run/check_spec.hpp"
#include "core/target/program_target.hpp"

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
  return options;
}

std::vector<int> CommonOptions::devices() const {
  std::vector<int> indices;
  if (device == "all") return indices;
  for (std::string_view rest = device;;) {
    const std::string_view word = rest.substr(0, rest.find(','));
    int index = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
    if (error != std::errc() || end != word.data() + word.size() || index < 0)
      throw Error(ErrorKind::invalid_argument,
                  "--device '" + base::printable(device, 80) + "': write an index (0), several (0,2), or all");
    indices.push_back(index);
    if (word.size() == rest.size()) return indices;
    rest.remove_prefix(word.size() + 1);
  }
}

target::TargetOptions CommonOptions::target_options(target::TargetNeed need) const {
  target::TargetOptions options;
  options.backend = backend;
  options.devices = devices();
  options.arch = arch;
  options.need = need;
  return options;
}

void add_common_options(CLI::App& command, CommonOptions& options, bool csv) {
  const std::string text = "text, or json: JSON alone on standard output, everything else on standard error";
  command.add_option("--format", options.format, csv ? text + "; csv: the same of the table as CSV" : text)
      ->check(one_of(csv ? std::vector<std::string>{"text", "json", "csv"} : std::vector<std::string>{"text", "json"}))
      ->capture_default_str();
  command
      .add_option("--backend", options.backend,
                  fmt::format("{}, or auto: the first of these with a device and a compiler, or the one that the "
                              "spec is for (kokkos); `xtune run` also takes replay",
                              fmt::join(device::backend_names(), ", ")))
      ->capture_default_str();
  command.add_option("--arch", options.arch,
                     "architecture to compile for, such as sm_90a, gfx90a or x86_64_v3; default: the device's");
  command
      .add_option("--device", options.device,
                  "devices to measure on, by index as `xtune devices` lists them: 0, or 0,2, or all: the first and "
                  "those like it")
      ->capture_default_str();
  command
      .add_option("-D", options.defines,
                  "NAME=value: a problem size, or a parameter pinned to one value; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option("--filter", options.filters,
                  "an expression over problem, parameters and device.*: of the space only what satisfies it; may be "
                  "repeated")
      ->allow_extra_args(false);
  command.add_option("--store", options.store,
                     "folder of records and artifacts; default: XTUNE_CACHE_DIR, else ~/.cache/xtune");
}

void add_spec_argument(CLI::App& command, std::string& path) {
  command.add_option("spec", path, "the spec file (TOML)")->required();
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
                            "backend kokkos alone compiles",
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
  // A backend that there is not is told before what else may be wrong.
  if (target_options.backend != "auto") device::require_backend(target_options.backend);
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

void write_text(std::FILE* stream, const std::string& text) {
  const std::string shown = base::printable(text);
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
  const std::string first = message.substr(0, message.find('\n'));
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
  const std::string list = fmt::format("{{{}}}", fmt::join(words, ","));
  return CLI::Validator(
      [words = std::move(words)](std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
        return fmt::format("'{}' is not one of {}{}", base::printable(text, 80), fmt::join(words, ", "),
                           base::did_you_mean(text, words));
      },
      list);
}

CLI::Validator whole_number(std::uint64_t least) {
  return CLI::Validator(
      [least](std::string& text) {
        std::uint64_t value = 0;
        const char* const last = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), last, value);
        constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (stop == last && error == std::errc() && value >= least && value <= most) return std::string();
        return fmt::format("expected a whole number of at least {}, got '{}'", least, base::printable(text, 80));
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

}  // namespace xtune::cli
