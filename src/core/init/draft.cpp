// What the source shows for sure is written down. What it does not is a blank, because a wrong guess costs more time.
#include "core/init/draft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/named.hpp"
#include "base/text.hpp"
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
  std::string value;  ///< of a scalar; not empty
  std::string comment;
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
  Named sizes{};                                    ///< an integer argument, and its name in the spec
  std::map<std::size_t, std::string> grid_sizes{};  ///< axis -> a size that only the launch has
};

bool is_like(const std::string& name, const char* pattern) { return RE2::PartialMatch(name, pattern); }

bool is_integer(DType type) { return is_like(to_string(type), "^[iu][0-9]"); }

/// Integers that may be an extent of an argument. A distance between rows, a seed or an offset is not.
bool is_size(const FunctionArgument& argument, const TypeNames& types) {
  const auto type = types.element_type(argument.type);
  return argument.pointers == 0 && type && is_integer(type->type) && size_of(type->type) >= 4 && type->lanes == 1 &&
         !argument.name.empty() && !is_like(argument.type, "Object_t") &&
         !is_like(argument.name,
                  "(?i)^ld.?$|stride|pitch|seed|flag|mode|offset|start|begin|raster|shift|mask|iter|step");
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
      fmt::format("{}:{}: argument '{}' of {} has type '{}', and a spec has no such argument: it passes numbers "
                  "and pointers to them. Pass its members one by one, or a pointer to it",
                  work.request.source_path, work.kernel->line, argument.name, work.kernel->name,
                  base::printable(shown, 80)));
}

/// The problem size of an integer argument: of all kernels that have it the same.
std::string size_name(Work& work, const std::string& argument) {
  for (const std::string& name : {argument, macro_case(argument)})
    if (base::find_named(work.model.sizes, name) || given(work.request.sizes, name)) {
      if (const std::string* const value = given(work.request.sizes, name);
          value && !base::find_named(work.model.sizes, name))
        work.model.sizes.push_back({name, *value, ""});
      work.taken.insert(name);
      return name;
    }
  const std::string name = unused_name(work, macro_case(argument), "_SIZE", false);
  work.model.sizes.push_back({name, "", "guess: the argument " + argument});
  return name;
}

/// Refuses arguments that a spec cannot have, names the sizes, and reads the body.
void add_sizes(Work& work) {
  if (work.kernel->arguments.empty())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}:{}: {} takes no arguments, and a spec needs one: its inputs and outputs are arguments",
                            work.request.source_path, work.kernel->line, work.kernel->name));
  std::set<std::string> size_names, pointers;
  for (const FunctionArgument& argument : work.kernel->arguments) {
    const auto type = work.types.element_type(argument.type);
    if (is_tensor_map(argument)) continue;
    if (argument.pointers > 1 || argument.is_reference ||
        (!type && (argument.pointers == 0 || argument.type == "void")) || (argument.pointers == 0 && type->lanes > 1))
      refuse(work, argument);
    if (argument.pointers == 1) pointers.insert(argument.name);
    if (!is_size(argument, work.types)) continue;
    size_names.insert(argument.name);
    work.sizes.emplace_back(argument.name, size_name(work, argument.name));
    work.expressions.set(argument.name, work.sizes.back().second);
  }
  // Template arguments of the problem limit indices as arguments do.
  for (const TemplateParameter& parameter : work.kernel->templates)
    if (base::find_named(work.model.sizes, parameter.name) && !parameter.is_type() &&
        size_names.insert(parameter.name).second)
      work.sizes.emplace_back(parameter.name, parameter.name);
  work.use = body_use(work.kernel->body, size_names, pointers);
}

/// In the order of the arguments.
Texts named_sizes(const Work& work, const std::set<std::string>& asked) {
  Texts list;
  for (const auto& [argument, name] : work.sizes)
    if (asked.contains(argument)) list.push_back(name);
  return list;
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

/// The threads along an axis: what multiplies blockIdx before threadIdx is added, or a parameter where the kernel asks
/// for blockDim; else "?".
std::string block_extent(Work& work, std::size_t i, std::size_t axes) {
  const AxisUse& axis = work.use.axes[i];
  if (const auto threads = work.expressions.text_of(axis.threads)) return *threads;
  if (!axis.block_size) return "?";
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
  if (axes > 0 && !given) step.block_comment = open ? "fill in: threads along x, y, z" : "guess";
  const std::string threads = product(step.block);
  if (!open && (axes > 1 || threads.find(' ') != std::string::npos) && !integer_of(threads))
    work.model.constraints.push_back((threads.find("//") == std::string::npos ? "" : "1 <= ") + threads + " <= 1024");
}

/// Blocks along an axis: the size that limits its index by what a block covers of it; else "?".
std::string grid_extent(Work& work, std::size_t i, std::size_t axes) {
  const AxisUse& axis = work.use.axes[i];
  Texts factors;
  const Texts limits = named_sizes(work, axis.sizes);
  for (const Tokens& factor : axis.tile) {
    // blockIdx.x * n begins a row.
    const bool is_row = std::any_of(factor.begin(), factor.end(),
                                    [&](const Token& token) { return !named_sizes(work, {token.text}).empty(); });
    const auto text = work.expressions.text_of(factor);
    if (!text || (is_row && !limits.empty())) return "?";
    if (!is_row) factors.push_back(*text);
  }
  if (limits.empty() && factors.empty()) {
    const std::string name = std::string("GRID_") + axis_capitals[i];
    const bool is_given = given(work.request.sizes, name) != nullptr;
    work.grid_sizes[i] = is_given ? name : unused_name(work, name, "_SIZE", false);
    if (!is_given)
      work.model.sizes.push_back({work.grid_sizes[i], "1024", std::string("guess: blocks along ") + axis_names[i]});
    return work.grid_sizes[i];
  }
  if (limits.empty() || limits.size() > (axes > 1 ? 1 : 3)) return "?";
  return factors.empty() ? product(limits) : fmt::format("ceildiv({}, {})", product(limits), product(factors));
}

void add_grid(Work& work, DraftStep& step) {
  std::size_t axes = 1;
  for (std::size_t i = 0; i < 3; ++i)
    if (work.use.axes[i].block) axes = i + 1;
  for (std::size_t i = 0; work.request.grid.empty() && i < axes; ++i)
    step.grid.push_back(work.use.axes[i].block ? grid_extent(work, i, axes) : "1");
  if (!work.request.grid.empty()) {
    step.grid = work.request.grid;
    return;
  }
  const bool open = std::find(step.grid.begin(), step.grid.end(), "?") != step.grid.end();
  step.grid_comment = open                                 ? "fill in: blocks along x, y, z, as in ceildiv(N, TILE)"
                      : work.use.axes[0].block || axes > 1 ? "guess"
                                                           : "";
}

void add_scalar(const Work& work, const FunctionArgument& argument, DType type, DraftArgument& drafted) {
  drafted.kind = "scalar";
  const auto own = std::find_if(work.sizes.begin(), work.sizes.end(),
                                [&](const auto& each) { return each.first == argument.name && !each.first.empty(); });
  if (own != work.sizes.end() || given(work.request.sizes, argument.name)) {
    drafted.value = spec::toml_string(own != work.sizes.end() ? own->second : argument.name);
  } else if (is_integer(type)) {
    drafted.value = "\"?\"";
    drafted.comment = "fill in: its value";
  } else {
    drafted.value = type == DType::boolean ? "\"false\"" : is_like(argument.name, "(?i)^eps") ? "1e-5" : "1.0";
    drafted.comment = "guess: its value";
  }
}

void add_buffer(Work& work, const FunctionArgument& argument, const std::optional<ElementType>& type,
                DraftArgument& drafted) {
  const PointerUse& use = work.use.pointers[argument.name];
  Texts shape = named_sizes(work, use.sizes);
  for (const std::size_t block : use.blocks)
    if (const auto grid = work.grid_sizes.find(block); grid != work.grid_sizes.end())
      shape.insert(shape.begin(), grid->second);
  if (shape.size() == 1 && use.rows) shape.push_back(shape.front());  // rows as long as there are rows
  if (shape.empty() && use.only_first) shape = {"1"};
  const bool sure = !shape.empty() && shape.size() <= 3 && !use.data;
  if (!sure) shape = {"?"};
  if (type && type->lanes > 1) shape.push_back(std::to_string(type->lanes));
  if (!type) shape.emplace_back("?");
  drafted.shape = shape;
  drafted.role = argument.is_const ? "in" : use.written && !use.read && sure ? "out" : "inout";
  drafted.comment = sure ? "guess: its shape" : "fill in: its shape";
  if (!type) drafted.comment = "fill in: its elements, and the bytes of a " + argument.type;
  if (!argument.is_const) drafted.comment += "; guess: its role";
  if (use.data)
    drafted.comment += "; other arguments hold its index: fill them with its range, { integers = [0, ...] }";
  const auto asked = work.request.shapes.find(argument.name);
  if (asked == work.request.shapes.end()) return;
  drafted.shape = asked->second;
  drafted.comment = argument.is_const ? "" : "guess: its role";
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
      known->comment = drafted.comment;
    }
    return;
  }
}

void add_arguments(Work& work, DraftStep& step) {
  for (const FunctionArgument& argument : work.kernel->arguments) {
    DraftArgument drafted;
    drafted.name = argument.name;
    const auto type = work.types.element_type(argument.type);
    drafted.dtype = type ? to_string(type->type) : "u8";
    if (is_tensor_map(argument)) {
      drafted.kind = "tensor_map";
      drafted.dtype.clear();
      drafted.comment = "fill in: of, an argument behind these, and box; [kernel] args lists what the kernel takes";
    } else if (argument.pointers == 0) {
      add_scalar(work, argument, type->type, drafted);
    } else {
      add_buffer(work, argument, type, drafted);
    }
    add_argument(work, step, std::move(drafted));
  }
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
  drafted.comment = "guess: its contents are random";
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
  work.grid_sizes.clear();
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

/// Sizes without a value: smaller ones where there are several, or one twice, which multiply.
void give_values(DraftModel& model) {
  const auto is_square = [](const DraftArgument& each) {
    return each.shape.size() == 2 && each.shape[0] == each.shape[1];
  };
  std::size_t open = std::any_of(model.arguments.begin(), model.arguments.end(), is_square) ? 1 : 0;
  for (const DraftSize& size : model.sizes) open += size.value.empty() || size.name.starts_with("GRID_");
  for (DraftSize& size : model.sizes)
    if (size.value.empty()) size.value = open == 1 ? "1048576" : open == 2 ? "1024" : open == 3 ? "256" : "64";
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
  for (const auto& [name, value] : work.request.sizes)
    if (!base::find_named(work.model.sizes, name)) work.model.sizes.push_back({name, value, ""});
  work.model.constraints.insert(work.model.constraints.end(), work.request.constraints.begin(),
                                work.request.constraints.end());
  give_values(work.model);
  if (work.model.parameters.empty())
    work.model.parameters.push_back(
        {unused_name(work, "VARIANT", "_", true), "[1]", false,
         "no open parameter was found: macros and template parameters of the kernel go here", false});
  return std::move(work.model);
}

std::string with_comment(const std::string& line, const std::string& comment) {
  return comment.empty() ? line + "\n" : fmt::format("{}  # {}\n", line, comment);
}

std::string list_text(const Texts& texts) {
  Texts quoted;
  for (const std::string& text : texts) quoted.push_back(spec::toml_string(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string parameter_text(const DraftParameter& parameter) {
  std::string line = parameter.commented_out ? "# " : "";
  line += parameter.name + " = ";
  const bool table = parameter.values.starts_with('{');
  line += parameter.compile_time ? parameter.values
          : table                ? parameter.values.substr(0, parameter.values.rfind('}')) + ", compile_time = false }"
                                 : fmt::format("{{ values = {}, compile_time = false }}", parameter.values);
  return with_comment(line, parameter.comment);
}

std::string space_text(const DraftModel& model) {
  std::string text;
  if (!model.constraints.empty()) text += "\n[space]\nconstraints = " + list_text(model.constraints) + "\n";
  text += "\n[space.params]\n";
  for (const DraftParameter& parameter : model.parameters) text += parameter_text(parameter);
  return text;
}

std::string launch_text(const DraftStep& step) {
  std::string text = with_comment("grid = " + list_text(step.grid), step.grid_comment) +
                     with_comment("block = " + list_text(step.block), step.block_comment);
  if (!step.shared.empty())
    text += with_comment("shared = " + spec::toml_string(step.shared), step.shared == "?" ? "fill in: bytes" : "guess");
  return text;
}

std::string steps_text(const DraftModel& model) {
  if (model.steps.size() == 1) return "\n[launch]\n" + launch_text(model.steps.front());
  std::string text;
  for (const DraftStep& step : model.steps)
    text += "\n[[steps]]\nentry = " + spec::toml_string(step.entry) + "\n" + launch_text(step) +
            "args = " + list_text(step.args) + "\n";
  return text;
}

std::string argument_text(const DraftArgument& argument) {
  std::string text = "\n[[args]]\n";
  text += with_comment("name = " + spec::toml_string(argument.name), argument.comment);
  if (!argument.kind.empty()) text += "kind = " + spec::toml_string(argument.kind) + "\n";
  if (argument.kind == "tensor_map") return text + "of = \"?\"\nbox = [\"?\"]\n";
  text += "dtype = " + spec::toml_string(argument.dtype) + "\n";
  if (!argument.value.empty()) return text + "value = " + argument.value + "\n";
  text += "shape = " + list_text(argument.shape) + "\n";
  if (argument.role != "in") text += "role = " + spec::toml_string(argument.role) + "\n";
  return text;
}

/// The kernel judges itself until the user has something better.
std::string validate_text(const DraftModel& model) {
  const auto is_output = [](const DraftArgument& argument) {
    return argument.role == "out" || argument.role == "inout";
  };
  if (std::none_of(model.arguments.begin(), model.arguments.end(), is_output)) return "";
  Texts values;
  bool open = model.steps.size() > 1;
  for (const DraftParameter& parameter : model.parameters) {
    std::string first;
    open = open || (!parameter.commented_out && parameter.values == "\"?\"");
    constexpr const char* first_value = R"((?:\[|min =)\s*("[^"]*"|[^,\]}"\s]+))";
    if (parameter.commented_out || !RE2::PartialMatch(parameter.values, first_value, &first)) continue;
    values.push_back(parameter.name + " = " + first);
  }
  const std::string simple =
      "# reference = { kernel = \"simple\", source = \"simple.cu\", grid = [\"ceildiv(N, 256)\"], block = [256] }\n";
  if (values.empty() || open)
    return "\n# Nothing validates the results yet. A simple kernel with the same arguments can:\n# [validate]\n" +
           simple;
  return "\n[validate]\n# A simple kernel with the same arguments finds more mistakes:\n" + simple +
         with_comment(fmt::format("reference = {{ config = {{ {} }} }}", fmt::join(values, ", ")),
                      "guess: the kernel is right there");
}

/// As TOML. Comments stand behind what they speak of, so that a line can be taken over or changed by itself.
std::string draft_text(const DraftModel& model, const DraftRequest& request) {
  std::string text = fmt::format(
      "# A draft that `xtune init` made from {}. Fill in each \"?\"; look at lines with \"guess\". Then:\n"
      "#   xtune check {}\n#   xtune run {}\n\n[kernel]\nname = {}\nsource = {}\n",
      request.source_path, request.spec_path, request.spec_path, spec::toml_string(model.kernel),
      spec::toml_string(request.source_path));
  if (model.steps.size() == 1) text += "entry = " + spec::toml_string(model.steps.front().entry) + "\n";
  for (const std::string& note : model.notes) text += "# " + note + "\n";
  if (!model.sizes.empty()) text += "\n[problem]\n";
  for (const DraftSize& size : model.sizes) text += with_comment(size.name + " = " + size.value, size.comment);
  text += space_text(model);
  text += steps_text(model);
  for (const DraftArgument& argument : model.arguments) text += argument_text(argument);
  text += validate_text(model);
  text += "\n# Shown beside the time:\n# [metrics]\n# GB_per_s = \"2 * 4 * N / time_s / 1e9\"\n";
  return text;
}

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
  const TokenizedSource source = tokenize(request.source);
  std::vector<TokenizedSource> headers;
  TokenizedSource all = source;
  for (const std::string& header : request.headers) {
    headers.push_back(tokenize(header));
    all.tokens.insert(all.tokens.end(), headers.back().tokens.begin(), headers.back().tokens.end());
    all.directives.insert(all.directives.end(), headers.back().directives.begin(), headers.back().directives.end());
  }
  const std::vector<KernelFunction> kernels = kernel_functions(source.tokens);
  const std::vector<const KernelFunction*> chosen = chosen_kernels(kernels, request);
  const TypeNames types(all);
  const SourceNames names = source_names(source, headers, types, kernels);
  const DraftModel model = drafted_model({request, names, types}, chosen);
  Draft draft{draft_text(model, request), model.kernel, model.steps.front().entry, {}, {}, {}};
  for (const DraftParameter& parameter : model.parameters)
    if (!parameter.commented_out) draft.parameters.push_back(parameter.name);
  std::string argument;
  for (const std::string_view line : base::split_lines(draft.text)) {
    RE2::PartialMatch(line, "^name = \"(\\w+)\"", &argument);
    if (line.find("guess: ") != std::string_view::npos || line.ends_with("# guess")) draft.guesses.emplace_back(line);
    if (line.starts_with('#') || line.find("\"?\"") == std::string_view::npos) continue;
    const bool of_argument = RE2::PartialMatch(line, "^(?:shape|value|of|box) = ");
    draft.blanks.push_back((of_argument ? argument + ": " : "") + std::string(line));
  }
  return draft;
}

}  // namespace xtune::init
