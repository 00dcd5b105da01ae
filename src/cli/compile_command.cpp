// xtune compile: compile a spec's configurations for architectures that need not be present.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/spec_list.hpp"
#include "core/candidates/resolve.hpp"
#include "core/run/services.hpp"
#include "report/run_report.hpp"
#include "report/table.hpp"

namespace xtune::cli {
namespace {

struct CompileOptions {
  CommonOptions common;
  std::vector<std::string> paths;
  std::string path;  ///< of one of them
  std::uint64_t limit = 400;
  bool sanitize = false;
};

struct Row {
  std::string arch;
  Bindings config;
  std::string key;
  Outcome outcome = Outcome::ok;
  std::string message;
  ResourceUsage usage;
  std::uint32_t dynamic_shared = 0;
  double seconds = 0;
  bool cached = false;
};

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (end > 0) parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return parts;
}

/// At most `limit` configurations, spread evenly over the space.
std::vector<std::uint64_t> choose(const Space& space, std::uint64_t limit) {
  const std::uint64_t count = std::min(limit, space.size());
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < count; ++i)
    chosen.push_back(static_cast<std::uint64_t>(static_cast<double>(i) / static_cast<double>(count) *
                                                static_cast<double>(space.size())));
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

class CompileRun {
 public:
  CompileRun(const CompileOptions& options, EventLoop& loop, CompileService& compiler)
      : options_(options), loop_(loop), compiler_(compiler) {}

  /// Throws Error where this architecture cannot be compiled for; what was compiled for others stays.
  void compile_for(const Target& target, const std::atomic<bool>& stop) {
    struct Abandon {
      CompileRun& run;
      ~Abandon() {
        run.compiler_.cancel_all();
        run.fresh_.clear();
        run.sharing_.clear();
      }
    } abandon{*this};
    const Spec spec = load_spec_for(options_.path, options_.common, target);
    if (spec.space_only())
      throw Error(ErrorKind::invalid_spec,
                  options_.path + ": the spec describes a space alone; there is nothing to compile");
    const Space space = make_space(spec, spec.cases.front(), device_facts(target.device));
    const CandidateResolver resolver(spec, space, spec.cases.front(), target.device, target.arch,
                                     target.backend.toolchain, options_.sanitize);
    const auto chosen = choose(space, options_.limit);
    if (chosen.size() < space.size())
      tell("{}: {} of {} configurations, spread evenly (--limit says how many)\n", target.arch, chosen.size(),
           space.size());
    outstanding_ = 0;
    for (const std::uint64_t index : chosen) start(target, spec, space, resolver, index);
    while (outstanding_ > 0 && !stop) {
      const std::size_t before = outstanding_;
      if (!loop_.run_once() && outstanding_ == before)
        throw Error(ErrorKind::io, "the compile workers ended without an answer");
    }
    sort_and_keep(spec);
  }

  const std::vector<Row>& rows() const { return rows_; }
  bool any_ok() const {
    return std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.outcome == Outcome::ok; });
  }

 private:
  void start(const Target& target, const Spec& spec, const Space& space, const CandidateResolver& resolver,
             std::uint64_t index) {
    const Config config = space.at(index);
    auto row = std::make_shared<Row>();
    row->arch = target.arch;
    row->config = resolver.config_bindings(config);
    CompileRequest request = resolver.compile_request(config);
    row->key = resolver.artifact_key(request);
    std::shared_ptr<Launch> launch;
    try {
      launch = std::make_shared<Launch>(resolver.launch(config));
      row->dynamic_shared = launch->shared_bytes;
      if (const auto violation = resolver.limit_violation(*launch, nullptr))
        throw CandidateFailure(Outcome::rejected, *violation);
    } catch (const CandidateFailure& failure) {
      row->outcome = failure.outcome();
      row->message = failure.what();
      fresh_.push_back(row);
      return;
    }
    // Launch-only parameters share an artifact: one job, several rows.
    auto& sharing = sharing_[row->key];
    sharing.push_back(row);
    if (sharing.size() > 1) return;
    ++outstanding_;
    const CompileJob job{target.backend.name, options_.common.store_path(), row->key, std::move(request)};
    compiler_.compile(job, spec.kernel.compile_timeout_s,
                      [this, key = row->key, launch, &resolver](const CompileAnswer& answer) {
                        --outstanding_;
                        for (const auto& waiting : sharing_[key]) {
                          waiting->outcome = answer.outcome;
                          waiting->message = answer.message;
                          waiting->usage = answer.artifact.usage;
                          waiting->seconds = answer.cached ? 0 : answer.artifact.compile_s;
                          waiting->cached = answer.cached;
                          if (answer.outcome == Outcome::ok)
                            if (const auto violation = resolver.limit_violation(*launch, &answer.artifact.usage)) {
                              waiting->outcome = Outcome::rejected;
                              waiting->message = *violation;
                            }
                          fresh_.push_back(waiting);
                        }
                      });
  }

  void sort_and_keep(const Spec& spec) {
    std::sort(fresh_.begin(), fresh_.end(), [&](const auto& a, const auto& b) {
      return config_text(spec, a->config) < config_text(spec, b->config);
    });
    for (const auto& row : fresh_) rows_.push_back(*row);
  }

  const CompileOptions& options_;
  EventLoop& loop_;
  CompileService& compiler_;
  std::size_t outstanding_ = 0;
  std::map<std::string, std::vector<std::shared_ptr<Row>>> sharing_;
  std::vector<std::shared_ptr<Row>> fresh_;
  std::vector<Row> rows_;
};

template <class T>
std::string cell(const std::optional<T>& value) {
  return value ? std::to_string(*value) : "-";
}

std::optional<std::int64_t> shared_of(const Row& row) {
  if (!row.usage.static_shared_bytes && row.dynamic_shared == 0) return std::nullopt;
  return row.usage.static_shared_bytes.value_or(0) + row.dynamic_shared;
}

void print_text(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows)
    cells.push_back({row.arch, bindings_text(row.config), to_string(row.outcome), cell(row.usage.registers),
                     cell(row.usage.spilled_bytes), cell(shared_of(row)),
                     row.cached ? "cached" : fmt::format("{:.2f} s", row.seconds),
                     row.message.substr(0, row.message.find('\n'))});
  print_out("{}", render_table(
                      {"arch", "configuration", "outcome", "registers", "spilled bytes", "shared bytes", "compile", ""},
                      cells));
}

std::vector<nlohmann::ordered_json> rows_json(const std::vector<Row>& rows) {
  std::vector<nlohmann::ordered_json> list;
  const auto number = [](const auto& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  };
  for (const Row& row : rows) {
    nlohmann::ordered_json json{{"arch", row.arch},
                                {"config", bindings_json(row.config)},
                                {"key", row.key},
                                {"outcome", to_string(row.outcome)}};
    json["registers"] = number(row.usage.registers);
    json["spilled_bytes"] = number(row.usage.spilled_bytes);
    json["shared_bytes"] = number(shared_of(row));
    json["seconds"] = row.seconds;
    json["cached"] = row.cached;
    if (!row.message.empty()) json["message"] = row.message;
    list.push_back(std::move(json));
  }
  return list;
}

/// One for each architecture of --arch.
std::vector<Target> targets_of(const std::string& path, const CommonOptions& options) {
  std::vector<std::string> archs = split_list(options.arch);
  if (archs.empty()) archs.emplace_back();
  std::vector<Target> targets;
  for (const std::string& arch : archs) {
    TargetOptions target_options = options.target_options(TargetNeed::compiler);
    target_options.arch = arch;
    targets.push_back(target_for(path, options, target_options));
  }
  return targets;
}

int compile_one(const CompileOptions& options, EventLoop& loop, CompileService& compiler, const std::atomic<bool>& stop,
                std::vector<nlohmann::ordered_json>& answers) {
  // All of them before the first compiles: a misspelt one should not cost minutes.
  const std::vector<Target> targets = targets_of(options.path, options.common);
  CompileRun run(options, loop, compiler);
  int code = done;
  for (const Target& target : targets) {
    if (stop) break;
    try {
      run.compile_for(target, stop);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      tell("xtune: {}: {}\n", target.arch, error.what());
      code = exit_code_of(error.kind());
    }
  }
  if (options.common.json())
    answers = rows_json(run.rows());
  else
    print_text(run.rows());
  if (stop) return interrupted;
  if (code != done) return code;
  return run.any_ok() ? done : nothing_valid;
}

int compile(const CompileOptions& options) {
  const SpecList list = list_specs(options.paths);
  EventLoop loop;
  std::atomic<bool> stop{false};
  const auto ask_to_stop = [&stop] { stop = true; };
  const EventLoop::Watch watches[] = {loop.on_signal(SIGINT, ask_to_stop), loop.on_signal(SIGTERM, ask_to_stop)};
  remove_abandoned_temporaries();
  const TemporaryDirectory temporaries;
  PooledCompileService compiler(loop, default_jobs(), compile_worker_command(default_jobs(), temporaries.path()));
  std::vector<std::vector<nlohmann::ordered_json>> answers;
  const auto compile_item = [&](const SpecList::Item& item, std::vector<nlohmann::ordered_json>& own) {
    CompileOptions one = options;
    one.path = item.path;
    one.common = options_for(item, options.common);
    return compile_one(one, loop, compiler, stop, own);
  };
  const int code = for_each_spec(list, in_order(list), answers, compile_item, [&] { return stop.load(); });
  if (options.common.json()) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const auto& own : answers)
      for (const auto& answer : own) all.push_back(answer);
    print_json(all);
  }
  return stop ? static_cast<int>(interrupted) : code;
}

}  // namespace

void add_compile_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "compile", "compiles configurations without a device and reports registers, spills and shared memory");
  add_example(*command, "xtune compile configs/gemm.toml --backend cuda --arch sm_80,sm_90a --limit 50");
  static CompileOptions options;
  add_specs_argument(*command, options.paths);
  add_common_options(*command, options.common);
  command->get_option("--backend")
      ->description(
          "cuda, hip, host, or auto: what --arch names; else that of a GPU that is here, else the first with a "
          "compiler");
  command->get_option("--arch")->description(
      "architectures to compile for, separated by commas: sm_80,sm_90a or gfx90a,gfx1030");
  command->add_option("--limit", options.limit, "configurations to compile at most, spread evenly over the space")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--sanitize", options.sanitize, "host backend: with AddressSanitizer and UBSan");
  command->callback([&context] { context.exit_code = compile(options); });
}

}  // namespace xtune::cli
