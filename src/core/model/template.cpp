// The list of templates, and what they share: bank conflicts and cache lines of a warp's access, counted lane by lane.
#include "core/model/template.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace xtune::model {

namespace {

// Bank conflicts and cache lines of a warp's access, counted lane by lane.

using Key = std::tuple<int, int, long long, long long, int, int, bool>;

long long start_of(const LaneLayout& layout, int lane) {
  const int across = std::max(1, layout.across);
  return lane % across * layout.across_step + lane / across * layout.down_step;
}

int count_turns(const LaneLayout& layout, int banks) {
  const int part = std::clamp(banks / std::max(1, layout.words), 1, layout.lanes);
  int turns = 0;
  for (int first = 0; first < layout.lanes; first += part) {
    std::vector<std::pair<long long, long long>> places;  // bank, word
    for (int lane = first; lane < std::min(first + part, layout.lanes); ++lane)
      for (int i = 0; i < layout.words; ++i) {
        const long long word = start_of(layout, lane) + i;
        places.emplace_back(word % banks, word);
      }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    int most = 0, run = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      run = i > 0 && places[i].first == places[i - 1].first ? run + 1 : 1;
      most = std::max(most, run);
    }
    turns += most;
  }
  return turns;
}

int count_lines(const LaneLayout& layout, int line_words) {
  std::vector<long long> lines;
  for (int lane = 0; lane < layout.lanes; ++lane)
    for (int i = 0; i < layout.words; ++i) lines.push_back((start_of(layout, lane) + i) / std::max(1, line_words));
  std::sort(lines.begin(), lines.end());
  return static_cast<int>(std::unique(lines.begin(), lines.end()) - lines.begin());
}

// A space has few different layouts, so the answers are cached.
template <class Count>
int remembered(const LaneLayout& layout, int size, bool banks, Count count) {
  thread_local std::map<Key, int> answers;
  const Key key{layout.lanes, layout.across, layout.across_step, layout.down_step, layout.words, size, banks};
  if (const auto found = answers.find(key); found != answers.end()) return found->second;
  if (answers.size() > 100'000) answers.clear();
  return answers[key] = count(layout, size);
}

}  // namespace

const std::vector<CandidateTemplate>& candidate_templates() {
  static const std::vector<CandidateTemplate> templates = {
#define TEMPLATE(name) name::description(),
#include "core/model/templates.def"
#undef TEMPLATE
  };
  return templates;
}

std::string range_text(const Field& field) {
  return "must be a number from " + std::to_string(field.least) + " to below 1e12";
}

const CandidateTemplate* find_template(std::string_view name) {
  for (const CandidateTemplate& candidate : candidate_templates())
    if (name == candidate.name) return &candidate;
  return nullptr;
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const CandidateTemplate& candidate : candidate_templates()) names.emplace_back(candidate.name);
  return names;
}

std::vector<long long> vector_widths(DType type) {
  std::vector<long long> widths{1};
  while (widths.back() * 2 <= static_cast<long long>(16 / size_of(type))) widths.push_back(widths.back() * 2);
  return widths;
}

int bank_turns(const LaneLayout& layout, int banks) { return remembered(layout, banks, true, count_turns); }
int lines_touched(const LaneLayout& layout, int line_words) {
  return remembered(layout, line_words, false, count_lines);
}

}  // namespace xtune::model
