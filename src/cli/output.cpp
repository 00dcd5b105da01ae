// Text is made printable, wrapped and coloured here.
#include "cli/output.hpp"

#include <re2/re2.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/causes.hpp"
#include "base/csv.hpp"
#include "base/text.hpp"
#include "report/text/table.hpp"

namespace xtune::cli {
namespace {

constexpr std::size_t default_columns = 80, min_columns = 20;

std::string chosen_colour = "auto";  ///< --color

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value && *value;
}

/// NO_COLOR (no-color.org) takes precedence over CLICOLOR_FORCE.
bool has_colours(std::FILE* stream) {
  if (chosen_colour == "always") return true;
  if (chosen_colour == "never" || is_set("NO_COLOR")) return false;
  if (is_set("CLICOLOR_FORCE") && std::string_view(std::getenv("CLICOLOR_FORCE")) != "0") return true;
  const char* const terminal = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && terminal && std::string_view(terminal) != "dumb";
}

/// COLUMNS, or the width of the terminal, which is queried each time, because users resize it.
std::optional<std::size_t> known_width(int descriptor) {
  const char* const columns = std::getenv("COLUMNS");
  if (const auto given = number_in<std::size_t>(columns ? columns : ""); given && *given >= min_columns) return given;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col >= min_columns) return size.ws_col;
  return std::nullopt;
}

/// Adds a label for the kind of a message, by its first word.
std::string with_label(const std::string& text) {
  for (const auto& [label, style] : {std::pair("xtune:", base::Style::error), {"warning:", base::Style::warning}})
    if (text.starts_with(std::string(label) + " "))
      return styled(style, label) + text.substr(std::string(label).size());
  return text;
}

}  // namespace

void choose_colours(const std::vector<std::string>& words) {
  constexpr std::string_view option = "--color";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) chosen_colour = words[i + 1];
    if (words[i].starts_with("--color=")) chosen_colour = words[i].substr(option.size() + 1);
  }
}

std::size_t terminal_width(int descriptor) { return known_width(descriptor).value_or(default_columns); }

std::function<std::string(const std::string&)>& rewording() {
  static std::function<std::string(const std::string&)> change;
  return change;
}

void write_text(std::FILE* stream, const std::string& text, bool wrapped) {
  std::string printable = base::printable(rewording() ? rewording()(text) : text);
  if (const auto width = known_width(::fileno(stream)); wrapped && width && printable.ends_with('\n'))
    printable = report::wrapped_lines(printable, *width);
  const std::string shown = base::painted(stream == stderr ? with_label(printable) : printable, has_colours(stream));
  std::fwrite(shown.data(), 1, shown.size(), stream);
}

void print_table(const report::FittedTable& table) {
  print_exactly("{}", report::render_fitted(table, terminal_width(STDOUT_FILENO)));
}

void print_json(const Json& json, int indent) {
  fmt::print("{}\n", base::printable_json(json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace)));
}

void print_csv(const std::vector<Json>& rows) { fmt::print("{}", base::csv_text(rows)); }

void Printer::end(std::vector<Json> (*rows)(const std::vector<Json>&)) const {
  if (format_ == "json") print_json(answers_.size() == 1 ? answers_[0] : Json(answers_));
  if (format_ == "csv") print_csv(rows(answers_));
}

void tell_warnings(const std::vector<std::string>& warnings) {
  base::Causes causes;
  for (const std::string& warning : warnings) causes.add(warning);
  for (const base::Cause& cause : causes.all()) tell("warning: {}\n", cause.text());
}

Json error_json(const std::string& kind, const std::string& message) {
  static const RE2 opening("(.*?):([1-9][0-9]*):([1-9][0-9]*): ", RE2::Latin1);
  Json json{{"kind", kind}, {"message", message}, {"file", nullptr}, {"line", nullptr}, {"column", nullptr}};
  re2::StringPiece first = message;
  std::string file;
  std::uint64_t line = 0, column = 0;
  if (RE2::Consume(&first, opening, &file, &line, &column))
    json["file"] = file, json["line"] = line, json["column"] = column;
  return json;
}

}  // namespace xtune::cli
