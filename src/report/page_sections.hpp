// The sections of a report's page as HTML; each is empty if its case has no data for it.
#pragma once

#include <string>

#include "report/case_view.hpp"

namespace xtune::report {

// page_answer.cpp
std::string answer_section(const CaseView& view);
// page_progress.cpp: the best so far, and the measurements over time.
std::string progress_section(const CaseView& view);
std::string timeline_section(const CaseView& view);
// page_parameters.cpp: importance, the map of two parameters, and each parameter's values.
std::string parameters_section(const CaseView& view);
// page_outcomes.cpp
std::string outcomes_section(const CaseView& view);
// page_resources.cpp: registers and shared memory, the roofline, and the Pareto set of two goals.
std::string resources_section(const CaseView& view);
std::string pareto_section(const CaseView& view);
// page_rows.cpp: the table of configurations, and the script's texts for the mark under the pointer.
std::string configurations_section(const CaseView& view);
std::string rows_script(const CaseView& view);
// page_cases.cpp: all cases, and one configuration for all of them.
std::string cases_section(const ReportData& data, std::size_t shown_whole);
// page_origin.cpp: how to measure it again.
std::string origin_section(const ReportData& data);

/// "N=4096 on NVIDIA H100".
std::string case_title(const ReportCase& shown);

}  // namespace xtune::report
