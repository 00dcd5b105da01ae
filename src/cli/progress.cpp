// The progress line, the log file and the progress file of a run.
#include "cli/progress.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.hpp"
#include "cli/output.hpp"
#include "core/store/best.hpp"
#include "core/store/objective.hpp"
#include "report/text/run_report.hpp"
#include "system/clock.hpp"

namespace xtune::cli {

namespace {

constexpr double terminal_interval_s = 0.1, plain_interval_s = 5;
constexpr std::uint64_t tick_ms = 250;

}  // namespace

ProgressPrinter::ProgressPrinter(const spec::Spec& spec, const std::string& log_path, Verbosity verbosity,
                                 system::EventLoop& loop)
    : spec_(spec), log_path_(log_path), verbosity_(verbosity), terminal_(isatty(STDERR_FILENO) == 1), loop_(loop) {
  if (log_path.empty()) return;
  log_ = std::fopen(log_path.c_str(), "ae");
  if (!log_) throw bad_argument("--log {}: {}", log_path, std::strerror(errno));
}

ProgressPrinter::~ProgressPrinter() {
  finish();  // an error begins on a new line
  if (log_) std::fclose(log_);
}

std::string ProgressPrinter::entry(const store::Record& record, const std::string& log, bool from_store) const {
  std::string text = space::shown_text(record.problem);
  if (!text.empty()) text += " | ";
  text += fmt::format("{} | {} | {}", report::config_text(spec_, record.config), to_string(record.outcome),
                      from_store ? "from the store" : record.stage);
  if (record.outcome == Outcome::ok)
    text += fmt::format(" | median {} min {} noise {:.2f} % of {} samples", base::human_time_ms(record.time_ms.median),
                        base::human_time_ms(record.time_ms.min), record.time_ms.noise * 100, record.time_ms.count);
  if (!from_store) text += fmt::format(" | compile {:.3f} s, device {:.3f} s", record.compile_s, record.bench_s);
  if (record.usage.registers)
    text += fmt::format(" | {} registers, {} spilled bytes", *record.usage.registers,
                        record.usage.spilled_bytes.value_or(0));
  text += '\n';
  if (!record.message.empty()) text += fmt::format("  {}\n", base::printable(record.message));
  for (const std::string_view line : base::split_lines(log)) text += fmt::format("    {}\n", base::printable(line));
  return text;
}

void ProgressPrinter::on_record(const store::Record& record, const std::string& log, bool from_store) {
  if (!log_) return;
  const std::string text = entry(record, log, from_store);
  if (std::fwrite(text.data(), 1, text.size(), log_) == text.size() && std::fflush(log_) == 0) return;
  // A failure of the log must not end the run.
  const std::string why = std::strerror(errno);
  std::fclose(std::exchange(log_, nullptr));
  on_warning("--log " + log_path_ + ": " + why + "; what follows is not logged");
}

void ProgressPrinter::begin(std::function<run::Progress()> progress) {
  if (!terminal_ || verbosity_ != Verbosity::all) return;
  progress_ = std::move(progress);
  next_tick_ = loop_.call_aside(0, [this] { tick(); });
}

void ProgressPrinter::end() {
  progress_ = nullptr;
  next_tick_ = {};
}

void ProgressPrinter::tick() {
  if (!progress_) return;
  draw(progress_());
  next_tick_ = loop_.call_aside(tick_ms, [this] { tick(); });
}

void ProgressPrinter::draw(const run::Progress& progress) {
  last_print_s_ = progress.elapsed_s;
  last_done_ = progress.done;
  const std::string text = report::progress_line(spec_, progress, terminal_ ? terminal_width(STDERR_FILENO) - 1 : 0);
  if (terminal_) {
    std::fputs("\r\x1b[K", stderr);
    tell("{}", text);
    line_open_ = true;
  } else {
    tell("{}\n", text);
  }
  std::fflush(stderr);
}

void ProgressPrinter::on_progress(const run::Progress& progress) {
  if (verbosity_ != Verbosity::all) return;
  const bool last = progress.done >= progress.total;
  const double interval = terminal_ ? terminal_interval_s : plain_interval_s;
  if (!last && progress.elapsed_s - last_print_s_ < interval) return;
  if (!terminal_ && progress.done == last_done_) return;
  draw(progress);
}

void ProgressPrinter::on_note(const std::string& text) {
  if (verbosity_ == Verbosity::warnings) return;
  finish();
  tell("{}\n", text);
}

void ProgressPrinter::on_warning(const std::string& text) {
  if (!warned_.insert(text).second) return;
  finish();
  tell("warning: {}\n", text);
}

void ProgressPrinter::finish() {
  if (line_open_) std::fputc('\n', stderr);
  line_open_ = false;
}

RunObserver::RunObserver(ProgressPrinter& printer, cluster::ProgressFile* file, cluster::StopRule* rule,
                         LiveReport* live, const spec::Spec& spec, const std::string& path, const Bindings& problem,
                         const device::DeviceInfo& device)
    : printer_(printer), file_(file), rule_(rule), live_(live), spec_(spec), path_(path), problem_(problem) {
  if (live_) live_->begin(spec, problem, device);
  if (!file_) return;
  work().kernel = spec.kernel.name;
  work().arch = device.arch;
  work().device = device.name;
  file_->write(true);
}

RunObserver::~RunObserver() {
  printer_.end();
  if (!file_ || ended_) return;
  work().state = "failed";
  file_->write(true);
}

void RunObserver::on_record(const store::Record& record, const std::string& log, bool from_store) {
  if (rule_ && !from_store) rule_->measured(record.bench_s);
  if (live_) live_->add(record);
  printer_.on_record(record, log, from_store);
}

void RunObserver::on_progress(const run::Progress& progress) {
  printer_.on_progress(progress);
  if (!file_) return;
  cluster::WorkProgress& own = work();
  own.done = progress.done;
  own.total = progress.total;
  if (progress.best) {
    own.best_ms = measure::statistic(progress.best->time_ms, spec_.measure.statistic);
    own.best = progress.best->config;
  }
  file_->write();
}

void RunObserver::end(const run::TuneResult& result) {
  ended_ = true;
  if (live_) live_->end(result);
  printer_.end();
  if (!file_) return;
  cluster::WorkProgress& own = work();
  own.state = result.interrupted ? "stopped" : "done";
  // Like the run's own answer: the finals decide.
  if (const auto best = store::best_of(result.all(), store::Objective(spec_).criterion(problem_, result.device))) {
    own.best_ms = measure::statistic(best->record->time_ms, spec_.measure.statistic);
    own.best = best->record->config;
    own.answered_unix_ms = result.interrupted ? 0 : system::system_clock().unix_time_ms();
  }
  file_->write(true);
}

}  // namespace xtune::cli
