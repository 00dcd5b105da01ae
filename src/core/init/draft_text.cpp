// The text of a draft. Each line with a "?" is a blank, and each with "guess" a guess.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.hpp"
#include "core/init/drafting.hpp"
#include "core/spec/document.hpp"

namespace xtune::init {

std::string list_text(const Texts& texts) {
  Texts quoted;
  for (const std::string& text : texts) quoted.push_back(spec::toml_string(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string values_in_space(const DraftParameter& parameter) {
  if (parameter.compile_time) return parameter.values;
  return parameter.values.starts_with('{')
             ? parameter.values.substr(0, parameter.values.rfind('}')) + ", compile_time = false }"
             : fmt::format("{{ values = {}, compile_time = false }}", parameter.values);
}

namespace {

/// Lines of the spec. Those with a "?", and those with a guess, are listed as well.
class DraftWriter {
 public:
  DraftWriter(const DraftModel& model, const DraftRequest& request, Draft& draft)
      : model_(model), request_(request), draft_(draft) {}

  void run() {
    draft_.text = fmt::format("[kernel]\nname = {}\nsource = {}\n", spec::toml_string(model_.kernel),
                              spec::toml_string(request_.wrapper.empty() ? request_.source_path : request_.wrapper));
    if (is_single()) line("entry = " + spec::toml_string(model_.steps.front().entry));
    draft_.text += kernel_lines(request_.project, draft_.parameters);
    for (const std::string& note : model_.notes) line("# " + note);
    if (!model_.sizes.empty()) line("\n[problem]");
    for (const DraftSize& size : model_.sizes) line(size.name + " = " + size.value, size.comment);
    if (!model_.constraints.empty()) line("\n[space]\nconstraints = " + list_text(model_.constraints));
    line("\n[space.params]");
    for (const DraftParameter& each : model_.parameters) parameter(each);
    for (const DraftStep& each : model_.steps) step(each);
    for (const DraftArgument& each : model_.arguments) argument(each);
    validate();
  }

 private:
  bool is_single() const { return model_.steps.size() == 1 && model_.steps.front().repeat.empty(); }

  void line(const std::string& text, const std::string& comment = {}) {
    draft_.text += text + (comment.empty() ? "" : "  # " + comment) + "\n";
    const bool blank = text.find("\"?\"") != std::string::npos && !text.starts_with('#');
    if (!blank && !comment.starts_with("guess") && !text.starts_with("# guess")) return;
    (blank ? draft_.blanks : draft_.guesses)
        .push_back({argument_, text, comment, base::split_lines(draft_.text).size()});
  }

  void parameter(const DraftParameter& each) {
    line((each.commented_out ? "# " : "") + each.name + " = " + values_in_space(each), each.comment);
  }

  void step(const DraftStep& each) {
    const bool single = is_single();
    line(single ? "\n[launch]" : "\n[[steps]]\nentry = " + spec::toml_string(each.entry), each.comment);
    for (const std::string& note : each.notes) line("# " + note);
    if (!each.repeat.empty()) line("repeat = " + each.repeat);
    if (!each.with.empty()) line("with = { " + each.with + " }");
    line("grid = " + list_text(each.grid), each.grid_comment);
    line("block = " + list_text(each.block), each.block_comment);
    if (each.is_cooperative) line("cooperative = true");
    if (!each.shared.empty()) line("shared = " + spec::toml_string(each.shared), each.shared_comment);
    if (!single) line("args = " + list_text(each.args));
  }

  void argument(const DraftArgument& each) {
    line("\n[[args]]\nname = " + spec::toml_string(each.name));
    argument_ = each.name;
    if (!each.kind.empty()) line("kind = " + spec::toml_string(each.kind));
    if (each.kind == "tensor_map") {
      line("of = \"?\"", "fill in: an argument behind these; [kernel] args lists what the kernel takes");
      line("box = [\"?\"]", "fill in: extents of what is copied");
    } else if (each.kind == "table") {
      line("of = [\"?\"]", each.value_comment);
    } else if (each.kind == "struct") {
      line("fields = [", each.value_comment);
      for (const std::string_view field : base::split_lines(each.value)) line(std::string(field));
      line("]");
    } else {
      line("dtype = " + spec::toml_string(each.dtype),
           each.dtype == "?" ? "fill in: its type, which the source leaves open" : "");
      if (!each.value.empty()) line("value = " + each.value, each.value_comment);
      if (each.value.empty()) line("shape = " + list_text(each.shape), each.shape_comment);
      if (each.value.empty() && each.role != "in") line("role = " + spec::toml_string(each.role), each.role_comment);
      if (!each.fill.empty()) line("fill = " + each.fill, each.fill_comment);
    }
    argument_.clear();
  }

  /// The kernel judges itself until the user has something better.
  void validate() {
    Texts values;
    bool open = false, is_launched = true;
    for (const DraftParameter& parameter : model_.parameters) {
      std::string value;
      open = open || (!parameter.commented_out && parameter.values == "\"?\"");
      constexpr const char* first_value = R"((?:\[|min =)\s*("[^"]*"|[^,\]}"\s]+))";
      if (parameter.commented_out || !RE2::PartialMatch(parameter.values, first_value, &value)) continue;
      is_launched = is_launched && !parameter.launched.empty() && parameter.is_only;
      if (!parameter.launched.empty()) value = parameter.launched;
      values.push_back(parameter.name + " = " + value);
    }
    if (std::ranges::none_of(model_.arguments,
                             [](const DraftArgument& each) { return each.role == "out" || each.role == "inout"; }))
      return;
    const bool judges = !values.empty() && !open;
    line(judges ? "\n[validate]\n# A simple kernel with the same arguments finds more mistakes:"
                : "\n# Nothing validates the results yet. A simple kernel with the same arguments can:\n# [validate]");
    line("# reference = { kernel = \"simple\", source = \"simple.cu\", grid = [\"ceildiv(n, 256)\"], block = [256] }");
    const std::string config = fmt::format("{{ {} }}", fmt::join(values, ", "));
    if (!judges) return;
    draft_.judge = config;
    draft_.is_judge_launched = is_launched;
    line("reference = { config = " + config + " }", "guess: the kernel is right there");
    if (is_launched) line("\n[dispatch]\ndefault = " + config, "as the source has it");
  }

  const DraftModel& model_;
  const DraftRequest& request_;
  Draft& draft_;
  std::string argument_;  ///< the one at hand
};

}  // namespace

void write_draft(const DraftModel& model, const DraftRequest& request, Draft& draft) {
  DraftWriter(model, request, draft).run();
}

}  // namespace xtune::init
