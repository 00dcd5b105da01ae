// What the source shows for sure is written down. What it does not is a blank, because a wrong guess costs more time.
#include "core/init/draft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "core/build/device_unit.hpp"
#include "core/build/unread_headers.hpp"
#include "core/init/drafting.hpp"
#include "core/init/signature.hpp"
#include "core/spec/document.hpp"
#include "core/spec/reader.hpp"
#include "xtune/error.hpp"

namespace xtune::init {

bool is_like(const std::string& name, const char* pattern) { return RE2::PartialMatch(name, pattern); }

bool is_whole(const std::string& value) { return RE2::FullMatch(value, "-?[0-9]+"); }

bool is_integer(DType type) { return is_like(to_string(type), "^[iu][0-9]"); }

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
  const auto found = std::ranges::find_if(named, [&](const auto& each) { return each.first == name; });
  return found == named.end() ? nullptr : &found->second;
}

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
    parameter.launched.clear();
    parameter.commented_out = false;
  }
  work.taken.insert(parameter.name);
  if (!base::find_named(work.model.parameters, parameter.name)) work.model.parameters.push_back(std::move(parameter));
}

std::string values_text(const std::vector<Value>& values) { return values.empty() ? "\"?\"" : spec::toml_list(values); }

void use_size(Work& work, const std::string& name, const std::string& comment) {
  if (base::find_named(work.model.sizes, name)) return;
  work.taken.insert(name);
  if (const std::string* const value = given(work.request.sizes, name))
    return void(work.model.sizes.push_back({name, *value, ""}));
  if (work.request.passed) return void(work.model.sizes.push_back({name, "", ""}));
  const auto launched = work.host_values.find(name);
  if (launched == work.host_values.end()) return void(work.model.sizes.push_back({name, "", comment}));
  const auto& [value, line] = launched->second;
  work.model.sizes.push_back({name, value, fmt::format("guess: from the launch on line {}", line)});
}

void use_sizes_in(Work& work, const Texts& extents) {
  for (const std::string& extent : extents)
    for (const std::string& name : names_in(extent))
      if (given(work.request.sizes, name) ||
          std::ranges::any_of(work.sizes, [&](const auto& each) { return name == each.second; }))
        use_size(work, name, "guess: any value");
}

namespace {

/// The compiler gets a macro that nothing defines and that is not worth a parameter.
void add_define(Work& work, const OpenMacro& macro, const std::string& value, const std::string& why) {
  if (macro.kind != OpenMacro::Kind::undefined || given(work.request.defines, macro.name) ||
      given(work.request.parameters, macro.name))
    return;
  work.request.defines.emplace_back(macro.name, value);
  work.request.project.defines.emplace_back(macro.name, value);
  work.model.notes.push_back(fmt::format("guess: {} is {}, {}", macro.name, value, why));
}

/// The number with which a condition holds that only asks for the macro; nullopt: it is another one.
std::optional<std::int64_t> kept_value(const Tokens& condition, const std::string& macro) {
  const Tokens tokens = unwrapped(condition);
  if (tokens.size() == 1 && tokens[0].is(macro)) return 1;
  if (tokens.size() == 2 && tokens[0].is("!") && tokens[1].is(macro)) return 0;
  const auto number = tokens.size() == 3 && tokens[0].is(macro) ? integer_of(tokens[2].text) : std::nullopt;
  if (!number || !RE2::FullMatch(tokens[1].text, "==|!=|>=?")) return std::nullopt;
  return tokens[1].is("!=") || tokens[1].is(">") ? *number + 1 : *number;
}

/// A macro of a condition around the kernel has the value that keeps the kernel.
void keep_kernel(Work& work, const KernelFunction& kernel) {
  std::vector<Directive> around;
  for (const Directive& each : tokenize(work.request.source).directives) {
    if (each.line > kernel.line) break;
    if (each.name.starts_with("if")) around.push_back(each);
    if (around.empty()) continue;
    if (each.name == "endif") around.pop_back();
    if (each.name.starts_with("el")) around.back() = each;
  }
  for (const Directive& each : around)
    for (const auto& [mark, condition] : operands(tokens_of(each.name == "if" ? each.text : ""), "&&"))
      for (const OpenMacro& macro : work.names.macros)
        if (const auto value = kept_value(condition, macro.name))
          add_define(work, macro, std::to_string(*value), fmt::format("as line {} asks around the kernel", each.line));
}

void add_macros(Work& work) {
  for (const OpenMacro& macro : work.names.macros) {
    if (is_like(macro.name, "(?:^|_)WARP_?SIZE$"))
      add_define(work, macro, "32", fmt::format("as of NVIDIA's GPUs; line {} uses it", macro.line));
    const auto value = integer_of(macro.value);
    if ((!macro.value.empty() && !value) || !spec::reserved_meaning(macro.name).empty()) continue;
    if (const std::string* const defined = given(work.request.defines, macro.name)) {
      if (integer_of(*defined)) work.source_expressions.set(macro.name, *defined);
      continue;
    }
    DraftParameter parameter;
    parameter.name = macro.name;
    parameter.values = values_text(plausible_values(value, macro.is_condition));
    const std::string place = fmt::format("line {}", macro.line);
    if (macro.kind == OpenMacro::Kind::undefined) parameter.comment = "fill in: values to try; " + place + " uses it";
    if (macro.kind == OpenMacro::Kind::defaulted) {
      parameter.comment = fmt::format("{} by default ({})", macro.value, place);
      parameter.launched = std::to_string(*value);
    }
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

/// Whether a field of its elements is used: x[i].y, x->y.
bool has_fields(const Tokens& body, const std::string& name) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    std::size_t end = i + 1;
    while (body[i].is(name) && is_at(body, end, "[")) end = closing(body, end) + 1;
    if (body[i].is(name) && (is_at(body, end, ".") || is_at(body, end, "->"))) return true;
  }
  return false;
}

/// The type that the launch has for a template parameter: as its argument, or that of a variable that it passes; empty:
/// none is seen.
std::string launched_type(const Work& work, std::size_t number) {
  const std::string& name = work.kernel->templates[number].name;
  if (work.launch && number < work.launch->templates.size()) return text_of(work.launch->templates[number]);
  for (std::size_t i = 0; i < work.kernel->arguments.size(); ++i) {
    const std::string variable = work.kernel->arguments[i].type == name ? text_of(passed_to(work, i)) : "";
    const auto declared =
        variable.empty() ? std::nullopt : work.host_code.declared(variable, *work.launch, std::string::npos);
    if (declared && work.types.element_type(declared->type)) return declared->type;
  }
  return "";
}

/// Whether a variable of the type is made of a thread's coordinates, or an argument of it is in an index.
bool is_index(const Work& work, const std::string& type) {
  const Tokens body = simplified(work.kernel->body);
  const auto is_coordinate = [](const Token& each) { return is_like(each.text, "^(?:thread|block)Idx"); };
  for (std::size_t i = 0; i + 2 < body.size(); ++i) {
    const Tokens value = body[i].is(type) && body[i + 2].is("=") ? expression_at(body, i + 3) : Tokens();
    if (std::ranges::any_of(value, is_coordinate) && !mentions(value, "[")) return true;
    const Tokens index = body[i].is("[") ? part(body, i + 1, closing(body, i)) : Tokens();
    if (!mentions(index, "(") && std::ranges::any_of(work.kernel->arguments, [&](const FunctionArgument& each) {
          return each.type == type && mentions(index, each.name);
        }))
      return true;
  }
  return false;
}

/// Whether the type may be that of numbers: of an argument without fields, and without types within it, or of nothing.
bool is_number(const Work& work, const std::string& type) {
  if (!mentions(work.kernel->declared, type) && !mentions(work.kernel->body, type)) return true;
  const std::string all = text_of(work.kernel->declared) + text_of(work.kernel->body);
  return all.find(type + "::") == std::string::npos &&
         std::ranges::any_of(work.kernel->arguments, [&](const FunctionArgument& each) {
           return each.type == type && !has_fields(work.kernel->body, each.name);
         });
}

/// A type belongs to the problem: a search over types would answer with the shortest one.
std::string type_parameter(Work& work, const TemplateParameter& parameter, const std::string& launched) {
  const bool is_launched = work.types.element_type(launched).has_value();
  const bool is_other = !launched.empty() && !is_launched && !work.types.is_open(launched);
  const std::string type = is_launched                                        ? launched
                           : is_other                                         ? ""
                           : work.types.element_type(parameter.default_value) ? parameter.default_value
                           : is_index(work, parameter.name)                   ? "int"
                           : is_number(work, parameter.name)                  ? "float"
                                                                              : "";
  work.types.set(parameter.name, is_other ? launched : type);
  const std::string own = parameter.name.empty() ? "TYPE" : parameter.name;
  const std::string value = type.empty() ? "\"?\"" : "\"" + type + "\"";
  if (const DraftSize* const known = base::find_named(work.model.sizes, own); known && known->value == value)
    return "{" + own + "}";
  const std::string name = unused_name(work, own, "_TYPE", false);
  const std::string shown = is_other ? fmt::format("; line {} has {}", work.launch->line, launched) : "";
  work.model.sizes.push_back({name, value,
                              type.empty()                         ? "fill in: a type of the entry" + shown
                              : is_launched && work.request.passed ? ""
                              : is_launched
                                  ? fmt::format("guess: a type of the entry, as on line {}", work.launch->line)
                                  : "guess: a type of the entry; where it changes, the dtype of arguments changes"});
  return "{" + name + "}";
}

/// Whether the kernel's shared memory, registers or launch are made of the name: it divides the work, and does not
/// change what is computed.
bool divides_work(const KernelFunction& kernel, const std::string& name) {
  const auto has = [&](const Tokens& tokens) { return mentions(tokens, name); };
  if (std::ranges::any_of(kernel.launch_bounds, has)) return true;
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

/// launched: the argument of the launch, whose variable is the same value wherever the launch has it.
std::string value_parameter(Work& work, const TemplateParameter& parameter, const Tokens& launched) {
  const std::string text = host_text(work, launched).value_or("");
  const bool number = parameter.type == "bool" || parameter.type == "auto" || work.types.element_type(parameter.type);
  const auto in_entry = [&](const std::string& name) {
    work.expressions.set(parameter.name, name);
    return number ? "{" + name + "}" : fmt::format("static_cast<{}>({{{}}})", parameter.type, name);
  };
  if (is_parameter(work, text)) return in_entry(text);
  const auto at_launch = launched_value(work, text);
  const bool is_made = has_parameter(work, text);
  const auto value = at_launch ? at_launch : integer_of(parameter.default_value);
  const bool flag = parameter.type == "bool";
  // The spec may use the same name where nothing defines it as a macro.
  const bool plain = !parameter.name.empty() && spec::reserved_meaning(parameter.name).empty() &&
                     (given(work.request.parameters, parameter.name) || !work.taken.contains(parameter.name));
  const std::string name = plain ? parameter.name : unused_name(work, macro_case("P_" + parameter.name), "_", true);
  work.taken.insert(name);
  const std::string word = launched.size() == 1 && launched.front().is_word() ? launched.front().text : "";
  const bool is_block = is_in_block(work, word);
  if (flag || value || !number || is_block || given(work.request.parameters, name) ||
      divides_work(*work.kernel, parameter.name)) {
    const bool is_shown = at_launch || launched.empty();
    add_parameter(work, {name, values_text(plausible_values(flag ? 0 : value, flag)), false,
                         at_launch ? fmt::format("{} on line {}", *value, work.launch->line)
                         : value   ? fmt::format("{} by default", *value)
                         : flag    ? ""
                                   : "fill in: values to try",
                         false, value && !flag && is_shown ? std::to_string(*value) : "",
                         !at_launch || is_always_launched(work, &Launch::templates)});
    if (DraftParameter* own = base::find_named(work.model.parameters, name)) own->compile_time = false;
    if (is_made) base::add_once(work.model.constraints, name + " == " + text);
  } else if (!base::find_named(work.model.sizes, name)) {
    const std::string* const size = given(work.request.sizes, name);
    work.model.sizes.push_back(
        {name, size ? *size : "",
         size ? ""
              : "guess: a template argument of the problem; one to tune belongs in [space.params], with "
                "compile_time = false"});
  }
  if (!word.empty()) name_host(work, word, name);
  return in_entry(name);
}

void add_entry(Work& work, DraftStep& step) {
  Texts words;
  bool complete = true;
  for (std::size_t i = 0; i < work.kernel->templates.size(); ++i) {
    const TemplateParameter& parameter = work.kernel->templates[i];
    complete = complete && !parameter.is_pack && parameter.type.find("template") == std::string::npos;
    if (!complete) break;
    if (parameter.is_type()) {
      const std::string passed = passed_type(work, parameter.name);
      words.push_back(type_parameter(work, parameter, passed.empty() ? launched_type(work, i) : passed));
    } else {
      const bool is_launched = work.launch && i < work.launch->templates.size();
      words.push_back(value_parameter(work, parameter, is_launched ? unwrapped(work.launch->templates[i]) : Tokens()));
    }
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

/// The text that stands for an integer argument: its name, as the source has it, unless the launch passes what has
/// another one; nullopt: it changes in the loop.
std::optional<std::string> size_name(Work& work, std::size_t argument) {
  std::string name = work.kernel->arguments[argument].name;
  while (!spec::reserved_meaning(name).empty() || base::find_named(work.model.parameters, name)) name += "_";
  const Tokens passed = passed_to(work, argument);
  const bool is_passed = work.request.passed.has_value();
  const std::string word = passed.size() == 1 && passed.front().is_word() ? passed.front().text : "";
  const bool is_member = word.find_first_of(".>") != std::string::npos;
  const std::string text = host_text(work, passed).value_or(is_member ? word : "");
  if (text.empty()) return name;
  if (has_index(work, text)) return std::nullopt;
  const bool is_number = integer_of(text).has_value();
  if (!is_passed && !is_number && (text != word || work.host_sizes.contains(word))) return text;
  // Its own size. Launches that pass the same share it.
  const std::string owner = word.empty() ? text : word;
  while (!work.host_owners.try_emplace(name, owner).second && work.host_owners[name] != owner) name += "_";
  if (!word.empty()) name_host(work, word, name);
  if (is_number && integer_of(text) > 0) work.host_values.try_emplace(name, text, work.launch->line);
  return name;
}

/// Refuses arguments that a spec cannot have, names the sizes, and reads the body.
void add_sizes(Work& work) {
  if (work.kernel->arguments.empty())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}:{}: {} takes no arguments, and a spec needs one: its inputs and outputs are arguments",
                            work.request.source_path, work.kernel->line, work.kernel->name));
  std::set<std::string> fixed, pointers;
  Named words;  // of expressions
  for (std::size_t i = 0; i < work.kernel->arguments.size(); ++i) {
    const FunctionArgument& argument = work.kernel->arguments[i];
    if (is_tensor_map(argument)) continue;
    if (argument.pointers > 2 || argument.is_reference || (argument.pointers == 1 && argument.type == "void") ||
        is_like(argument.type, "(?:Texture|Surface)Object_t$|^texture|^surface"))
      refuse(work, argument);
    if (argument.pointers == 1) pointers.insert(argument.name);
    // Integers may be extents.
    const auto type = work.types.element_type(argument.type);
    if (argument.pointers > 0 || !type || !is_integer(type->type) || size_of(type->type) < 4 || type->lanes > 1 ||
        argument.name.empty() || work.types.is_enum(argument.type))
      continue;
    const auto name = size_name(work, i);
    if (!name) continue;
    work.sizes.emplace_back(argument.name, *name);
    work.expressions.set(argument.name, *name);
    if (const PassedArgument* const passed = passed_argument(work, i); passed && is_whole(passed->value))
      work.request.sizes.emplace_back(*name, passed->value);
    // An expression of other sizes limits an index, too.
    if (has_parameter(work, *name)) continue;
    for (const std::string& word : names_in(*name))
      if (fixed.insert(word).second && word != *name) words.emplace_back(word, word);
  }
  work.sizes.insert(work.sizes.end(), words.begin(), words.end());
  // Template arguments of the problem limit indices as arguments do.
  for (const TemplateParameter& parameter : work.kernel->templates)
    if (base::find_named(work.model.sizes, parameter.name) && !parameter.is_type()) fixed.insert(parameter.name);
  for (const auto& [name, value] : work.request.sizes) fixed.insert(name);
  work.use = body_use(work.kernel->body, work.expressions, fixed, pointers);
  for (std::size_t i = 0; i < std::min<std::size_t>(work.request.grid.size(), 3); ++i)
    if (given(work.request.sizes, work.request.grid[i]))
      work.use.indices->set(std::string("blockIdx.") + axis_names[i], {work.request.grid[i]});
}

/// Whether an integer type has this value.
bool holds(DType type, double value) {
  const bool is_signed = std::string_view(to_string(type)).starts_with('i');
  const double end = std::exp2(8 * size_of(type) - (is_signed ? 1 : 0));
  return value < end && value >= (is_signed ? -end : 0);
}

/// What a launch passes for a number; false: it does not show one.
bool take_scalar(Work& work, DraftStep& step, std::size_t number, DraftArgument& drafted) {
  const FunctionArgument& argument = work.kernel->arguments[number];
  const Tokens passed = passed_to(work, number);
  const auto text = host_text(work, passed);
  if (passed.empty()) return false;
  const std::string from = fmt::format("from the launch on line {}", work.launch->line);
  const auto type = work.types.element_type(argument.type);
  drafted.passed = "=" + text_of(passed);
  drafted.value_comment = "guess: " + from;
  if (type && is_integer(type->type) && text) {
    if (has_index(work, *text)) {
      step.with += fmt::format("{}{} = {}", step.with.empty() ? "" : ", ", argument.name, spec::toml_string(*text));
      drafted.passed = "with";
      drafted.value = "0";
      drafted.value_comment = "each round has its own";
      return true;
    }
    const auto known = computed(spec_tokens(*text));
    const bool is_shown = is_known(work, *text, true) && (!known || holds(type->type, *known));
    drafted.value = !is_shown ? "\"?\"" : integer_of(*text) ? *text : spec::toml_string(*text);
    if (!is_shown)
      drafted.value_comment = fmt::format("fill in: line {} passes {}", work.launch->line, text_of(passed));
    return true;
  }
  // A literal, or a variable with one.
  Tokens literal = simplified(passed, false, true);
  if (const auto made = work.host_definitions.find(literal.front().text);
      literal.size() == 1 && made != work.host_definitions.end())
    literal = simplified(made->second, false, true);
  if (text && computed(spec_tokens(*text))) literal = tokens_of(*text);
  std::string value;
  double parsed = 0;
  if (!type || !RE2::FullMatch(text_of(literal),
                               "(-?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][-+]?[0-9]+)?|true|false)[fF]?", &value))
    return false;
  if (!RE2::FullMatch(value, "(.*)", &parsed)) parsed = value == "true";
  if (type->type == DType::boolean)
    value = spec::toml_string(parsed != 0 ? "true" : "false");
  else if (is_integer(type->type) && !holds(type->type, std::trunc(parsed)))
    return false;
  else if (is_integer(type->type))
    value = fmt::format("{:.0f}", std::trunc(parsed));  // as C++ converts it
  else if (!RE2::FullMatch(value, "-?[0-9]+(?:\\.[0-9]+)?"))
    value = is_like(fmt::format("{}", parsed), "[.e]") ? fmt::format("{}", parsed) : fmt::format("{}.0", parsed);
  drafted.value = value;
  return true;
}

void add_scalar(Work& work, DraftStep& step, std::size_t number, DraftArgument& drafted) {
  const FunctionArgument& argument = work.kernel->arguments[number];
  const auto type = work.types.element_type(argument.type);
  drafted.kind = "scalar";
  const std::string* const size = given(work.sizes, argument.name);
  if (const PassedArgument* const passed = passed_argument(work, number))
    return add_passed_scalar(work, *passed, argument, drafted);
  const std::string name = size ? *size : argument.name;
  if (given(work.request.sizes, name)) use_size(work, name, "");
  if (base::find_named(work.model.sizes, name)) {
    drafted.value = spec::toml_string(name);
    drafted.passed = "=" + name;
  } else if (!take_scalar(work, step, number, drafted)) {
    const bool is_number = type && (type->type == DType::boolean || !is_integer(type->type));
    drafted.value = !is_number ? "\"?\"" : type->type == DType::boolean ? "\"false\"" : "1.0";
    drafted.value_comment = is_number ? "guess: any value" : "fill in: no index shows what " + argument.name + " is";
  }
}

/// Extents that all indices of an argument stay below; nullopt: nothing proves them. is_whole: each element below them
/// is given a value, whatever the data.
std::optional<Texts> proven_shape(const Work& work, const PointerUse& use, bool& is_whole) {
  std::int64_t elements = 0;
  Texts shape, written;
  if (use.passed || use.indices.empty()) return std::nullopt;
  for (const IndexUse& each : use.indices) {
    const auto bound = work.use.indices->of(each.index, each.at);
    if (!bound) return std::nullopt;
    if (each.is_set && bound->is_whole && bound->distance == 0 && bound->slack == 0 &&
        work.use.indices->is_reached(work.use.tokens, each, work.use.pointers))
      written = bound->extents;
    const auto number = bound->extents.size() == 1 ? integer_of(bound->extents.front()) : std::nullopt;
    if (!number && !shape.empty() && shape != bound->extents) return std::nullopt;
    if (!number) shape = bound->extents;
    elements = std::max(elements, number.value_or(0));
  }
  if (shape.empty()) shape = {std::to_string(elements)};
  is_whole = shape == written;
  return shape;
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

void add_buffer(Work& work, std::size_t number, const std::optional<ElementType>& type, DraftArgument& drafted) {
  const FunctionArgument& argument = work.kernel->arguments[number];
  const PointerUse& use = work.use.pointers[argument.name];
  const auto asked = work.request.shapes.find(argument.name);
  bool is_whole = false;
  const auto proven = argument.has_rows ? std::nullopt : proven_shape(work, use, is_whole);
  if (const PassedArgument* const passed = passed_argument(work, number))
    return add_passed_buffer(work, *passed, type, proven, drafted);
  drafted.shape = asked != work.request.shapes.end() ? asked->second : proven.value_or(Texts{"?"});
  if (asked == work.request.shapes.end()) {
    const std::string index =
        use.indices.empty() ? "" : fmt::format("{}[{}]", argument.name, text_of(use.indices.front().index));
    use_sizes_in(work, drafted.shape);
    drafted.shape_comment = proven ? "guess: from " + index.substr(0, 60) : "fill in: its indices show no extent";
    std::string allocation;
    const auto allocated = !proven && type ? allocated_shape(work, number, *type, allocation) : std::nullopt;
    if (allocated) {
      drafted.shape = *allocated;
      drafted.follows_config = has_parameter(work, product(*allocated));
      for (const std::string& extent : *allocated) use_host_names(work, extent, "guess: any value; " + allocation);
      if (type->lanes > 1) drafted.shape.back() = "(" + drafted.shape.back() + ")";
    }
    if (!allocation.empty() && !proven) drafted.shape_comment = (allocated ? "guess: " : "fill in: ") + allocation;
    if (type && type->lanes > 1) drafted.shape.push_back(std::to_string(type->lanes));
    if (!type && !work.types.is_open(argument.type)) {
      const std::vector<StructField>* const fields = work.types.fields_of(argument.type);
      const bool has_addresses =
          fields && std::ranges::any_of(*fields, [](const auto& each) { return each.pointers > 0; });
      drafted.shape.emplace_back("?");
      drafted.shape_comment = "fill in: its elements, and the bytes of a " + argument.type +
                              (has_addresses ? ", whose addresses no buffer has: pass it by value" : "");
    }
  }
  const Tokens passed = passed_to(work, number);
  const bool is_null = passed.size() == 1 && is_like(passed.front().text, "^(?:nullptr|NULL|0)$");
  if (is_null && asked == work.request.shapes.end()) {
    drafted.shape.assign(1, "?");
    drafted.shape_comment = fmt::format("fill in: the launch on line {} passes {}, and a buffer may do more",
                                        work.launch->line, passed.front().text);
  }
  is_whole = is_whole && !use.read && !has_fields(work.kernel->body, argument.name);
  drafted.role = argument.is_const ? "in" : is_whole ? "out" : "inout";
  if (!argument.is_const)
    drafted.role_comment = use.passed                             ? "guess: a function gets it"
                           : !use.written                         ? "guess: it is read, and is not const"
                           : drafted.role == "inout" && !use.read ? "guess: elements that it does not write keep theirs"
                           : drafted.role == "inout"              ? "guess: it is read and written"
                                                                  : "guess: it is only written";
  drafted.passed = is_null ? "" : pointer_text(passed);
  drafted.is_passed_on = use.written && !use.read && !use.passed;
  if (drafted.role == "inout" && !drafted.passed.empty())
    for (const MemoryUse& memory : work.host_code.memory_of(drafted.passed, *work.launch))
      if (memory.kind == MemoryUse::Kind::zeroed && memory.at < work.launch->at && memory.is_last) {
        drafted.fill = "\"zero\"";
        drafted.fill_comment = fmt::format("guess: line {} clears it", memory.line);
      }
}

/// What holds an index of another argument is filled with indices of it.
void add_fills(Work& work, const DraftStep& step) {
  const auto in_spec = [&](const std::string& argument) {
    const auto& all = work.kernel->arguments;
    const auto at = std::ranges::find_if(all, [&](const auto& each) { return each.name == argument; });
    return step.args[static_cast<std::size_t>(at - all.begin())];
  };
  for (const auto& [pointer, use] : work.use.pointers)
    for (const std::string& source : use.data) {
      const std::string name = in_spec(pointer);
      DraftArgument* const index = base::find_named(work.model.arguments, in_spec(source));
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
  // What the same variable of host code is passed for is one argument.
  const auto same = std::ranges::find_if(work.model.arguments, [&](const auto& each) {
    return !drafted.passed.empty() && each.passed == drafted.passed && each.kind == drafted.kind &&
           each.dtype == drafted.dtype && drafted.passed != "with";
  });
  if (same != work.model.arguments.end()) drafted.name = same->name;
  if (same != work.model.arguments.end() && std::ranges::find(step.args, same->name) != step.args.end() &&
      drafted.kind.empty())
    drafted.shape_comment += fmt::format("; guess: host code passes {} twice, as {}, too", drafted.passed, same->name);
  // The names serve only the spec, whose expressions have words such as `in`.
  for (;; drafted.name += "_") {
    if (!spec::identifier_complaint(drafted.name).empty()) continue;
    DraftArgument* const known = base::find_named(work.model.arguments, drafted.name);
    const bool differs =
        known && (known->dtype != drafted.dtype || known->kind != drafted.kind ||
                  (!known->passed.empty() && !drafted.passed.empty() && known->passed != drafted.passed));
    if (differs || std::ranges::find(step.args, drafted.name) != step.args.end()) continue;
    step.args.push_back(drafted.name);
    if (!known) return work.model.arguments.push_back(std::move(drafted));
    known->reads_later = known->reads_later || (drafted.role != "out" && known->is_passed_on);
    if (known->role == "in" && drafted.role != "in") known->role = "inout";
    if (known->shape.size() == 1 && known->shape.front() == "?") {
      known->shape = drafted.shape;
      known->shape_comment = drafted.shape_comment;
    }
    return;
  }
}

/// Scratch is what one kernel writes and a later one reads, if the host copies others back and not it.
void add_scratch(Work& work) {
  if (!work.launch) return;
  const auto is_used = [&](const std::string& pointer, MemoryUse::Kind kind) {
    return std::ranges::any_of(work.host_code.memory_of(pointer, *work.launch),
                               [&](const MemoryUse& use) { return use.kind == kind; });
  };
  for (DraftArgument& each : work.model.arguments) {
    const auto memory = work.host_code.memory_of(each.passed, *work.launch);
    if (work.in_steps && each.is_passed_on && each.reads_later && is_used("*", MemoryUse::Kind::to_host) &&
        !memory.empty() && !is_used(each.passed, MemoryUse::Kind::to_host) &&
        !is_used(each.passed, MemoryUse::Kind::to_device)) {
      each.role = "scratch";
      each.role_comment =
          fmt::format("guess: one kernel writes it, a later one reads it; line {}", memory.front().line);
      each.fill.clear();
      for (DraftArgument& other : work.model.arguments)
        if (other.fill.find("\"" + each.name + "\"") != std::string::npos) other.fill.clear();
    } else if (each.follows_config) {
      each.shape_comment = "fill in: a size that no parameter changes, in place of " + product(each.shape);
      each.shape = {"?"};
    }
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
      else if (const PassedArgument* const passed = passed_argument(work, i);
               passed && passed->kind == PassedArgument::Kind::value)
        own.kind = "struct";
      else if (argument.pointers == 2 || (argument.pointers == 0 && (type ? type->lanes > 1 : !open)))
        scalars ? add_value(work, argument, type, own) : void();
      else if (scalars == (argument.pointers == 0))
        scalars ? add_scalar(work, step, i, own) : add_buffer(work, i, type, own);
    }
  for (DraftArgument& each : drafted) add_argument(work, step, std::move(each));
  add_fills(work, step);
}

void add_constants(Work& work) {
  for (const ConstantVariable& variable : work.names.constants) {
    if (base::find_named(work.model.arguments, variable.name) || !mentions(work.kernel->body, variable.name)) continue;
    const auto type = work.types.element_type(variable.type);
    DraftArgument drafted{variable.name, type ? to_string(type->type) : "", {}, "in", "constant"};
    drafted.shape_comment = "guess: from its declaration; its contents are random";
    bool is_known = type.has_value();
    for (const Tokens& extent : variable.extents) {
      drafted.shape.push_back(work.expressions.text_of(extent).value_or("?"));
      is_known = is_known && integer_of(drafted.shape.back());
    }
    if (drafted.shape.empty()) drafted.shape = {"1"};
    if (is_known && type->lanes > 1) drafted.shape.push_back(std::to_string(type->lanes));
    if (is_known)
      work.model.arguments.push_back(std::move(drafted));
    else
      work.model.notes.push_back(
          fmt::format("guess: {} (line {}) is a __constant__ variable: an argument with kind = \"constant\" fills it",
                      variable.name, variable.line));
  }
}

/// Says which buffers are parts of another one in host code: x + n beside x.
void add_parts(DraftModel& model) {
  const auto base_of = [](const Tokens& tokens) {
    const auto end = std::ranges::find_if(tokens, [](const Token& each) { return is_like(each.text, "^[-+[]$"); });
    return text_of(Tokens(tokens.begin(), end));
  };
  for (DraftArgument& each : model.arguments) {
    const Tokens own = tokens_of(each.passed);
    const std::string base = base_of(own);
    const bool is_sum = operands(own, "[-+]").size() > 1;
    for (const DraftArgument& other : model.arguments) {
      if (&other == &each || each.shape.empty() || base.empty() || base == each.passed ||
          !(other.passed == base || (is_sum && base_of(tokens_of(other.passed)) == base)))
        continue;
      each.shape_comment += fmt::format("{}host code passes {}, a part of what {} is",
                                        each.shape_comment.empty() ? "guess: " : "; ", each.passed, other.name);
      break;
    }
  }
}

/// before: the launch of the step before it; nullptr: none.
void add_kernel(Work& work, const ChosenKernel& chosen, const Launch* before) {
  work.kernel = chosen.kernel;
  work.launch = chosen.launch;
  // A call is one launch: where the source has it in a loop, it does not show what one round passes.
  if (work.request.passed && work.launch && std::ranges::any_of(work.launch->around, [](const LaunchLoop& each) {
        return each.kind == LaunchLoop::Kind::loop && !is_timing(each);
      }))
    work.launch = nullptr;
  work.types = work.source_types;
  work.expressions = work.source_expressions;
  work.sizes.clear();
  DraftStep step;
  add_launch(work, step);
  add_entry(work, step);
  if (work.request.passed) check_passed(work);
  add_sizes(work);
  add_block(work, step);
  add_grid(work, step);
  add_arguments(work, step);
  add_shared(work, step);
  if (work.in_steps) add_other_work(work, step, before, work.launch);
  work.model.steps.push_back(std::move(step));
}

/// Sizes without a value: smaller ones where there are several, or one twice, which multiply, or on an axis with a
/// lower limit.
void give_values(DraftModel& model) {
  bool is_flat = true;
  for (const DraftArgument& each : model.arguments)
    is_flat = is_flat && (each.shape.size() < 2 || integer_of(each.shape.back()));
  for (const DraftStep& each : model.steps)
    is_flat = is_flat && each.grid.size() == 1 && each.grid.front().find('*') == std::string::npos;
  std::size_t open = 0;
  for (const DraftSize& size : model.sizes) open += size.value.empty();
  for (DraftSize& size : model.sizes)
    if (size.value.empty())
      size.value = open == 1 && is_flat ? "1048576" : open <= 2 ? "1024" : open == 3 ? "256" : "64";
}

/// Names the functions whose launches are not steps.
void add_other_functions(Work& work) {
  std::set<std::size_t> functions{work.launch->function};
  Texts others;
  for (const Launch& each : work.host_code.launches())
    if (each.is_read && functions.insert(each.function).second)
      others.push_back(fmt::format("{} (line {})", work.host_code.function_name(each.function), each.line));
  if (!others.empty())
    work.model.notes.push_back(fmt::format("guess: the steps are the launches of {}; other launches are in {}",
                                           work.host_code.function_name(work.launch->function),
                                           fmt::join(others, ", ")));
}

DraftModel drafted_model(Work& work, const std::vector<ChosenKernel>& kernels) {
  work.model.kernel = kernels.front().kernel->name.substr(0, 100);
  RE2::GlobalReplace(&work.model.kernel, "[^A-Za-z0-9]", "_");
  for (const auto& [name, value] : work.request.sizes) work.taken.insert(name);
  for (const ChosenKernel& each : kernels) keep_kernel(work, *each.kernel);
  add_macros(work);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    add_kernel(work, kernels[i], i > 0 ? kernels[i - 1].launch : nullptr);
  if (work.in_steps) add_other_work(work, work.model.steps.back(), work.launch, nullptr);
  if (work.in_steps) add_other_functions(work);
  for (const ChosenKernel& kernel : kernels) {
    work.kernel = kernel.kernel;
    add_constants(work);
  }
  add_scratch(work);
  add_parts(work.model);
  // Names that only the user's own expressions have.
  for (const std::vector<std::string>* texts : {&work.request.grid, &work.request.block, &work.request.constraints})
    use_sizes_in(work, *texts);
  for (const auto& [argument, shape] : work.request.shapes) use_sizes_in(work, shape);
  work.model.constraints.insert(work.model.constraints.end(), work.request.constraints.begin(),
                                work.request.constraints.end());
  if (work.request.passed) {
    for (DraftSize& size : work.model.sizes)
      if (size.value.empty()) size = {size.name, "\"?\"", "fill in: no argument gives it"};
  } else {
    give_values(work.model);
  }
  if (work.model.parameters.empty())
    work.model.parameters.push_back(
        {unused_name(work, "VARIANT", "_", true), "[1]", false,
         "no open parameter was found: macros and template parameters of the kernel go here", false});
  return std::move(work.model);
}

std::string list_of(const std::vector<KernelFunction>& kernels) {
  Texts names;
  for (const KernelFunction& kernel : kernels)
    names.push_back(fmt::format("{} (line {})", kernel.qualified, kernel.line));
  return fmt::format("{}", fmt::join(names, ", "));
}

auto is_named(const KernelFunction& kernel) {
  return [&](const std::string& entry) { return kernel.name == entry || kernel.qualified == entry; };
}

/// Whether the later launch is the same, but for numbers in the place of variables, and nothing else is done between
/// them, or it is the one whose time is measured: the earlier one warms up.
bool warms_up(const HostCode& host, const Launch& earlier, const Launch& later, bool is_next) {
  for (const auto* around : {&earlier.around, &later.around})
    if (!std::ranges::all_of(*around, [](const auto& each) { return each.kind == LaunchLoop::Kind::loop; }))
      return false;
  const bool is_measured = std::ranges::any_of(later.around, [&](const LaunchLoop& each) {
    return is_timing(each) && (earlier.at < each.body || each.last <= earlier.at);
  });
  return earlier.kernel == later.kernel &&
         std::equal(earlier.arguments.begin(), earlier.arguments.end(), later.arguments.begin(), later.arguments.end(),
                    [](const Tokens& a, const Tokens& b) {
                      return text_of(a) == text_of(b) || (integer_of(text_of(a)) && b.size() == 1 && b[0].is_word());
                    }) &&
         (is_measured || (is_next && host.other_work(&earlier, &later).empty()));
}

/// The launches of the function that launches the largest number of different kernels, main before others; empty: no
/// function launches one. Without those that warm up, which the notes name.
std::vector<ChosenKernel> launched_kernels(const std::vector<KernelFunction>& kernels, const HostCode& host,
                                           const Texts& entries, Texts& notes) {
  std::map<std::size_t, std::vector<ChosenKernel>> functions;
  std::map<std::size_t, std::set<std::string>> different;
  for (const Launch& launch : host.launches())
    for (const KernelFunction& kernel : kernels)
      if (launch.is_read && kernel.name == launch.kernel &&
          (entries.empty() || std::ranges::any_of(entries, is_named(kernel)))) {
        functions[launch.function].push_back({&kernel, &launch});
        different[launch.function].insert(kernel.qualified);
        break;
      }
  const auto largest = std::max_element(different.begin(), different.end(), [&](const auto& a, const auto& b) {
    const std::size_t is_main = host.function_name(b.first) == "main" ? 1 : 0;
    return a.second.size() < b.second.size() + is_main;
  });
  if (largest == different.end()) return {};
  const std::vector<ChosenKernel>& all = functions[largest->first];
  std::vector<ChosenKernel> chosen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t later = i + 1;
    while (later < all.size() && !warms_up(host, *all[i].launch, *all[later].launch, later == i + 1)) ++later;
    if (later < all.size())
      notes.push_back(fmt::format("guess: the launch of {} on line {} warms up for that on line {}, and is not a step",
                                  all[i].kernel->name, all[i].launch->line, all[later].launch->line));
    else
      chosen.push_back(all[i]);
  }
  return chosen;
}

/// How many arguments of the launch are variables of the same names as the kernel's.
std::size_t own_names(const KernelFunction& kernel, const Launch& launch) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(kernel.arguments.size(), launch.arguments.size()); ++i)
    count += text_of(launch.arguments[i]) == kernel.arguments[i].name;
  return count;
}

/// notes: receives the launches that are not steps.
std::vector<ChosenKernel> chosen_kernels(const std::vector<KernelFunction>& kernels, const HostCode& host,
                                         const DraftRequest& request, Texts& notes) {
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorKind::invalid_argument, request.source_path + ": " + message);
  };
  const auto of_headers = [&] {
    std::string text;
    for (const auto& [path, header] : request.headers)
      if (const auto others = kernel_functions(tokenize(header).tokens); !others.empty())
        text += fmt::format("; {}, which it includes, has {}", base::printable(path.string()), list_of(others));
    return text.empty() ? text : text + ": name that file";
  };
  if (kernels.empty()) fail("no __global__ function with a body was found" + of_headers());
  Texts names;
  for (const KernelFunction& kernel : kernels) names.push_back(kernel.qualified);
  const auto kernel_of = [&](const std::string& entry) {
    return std::ranges::find_if(kernels, [&](const auto& kernel) { return is_named(kernel)(entry); });
  };
  for (const std::string& entry : request.entries)
    if (kernel_of(entry) == kernels.end())
      fail(fmt::format("no kernel '{}' was found{}; it has {}{}{}", base::printable(entry, 80),
                       base::did_you_mean(entry, names), list_of(kernels), of_headers(),
                       entry.find('<') == std::string::npos ? "" : "; name it without its template arguments"));
  std::vector<ChosenKernel> launched = launched_kernels(kernels, host, request.entries, notes);
  if (request.launched_steps) {
    if (launched.empty()) fail("no function of the file launches its kernels; --entry FIRST,SECOND names the steps");
    return launched;
  }
  if (request.entries.empty() && kernels.size() > 1) {
    std::set<const KernelFunction*> different;
    Texts lines;
    if (request.passed) fail(fmt::format("several kernels were found: {}; entry chooses one", list_of(kernels)));
    for (const ChosenKernel& each : launched)
      if (different.insert(each.kernel).second) lines.push_back(std::to_string(each.launch->line));
    fail(
        fmt::format("several kernels were found: {}; --entry NAME chooses one, and {} [[steps]], "
                    "which a configuration launches one after the other",
                    list_of(kernels),
                    different.size() < 2
                        ? fmt::format("--entry {},{} drafts", names[0], names[1])
                        : fmt::format("--steps drafts the launches of {} (lines {}) as",
                                      host.function_name(launched.front().launch->function), fmt::join(lines, ", "))));
  }
  std::vector<ChosenKernel> chosen;
  for (const std::string& entry : request.entries.empty() ? Texts{names.front()} : request.entries) {
    const KernelFunction& kernel = *kernel_of(entry);
    // The first one that passes the most variables under the kernel's own names: others may warm up.
    const Launch* best = nullptr;
    for (const Launch& each : host.launches())
      if (each.kernel == kernel.name && (!best || own_names(kernel, each) > own_names(kernel, *best))) best = &each;
    chosen.push_back({&kernel, best});
  }
  return chosen;
}

/// Puts the wrapper in the place of a kernel with functors.
WrappedKernel wrap(const DraftRequest& request, const HostCode& host, std::vector<ChosenKernel>& chosen, Draft& draft) {
  WrappedKernel wrapped;
  for (ChosenKernel& each : chosen) {
    const auto functor = functor_argument(*each.kernel);
    const std::string place = fmt::format("{}:{}: ", request.source_path, each.kernel->line);
    if (functor && (request.wrapper.empty() || chosen.size() > 1))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}argument '{}' of {} is a functor, which a spec cannot pass. `xtune init --wrap{}` "
                              "writes a kernel that makes it",
                              place, each.kernel->arguments[*functor].name, each.kernel->name,
                              chosen.size() > 1 ? " --entry " + each.kernel->name : ""));
    if (!functor && !request.wrapper.empty())
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}{} takes no functor or lambda: draft it without --wrap", place, each.kernel->name));
    if (!functor) continue;
    wrapped = wrapped_kernel(*each.kernel, each.launch, host, request.source, request.source_path);
    draft.wrapper = wrapped.text;
  }
  return wrapped;
}

}  // namespace

Draft draft_spec(const DraftRequest& request) {
  const TokenizedSource whole = tokenize(request.source);
  const std::vector<KernelFunction> kernels = kernel_functions(whole.tokens);
  const HostCode host(whole, kernels);
  Texts notes;
  std::vector<ChosenKernel> chosen = chosen_kernels(kernels, host, request, notes);
  for (const ChosenKernel& each : chosen)
    if (const std::string complaint = overload_complaint(whole, *each.kernel); !complaint.empty())
      throw Error(ErrorKind::invalid_argument, request.source_path + ": " + complaint);
  // Names that only host code uses cannot be parameters.
  build::UnitRoots roots;
  for (const ChosenKernel& each : chosen) roots.entries.insert(each.kernel->name);
  std::map<std::string, std::string> texts;
  for (const auto& [path, header] : request.headers) texts[path.string()] = header;
  const TokenizedSource source = tokenize(build::device_unit(request.source, texts, roots).source);
  std::vector<TokenizedSource> headers;
  TokenizedSource all = whole;  // host code names types of launches
  for (const auto& [path, header] : request.headers) {
    headers.push_back(tokenize(header));
    add_source(all, headers.back());
  }
  const TypeNames types(all);
  const SourceNames names = source_names(source, headers, types, kernels);
  Draft draft;
  const WrappedKernel wrapped = wrap(request, host, chosen, draft);
  if (!draft.wrapper.empty()) chosen = {{&wrapped.kernel, wrapped.launch ? &*wrapped.launch : nullptr}};
  Work work{request, names, types, host, request.launched_steps};
  if (request.launched_steps) work.model.notes = std::move(notes);
  draft.model = drafted_model(work, chosen);
  const DraftModel& model = draft.model;
  draft.kernel = model.kernel;
  draft.entry = model.steps.front().entry;
  for (const DraftParameter& parameter : model.parameters)
    if (!parameter.commented_out) draft.parameters.push_back(parameter.name);
  for (const DraftSize& size : model.sizes) draft.sizes.push_back(size.name);
  for (const DraftArgument& argument : model.arguments) draft.arguments.push_back(argument.name);
  write_draft(model, work.request, draft);
  return draft;
}

Draft draft_file(const std::filesystem::path& source, const std::filesystem::path& folder, DraftRequest request,
                 const std::function<void(const std::string&)>& tell) {
  spec::KernelSpec kernel;
  for (const auto& [path, from] : request.project.include_dirs) kernel.include_dirs.push_back(folder / path);
  const UserHeaders headers = user_headers({std::filesystem::absolute(source), request.source}, kernel).value();
  request.headers = headers.texts();
  for (const std::string& line : described(request.project))
    tell(fmt::format("{}: {}", base::printable(source.string()), line));
  for (const std::string& line : build::missing_lines(headers.missing, headers.searched)) tell("warning: " + line);
  return draft_spec(request);
}

}  // namespace xtune::init
