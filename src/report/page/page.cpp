// Puts the sections of a report together.
#include "report/page/page.hpp"

#include <cryptopp/base64.h>
#include <cryptopp/filters.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/space/value.hpp"
#include "report/page/parts.hpp"
#include "system/clock.hpp"

namespace xtune::report {

namespace {

constexpr std::size_t most_whole_cases = 12, all_drawn = 2000, all_listed = 400;

std::string source_hash(std::string_view text) {
  const base::Sha256 hash = base::sha256_bytes(text);
  std::string base64;
  const CryptoPP::ArraySource all(hash.data(), hash.size(), true,
                                  new CryptoPP::Base64Encoder(new CryptoPP::StringSink(base64), false));
  return "'sha256-" + base64 + "'";
}

std::string title_of(const ReportData& data) {
  std::set<std::string> kernels;
  for (const ReportCase& one : data.cases) kernels.insert(one.spec->kernel.name);
  if (kernels.empty()) return "xtune report";
  return kernels.size() == 1 ? *kernels.begin() : counted(kernels.size(), "kernel");
}

std::string case_sections(const ReportCase& one, int number, bool single, CaseLimits limits) {
  const CaseView view(one, number, single ? 2 : 3, limits);
  std::string text = fmt::format("<section class=\"case\" id=\"case-{}\">\n", number);
  if (!single) text += heading(2, one.spec->kernel.name + ": " + case_title(one));
  text += answer_section(view);
  if (view.ok_events() == 0 && !view.events.empty())
    text += paragraph("No configuration was measured in full, so there is nothing to plot against time.", "note");
  text += progress_section(view) + explore_section(view) + parameters_section(view) + outcomes_section(view) +
          resources_section(view) + pareto_section(view) + timeline_section(view) + configurations_section(view) +
          rows_script(view);
  return text + "</section>\n";
}

std::string header_of(const ReportData& data) {
  if (data.cases.empty()) return "<header><h1>xtune report</h1><p>Nothing is measured yet.</p></header>\n";
  std::size_t records = 0, omitted = data.omitted_records;
  std::set<std::string> problems, devices;
  for (const ReportCase& one : data.cases) {
    records += one.records->size(), omitted += one.omitted;
    problems.insert(one.spec->kernel.name + "\n" + space::shown_text(one.asked));
    devices.insert(one.device.name);
  }
  std::string about;
  if (data.cases.size() == 1)
    about = case_title(data.cases[0]);
  else
    about = (data.omitted > 0 ? fmt::format("{} of {} problems", data.cases.size(), data.cases.size() + data.omitted)
                              : counted(problems.size(), "problem")) +
            " on " + (devices.size() == 1 ? *devices.begin() : counted(devices.size(), "device"));
  about += fmt::format(" \u00b7 {}{} \u00b7 {}", omitted > 0 ? fmt::format("{} of ", records) : "",
                       counted(records + omitted, "record"), system::utc_text(data.written_unix_ms));
  return fmt::format("<header><h1>{}</h1><p>{}</p></header>\n", plot::escaped(title_of(data)), plot::escaped(about));
}

}  // namespace

std::string report_page(const ReportData& data) {
  const std::string script = std::string(explore_js) + std::string(page_js);
  const bool live = data.live != ReportData::Live::no, running = data.live == ReportData::Live::running;
  const std::size_t whole = std::min(most_whole_cases, data.cases.size());
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"{}>\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; script-src {}; {}"
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{} - xtune report</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<main>\n",
      // The script follows a run that serves the page.
      live ? fmt::format(" data-live=\"{}\"", running ? "running" : "ended") : "", source_hash(page_css),
      source_hash(script), live ? "connect-src 'self'; " : "", plot::escaped(title_of(data)), page_css);
  if (live) text += paragraph(running ? "The run goes on; this page follows it." : "The run has ended.", "live");
  text += header_of(data) + cases_section(data, whole);
  const CaseLimits limits{all_drawn / std::max<std::size_t>(1, whole), all_listed / std::max<std::size_t>(1, whole)};
  for (std::size_t i = 0; i < whole; ++i)
    text += case_sections(data.cases[i], static_cast<int>(i) + 1, data.cases.size() == 1, limits);
  text += origin_section(data);
  text += fmt::format("</main>\n<footer><p>Written by xtune {}.</p></footer>\n<script>{}</script>\n</body>\n</html>\n",
                      plot::escaped(data.version), script);
  return text;
}

}  // namespace xtune::report
