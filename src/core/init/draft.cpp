// What the source shows for sure is written down. What it does not is a blank, because a wrong guess costs more time.
#include "core/init/draft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/build/device_unit.hpp"
#include "core/init/body.hpp"
#include "core/init/macros.hpp"
#include "core/init/signature.hpp"
#include "core/spec/document.hpp"
#include "core/spec/reader.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::init {

namespace {

using Texts = std::vector<std::string>;
constexpr std::string_view axis_names = "xyz", axis_capitals = "XYZ";

struct DraftParameter {
  std::string name;
  std::string values;  ///< as TOML
  bool compile_time = true;
  std::string comment;
  bool commented_out = false;  ///< it is offered, and has no effect yet
};

struct DraftSize {
  std::string name, value;  ///< value as TOML; empty: any
  std::string comment;
};

struct DraftArgument {
  std::string name, dtype;
  Texts shape;  ///< of a buffer
  std::string role, kind;
  std::string value;  ///< of a scalar, or the fields of a struct; not empty
  std::string fill;   ///< as TOML; empty: that of the type
  // Where these come from: "guess: ...", "fill in: ...".
  std::string shape_comment, role_comment, value_comment, fill_comment;
};

struct DraftStep {
  std::string entry;
  Texts grid, block, args;
  std::string grid_comment, block_comment;
  std::string shared;  ///< empty: none
};

struct DraftModel {
  std::string kernel;
  std::vector<DraftStep> steps;
  std::vector<DraftSize> sizes;
  std::vector<DraftParameter> parameters;
  Texts constraints;
  std::vector<DraftArgument> arguments;
  Texts notes;  ///< remarks that belong to no other entry
};

/// A draft in the making: one kernel after the other.
struct Work {
  const DraftRequest& request;
  const SourceNames& names;
  const TypeNames& source_types;
  SpecExpressions source_expressions{names.expressions};
  DraftModel model{};
  std::set<std::string> taken{};  ///< names of the spec
  // Of the kernel at hand.
  const KernelFunction* kernel = nullptr;
  TypeNames types = source_types;
  SpecExpressions expressions = source_expressions;
  BodyUse use{};
  Named sizes{};  ///< an integer argument, and its name in the spec
};

bool is_like(const std::string& name, const char* pattern) { return RE2::PartialMatch(name, pattern); }

bool is_integer(DType type) { return is_like(to_string(type), "^[iu][0-9]"); }

/// Integers that may be an extent of an argument.
bool may_be_size(const FunctionArgument& argument, const TypeNames& types) {
  const auto type = types.element_type(argument.type);
  return argument.pointers == 0 && type && is_integer(type->type) && size_of(type->type) >= 4 && type->lanes == 1 &&
         !argument.name.empty() && !types.is_enum(argument.type) && !is_like(argument.type, "Object_t");
}

/// The parameter's type is CUDA's CUtensorMap, or xtune::hopper::TensorMap.
bool is_tensor_map(const FunctionArgument& argument) {
  return argument.pointers == 0 && !argument.is_reference &&
         is_like(argument.type, "(?:^|[: ])(?:CUtensorMap|TensorMap)$");
}

std::string product(const Texts& factors) {
  Texts terms;
  for (const std::string& factor : factors)
    if (factor != "1") terms.push_back(factor);
  if (terms.size() > 1)
    for (std::string& term : terms)
      if (term.find(' ') != std::string::npos) term = "(" + term + ")";
  return terms.empty() ? "1" : fmt::format("{}", fmt::join(terms, " * "));
}

const std::string* given(const Named& named, const std::string& name) {
  const auto found = std::find_if(named.begin(), named.end(), [&](const auto& each) { return each.first == name; });
  return found == named.end() ? nullptr : &found->second;
}

/// A name that neither the source nor the spec has.
std::string unused_name(Work& work, std::string name, const char* suffix, bool in_source) {
  while (work.taken.contains(name) || (in_source && work.names.words.contains(name)) ||
         !spec::reserved_meaning(name).empty() || name == "device")
    name += suffix;
  work.taken.insert(name);
  return name;
}

void add_parameter(Work& work, DraftParameter parameter) {
  if (const std::string* const values = given(work.request.parameters, parameter.name)) {
    parameter.values = *values;
    parameter.comment.clear();
    parameter.commented_out = false;
  }
  work.taken.insert(parameter.name);
  if (!base::find_named(work.model.parameters, parameter.name)) work.model.parameters.push_back(std::move(parameter));
}

std::string values_text(const std::vector<Value>& values) { return values.empty() ? "\"?\"" : spec::toml_list(values); }

void add_macros(Work& work) {
  for (const OpenMacro& macro : work.names.macros) {
    const auto value = integer_of(macro.value);
    if ((!macro.value.empty() && !value) || !spec::reserved_meaning(macro.name).empty()) continue;
    DraftParameter parameter;
    parameter.name = macro.name;
    parameter.values = values_text(plausible_values(value, macro.is_condition));
    const std::string place = fmt::format("line {}", macro.line);
    if (macro.kind == OpenMacro::Kind::undefined) parameter.comment = "fill in: values to try; " + place + " uses it";
    if (macro.kind == OpenMacro::Kind::defaulted)
      parameter.comment = fmt::format("{} by default ({})", macro.value, place);
    if (macro.kind == OpenMacro::Kind::fixed) {
      parameter.comment =
          fmt::format("to tune it, put #ifndef {} and #endif around its #define on {}", macro.name, place);
      parameter.commented_out = true;
    } else {
      work.source_expressions.set(macro.name, macro.name);
    }
    add_parameter(work, std::move(parameter));
  }
  // What the user names is a parameter wherever the source has the name: a macro, or a size of the launch only.
  for (const auto& [name, values] : work.request.parameters) {
    if (base::find_named(work.model.parameters, name)) continue;
    work.source_expressions.set(name, name);
    add_parameter(work, {name, values, work.names.words.contains(name), "", false});
  }
}

/// A type belongs to the problem: a search over types would answer with the shortest one.
std::string type_parameter(Work& work, const TemplateParameter& parameter) {
  const std::string type = work.types.element_type(parameter.default_value) ? parameter.default_value : "float";
  work.types.set(parameter.name, type);
  const std::string name = unused_name(work, parameter.name.empty() ? "TYPE" : parameter.name, "_TYPE", false);
  work.model.sizes.push_back(
      {name, "\"" + type + "\"", "guess: a type of the entry; where it changes, the dtype of arguments changes"});
  return "{" + name + "}";
}

/// Whether the kernel's shared memory, registers or launch are made of the name: it divides the work, and does not
/// change what is computed.
bool divides_work(const KernelFunction& kernel, const std::string& name) {
  const auto has = [&](const Tokens& tokens) {
    return std::any_of(tokens.begin(), tokens.end(), [&](const Token& each) { return each.is(name); });
  };
  if (std::any_of(kernel.launch_bounds.begin(), kernel.launch_bounds.end(), has)) return true;
  const Tokens& body = kernel.body;
  for (std::size_t i = 1; i + 1 < body.size(); ++i) {
    const bool is_declared = body[i].is("[") && body[i - 1].is_word() && i > 1 && body[i - 2].is_word();
    const bool is_dimension = body[i].is("[") && body[i - 1].is("]");
    const bool is_block = (body[i - 1].is("*") && i > 3 && body[i - 4].is("blockIdx")) ||
                          (body[i + 1].is("*") && i + 2 < body.size() && body[i + 2].is("blockIdx"));
    if ((is_block && body[i].is(name)) || ((is_declared || is_dimension) && has(part(body, i + 1, closing(body, i)))))
      return true;
  }
  return false;
}

std::string value_parameter(Work& work, const TemplateParameter& parameter) {
  const auto value = integer_of(parameter.default_value);
  const bool flag = parameter.type == "bool";
  // The spec may use the same name where nothing defines it as a macro.
  const bool plain = !parameter.name.empty() && spec::reserved_meaning(parameter.name).empty() &&
                     (given(work.request.parameters, parameter.name) || !work.taken.contains(parameter.name));
  const std::string name = plain ? parameter.name : unused_name(work, macro_case("P_" + parameter.name), "_", true);
  work.taken.insert(name);
  const bool number = flag || parameter.type == "auto" || work.types.element_type(parameter.type);
  if (flag || value || !number || given(work.request.parameters, name) || divides_work(*work.kernel, parameter.name)) {
    add_parameter(work, {name, values_text(plausible_values(flag ? 0 : value, flag)), false,
                         value  ? fmt::format("{} by default", *value)
                         : flag ? ""
                                : "fill in: values to try",
                         false});
    if (DraftParameter* own = base::find_named(work.model.parameters, name)) own->compile_time = false;
  } else if (!base::find_named(work.model.sizes, name)) {
    const std::string* const size = given(work.request.sizes, name);
    work.model.sizes.push_back(
        {name, size ? *size : "",
         size ? ""
              : "guess: a template argument of the problem; one to tune belongs in [space.params], with "
                "compile_time = false"});
  }
  work.expressions.set(parameter.name, name);
  return number ? "{" + name + "}" : fmt::format("static_cast<{}>({{{}}})", parameter.type, name);
}

void add_entry(Work& work, DraftStep& step) {
  Texts words;
  bool complete = true;
  for (const TemplateParameter& parameter : work.kernel->templates) {
    complete = complete && !parameter.is_pack && parameter.type.find("template") == std::string::npos;
    if (complete)
      words.push_back(parameter.is_type() ? type_parameter(work, parameter) : value_parameter(work, parameter));
  }
  step.entry = work.kernel->qualified;
  if (!words.empty()) step.entry += fmt::format("<{}>", fmt::join(words, ", "));
  if (!complete)
    work.model.notes.push_back("guess: the entry " + work.kernel->name +
                               " lacks template arguments that only the author knows");
}

[[noreturn]] void refuse(const Work& work, const FunctionArgument& argument) {
  const std::string shown = argument.type + std::string(static_cast<std::size_t>(argument.pointers), '*') +
                            (argument.is_reference ? "&" : "");
  throw Error(
      ErrorKind::invalid_argument,
      fmt::format("{}:{}: argument '{}' of {} has type '{}', and a spec has no such argument: it passes numbers, "
                  "structs and pointers to them. {}",
                  work.request.source_path, work.kernel->line, argument.name, work.kernel->name,
                  base::printable(shown, 80),
                  is_like(argument.type, "(?:Texture|Surface)Object_t$|^texture|^surface")
                      ? "xtune makes no textures and surfaces: let the kernel read an array"
                      : "Pass a pointer to numbers, or a value"));
}

/// A size becomes part of the problem where an extent has it.
void use_size(Work& work, const std::string& name, const std::string& comment) {
  if (base::find_named(work.model.sizes, name)) return;
  const std::string* const value = given(work.request.sizes, name);
  work.model.sizes.push_back({name, value ? *value : "", value ? "" : comment});
  work.taken.insert(name);
}

void use_sizes_in(Work& work, const Texts& extents) {
  for (const std::string& extent : extents)
    for (const Token& token : tokens_of(extent))
      if (std::any_of(work.sizes.begin(), work.sizes.end(), [&](const auto& each) { return token.is(each.second); }))
        use_size(work, token.text, "guess: any value");
}

/// Refuses arguments that a spec cannot have, names the sizes, and reads the body.
void add_sizes(Work& work) {
  if (work.kernel->arguments.empty())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}:{}: {} takes no arguments, and a spec needs one: its inputs and outputs are arguments",
                            work.request.source_path, work.kernel->line, work.kernel->name));
  std::set<std::string> fixed, pointers;
  for (const FunctionArgument& argument : work.kernel->arguments) {
    if (is_tensor_map(argument)) continue;
    if (argument.pointers > 2 || argument.is_reference || (argument.pointers == 1 && argument.type == "void") ||
        is_like(argument.type, "(?:Texture|Surface)Object_t$|^texture|^surface"))
      refuse(work, argument);
    if (argument.pointers == 1) pointers.insert(argument.name);
    if (!may_be_size(argument, work.types)) continue;
    std::string name = argument.name;  // as the source has it
    while (!spec::reserved_meaning(name).empty() || base::find_named(work.model.parameters, name)) name += "_";
    work.sizes.emplace_back(argument.name, name);
    work.expressions.set(argument.name, name);
    fixed.insert(name);
  }
  // Template arguments of the problem limit indices as arguments do.
  for (const TemplateParameter& parameter : work.kernel->templates)
    if (base::find_named(work.model.sizes, parameter.name) && !parameter.is_type()) fixed.insert(parameter.name);
  for (const auto& [name, value] : work.request.sizes) fixed.insert(name);
  work.use = body_use(work.kernel->body, work.expressions, fixed, pointers);
  for (std::size_t i = 0; i < std::min<std::size_t>(work.request.grid.size(), 3); ++i)
    if (given(work.request.sizes, work.request.grid[i]))
      work.use.indices->set(std::string("blockIdx.") + axis_names[i], {work.request.grid[i]});
}

/// The first argument of __launch_bounds__, as one factor for each axis; empty: unknown.
Texts launch_bounds(const Work& work, std::size_t axes) {
  if (work.kernel->launch_bounds.empty()) return {};
  const auto whole = work.expressions.text_of(work.kernel->launch_bounds.front());
  if (!whole || integer_of(*whole)) return {};
  if (axes == 1) return {*whole};
  Texts factors = base::split(*whole, '*');
  for (std::string& factor : factors)
    if (!RE2::FullMatch(factor, " *(\\w+) *", &factor)) return {};
  return factors.size() == axes ? factors : Texts();
}

/// The text that all of these have in the spec.
std::optional<std::string> common_text(const Work& work, const std::vector<Tokens>& expressions) {
  std::optional<std::string> common;
  for (const Tokens& expression : expressions) {
    const auto text = work.expressions.text_of(expression);
    if (!text || (common && *common != *text)) return std::nullopt;
    common = text;
  }
  return common;
}

/// The threads along an axis: the stride of loops over threads, else what multiplies blockIdx before threadIdx is
/// added, unless that is a tile of several elements for each thread; a parameter where the kernel asks for blockDim;
/// else "?".
std::string block_extent(Work& work, std::size_t i, std::size_t axes) {
  const AxisUse& axis = work.use.axes[i];
  const auto threads = common_text(work, axis.strides.empty() ? axis.threads : axis.strides);
  const auto is_word = [](const Token& token) { return token.is_word(); };
  const auto is_size = [&](const Token& token) { return given(work.sizes, token.text) != nullptr; };
  const Tokens words = threads ? tokens_of(*threads) : Tokens();
  if (threads && std::none_of(words.begin(), words.end(), is_size) &&
      std::count_if(words.begin(), words.end(), is_word) <= (axis.strides.empty() ? 1 : 3))
    return *threads;
  if (threads || !axis.block_size) return "?";  // a tile, or the distance of rows
  const std::string name =
      unused_name(work, axes > 1 ? fmt::format("THREADS_{}", axis_capitals[i]) : "THREADS", "_PER_BLOCK", true);
  add_parameter(work, {name, "\"?\"", false, "", false});
  return name;
}

void add_block(Work& work, DraftStep& step) {
  std::size_t axes = 0;
  for (std::size_t i = 0; i < 3; ++i)
    if (work.use.axes[i].thread || work.use.axes[i].block_size) axes = i + 1;
  if (axes == 0 && (!work.kernel->launch_bounds.empty() || work.names.words.contains("threadIdx"))) {
    axes = 1;  // functions that the kernel calls ask for the thread
    work.use.axes[0].thread = true;
  }
  step.block.assign(std::max<std::size_t>(axes, 1), "1");
  const Texts bounds = launch_bounds(work, axes);
  const bool given = !work.request.block.empty();
  if (given) step.block = work.request.block;
  for (std::size_t i = 0; i < axes && !given; ++i)
    if (work.use.axes[i].thread || work.use.axes[i].block_size)
      step.block[i] = i < bounds.size() ? bounds[i] : block_extent(work, i, axes);
  for (const std::string& extent : step.block)
    if (DraftParameter* const own = base::find_named(work.model.parameters, extent); own && own->values == "\"?\"") {
      own->values = axes > 1 ? "[8, 16, 32]" : "[64, 128, 256]";
      own->comment = "guess: threads of a block";
    }
  // A loop over more rows than the block has threads: for (j = 0; j < TILE; j += ROWS)
  for (const std::string& stride : work.use.strides) {
    const auto text = work.expressions.text_of(tokens_of(stride));
    if (!given && axes > 1 && bounds.empty() && text &&
        std::find(step.block.begin(), step.block.end(), *text) == step.block.end())
      step.block.assign(axes, "?");
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(axes, step.block.size()); ++i)
    if (step.block[i] != "?") work.expressions.set(std::string("blockDim.") + axis_names[i], step.block[i]);
  const bool open = std::find(step.block.begin(), step.block.end(), "?") != step.block.end();
  if (axes > 0 && !given)
    step.block_comment = open             ? "fill in: threads along x, y, z"
                         : bounds.empty() ? "guess: from the index"
                                          : "guess: from the launch bounds";
  const std::string threads = product(step.block);
  if (!open && (axes > 1 || threads.find(' ') != std::string::npos) && !integer_of(threads))
    work.model.constraints.push_back((threads.find("//") == std::string::npos ? "" : "1 <= ") + threads + " <= 1024");
}

/// Blocks along an axis: the size that limits its index by what a block covers of it; else "?".
std::string grid_extent(Work& work, std::size_t i) {
  const AxisUse& axis = work.use.axes[i];
  Texts factors;
  for (const Tokens& factor : axis.tile) {
    // blockIdx.x * n begins a row.
    const bool is_row = std::any_of(factor.begin(), factor.end(), [&](const Token& token) {
      return std::any_of(work.sizes.begin(), work.sizes.end(), [&](const auto& each) { return token.is(each.first); });
    });
    const auto text = work.expressions.text_of(factor);
    if (!text || (is_row && !axis.limits.empty())) return "?";
    if (!is_row) factors.push_back(*text);
  }
  if (axis.limits.empty() && factors.empty()) {
    std::string name = std::string("GRID_") + axis_capitals[i];
    if (!given(work.request.sizes, name)) name = unused_name(work, name, "_SIZE", false);
    use_size(work, name, std::string("guess: any number of blocks along ") + axis_names[i]);
    work.use.indices->set(std::string("blockIdx.") + axis_names[i], {name});
    return name;
  }
  if (axis.limits.size() != 1) return "?";
  const std::string limit = product(axis.limits.front());
  return factors.empty() ? limit : fmt::format("ceildiv({}, {})", limit, product(factors));
}

void add_grid(Work& work, DraftStep& step) {
  std::size_t axes = 1;
  for (std::size_t i = 0; i < 3; ++i)
    if (work.use.axes[i].block) axes = i + 1;
  for (std::size_t i = 0; work.request.grid.empty() && i < axes; ++i)
    step.grid.push_back(work.use.axes[i].block ? grid_extent(work, i) : "1");
  use_sizes_in(work, step.grid);
  if (!work.request.grid.empty()) {
    step.grid = work.request.grid;
    return;
  }
  const bool open = std::find(step.grid.begin(), step.grid.end(), "?") != step.grid.end();
  step.grid_comment = open                                 ? "fill in: blocks along x, y, z, as in ceildiv(n, TILE)"
                      : work.use.axes[0].block || axes > 1 ? "guess: from the limits of what blockIdx counts"
                                                           : "";
}

void add_scalar(Work& work, const FunctionArgument& argument, const std::optional<ElementType>& type,
                DraftArgument& drafted) {
  drafted.kind = "scalar";
  const std::string* const size = given(work.sizes, argument.name);
  const std::string name = size ? *size : argument.name;
  if (given(work.request.sizes, name)) use_size(work, name, "");
  if (base::find_named(work.model.sizes, name)) {
    drafted.value = spec::toml_string(name);
  } else if (type && (type->type == DType::boolean || !is_integer(type->type))) {
    drafted.value = type->type == DType::boolean ? "\"false\"" : "1.0";
    drafted.value_comment = "guess: any value";
  } else {
    drafted.value = "\"?\"";
    drafted.value_comment = "fill in: no index shows what " + argument.name + " is";
  }
}

/// Extents that all indices of an argument stay below; nullopt: nothing proves them.
std::optional<Texts> proven_shape(const Work& work, const PointerUse& use) {
  std::int64_t elements = 0;
  Texts shape;
  if (use.passed || use.indices.empty()) return std::nullopt;
  for (const auto& [at, index] : use.indices) {
    const auto bound = work.use.indices->of(index, at);
    if (!bound) return std::nullopt;
    const auto number = bound->extents.size() == 1 ? integer_of(bound->extents.front()) : std::nullopt;
    if (!number && !shape.empty() && shape != bound->extents) return std::nullopt;
    if (!number) shape = bound->extents;
    elements = std::max(elements, number.value_or(0));
  }
  return shape.empty() ? Texts{std::to_string(elements)} : shape;
}

const char* const own_args = "[kernel] args lists what the kernel takes itself";

/// A vector, struct or table. Its values are blanks.
void add_value(const Work& work, const FunctionArgument& argument, const std::optional<ElementType>& type,
               DraftArgument& drafted) {
  const auto dtype_of = [](const ElementType& element) {
    return element.lanes == 1 ? std::string(to_string(element.type))
                              : fmt::format("{}x{}", to_string(element.type), element.lanes);
  };
  if (argument.pointers == 2) {
    drafted.kind = "table";
    drafted.value_comment = std::string("fill in: the buffers, which follow as arguments; ") + own_args;
    return;
  }
  drafted.value_comment = "fill in: its values";
  if (type) {
    drafted.dtype = dtype_of(*type);
    drafted.value = "\"?\"";
    return;
  }
  drafted.kind = "struct";
  const std::vector<StructField>* const fields = work.types.fields_of(argument.type);
  const auto is_known = [&](const StructField& field) {
    return field.pointers > 0 || work.types.element_type(field.type);
  };
  if (!fields || !std::all_of(fields->begin(), fields->end(), is_known)) {
    drafted.value = "  { name = \"?\", dtype = \"?\", value = \"?\" },\n";
    drafted.value_comment = "fill in: the fields of " + argument.type + ", in its order";
    return;
  }
  for (const StructField& field : *fields) {
    const std::string count = field.count == 1 ? "" : fmt::format(", count = {}", field.count);
    drafted.value += fmt::format("  {{ name = {}{}, ", spec::toml_string(field.name), count);
    drafted.value += field.pointers > 0 ? std::string("of = \"?\" },\n")
                                        : fmt::format("dtype = \"{}\", value = \"?\" }},\n",
                                                      dtype_of(*work.types.element_type(field.type)));
    if (field.pointers > 0) drafted.value_comment = std::string("fill in: values, buffers that follow; ") + own_args;
  }
}

void add_buffer(Work& work, const FunctionArgument& argument, const std::optional<ElementType>& type,
                DraftArgument& drafted) {
  const PointerUse& use = work.use.pointers[argument.name];
  const auto asked = work.request.shapes.find(argument.name);
  const auto proven = proven_shape(work, use);
  drafted.shape = asked != work.request.shapes.end() ? asked->second : proven.value_or(Texts{"?"});
  if (asked == work.request.shapes.end()) {
    const std::string index =
        use.indices.empty() ? "" : fmt::format("{}[{}]", argument.name, text_of(use.indices.front().second));
    use_sizes_in(work, drafted.shape);
    drafted.shape_comment = proven ? "guess: from " + index.substr(0, 60) : "fill in: its indices show no extent";
    if (type && type->lanes > 1) drafted.shape.push_back(std::to_string(type->lanes));
    if (!type && !work.types.is_open(argument.type)) {
      drafted.shape.emplace_back("?");
      drafted.shape_comment = "fill in: its elements, and the bytes of a " + argument.type;
    }
  }
  drafted.role = argument.is_const ? "in" : use.written && !use.read && proven ? "out" : "inout";
  if (!argument.is_const)
    drafted.role_comment = use.passed                             ? "guess: a function gets it"
                           : !use.written                         ? "guess: it is read, and is not const"
                           : drafted.role == "inout" && !use.read ? "guess: a part of it may keep its contents"
                           : drafted.role == "inout"              ? "guess: it is read and written"
                                                                  : "guess: it is only written";
}

/// What holds an index of another argument is filled with indices of it.
void add_fills(Work& work) {
  for (const auto& [name, use] : work.use.pointers)
    for (const std::string& source : use.data) {
      DraftArgument* const index = base::find_named(work.model.arguments, source);
      if (!index || index->role != "in" || !index->fill.empty()) continue;
      if (use.indexed_by.contains(source) && is_like(index->dtype, "^[iu](?:32|64)"))
        index->fill = fmt::format("{{ integers = [0, {}] }}", spec::toml_string(name));
      else
        index->fill = "\"auto\"";
      index->fill_comment = index->fill.starts_with('{')
                                ? fmt::format("guess: {} has them as indices", name)
                                : fmt::format("guess: small numbers; indices of {} come from it", name);
    }
}

/// An argument of the same name, type and kind is the same in all kernels: what one reads and another writes is both.
void add_argument(Work& work, DraftStep& step, DraftArgument drafted) {
  if (drafted.name.empty()) drafted.name = fmt::format("argument_{}", work.model.arguments.size() + 1);
  // The names serve only the spec, whose expressions have words such as `in`.
  for (;; drafted.name += "_") {
    if (!spec::identifier_complaint(drafted.name).empty()) continue;
    DraftArgument* const known = base::find_named(work.model.arguments, drafted.name);
    if (known && (known->dtype != drafted.dtype || known->kind != drafted.kind ||
                  std::find(step.args.begin(), step.args.end(), drafted.name) != step.args.end()))
      continue;
    step.args.push_back(drafted.name);
    if (!known) return work.model.arguments.push_back(std::move(drafted));
    if (known->role == "in" && drafted.role != "in") known->role = "inout";
    if (known->shape.size() == 1 && known->shape.front() == "?") {
      known->shape = drafted.shape;
      known->shape_comment = drafted.shape_comment;
    }
    return;
  }
}

void add_arguments(Work& work, DraftStep& step) {
  std::vector<DraftArgument> drafted;
  // Buffers first: their extents show which integers are sizes.
  for (const bool scalars : {false, true})
    for (std::size_t i = 0; i < work.kernel->arguments.size(); ++i) {
      const FunctionArgument& argument = work.kernel->arguments[i];
      const auto type = work.types.element_type(argument.type);
      const bool open = work.types.is_open(argument.type);
      drafted.resize(work.kernel->arguments.size());
      DraftArgument& own = drafted[i];
      own.name = argument.name;
      own.dtype = type ? to_string(type->type) : open ? "?" : "u8";
      if (is_tensor_map(argument))
        own.kind = "tensor_map";
      else if (argument.pointers == 2 || (argument.pointers == 0 && (type ? type->lanes > 1 : !open)))
        scalars ? add_value(work, argument, type, own) : void();
      else if (scalars == (argument.pointers == 0))
        scalars ? add_scalar(work, argument, type, own) : add_buffer(work, argument, type, own);
    }
  for (DraftArgument& each : drafted) add_argument(work, step, std::move(each));
  add_fills(work);
}

/// Without a name; nullopt: its type or its extents are not those of a spec.
std::optional<DraftArgument> drafted_constant(const Work& work, const ConstantVariable& variable) {
  const auto type = work.types.element_type(variable.type);
  if (!type) return std::nullopt;
  DraftArgument drafted;
  for (const Tokens& extent : variable.extents) {
    const auto text = work.expressions.text_of(extent);
    if (!text || !integer_of(*text)) return std::nullopt;
    drafted.shape.push_back(*text);
  }
  if (drafted.shape.empty()) drafted.shape = {"1"};
  if (type->lanes > 1) drafted.shape.push_back(std::to_string(type->lanes));
  drafted.kind = "constant";
  drafted.dtype = to_string(type->type);
  drafted.role = "in";
  drafted.shape_comment = "guess: from its declaration; its contents are random";
  return drafted;
}

void add_constants(Work& work) {
  for (const ConstantVariable& variable : work.names.constants) {
    if (base::find_named(work.model.arguments, variable.name) ||
        std::none_of(work.kernel->body.begin(), work.kernel->body.end(),
                     [&](const Token& each) { return each.is(variable.name); }))
      continue;
    if (std::optional<DraftArgument> constant = drafted_constant(work, variable)) {
      constant->name = variable.name;
      work.model.arguments.push_back(std::move(*constant));
    } else {
      work.model.notes.push_back(
          fmt::format("guess: {} (line {}) is a __constant__ variable: an argument with kind = \"constant\" fills it",
                      variable.name, variable.line));
    }
  }
}

void add_kernel(Work& work, const KernelFunction& kernel) {
  work.kernel = &kernel;
  work.types = work.source_types;
  work.expressions = work.source_expressions;
  work.sizes.clear();
  DraftStep step;
  add_entry(work, step);
  add_sizes(work);
  add_block(work, step);
  add_grid(work, step);
  add_arguments(work, step);
  if (!work.use.shared_type.empty()) {
    const auto type = work.types.element_type(work.use.shared_type);
    const std::string bytes = type ? std::to_string(size_of(type->type) * static_cast<std::size_t>(type->lanes)) : "?";
    const bool open = bytes == "?" || product(step.block).find('?') != std::string::npos;
    step.shared = open ? "?" : product({product(step.block), bytes});
  }
  work.model.steps.push_back(std::move(step));
}

/// Sizes without a value: smaller ones where there are several, or one twice, which multiply, or on an axis with a
/// lower limit.
void give_values(DraftModel& model) {
  const bool is_flat =
      std::all_of(model.arguments.begin(), model.arguments.end(),
                  [](const DraftArgument& each) { return each.shape.size() < 2 || integer_of(each.shape.back()); }) &&
      std::all_of(model.steps.begin(), model.steps.end(), [](const DraftStep& each) {
        return each.grid.size() == 1 && each.grid.front().find('*') == std::string::npos;
      });
  std::size_t open = 0;
  for (const DraftSize& size : model.sizes) open += size.value.empty();
  for (DraftSize& size : model.sizes)
    if (size.value.empty())
      size.value = open == 1 && is_flat ? "1048576" : open <= 2 ? "1024" : open == 3 ? "256" : "64";
}

void use_given(Work& work, const Texts& expressions) {
  for (const std::string& expression : expressions)
    for (const Token& token : tokens_of(expression))
      if (given(work.request.sizes, token.text)) use_size(work, token.text, "");
}

DraftModel drafted_model(Work work, const std::vector<const KernelFunction*>& kernels) {
  work.model.kernel = kernels.front()->name.substr(0, 100);
  RE2::GlobalReplace(&work.model.kernel, "[^A-Za-z0-9]", "_");
  for (const auto& [name, value] : work.request.sizes) work.taken.insert(name);
  add_macros(work);
  for (const KernelFunction* const kernel : kernels) add_kernel(work, *kernel);
  for (const KernelFunction* const kernel : kernels) {
    work.kernel = kernel;
    add_constants(work);
  }
  // Names that only the user's own expressions have.
  for (const std::vector<std::string>* texts : {&work.request.grid, &work.request.block, &work.request.constraints})
    use_given(work, *texts);
  for (const auto& [argument, shape] : work.request.shapes) use_given(work, shape);
  work.model.constraints.insert(work.model.constraints.end(), work.request.constraints.begin(),
                                work.request.constraints.end());
  give_values(work.model);
  if (work.model.parameters.empty())
    work.model.parameters.push_back(
        {unused_name(work, "VARIANT", "_", true), "[1]", false,
         "no open parameter was found: macros and template parameters of the kernel go here", false});
  return std::move(work.model);
}

std::string list_text(const Texts& texts) {
  Texts quoted;
  for (const std::string& text : texts) quoted.push_back(spec::toml_string(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

/// Lines of the spec. Those with a "?", and those with a guess, are listed as well.
class DraftWriter {
 public:
  DraftWriter(const DraftModel& model, const DraftRequest& request, Draft& draft)
      : model_(model), request_(request), draft_(draft) {}

  void run() {
    draft_.text = fmt::format("[kernel]\nname = {}\nsource = {}\n", spec::toml_string(model_.kernel),
                              spec::toml_string(request_.source_path));
    if (model_.steps.size() == 1) line("entry = " + spec::toml_string(model_.steps.front().entry));
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
  void line(const std::string& text, const std::string& comment = {}) {
    draft_.text += text + (comment.empty() ? "" : "  # " + comment) + "\n";
    const bool blank = text.find("\"?\"") != std::string::npos && !text.starts_with('#');
    if (!blank && !comment.starts_with("guess") && !text.starts_with("# guess")) return;
    (blank ? draft_.blanks : draft_.guesses)
        .push_back({argument_, text, comment, base::split_lines(draft_.text).size()});
  }

  void parameter(const DraftParameter& each) {
    const bool table = each.values.starts_with('{');
    line((each.commented_out ? "# " : "") + each.name + " = " +
             (each.compile_time ? each.values
              : table           ? each.values.substr(0, each.values.rfind('}')) + ", compile_time = false }"
                                : fmt::format("{{ values = {}, compile_time = false }}", each.values)),
         each.comment);
  }

  void step(const DraftStep& each) {
    const bool single = model_.steps.size() == 1;
    line(single ? "\n[launch]" : "\n[[steps]]\nentry = " + spec::toml_string(each.entry));
    line("grid = " + list_text(each.grid), each.grid_comment);
    line("block = " + list_text(each.block), each.block_comment);
    if (!each.shared.empty())
      line("shared = " + spec::toml_string(each.shared),
           each.shared == "?" ? "fill in: bytes" : "guess: an element for each thread");
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
    bool open = model_.steps.size() > 1;
    for (const DraftParameter& parameter : model_.parameters) {
      std::string first;
      open = open || (!parameter.commented_out && parameter.values == "\"?\"");
      constexpr const char* first_value = R"((?:\[|min =)\s*("[^"]*"|[^,\]}"\s]+))";
      if (!parameter.commented_out && RE2::PartialMatch(parameter.values, first_value, &first))
        values.push_back(parameter.name + " = " + first);
    }
    if (std::none_of(model_.arguments.begin(), model_.arguments.end(),
                     [](const DraftArgument& each) { return each.role == "out" || each.role == "inout"; }))
      return;
    const bool judges = !values.empty() && !open;
    line(judges ? "\n[validate]\n# A simple kernel with the same arguments finds more mistakes:"
                : "\n# Nothing validates the results yet. A simple kernel with the same arguments can:\n# [validate]");
    line("# reference = { kernel = \"simple\", source = \"simple.cu\", grid = [\"ceildiv(n, 256)\"], block = [256] }");
    if (judges)
      line(fmt::format("reference = {{ config = {{ {} }} }}", fmt::join(values, ", ")),
           "guess: the kernel is right there");
  }

  const DraftModel& model_;
  const DraftRequest& request_;
  Draft& draft_;
  std::string argument_;  ///< the one at hand
};

std::string list_of(const std::vector<KernelFunction>& kernels) {
  Texts names;
  for (const KernelFunction& kernel : kernels)
    names.push_back(fmt::format("{} (line {})", kernel.qualified, kernel.line));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<const KernelFunction*> chosen_kernels(const std::vector<KernelFunction>& kernels,
                                                  const DraftRequest& request) {
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorKind::invalid_argument, request.source_path + ": " + message);
  };
  if (kernels.empty()) fail("no __global__ function with a body was found");
  if (request.entries.empty() && kernels.size() > 1)
    fail(
        fmt::format("several kernels were found: {}; --entry NAME chooses one, and --entry {},{} drafts [[steps]], "
                    "which a configuration launches one after the other",
                    list_of(kernels), kernels[0].qualified, kernels[1].qualified));
  if (request.entries.empty()) return {&kernels.front()};
  Texts names;
  for (const KernelFunction& kernel : kernels) names.push_back(kernel.qualified);
  std::vector<const KernelFunction*> chosen;
  for (const std::string& entry : request.entries) {
    const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelFunction& kernel) {
      return kernel.name == entry || kernel.qualified == entry;
    });
    if (found == kernels.end())
      fail(fmt::format("no kernel '{}' was found{}; it has {}", base::printable(entry, 80),
                       base::did_you_mean(entry, names), list_of(kernels)));
    chosen.push_back(&*found);
  }
  return chosen;
}

}  // namespace

std::vector<std::string> header_texts(const std::filesystem::path& path, const std::string& text) {
  std::vector<std::string> texts;
  for (auto& [header, own] : header_texts(user_headers(path, text).value())) texts.push_back(std::move(own));
  return texts;
}

Draft draft_spec(const DraftRequest& request) {
  const std::vector<KernelFunction> kernels = kernel_functions(tokenize(request.source).tokens);
  const std::vector<const KernelFunction*> chosen = chosen_kernels(kernels, request);
  // Names that only host code uses cannot be parameters.
  build::UnitRoots roots;
  for (const KernelFunction* kernel : chosen) roots.entries.insert(kernel->name);
  std::map<std::string, std::string> texts;
  for (const std::string& header : request.headers) texts[std::to_string(texts.size())] = header;
  const TokenizedSource source = tokenize(build::device_unit(request.source, texts, roots).source);
  std::vector<TokenizedSource> headers;
  TokenizedSource all = source;
  for (const std::string& header : request.headers) {
    headers.push_back(tokenize(header));
    all.tokens.insert(all.tokens.end(), headers.back().tokens.begin(), headers.back().tokens.end());
    all.directives.insert(all.directives.end(), headers.back().directives.begin(), headers.back().directives.end());
  }
  const TypeNames types(all);
  const SourceNames names = source_names(source, headers, types, kernels);
  const DraftModel model = drafted_model({request, names, types}, chosen);
  Draft draft;
  draft.kernel = model.kernel;
  draft.entry = model.steps.front().entry;
  for (const DraftParameter& parameter : model.parameters)
    if (!parameter.commented_out) draft.parameters.push_back(parameter.name);
  for (const DraftSize& size : model.sizes) draft.sizes.push_back(size.name);
  for (const DraftArgument& argument : model.arguments) draft.arguments.push_back(argument.name);
  DraftWriter(model, request, draft).run();
  return draft;
}

}  // namespace xtune::init
