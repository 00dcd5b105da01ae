// Options and checks of their values.
#include "cli/options.hpp"

#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "base/text.hpp"
#include "cli/output.hpp"
#include "core/device/backend_facts.hpp"
#include "core/device/device_info.hpp"
#include "core/search/strategy.hpp"
#include "system/chosen_store.hpp"
#include "worker/ipc/installed.hpp"
#include "worker/ipc/pool.hpp"

namespace xtune::cli {

void add_example(CLI::App& command, const std::string& example) {
  if (!example.empty()) command.footer("Example:\n  " + example);
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

CLI::Validator whole_number(std::uint64_t min, std::uint64_t max) {
  return CLI::Validator(
      [min, max](std::string& text) {
        std::uint64_t value = 0;
        const char* const last = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), last, value);
        if (stop == last && error == std::errc() && value >= min && value <= max) return std::string();
        const bool too_large = stop == last && (error == std::errc::result_out_of_range || value > max);
        const std::string range = max == max_whole_number && !too_large ? fmt::format("of at least {}", min)
                                                                        : fmt::format("from {} to {}", min, max);
        return fmt::format("expected a whole number {}, got '{}'", range, base::printable(text, 80));
      },
      "");
}

CLI::Validator positive(const char* unit) {
  return {[unit](std::string& text) {
            const std::optional<double> value = number_in<double>(text);
            if (value && *value > 0 && *value <= 1e9) return std::string();
            return fmt::format("expected {}, more than 0 and at most 1e9, got '{}'", unit, base::printable(text, 80));
          },
          ""};
}

CLI::Validator not_empty() {
  return {[](std::string& text) { return text.empty() ? "the value is empty" : ""; }, ""};
}

CLI::Option* restrict_to(CLI::Option* option, std::vector<std::string> words) {
  return option->type_name(fmt::format("{}", fmt::join(words, "|")))->check(one_of(std::move(words)));
}

std::filesystem::path CommonOptions::store_path() const { return system::chosen_store(store); }

spec::SpecOptions CommonOptions::spec_options(const std::string& for_backend) const {
  spec::SpecOptions options;
  options.backend = for_backend;
  options.filters = filters;
  options.partition = partition;
  options.suite = suite;
  for (const std::string& define : defines)
    options.defines.push_back(name_and_value("-D", define, "-D NAME=value, for example -D M=8192"));
  options.choices = choices;
  return options;
}

std::vector<int> CommonOptions::devices() const {
  std::vector<int> indices;
  if (device == "all") return indices;
  for (const std::string& word : base::split(device, ',')) {
    const std::optional<int> index = number_in<int>(word);
    if (!index || *index < 0)
      throw bad_argument("--device '{}': write an index (0), several (0,2), or all", base::printable(device, 80));
    indices.push_back(*index);
  }
  return indices;
}

worker::TargetOptions CommonOptions::target_options(worker::TargetNeed need) const {
  worker::TargetOptions options;
  options.backend = backend;
  options.compiler = compiler;
  options.devices = devices();
  options.arch = arch;
  options.need = need;
  return options;
}

void add_problem_options(CLI::App& command, CommonOptions& options) {
  const OptionGroup problem(command, option_group::problem);
  problem.list("-D", options.defines, "NAME=VALUE", "Set a problem size, or pin a parameter to one value");
  problem.list("--filter", options.filters, "EXPR",
               "Keep only configurations that satisfy an expression over problem, parameters and device.*");
}

void add_backend_option(CLI::App& command, CommonOptions& options, const std::string& summary) {
  std::string words = "auto|gpu";
  for (const device::BackendFacts& facts : device::all_backends())
    if (facts.source != device::SourceKind::program) words += std::string("|") + facts.name;
  OptionGroup(command, option_group::device).value("--backend", options.backend, words, summary);
}

void add_compiler_option(CLI::App& command, CommonOptions& options) {
  std::vector<std::string> words{"auto"};
  for (const device::BackendFacts& facts : device::all_backends())
    for (const std::string& name : device::compilers_of(facts.name)) base::add_once(words, name);
  OptionGroup(command, option_group::device)
      .words("--compiler", options.compiler, std::move(words),
             "Choose a compiler of backend cuda or hip; auto takes nvrtc or hiprtc, unless it is missing or does not "
             "know the architecture");
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
  OptionGroup(command, option_group::device).value("--arch", options.arch, "ARCH", summary)->check(arch_list_complaint);
}

void add_device_option(CLI::App& command, CommonOptions& options) {
  OptionGroup(command, option_group::device)
      .value("--device", options.device, "LIST",
             "Choose devices by their index in `xtune devices`: 0, or 0,2, or all: the first and those like it");
}

void add_jobs_option(CLI::App& command, CommonOptions& options) {
  OptionGroup(command, option_group::device)
      .value("--jobs", options.jobs, "N",
             "Run at most this many compilers at once: a number, a fraction of the cores (0.5), a fraction with a "
             "maximum (0.9:32) or auto; default: XTUNE_JOBS, else auto, 0.9 of the cores")
      ->check(not_empty())
      ->each([](const std::string& text) { worker::job_count(text); });
}

void add_strategy_option(CLI::App& command, std::string& strategy) {
  OptionGroup(command, option_group::search)
      .value("--strategy", strategy, fmt::format("{}", fmt::join(search::strategy_names(), "|")),
             "Choose the search strategy instead of the spec's")
      ->check(CLI::Validator([](std::string& name) { return search::strategy_complaint(name); }, ""));
}

void add_keep_going_option(CLI::App& command, bool& keep_going) {
  OptionGroup(command, option_group::search)
      .flag("--keep-going", keep_going, "Compile all configurations, even if the first ones fail with the same error");
}

void add_sanitize_option(CLI::App& command, bool& sanitize, const std::string& remark) {
  OptionGroup(command, option_group::device)
      .flag("--sanitize", sanitize, "Compile kernels of the host backend with AddressSanitizer and UBSan" + remark);
}

void add_format_option(CLI::App& command, std::string& format, const std::string& summary, bool csv) {
  std::vector<std::string> forms{"text", "json"};
  if (csv) forms.emplace_back("csv");
  OptionGroup(command, option_group::output).words("--format", format, std::move(forms), summary);
}

void add_quiet_option(CLI::App& command, bool& quiet, const std::string& what) {
  OptionGroup(command, option_group::output).flag("--quiet", quiet, "Print no " + what + " on standard error");
}

void add_log_option(CLI::App& command, std::string& log, const std::string& what) {
  OptionGroup(command, option_group::output)
      .value("--log", log, "FILE", "Append the " + what + " of each configuration to a file (XTUNE_LOG)")
      ->envname("XTUNE_LOG");
}

void add_store_option(CLI::App& command, std::string& store, const std::string& summary) {
  OptionGroup(command, option_group::store)
      .value("--store", store, "DIR", summary + "; default: XTUNE_CACHE_DIR, else ~/.cache/xtune");
}

void add_color_option(CLI::App& command) {
  const auto commands = command.get_subcommands([](CLI::App*) { return true; });
  for (CLI::App* const each : commands)
    if (!each->get_group().empty()) add_color_option(*each);
  if (!commands.empty()) return;
  CLI::Option* const option = command.add_option_function<std::string>(
      "--color", [](const std::string&) {}, "Colour text: on terminals, always or never");
  restrict_to(option, {"auto", "always", "never"})->default_str("auto")->group(option_group::output);
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

std::string spec_named(const std::string& given) {
  if (!worker::is_spec_name(given)) return given;
  const std::string path = read_given([&] { return worker::shipped_spec(given); }).string();
  tell("note: {} is {}, which comes with xtune\n", base::printable(given), base::printable(path));
  return path;
}

CLI::Option* add_spec_argument(CLI::App& command, std::string& path) {
  return add_argument(command, "spec", path, "SPEC", "Spec file (TOML), or a name that `xtune kernels` lists")
      ->transform(spec_named);
}

void add_specs_argument(CLI::App& command, std::vector<std::string>& paths) {
  add_argument(command, "spec", paths, "SPEC",
               "Spec files, or suites that list them (TOML), or names that `xtune kernels` lists")
      ->transform(spec_named);
}

void add_force_option(CLI::App& command, bool& force) {
  OptionGroup(command, option_group::output).flag("--force", force, "Replace existing files");
}

std::string file_stem(std::string name) {
  for (char& c : name)
    if (c == '/' || c == '\\' || c == ' ' || c == '"') c = '_';
  if (name.empty() || name.front() == '.') name = "_" + name;
  return name;
}

void require_new_files(const std::vector<std::filesystem::path>& files, bool force, const std::string& otherwise) {
  if (force) return;
  for (const std::filesystem::path& file : files) {
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::symlink_status(file, ignored)))
      throw bad_argument("{}: the file exists; --force replaces it, {}", base::printable(file.string()), otherwise);
  }
}

double share_of(const std::string& option, const std::string& text) {
  constexpr double max_share = 100;
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  const std::string rest(end, text.data() + text.size());
  if (error != std::errc() || !(rest.empty() || rest == "%") || std::isnan(share))
    throw bad_argument("{} '{}': write a share, for example 5% or 0.05", option, base::printable(text, 80));
  if (rest == "%") share /= 100;
  if (!(share >= 0) || !(share <= max_share))
    throw bad_argument("{} '{}': a share is at least 0% and at most {:.0f}%", option, base::printable(text, 80),
                       max_share * 100);
  if (rest.empty() && share >= 1)
    throw bad_argument("{} {}: write {}% for {} per cent, or {}% for {} times the whole", option, text, text, text,
                       share * 100, text);
  return share;
}

std::pair<std::string, std::string> name_and_value(const std::string& option, const std::string& text,
                                                   const std::string& expected) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw bad_argument("{} '{}': write {}", option, base::printable(text, 80), expected);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void choose_config(const std::string& config, CommonOptions& common) {
  if (config.empty()) return;
  for (const std::string& word : base::split(config, ','))
    common.choices.push_back(
        name_and_value("--config", word, "NAME=value for each parameter, for example BLOCK=64,UNROLL=4"));
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts(1);
  int open = 0;  // of template arguments and placeholders
  for (const char c : text) {
    open += std::string_view("<{(").find(c) != std::string_view::npos;
    open -= std::string_view(">})").find(c) != std::string_view::npos;
    if (c == ',' && open <= 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  std::erase(parts, "");
  return parts;
}

}  // namespace xtune::cli
