// The report as one HTML file that needs no other files.
#pragma once

#include <string>
#include <string_view>

#include "report/page/case_view.hpp"

namespace xtune::report {

/// The page lists this many cases; it has no use for more.
constexpr std::size_t max_cases = 500;

/// A pure function of the data. The file loads nothing: its Content-Security-Policy allows only its own style and
/// script, by their hashes. Up to 1 MB for 5,000 records: plots draw about 2,000 marks of all cases together and keep
/// the extremes; tables list the best.
std::string report_page(const ReportData& data);

/// The page's style and the parts of its script, embedded from files of these names.
extern const std::string_view page_css, explore_js, page_js;

}  // namespace xtune::report
