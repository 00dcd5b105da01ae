// Guesses are cautious: a buffer that is too large costs memory, one that is too small is a wrong result.
#include "core/outline/draft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <set>

#include "base/files.hpp"
#include "base/named.hpp"
#include "base/text.hpp"
#include "core/build/source_closure.hpp"
#include "core/outline/draft_model.hpp"
#include "core/outline/macros.hpp"
#include "core/outline/spec_expressions.hpp"
#include "core/outline/usage.hpp"
#include "core/outline/value_ranges.hpp"
#include "core/space/space.hpp"
#include "core/spec/reader.hpp"
#include "xtune/error.hpp"

namespace xtune::outline {

namespace {

constexpr const char* axis_names = "xyz";

/// Integers that are not an extent of an argument, by their names.
bool is_setting(const std::string& name) {
  const std::string lower = base::lower_case(name);
  for (const char* part :
       {"seed", "flag", "mode", "offset", "start", "begin", "raster", "shift", "mask", "iter", "step"})
    if (lower.find(part) != std::string::npos) return true;
  return false;
}

/// Distances between rows: as large as a size, but no factor of a buffer's extent beside it.
bool is_stride(const std::string& name) {
  const std::string lower = base::lower_case(name);
  const bool leading = lower.size() <= 3 && lower.starts_with("ld");
  return leading || lower.find("stride") != std::string::npos || lower.find("pitch") != std::string::npos;
}

bool is_integer(DType type) {
  return type != DType::boolean && (std::string(to_string(type)).starts_with('i') || to_string(type)[0] == 'u');
}

std::string product(const std::vector<std::string>& factors) { return fmt::format("{}", fmt::join(factors, " * ")); }

/// One pair of brackets around all of it.
bool is_wrapped(const std::string& text) {
  if (text.empty() || text.front() != '(') return false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0) return i + 1 == text.size();
  }
  return false;
}

std::string unwrapped(const std::string& text) {
  return is_wrapped(text) ? unwrapped(text.substr(1, text.size() - 2)) : text;
}

std::string multiplied(const std::vector<std::string>& factors) {
  std::vector<std::string> terms;
  for (const std::string& factor : factors)
    if (factor != "1")
      terms.push_back(factor.find(' ') == std::string::npos || is_wrapped(factor) ? factor : "(" + factor + ")");
  return terms.empty() ? "1" : terms.size() == 1 ? unwrapped(terms.front()) : product(terms);
}

bool is_scratch_name(const std::string& name) {
  const std::string lower = base::lower_case(name);
  const auto holds = [&](const char* word) { return lower.find(word) != std::string::npos; };
  return holds("scratch") || holds("workspace") || holds("partial") || lower == "tmp" || lower == "temp";
}

/// The parameter's type is CUDA's CUtensorMap, or xtune::hopper::TensorMap.
bool is_tensor_map(const FunctionArgument& argument) {
  const std::size_t end = argument.type.find_last_of(": ");
  const std::string last = end == std::string::npos ? argument.type : argument.type.substr(end + 1);
  return argument.pointers == 0 && !argument.is_reference && (last == "CUtensorMap" || last == "TensorMap");
}

/// Of the buffer behind a tensor map: "A" for "A_map", "tma_A" and "tensorMapA".
std::string mapped_name(const std::string& map) {
  std::string name = map;
  for (const std::string word : {"tensormap", "tensor_map", "tmap", "tma", "map", "descriptor", "desc"}) {
    const std::string lower = base::lower_case(name);
    if (lower.starts_with(word)) name.erase(0, word.size());
    if (lower.ends_with(word) && name.size() >= word.size()) name.erase(name.size() - word.size());
    while (name.starts_with('_')) name.erase(0, 1);
    while (name.ends_with('_')) name.pop_back();
  }
  return name.empty() ? map + "_data" : name;
}

bool is_output_name(const std::string& name) {
  const std::string lower = base::lower_case(name);
  return lower == "c" || lower == "d" || lower == "y" || lower == "o" || lower.starts_with("out");
}

/// Buffers of tensor maps that the kernel does not take as pointers, behind its arguments; and the boxes of the maps.
/// shape_of: a guess by the buffer's name. unused: the name, or one like it that is free.
void add_mapped_buffers(DraftModel& model,
                        const std::function<std::vector<std::string>(const std::string& buffer)>& shape_of,
                        const std::function<std::string(const std::string& name)>& unused) {
  std::vector<std::string> taken;
  for (const DraftArgument& argument : model.arguments) taken.push_back(argument.name);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (model.arguments[i].kind != "tensor_map") continue;
    DraftArgument buffer;
    buffer.name = model.arguments[i].of;
    buffer.dtype = "f16";
    buffer.shape = shape_of(buffer.name);
    buffer.role = is_output_name(buffer.name) ? "out" : "in";
    buffer.comment = "guess: its type, shape and role";
    const DraftArgument* known = base::find_named(model.arguments, buffer.name);
    if (known && (!known->kind.empty() || !known->value.empty())) known = nullptr;
    if (!known) {
      buffer.name = model.arguments[i].of = unused(buffer.name);
      model.kernel_args = taken;
    }
    std::vector<std::string>& box = model.arguments[i].box;
    box.assign(std::min<std::size_t>((known ? known->shape : buffer.shape).size(), 5), "64");
    if (box.size() > 2) std::fill(box.begin(), box.end() - 2, "1");
    if (!known) model.arguments.push_back(std::move(buffer));
  }
}

bool is_square(const DraftArgument& argument) {
  return argument.shape.size() == 2 && argument.shape[0] == argument.shape[1];
}

/// Sizes without a value: smaller ones where there are several, or one twice, which multiply.
void give_values(DraftModel& model) {
  std::size_t open = std::any_of(model.arguments.begin(), model.arguments.end(), is_square) ? 1 : 0;
  for (const DraftSize& size : model.sizes) open += size.value.empty() || size.name.starts_with("GRID_");
  for (DraftSize& size : model.sizes) {
    if (!size.value.empty()) continue;
    size.value = open == 1 ? "1048576" : open == 2 ? "2048" : open == 3 ? "512" : "64";
    size.host_value = open == 1 ? "4096" : open == 2 ? "256" : open == 3 ? "128" : "32";
  }
}

/// Whether some of the guessed values satisfy a constraint.
bool is_satisfiable(const DraftModel& model, const std::string& constraint) {
  std::vector<space::Parameter> parameters;
  Bindings sizes;
  for (const DraftParameter& parameter : model.parameters)
    if (!parameter.commented_out) parameters.push_back({parameter.name, parameter.values, parameter.compile_time});
  for (const DraftSize& size : model.sizes)
    if (const auto value = integer_of(size.value)) sizes[size.name] = *value;
  try {
    return space::Space(std::move(parameters), {space::Expression::parse(constraint)}, sizes).size() > 0;
  } catch (const space::ExpressionError&) {
    return false;
  }
}

/// A space without a configuration would be refused: what guessed values do not satisfy is left to the author.
void drop_unsatisfiable(DraftModel& model) {
  std::erase_if(model.constraints, [&](const std::string& constraint) {
    if (is_satisfiable(model, constraint)) return false;
    model.notes.push_back("guess: no values below satisfy " + constraint + ": change them, and make it a constraint");
    return true;
  });
}

std::vector<Value> thread_counts(std::size_t axes) {
  if (axes > 1) return {std::int64_t{8}, std::int64_t{16}, std::int64_t{32}};
  return {std::int64_t{64}, std::int64_t{128}, std::int64_t{256}};
}

/// A parameter of this name, or the number that the source gives it; empty: it has neither.
std::string number_or_name(const std::string& name, const SpecExpressions& expressions,
                           const std::vector<OpenMacro>& macros) {
  if (expressions.has(name)) return name;
  for (const OpenMacro& macro : macros)
    if (macro.name == name && macro.kind == OpenMacro::Kind::fixed && integer_of(macro.value)) return macro.value;
  return "";
}

bool uses(const Tokens& body, const std::string& name) {
  return std::any_of(body.begin(), body.end(), [&](const Token& token) { return token.is(name); });
}

/// Without a name; nullopt: its type or its extents are not those of a spec.
std::optional<DraftArgument> drafted_constant(const ConstantVariable& variable, const TypeNames& types,
                                              const SpecExpressions& expressions) {
  const auto type = types.element_type(variable.type);
  if (!type) return std::nullopt;
  DraftArgument drafted;
  for (const Tokens& extent : variable.extents) {
    const auto text = expressions.text_of(extent);
    if (!text || !integer_of(*text)) return std::nullopt;
    drafted.shape.push_back(*text);
  }
  if (drafted.shape.empty()) drafted.shape = {"1"};
  if (type->lanes > 1) drafted.shape.push_back(std::to_string(type->lanes));
  drafted.kind = "constant";
  drafted.dtype = to_string(type->type);
  drafted.role = "in";
  drafted.comment = "guess: its contents are random";
  return drafted;
}

/// Builds the model of one kernel.
class DraftBuilder {
 public:
  DraftBuilder(const DraftRequest& request, const KernelFunction& kernel, const SourceNames& names, TypeNames types)
      : request_(request), kernel_(kernel), names_(names), types_(std::move(types)), expressions_(names.expressions) {}

  DraftModel build() {
    std::string name;
    for (const char c : kernel_.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    model_.kernel = name.substr(0, 100);
    add_macros();
    add_templates();
    classify_arguments();
    use_ = body_use(kernel_.body, size_names_, pointer_names_);
    add_sizes();
    add_block();
    add_grid();
    for (const FunctionArgument& argument : kernel_.arguments) add_argument(argument);
    add_mapped_buffers(
        model_, [this](const std::string& buffer) { return by_custom(buffer); },
        [this](const std::string& wanted) { return unused_argument(wanted); });
    for (const ConstantVariable& variable : names_.constants) {
      if (argument_names_.contains(variable.name) || !uses(kernel_.body, variable.name)) continue;
      if (std::optional<DraftArgument> constant = drafted_constant(variable, types_, expressions_)) {
        constant->name = unused_argument(variable.name);
        model_.arguments.push_back(std::move(*constant));
      } else {
        model_.notes.push_back(
            fmt::format("guess: {} (line {}) is a __constant__ variable: an argument with kind = \"constant\" fills it",
                        variable.name, variable.line));
      }
    }
    add_shared();
    give_values(model_);
    if (model_.parameters.empty()) add_only_parameter();
    drop_unsatisfiable(model_);
    return std::move(model_);
  }

 private:
  /// A name that neither the source nor the spec has.
  std::string unused_name(std::string name, const char* suffix, bool in_source) {
    while (taken_.contains(name) || (in_source && names_.words.contains(name)) ||
           !spec::reserved_meaning(name).empty() || name == "device")
      name += suffix;
    taken_.insert(name);
    return name;
  }

  void add_macros() {
    for (const OpenMacro& macro : names_.macros) {
      const auto value = integer_of(macro.value);
      if ((!macro.value.empty() && !value) || !spec::reserved_meaning(macro.name).empty()) continue;
      DraftParameter parameter;
      parameter.name = macro.name;
      parameter.values = plausible_values(macro.name, value, macro.is_condition);
      const std::string place = fmt::format("line {}", macro.line);
      if (macro.kind == OpenMacro::Kind::undefined) parameter.comment = "guess: " + place + " uses it";
      if (macro.kind == OpenMacro::Kind::defaulted)
        parameter.comment = fmt::format("{} by default ({})", macro.value, place);
      if (macro.kind == OpenMacro::Kind::fixed) {
        parameter.comment =
            fmt::format("to tune it, put #ifndef {} and #endif around its #define on {}", macro.name, place);
        parameter.commented_out = true;
      } else {
        expressions_.set(macro.name, macro.name);
        taken_.insert(macro.name);
      }
      model_.parameters.push_back(std::move(parameter));
    }
  }

  void add_templates() {
    std::vector<std::string> words;
    bool complete = true;
    for (const TemplateParameter& parameter : kernel_.templates) {
      complete = complete && !parameter.is_pack && parameter.type.find("template") == std::string::npos;
      if (complete) words.push_back(parameter.is_type() ? type_parameter(parameter) : value_parameter(parameter));
    }
    model_.entry = kernel_.qualified;
    if (!words.empty()) model_.entry += fmt::format("<{}>", fmt::join(words, ", "));
    if (!complete) model_.notes.push_back("guess: entry lacks template arguments that only the author knows");
  }

  /// A type belongs to the problem: a search over types would answer with the shortest one.
  std::string type_parameter(const TemplateParameter& parameter) {
    const bool known = types_.element_type(parameter.default_value).has_value();
    const std::string type = known ? parameter.default_value : "float";
    types_.set(parameter.name, type);
    const std::string name = unused_name(parameter.name.empty() ? "TYPE" : parameter.name, "_TYPE", false);
    model_.sizes.push_back(
        {name, "\"" + type + "\"", "",
         fmt::format("guess: a type of the entry; where it changes, the dtype of arguments changes")});
    return "{" + name + "}";
  }

  std::string value_parameter(const TemplateParameter& parameter) {
    const std::string name = unused_name(macro_case(parameter.name.empty() ? "VALUE" : parameter.name), "_VALUE", true);
    const auto value = integer_of(parameter.default_value);
    const bool flag = parameter.type == "bool";
    DraftParameter drafted;
    drafted.name = name;
    drafted.values = plausible_values(name, flag ? std::optional<std::int64_t>(0) : value, flag);
    drafted.comment = value ? fmt::format("{} by default", *value) : "guess: a template parameter of the entry";
    model_.parameters.push_back(std::move(drafted));
    expressions_.set(parameter.name, name);
    const bool number = flag || parameter.type == "auto" || types_.element_type(parameter.type);
    return number ? "{" + name + "}" : fmt::format("static_cast<{}>({{{}}})", parameter.type, name);
  }

  void classify_arguments() {
    if (kernel_.arguments.empty())
      throw Error(
          ErrorKind::invalid_argument,
          fmt::format("{}:{}: {} takes no arguments, and a spec needs one: its inputs and outputs are arguments",
                      request_.source_path, kernel_.line, kernel_.name));
    for (const FunctionArgument& argument : kernel_.arguments) {
      if (is_tensor_map(argument)) {
        any_map_ = true;
        continue;
      }
      const auto type = types_.element_type(argument.type);
      const bool known = type || (argument.pointers == 1 && argument.type != "void");
      if (argument.pointers > 1 || argument.is_reference || (!known && argument.pointers == 0)) refuse(argument);
      if (argument.pointers == 1)
        pointer_names_.insert(argument.name);
      else if (is_integer(type->type) && type->lanes == 1 && !argument.name.empty() && !is_setting(argument.name) &&
               !is_stride(argument.name) && argument.type.find("Object_t") == std::string::npos)
        size_names_.insert(argument.name);
    }
  }

  [[noreturn]] void refuse(const FunctionArgument& argument) const {
    const std::string shown = argument.type + std::string(static_cast<std::size_t>(argument.pointers), '*') +
                              (argument.is_reference ? "&" : "");
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("{}:{}: argument '{}' of {} has type '{}', and a spec has no such argument: it passes numbers "
                    "and pointers to them. Pass its members one by one, or a pointer to it",
                    request_.source_path, kernel_.line, argument.name, kernel_.name, base::printable(shown, 80)));
  }

  void add_sizes() {
    for (const FunctionArgument& argument : kernel_.arguments) {
      if (!size_names_.contains(argument.name)) continue;
      const std::string name = unused_name(macro_case(argument.name), "_SIZE", false);
      sizes_.emplace_back(argument.name, name);
      expressions_.set(argument.name, name);
      model_.sizes.push_back({name, "", "", "guess: the argument " + argument.name});
    }
    if (sizes_.empty() && (any_map_ || !pointer_names_.empty())) {
      only_size_ = unused_name("N", "_SIZE", false);
      model_.sizes.push_back({only_size_, "", "", "guess: elements of each buffer"});
    }
  }

  /// "ROWS * N" of these, in the order of the arguments; all: every size.
  std::vector<std::string> named_sizes(const std::set<std::string>& asked, bool all = false) const {
    std::vector<std::string> list;
    for (const auto& [argument, name] : sizes_)
      if (all || asked.contains(argument)) list.push_back(name);
    if (all && list.empty() && !only_size_.empty()) list.push_back(only_size_);
    return list;
  }

  const AxisUse& axis(std::size_t i) const { return use_.axes[i]; }

  void add_block() {
    std::size_t axes = 0;
    for (std::size_t i = 0; i < 3; ++i)
      if (axis(i).thread || axis(i).block_size) axes = i + 1;
    if (axes == 0 && (!kernel_.launch_bounds.empty() || names_.words.contains("threadIdx"))) {
      axes = 1;  // functions that the kernel calls ask for the thread
      use_.axes[0].thread = true;
    }
    if (axes == 0) {
      model_.block = {"1"};
      return;
    }
    std::vector<std::string> bounds = launch_bounds(axes);
    for (std::size_t i = 0; i < axes; ++i) {
      std::string extent = "1";
      if (axis(i).thread || axis(i).block_size) extent = i < bounds.size() ? bounds[i] : block_extent(i, axes);
      model_.block.push_back(extent);
      expressions_.set(std::string("blockDim.") + axis_names[i], extent);
    }
    model_.block_comment = "guess";
    if (axes > 1 || model_.block[0].find(' ') != std::string::npos)
      model_.constraints.push_back((multiplied(model_.block).find("//") == std::string::npos ? "" : "1 <= ") +
                                   multiplied(model_.block) + " <= 1024");
  }

  /// The first argument of __launch_bounds__, as one factor for each axis; empty: it does not tell.
  std::vector<std::string> launch_bounds(std::size_t axes) const {
    if (kernel_.launch_bounds.empty()) return {};
    Tokens bound = kernel_.launch_bounds.front();
    const auto whole = expressions_.text_of(bound);
    if (!whole || integer_of(*whole)) return {};
    if (axes == 1) return {*whole};
    std::vector<std::string> factors(1);
    for (const Token& token : bound)
      if (token.is("*"))
        factors.emplace_back();
      else if (token.is_word() && factors.back().empty())
        factors.back() = expressions_.text_of({token}).value_or("");
      else
        return {};
    return factors.size() == axes ? factors : std::vector<std::string>();
  }

  /// The names in an expression that are parameters only.
  std::optional<std::string> parameter_of(const Tokens& tokens) const {
    if (tokens.size() != 1 || !tokens.front().is_word() || size_names_.contains(tokens.front().text))
      return std::nullopt;
    const auto text = expressions_.text_of(tokens);
    return text && !integer_of(*text) ? text : std::nullopt;
  }

  /// Values that were guessed by the name give way to those that the launch implies.
  void give_thread_counts(const std::string& name, std::size_t axes) {
    for (DraftParameter& parameter : model_.parameters)
      if (parameter.name == name && parameter.comment.starts_with("guess")) parameter.values = thread_counts(axes);
  }

  std::string block_extent(std::size_t i, std::size_t axes) {
    std::optional<std::string> known = parameter_of(axis(i).stride);
    if (!known && !axis(i).tile.empty()) known = parameter_of(axis(i).tile.front());
    if (known) {
      give_thread_counts(*known, axes);
      return *known;
    }
    const std::string suffix = axes > 1 ? std::string("_") + static_cast<char>(std::toupper(axis_names[i])) : "";
    if (!axis(i).block_size)
      for (const char* name :
           {"BLOCK", "BLOCK_SIZE", "THREADS", "NUM_THREADS", "BLOCK_DIM", "TPB", "THREADS_PER_BLOCK"})
        if (const std::string known_size = number_or_name(name + suffix, expressions_, names_.macros);
            !known_size.empty())
          return known_size;
    const std::string name = unused_name("THREADS" + suffix, "_PER_BLOCK", true);
    DraftParameter parameter;
    parameter.name = name;
    parameter.values = thread_counts(axes);
    parameter.compile_time = false;
    parameter.comment = "guess: the launch decides";
    model_.parameters.push_back(std::move(parameter));
    return name;
  }

  void add_grid() {
    std::size_t axes = 1;
    for (std::size_t i = 0; i < 3; ++i)
      if (axis(i).block) axes = i + 1;
    for (std::size_t i = 0; i < axes; ++i) model_.grid.push_back(axis(i).block ? grid_extent(i, axes) : "1");
    model_.grid_comment = axis(0).block || axes > 1 ? "guess" : "";
  }

  std::string grid_extent(std::size_t i, std::size_t axes) {
    std::vector<std::string> factors;
    bool known = true, of_sizes = false;
    for (const Tokens& factor : axis(i).tile) {
      of_sizes = of_sizes || std::any_of(factor.begin(), factor.end(),
                                         [&](const Token& t) { return size_names_.contains(t.text); });
      const auto text = expressions_.text_of(factor);
      known = known && text.has_value();
      factors.push_back(text.value_or(""));
    }
    std::vector<std::string> limits = named_sizes(axis(i).sizes);
    if (limits.empty() && known && !factors.empty() && !of_sizes) {
      limits = named_sizes({}, true);
      // By custom x runs along the last extent, y along the one before.
      if (axes > 1 && limits.size() >= axes) limits = {limits[limits.size() - 1 - i]};
    }
    if (limits.empty() || !known || of_sizes) {
      const std::string name =
          unused_name(std::string("GRID_") + static_cast<char>(std::toupper(axis_names[i])), "_SIZE", false);
      model_.sizes.push_back({name, "1024", "256", std::string("guess: blocks along ") + axis_names[i]});
      grid_sizes_[i] = name;
      return name;
    }
    if (factors.empty()) return product(limits);
    return fmt::format("ceildiv({}, {})", product(limits), multiplied(factors));
  }

  void add_argument(const FunctionArgument& argument) {
    DraftArgument drafted;
    drafted.name = unused_argument(argument.name);
    if (is_tensor_map(argument)) {
      drafted.kind = "tensor_map";
      drafted.of = mapped_name(argument.name);
      model_.arguments.push_back(std::move(drafted));
      return;
    }
    const auto type = types_.element_type(argument.type);
    drafted.dtype = type ? to_string(type->type) : "u8";
    if (argument.pointers == 0)
      scalar(argument, *type, drafted);
    else
      buffer(argument, type, drafted);
    model_.arguments.push_back(std::move(drafted));
  }

  std::string unused_argument(const std::string& name) {
    std::string unused = name.empty() ? fmt::format("argument_{}", model_.arguments.size() + 1) : name;
    // The names serve only the spec, whose expressions have words such as `in`.
    while (!spec::identifier_complaint(unused).empty() || !argument_names_.insert(unused).second) unused += "_";
    return unused;
  }

  void scalar(const FunctionArgument& argument, const ElementType& type, DraftArgument& drafted) {
    if (type.lanes > 1) refuse(argument);
    const std::string lower = base::lower_case(argument.name);
    if (size_names_.contains(argument.name)) {
      drafted.value = "\"" + expressions_.text_of(tokens_of(argument.name)).value_or("1") + "\"";
      return;
    }
    drafted.comment = "guess: its value";
    if (is_stride(argument.name) && !sizes_.empty())
      drafted.value = "\"" + sizes_.back().second + "\"";
    else if (is_integer(type.type) || type.type == DType::boolean)
      drafted.value = lower.find("step") != std::string::npos || lower.find("iter") != std::string::npos ? "1" : "0";
    else
      drafted.value = lower.starts_with("eps") ? "1e-5" : lower == "beta" ? "0.0" : "1.0";
    if (type.type == DType::boolean) drafted.value = "\"false\"";
  }

  void buffer(const FunctionArgument& argument, const std::optional<ElementType>& type, DraftArgument& drafted) {
    const PointerUse& use = use_.pointers[argument.name];
    std::vector<std::string> shape = named_sizes(use.extent.sizes);
    for (const int block : use.extent.blocks)
      if (const auto grid = grid_sizes_.find(static_cast<std::size_t>(block)); grid != grid_sizes_.end())
        shape.insert(shape.begin(), grid->second);
    if (shape.size() == 1 && use.extent.rows) shape.push_back(shape.front());  // rows as long as there are rows
    const bool starts =
        type && is_integer(type->type) &&
        (argument.name.find("ptr") != std::string::npos || argument.name.find("offsets") != std::string::npos);
    if (starts && shape.size() == 1) shape.front() += " + 1";  // where each row begins, and where the last one ends
    const bool one = use.indexed && !use.beyond_first && !use.passed;
    const bool known = !shape.empty() || one;
    if (shape.empty()) shape = one ? std::vector<std::string>{"1"} : by_custom(argument.name);
    if (type && type->lanes > 1) shape.push_back(std::to_string(type->lanes));
    if (!type) shape.emplace_back("16");
    if (shape.size() > 8) shape = {product(shape)};
    drafted.shape = shape;
    drafted.role = argument.is_const                                           ? "in"
                   : use.written && use.read && is_scratch_name(argument.name) ? "scratch"
                   : use.written && !use.read && !use.passed && known          ? "out"
                                                                               : "inout";
    drafted.comment = !argument.is_const ? "guess: its shape and role" : "guess: its shape";
    if (!type) drafted.comment = fmt::format("guess: {} has 16 bytes", argument.type);
    if (use.extent.data)
      drafted.comment += "; other arguments hold its index: fill them with its range, { integers = [0, ...] }";
  }

  /// A matrix product's arguments are known by their names; other buffers are as large as all sizes together.
  std::vector<std::string> by_custom(const std::string& argument) const {
    std::map<std::string, std::string> sizes;
    for (const auto& [name, spec_name] : sizes_) sizes[base::lower_case(name)] = spec_name;
    const std::string lower = base::lower_case(argument);
    const bool product_of_matrices =
        sizes.size() == 3 && sizes.contains("m") && sizes.contains("n") && sizes.contains("k");
    if (product_of_matrices && lower == "a") return {sizes["m"], sizes["k"]};
    if (product_of_matrices && lower == "b") return {sizes["k"], sizes["n"]};
    if (product_of_matrices && (lower == "c" || lower == "d")) return {sizes["m"], sizes["n"]};
    std::vector<std::string> all = named_sizes({}, true);
    return all.empty() ? std::vector<std::string>{"1"} : all;
  }

  void add_shared() {
    if (use_.shared_type.empty()) return;
    const auto type = types_.element_type(use_.shared_type);
    const std::size_t bytes = type ? size_of(type->type) * static_cast<std::size_t>(type->lanes) : 16;
    const std::string threads = multiplied(model_.block);
    model_.shared =
        fmt::format("{} * {}", threads.find(" // ") == std::string::npos ? threads : "(" + threads + ")", bytes);
  }

  /// A space needs a parameter.
  void add_only_parameter() {
    DraftParameter parameter;
    parameter.name = unused_name("VARIANT", "_", true);
    parameter.values = {std::int64_t{1}};
    parameter.compile_time = false;
    parameter.comment = "no open parameter was found: macros and template parameters of the kernel go here";
    model_.parameters.push_back(std::move(parameter));
  }

  const DraftRequest& request_;
  const KernelFunction& kernel_;
  const SourceNames& names_;
  TypeNames types_;
  SpecExpressions expressions_;
  BodyUse use_;
  DraftModel model_;
  std::set<std::string> taken_, argument_names_, size_names_, pointer_names_;
  std::vector<std::pair<std::string, std::string>> sizes_;  ///< argument and its name in the spec
  std::string only_size_;
  bool any_map_ = false;                           ///< the kernel takes a tensor map
  std::map<std::size_t, std::string> grid_sizes_;  ///< axis -> size
};

std::string list_of(const std::vector<KernelFunction>& kernels) {
  std::vector<std::string> names;
  for (const KernelFunction& kernel : kernels)
    names.push_back(fmt::format("{} (line {})", kernel.qualified, kernel.line));
  return fmt::format("{}", fmt::join(names, ", "));
}

const KernelFunction& chosen_kernel(const std::vector<KernelFunction>& kernels, const DraftRequest& request) {
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorKind::invalid_argument, request.source_path + ": " + message);
  };
  if (kernels.empty()) fail("no __global__ function with a body was found");
  if (request.entry.empty() && kernels.size() > 1)
    fail("several kernels were found: " + list_of(kernels) + "; --entry NAME chooses one");
  if (request.entry.empty()) return kernels.front();
  std::vector<std::string> names;
  for (const KernelFunction& kernel : kernels) {
    if (kernel.name == request.entry || kernel.qualified == request.entry) return kernel;
    names.push_back(kernel.qualified);
  }
  fail(fmt::format("no kernel '{}' was found{}; it has {}", base::printable(request.entry, 80),
                   base::did_you_mean(request.entry, names), list_of(kernels)));
  return kernels.front();
}

}  // namespace

std::vector<std::string> header_texts(const std::filesystem::path& path, const std::string& text) {
  build::CompileRequest request;
  request.source_name = path.string();
  request.source = text;
  build::ScannedFiles headers;
  build::source_closure(request, {}, headers);
  std::vector<std::string> texts;
  for (const auto& [header, scanned] : headers) texts.push_back(base::read_file(header));
  return texts;
}

Draft draft_spec(const DraftRequest& request) {
  const TokenizedSource source = tokenize(request.source);
  std::vector<TokenizedSource> headers;
  TokenizedSource all = source;
  for (const std::string& header : request.headers) {
    headers.push_back(tokenize(header));
    all.tokens.insert(all.tokens.end(), headers.back().tokens.begin(), headers.back().tokens.end());
    all.directives.insert(all.directives.end(), headers.back().directives.begin(), headers.back().directives.end());
  }
  const std::vector<KernelFunction> kernels = kernel_functions(source.tokens);
  const KernelFunction& kernel = chosen_kernel(kernels, request);
  const TypeNames types(all);
  const SourceNames names = source_names(source, headers, types, kernels);
  const DraftModel model = DraftBuilder(request, kernel, names, types).build();
  Draft draft{draft_text(model, request), model.kernel, model.entry, {}, {}};
  for (const DraftParameter& parameter : model.parameters)
    if (!parameter.commented_out) draft.parameters.push_back(parameter.name);
  std::size_t begin = 0;
  for (std::size_t end = draft.text.find('\n'); end != std::string::npos; end = draft.text.find('\n', begin)) {
    const std::string line = draft.text.substr(begin, end - begin);
    if (line.find("# guess") != std::string::npos) draft.guesses.push_back(line);
    begin = end + 1;
  }
  return draft;
}

}  // namespace xtune::outline
