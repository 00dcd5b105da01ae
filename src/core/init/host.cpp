// Host code is read as it stands: nothing is evaluated, and a function sees only its own variables.
#include "core/init/host.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <tuple>

namespace xtune::init {

namespace {

/// The last word before template arguments that end at i, and these.
std::size_t name_before(const Tokens& tokens, std::size_t i, std::vector<Tokens>& templates) {
  if (!is_at(tokens, i, ">")) return i;
  int depth = 0;
  for (std::size_t at = i; at > 0; --at) {
    depth += tokens[at].is(">") - tokens[at].is("<");
    if (depth != 0) continue;
    templates = split_arguments(part(tokens, at + 1, i));
    return at - 1;
  }
  return i;
}

std::size_t statement_end(const Tokens& tokens, std::size_t i) {
  for (; i < tokens.size() && !tokens[i].is(";"); ++i) {
    if (tokens[i].is("{")) return closing(tokens, i);
    if (tokens[i].is("(")) i = std::min(closing(tokens, i), tokens.size() - 1);
  }
  return i;
}

/// Whether the >> there reads from a stream: what is before it begins a statement or a condition.
bool reads_stream(const Tokens& tokens, std::size_t i) {
  std::size_t first = i;
  bool is_input = false;
  for (; first > 0 && (tokens[first - 1].is_word() || RE2::FullMatch(tokens[first - 1].text, "\\.|->|::|>")); --first)
    is_input = is_input || tokens[first - 1].is("cin");
  if (first == i || first == 0 || tokens[first].is("return") || tokens[first].is(">")) return false;
  const bool is_condition =
      first > 1 && tokens[first - 1].is("(") && RE2::FullMatch(tokens[first - 2].text, "if|while|!");
  return is_input || is_condition || RE2::FullMatch(tokens[first - 1].text, "[;{}!]");
}

/// Where the arguments of a call open that lets the device work, of the runtime or a library; 0: i is none.
std::size_t device_call(const Tokens& tokens, std::size_t i) {
  static const RE2 calls(
      "(?:cuda|hip|cu)\\w*Launch\\w*|(?:cu|hip|roc)(?:blas|fft|rand|sparse|solver|dnn|tensor|TENSOR)\\w+"),
      settings("\\w*(?:Create|Destroy|Get|Plan|Stream|Descriptor|Mode|BufferSize|Attribute|HostFunc)\\w*"),
      spaces("thrust|cub|hipcub|rocprim"), helpers("(?:raw|device)_pointer_cast|make_\\w+|device_ptr|get");
  std::size_t name = i;
  if (RE2::FullMatch(tokens[i].text, spaces))
    while (is_at(tokens, name + 1, "::") && name + 2 < tokens.size()) name += 2;
  std::size_t open = name + 1;
  if (is_at(tokens, open, "<") && name > i) open = closing(tokens, open) + 1;
  const std::string& text = tokens[name].text;
  const bool is_call =
      name > i ? !RE2::FullMatch(text, helpers) : RE2::FullMatch(text, calls) && !RE2::FullMatch(text, settings);
  return is_call && is_at(tokens, open, "(") ? open : 0;
}

/// Where the body of a lambda opens that begins at i; the number of tokens: none does.
std::size_t lambda_body(const Tokens& tokens, std::size_t i) {
  const bool indexes = i == 0 || (tokens[i - 1].is_word() && !tokens[i - 1].is("return")) ||
                       RE2::FullMatch(tokens[i - 1].text, "[\\])]");
  if (indexes || !is_at(tokens, i, "[")) return tokens.size();
  std::size_t at = closing(tokens, i) + 1;
  while (at < tokens.size() && (tokens[at].is_word() || RE2::FullMatch(tokens[at].text, "\\(|->|::|[<>*&]")))
    at = (tokens[at].is("(") ? closing(tokens, at) : at) + 1;
  return is_at(tokens, at, "{") ? at : tokens.size();
}

using References = std::map<std::string, std::set<std::size_t>>;

/// The variables that a call whose arguments open at i may change.
std::vector<std::string> changed_by_call(const Tokens& tokens, std::size_t i, const References& references) {
  static const RE2 no_call("if|while|for|switch|return|sizeof|alignof|decltype|(?:cuda|hip)Launch\\w+"),
      changing("swap|exchange|from_chars|tie|getline");
  std::vector<Tokens> templates;
  const std::string& called = tokens[name_before(tokens, i - 1, templates)].text;
  if (RE2::FullMatch(called, no_call) || (i > 2 && tokens[i - 2].is(">") && tokens[i - 3].is(">"))) return {};
  std::vector<std::string> names;
  const auto known = references.find(called);
  const std::vector<Tokens> arguments = split_arguments(part(tokens, i + 1, closing(tokens, i)));
  for (std::size_t number = 0; number < arguments.size(); ++number) {
    const Tokens& each = arguments[number];
    const bool is_reference =
        RE2::FullMatch(called, changing) || (known != references.end() && known->second.contains(number));
    if (is_reference && !each.empty() && each[0].is_word() && (each.size() == 1 || is_at(each, 1, ".")))
      names.push_back(each[0].text);
    for (std::size_t at = 0; at + 1 < each.size(); ++at)  // &n, (void**)&n
      if (each[at].is("&") && each[at + 1].is_word() &&
          (at == 0 || (at > 1 && each[at - 1].is(")") && each[at - 2].is("*"))))
        names.push_back(each[at + 1].text);
  }
  return names;
}

std::vector<Change> changes_in(const Tokens& tokens, const References& references) {
  static const RE2 no_type("return|else|new|case|do|throw|goto|delete"), step("[-+*/%&|^]=|\\+\\+|--");
  const Token none;
  std::vector<Change> found;
  bool declares_extents = false;  // dim3 grid(x), block(y);
  int depth = 0, extents_depth = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token &token = tokens[i], &before = i > 0 ? tokens[i - 1] : none, &second = i > 1 ? tokens[i - 2] : none;
    const auto add = [&](const std::string& name, std::optional<Tokens> value = {}, bool declares = false) {
      found.push_back({name, i, token.line, std::move(value), declares});
    };
    depth += RE2::FullMatch(token.text, "[({\\[]") - RE2::FullMatch(token.text, "[)}\\]]");
    if (token.is("dim3") || token.is(";")) {
      declares_extents = token.is("dim3");
      extents_depth = depth;
    }
    if (token.is("(") && i > 0)
      for (const std::string& name : changed_by_call(tokens, i, references)) add(name);
    if (token.is(">") && is_at(tokens, i + 1, ">") && i + 2 < tokens.size() && tokens[i + 2].is_word() &&
        reads_stream(tokens, i))
      add(tokens[i + 2].text);
    if (!token.is_word()) continue;
    std::size_t next = i + 1;
    while (is_at(tokens, next, "[")) next = closing(tokens, next) + 1;
    const bool is_listed = declares_extents && depth == extents_depth && before.is(","),
               is_member = before.is(".") || before.is("->");
    const auto is_type = [&](const Token& each) { return each.is_word() && !RE2::FullMatch(each.text, no_type); };
    const bool is_typed = is_listed || is_type(before);
    const bool points =
        RE2::FullMatch(before.text, "[*&>]") && (is_type(second) || RE2::FullMatch(second.text, "[*>]"));
    const bool declares = is_typed || points || before.is(",");
    const std::string twice = next + 1 < tokens.size() ? tokens[next].text + tokens[next + 1].text : "";
    const bool is_shifted = twice == "<<=" || twice == ">>=";        // two tokens
    const std::string& name = is_member ? second.text : token.text;  // grid.x = 4
    if (is_at(tokens, next, "=") && !(before.is("*") && !points)) {
      const Tokens value = simplified(expression_at(tokens, next + 1), false);
      const bool is_whole = !is_member && (next == i + 1 || declares);
      const bool is_extent = before.is(".") && next == i + 1 && i > 2 && RE2::FullMatch(token.text, "[xyz]") &&
                             RE2::FullMatch(tokens[i - 3].text, "[;{}]");
      add(name, is_whole || is_extent ? std::optional(value) : std::nullopt, is_whole && declares);
      if (is_extent) found.back().member = token.text;
      // By a reference or an address it may be changed, too.
      if (!value.empty() && value.back().is_word() && value.size() <= 2 &&
          (value.size() == 1 ? before.is("&") : value.front().is("&")) &&
          !mentions(part(tokens, std::max<std::size_t>(i, 6) - 6, i), "const"))
        add(value.back().text);
    } else if (is_typed && next == i + 1 && (is_at(tokens, next, "(") || is_at(tokens, next, "{"))) {
      Tokens value = part(tokens, next, closing(tokens, next) + 1);  // dim3 grid(x, y)
      value.insert(value.begin(), is_listed ? Token{Token::Kind::word, "dim3"} : before);
      add(name, simplified(value, false), true);
    } else if ((before.is("dim3") || is_listed) && (is_at(tokens, i + 1, ";") || is_at(tokens, i + 1, ","))) {
      add(name, tokens_of("dim3()"), true);
    } else if ((next < tokens.size() && RE2::FullMatch(tokens[next].text, step)) || is_shifted || before.is("++") ||
               before.is("--")) {
      add(name);
    }
  }
  return found;
}

LaunchLoop loop_of(const Tokens& tokens, std::size_t at, std::size_t open) {
  LaunchLoop loop{at, tokens[at].line, "", {}, {}, {}};
  if (RE2::FullMatch(tokens[at].text, "if|else|switch|\\?")) loop.kind = LaunchLoop::Kind::condition;
  if (tokens[at].is("[")) loop.kind = LaunchLoop::Kind::lambda;
  if (loop.kind == LaunchLoop::Kind::condition && is_at(tokens, open, "("))
    loop.end = part(tokens, open + 1, closing(tokens, open));
  if (!tokens[at].is("for")) return loop;
  const auto parts = operands(part(tokens, open + 1, closing(tokens, open)), ";");
  if (parts.size() != 3) return loop;
  const Tokens &first = parts[0].second, &test = parts[1].second, &next = parts[2].second;
  const auto set = std::ranges::find_if(first, [](const Token& each) { return each.is("="); });
  if (set == first.begin() || set == first.end() || test.size() < 3 || next.size() < 2) return loop;
  const std::string index = (set - 1)->text, compared = test[1].text;
  const bool counts = test[0].is(index) && (compared == "<" || compared == "<=" || compared == "!=");
  const bool by_one = next.size() == 2 && mentions(next, "++") && mentions(next, index);
  const bool by_step = next.size() > 2 && next[0].is(index) && next[1].is("+=");
  if (!counts || !(by_one || by_step)) return loop;
  loop.index = index;
  loop.begin = Tokens(set + 1, first.end());
  loop.end = part(test, 2, test.size());
  loop.closed = compared == "<=";
  loop.step = by_one ? Tokens{{Token::Kind::number, "1"}} : part(next, 2, next.size());
  return loop;
}

}  // namespace

std::string pointer_text(Tokens tokens) {
  for (std::size_t before = 0; before != tokens.size();) {
    before = tokens.size();
    tokens = unwrapped(std::move(tokens));
    if (tokens.empty()) break;
    if (tokens.front().is("&")) tokens.erase(tokens.begin());
    const bool cast = !tokens.empty() && tokens.front().text.ends_with("_cast") && is_at(tokens, 1, "<");
    const std::size_t end = cast || is_at(tokens, 0, "(") ? closing(tokens, cast ? 1 : 0) : tokens.size();
    if (end + 1 < tokens.size() && (cast || tokens[end - 1].is("*"))) tokens = part(tokens, end + 1, tokens.size());
  }
  return text_of(tokens);
}

HostCode::HostCode(const TokenizedSource& source, const std::vector<KernelFunction>& kernels) {
  read(source);
  for (const Directive& directive : source.directives) {
    const Tokens tokens = directive.name == "define" ? tokens_of(directive.text) : Tokens();
    if (tokens.size() < 2) continue;
    if (directive.text[tokens.front().text.size()] != '(') {
      constants_.push_back({tokens.front().text, simplified(part(tokens, 1, tokens.size()), false)});
      continue;
    }
    const std::size_t end = closing(tokens, 1);
    Formula formula{{}, part(tokens, end + 1, tokens.size())};
    for (const Tokens& each : split_arguments(part(tokens, 2, end))) formula.parameters.push_back(text_of(each));
    for (const Change& each : changes_in(formula.body, {}))
      if (const auto at = std::ranges::find(formula.parameters, each.name); at != formula.parameters.end())
        references_[tokens.front().text].insert(static_cast<std::size_t>(at - formula.parameters.begin()));
    add_formula(tokens.front().text, std::move(formula));
  }
  find_functions();
  for (std::size_t i = 2; i < tokens_.size(); ++i) {  // auto name = [](int n) {}
    const std::size_t body = lambda_body(tokens_, i), open = closing(tokens_, i) + 1;
    if (body >= tokens_.size()) continue;
    const std::size_t name = tokens_[i - 1].is("=") ? i - 2 : i;
    lambdas_.push_back({name, is_at(tokens_, open, "(") ? open : i, body, closing(tokens_, body)});
    if (is_at(tokens_, open, "(")) note_references(tokens_[name].text, part(tokens_, open + 1, closing(tokens_, open)));
  }
  changes_ = changes_in(tokens_, references_);
  for (const auto* all : {&functions_, &lambdas_})
    for (const Function& function : *all)
      for (const Tokens& each : split_arguments(part(tokens_, function.begin + 1, closing(tokens_, function.begin))))
        changes_.push_back({argument_of(each).name, function.body, tokens_[function.body].line, {}, true});
  std::ranges::stable_sort(changes_, {}, &Change::at);
  std::set<std::string> names;
  for (const KernelFunction& kernel : kernels) names.insert(kernel.name);
  find_memory();
  find_launches(names);
  find_launching();
}

/// All branches of directives, as any may be compiled, but not those of #else that do not close what they open: both
/// may open the same brace.
void HostCode::read(const TokenizedSource& source) {
  for (std::size_t i = 0; i < source.tokens.size();) {
    std::size_t end = i;
    int depth = 0, lowest = 0;
    for (; end < source.tokens.size() && source.tokens[end].alternative; ++end) {
      const std::string& text = source.tokens[end].text;
      depth += RE2::FullMatch(text, "[({\\[]") - RE2::FullMatch(text, "[)}\\]]");
      lowest = std::min(lowest, depth);
    }
    if (end == i) ++end;
    if (depth == 0 && lowest == 0)
      tokens_.insert(tokens_.end(), source.tokens.begin() + static_cast<std::ptrdiff_t>(i),
                     source.tokens.begin() + static_cast<std::ptrdiff_t>(end));
    i = end;
  }
  std::vector<std::size_t> open;
  block_ends_.assign(tokens_.size(), tokens_.size());
  for (std::size_t i = tokens_.size(); i-- > 0;) {
    if (tokens_[i].is("}")) open.push_back(i);
    if (!open.empty()) block_ends_[i] = open.back();
    if (tokens_[i].is("{") && !open.empty()) open.pop_back();
  }
  std::vector<std::size_t> conditions;
  for (const Directive& each : source.directives) {
    if (each.name.starts_with("if")) {
      conditions.push_back(conditions_.size());
      conditions_.emplace_back(each.begin, each.text == "1" ? each.begin : std::string::npos);
      condition_lines_.push_back(each.line);
    } else if (each.name == "endif" && !conditions.empty()) {
      conditions_[conditions.back()].second = std::min(conditions_[conditions.back()].second, each.begin);
      conditions.pop_back();
    }
  }
}

/// Of two bodies, neither counts.
void HostCode::add_formula(const std::string& name, Formula formula) {
  const std::string body = text_of(formula.body);
  if (const auto [known, is_new] = formulas_.try_emplace(name, std::move(formula));
      !is_new && text_of(known->second.body) != body)
    known->second.body.clear();
}

void HostCode::note_references(const std::string& name, const Tokens& arguments) {
  const std::vector<Tokens> all = split_arguments(arguments);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const FunctionArgument each = argument_of(all[i]); each.is_reference && !each.is_const)
      references_[name].insert(i);
}

/// constexpr int A = 1, B = 2; of a class, its own functions see it.
void HostCode::find_constants(std::size_t begin, std::size_t end, const Places& classes) {
  const Tokens statement = part(tokens_, begin, end);
  if (!mentions(statement, "const") && !mentions(statement, "constexpr")) return;
  const auto of = std::find_if(classes.rbegin(), classes.rend(), [&](const auto& each) { return each.second > end; });
  for (const Tokens& each : split_arguments(statement))
    if (const auto parts = operands(each, "="); parts.size() == 2 && parts.front().second.back().is_word()) {
      Constant& made =
          constants_.emplace_back(Constant{parts.front().second.back().text, simplified(parts.back().second, false)});
      if (of != classes.rend()) std::tie(made.begin, made.end) = *of;
    }
}

std::map<std::string, Tokens> HostCode::constants_at(const Launch& launch) const {
  std::map<std::string, Tokens> found;
  for (const Constant& each : constants_)
    if (each.begin <= launch.at && launch.at < each.end)
      if (const auto [known, is_new] = found.try_emplace(each.name, each.value); !is_new) known->second.clear();
  return found;
}

void HostCode::find_launching() {
  const auto launches = [](const Tokens& tokens, std::size_t i) {
    return tokens[i].is("<<") && is_at(tokens, i + 1, "<");
  };
  for (const Launch& launch : launches_) launching_.insert(function_name(launch.function));
  for (const auto& [name, formula] : formulas_)
    for (std::size_t i = 0; i < formula.body.size(); ++i)
      if (launches(formula.body, i)) launching_.insert(name);
  for (std::size_t before = std::string::npos; before != launching_.size();) {
    before = launching_.size();
    for (const auto* all : {&functions_, &lambdas_})
      for (const Function& each : *all)
        for (std::size_t i = each.begin; i < std::min(each.end, tokens_.size()); ++i)
          if (launches(tokens_, i) || device_call(tokens_, i) > 0 ||
              (launching_.contains(tokens_[i].text) && is_at(tokens_, i + 1, "(")))
            launching_.insert(tokens_[each.name].text);
  }
}

void HostCode::find_functions() {
  static const RE2 no_arguments("noexcept|throw|requires|alignas|decltype|__\\w+__"),
      behind_arguments("[{:&]|&&|->|const|volatile|noexcept|override|final|try|throw|requires|__\\w+__");
  std::size_t statement = 0, arguments = 0;
  bool initializes = false;  // X() : a(1), b{2} {}
  Places classes;
  for (std::size_t i = 1; i < tokens_.size(); ++i) {
    if (tokens_[i].is(";")) find_constants(statement, i, classes);
    if (tokens_[i].is(";") || tokens_[i].is("}")) statement = i + 1;
    initializes = arguments > statement && (initializes || tokens_[i].is(":"));
    if (tokens_[i].is("(")) {
      const std::size_t end = closing(tokens_, i);
      if (!initializes && !RE2::FullMatch(tokens_[i - 1].text, no_arguments)) {
        arguments = i;
        note_references(tokens_[i - 1].text, part(tokens_, i + 1, end));
      }
      i = std::min(end, tokens_.size() - 1);
    }
    if (!tokens_[i].is("{")) continue;
    const std::size_t end = closing(tokens_, i), close = arguments > statement ? closing(tokens_, arguments) : i;
    if (initializes && (tokens_[i - 1].is_word() || tokens_[i - 1].is(">"))) {
      i = std::min(end, tokens_.size() - 1);
      continue;
    }
    if (close < i && RE2::FullMatch(tokens_[close + 1].text, behind_arguments)) {
      functions_.push_back({arguments - 1, arguments, i, end});
      const Tokens body = part(tokens_, i + 1, end);
      if (body.size() > 2 && body.front().is("return") && statement_end(body, 0) + 1 == body.size()) {
        Formula formula{{}, part(body, 1, body.size() - 1)};
        for (const Tokens& each : split_arguments(part(tokens_, arguments + 1, close)))
          if (!each.empty()) formula.parameters.push_back(each.back().text);
        add_formula(tokens_[arguments - 1].text, std::move(formula));
      }
    } else if (const Tokens head = part(tokens_, statement, i);
               !is_at(tokens_, i - 1, "=") && !mentions(head, "enum")) {
      if (mentions(head, "struct") || mentions(head, "class") || mentions(head, "union")) classes.emplace_back(i, end);
      statement = i + 1;  // of a namespace or class
      continue;
    }
    i = std::min(end, tokens_.size() - 1);
    statement = i + 1;
  }
}

bool HostCode::defines(const std::string& name) const {
  return formulas_.contains(name) ||
         std::ranges::any_of(functions_, [&](const Function& each) { return tokens_[each.name].is(name); });
}

std::string HostCode::function_name(std::size_t function) const {
  return function < functions_.size() ? tokens_[functions_[function].name].text : "";
}

std::vector<LaunchLoop> HostCode::loops_around(std::size_t at, const Function& function) const {
  std::vector<LaunchLoop> loops;
  for (std::size_t i = 0; i < conditions_.size(); ++i)
    if (conditions_[i].first > tokens_[function.begin].begin && conditions_[i].first < tokens_[at].begin &&
        tokens_[at].begin < conditions_[i].second)
      loops.push_back({0, condition_lines_[i], "", {}, {}, {}, false, {}, LaunchLoop::Kind::directive});
  for (std::size_t i = function.begin; i < at; ++i) {
    const std::size_t lambda = lambda_body(tokens_, i);
    if (lambda == tokens_.size() && !RE2::FullMatch(tokens_[i].text, "for|while|do|if|else|switch|\\?")) continue;
    const bool has_header = is_at(tokens_, i + 1, "(") && !tokens_[i].is("?");
    const std::size_t header = lambda < tokens_.size() ? lambda - 1 : has_header ? closing(tokens_, i + 1) : i;
    std::size_t end = statement_end(tokens_, header + 1);
    if (header >= at || end <= at) continue;
    if (tokens_[i].is("do")) end = statement_end(tokens_, end + 1);  // while (--n);
    LaunchLoop& loop = loops.emplace_back(loop_of(tokens_, i, i + 1));
    loop.body = header + 1;
    loop.last = std::min(end, tokens_.size());
    for (std::size_t j = loop.body; j < loop.last; ++j)
      if (RE2::FullMatch(tokens_[j].text, "break|continue|goto|return"))
        loop.changed.try_emplace(loop.index, tokens_[j].line);
    for (const Change& each : changes_)
      if (loop.body <= each.at && each.at < loop.last) loop.changed.try_emplace(each.name, each.line);
  }
  return loops;
}

std::size_t HostCode::uneven(const LaunchLoop& loop) const {
  for (const auto& [name, line] : loop.changed)
    if (name == loop.index || mentions(loop.end, name)) return line;
  for (const Launch& launch : launches_) {
    const auto own = std::ranges::find_if(launch.around, [&](const LaunchLoop& each) { return each.at == loop.at; });
    const auto condition = std::find_if(own, launch.around.end(),
                                        [](const LaunchLoop& each) { return each.kind != LaunchLoop::Kind::loop; });
    if (condition != launch.around.end()) return condition->line;
  }
  return 0;
}

std::vector<std::pair<std::size_t, Tokens>> HostCode::other_work(const Launch* before, const Launch* after) const {
  static const RE2 memory("(?:cuda|hip)(?:Memcpy|Memset)\\w*");
  std::size_t from = before ? before->at + 1 : after->at, repeated = after ? after->at : 0;
  if (!before)
    for (const LaunchLoop& each : after->around)
      if (each.kind == LaunchLoop::Kind::loop) from = std::min(from, each.at);
  if (!after)
    for (const LaunchLoop& each : before->around)
      if (each.kind == LaunchLoop::Kind::loop) repeated = std::max(repeated, each.last);
  const std::size_t function = (after ? after : before)->function;
  const std::size_t to = std::min(after ? after->at : functions_[function].end, tokens_.size());
  // Of the device, which a function of another file gets.
  const auto takes_buffer = [&](std::size_t name) {
    static const RE2 others("(?:cuda|hip|if|while|for|switch|sizeof).*|.*(?:[fF]ree|print|assert|[cC]heck|CHECK).*");
    const std::string& called = tokens_[name].text;
    if (!tokens_[name].is_word() || RE2::FullMatch(called, others) || defines(called)) return false;
    return std::ranges::any_of(
        split_arguments(part(tokens_, name + 2, closing(tokens_, name + 1))), [&](const auto& each) {
          const auto uses = memory_of(pointer_text(each), after ? *after : *before);
          return std::ranges::find(uses, MemoryUse::Kind::allocated, &MemoryUse::kind) != uses.end();
        });
  };
  std::map<std::size_t, Tokens> found;  // by its first token
  for (std::size_t i = from; i + 1 < to; ++i) {
    std::vector<Tokens> templates;
    const bool is_launch = tokens_[i].is("<<") && tokens_[i + 1].is("<"),
               is_copy = RE2::FullMatch(tokens_[i].text, memory);
    std::size_t open = device_call(tokens_, i);
    if (open == 0 && tokens_[i + 1].is("(") && (is_copy || launching_.contains(tokens_[i].text) || takes_buffer(i)))
      open = i + 1;
    if (!is_launch && open == 0) continue;
    std::size_t name = is_launch ? name_before(tokens_, i - 1, templates) : i;
    const bool is_known = std::ranges::any_of(launches_, [&](const Launch& each) { return each.at == name; });
    if (tokens_[name].is(")")) name = opening(tokens_, name);  // (c ? k1 : k2)<<<1, 64>>>(x)
    const Tokens call = part(tokens_, name, is_launch ? statement_end(tokens_, name) : closing(tokens_, open) + 1);
    if (!is_known && !(is_copy && RE2::PartialMatch(text_of(call), "ToHost|DtoH|FromSymbol"))) found[name] = call;
    if (!is_launch && !is_known) i = std::max(i, std::min(name + call.size(), to) - 1);
  }
  std::set<std::string> passed, own;  // own: of this part of the function only
  for (const Launch& each : launches_)
    for (const Tokens& argument : each.arguments)
      for (const Token& word : argument)
        if (each.function == function) passed.insert(word.text);
  for (const Change& each : changes_) {
    if (each.at < from || each.at >= std::min(to, std::max(repeated, from))) continue;
    if (each.declares) own.insert(each.name);
    if (own.contains(each.name) || !passed.contains(each.name)) continue;
    std::size_t begin = each.at;
    while (begin > from && !RE2::FullMatch(tokens_[begin - 1].text, "[;{}()]")) --begin;
    const Tokens statement = expression_at(tokens_, begin);
    if (text_of(statement).find("Malloc") == std::string::npos) found.try_emplace(begin, statement);
  }
  std::vector<std::pair<std::size_t, Tokens>> work;
  for (auto& [at, tokens] : found) work.emplace_back(tokens_[at].line, std::move(tokens));
  return work;
}

std::map<std::string, Tokens> HostCode::definitions_at(const Launch& launch) const {
  std::map<std::string, Tokens> found;
  std::map<std::string, std::size_t> declared;  // where
  std::set<std::string> given;                  // arguments and inputs, whose values are not seen
  if (launch.function >= functions_.size()) return found;
  const Function& function = functions_[launch.function];
  for (const Change& each : changes_) {
    if (each.at < function.body || each.at >= function.end) continue;
    // A loop comes back to the launch with what changes behind it, unless each round declares it.
    const auto known = declared.find(each.name);
    const auto repeats = [&](const LaunchLoop& loop) {
      return (loop.kind == LaunchLoop::Kind::loop || loop.kind == LaunchLoop::Kind::lambda) && each.at < loop.last &&
             (known == declared.end() || known->second < loop.body);
    };
    if (each.declares ? each.at > launch.at || block_ends_[each.at] < launch.at
                      : each.at > launch.at && std::ranges::none_of(launch.around, repeats))
      continue;
    const auto before = found.find(each.name);
    const bool is_default = before != found.end() && text_of(before->second) == "dim3()" && each.at < launch.at &&
                            block_ends_[each.at] >= launch.at;
    const std::string member = each.name + "." + each.member;
    if (is_default && !each.member.empty() && !found.contains(member)) {
      found[member] = *each.value;
      continue;
    }
    std::erase_if(found, [&](const auto& other) { return other.first.starts_with(each.name + "."); });
    // What was made of another value than the name has now.
    const bool is_new = !found.contains(each.name) && !given.contains(each.name);
    for (auto& [other, value] : found)
      if (!is_new && other != each.name && !is_at(value, 0, "[") &&
          std::ranges::any_of(value, [&](const Token& word) { return object_of(word) == each.name; }))
        value.clear();
    if (each.declares && !tokens_[each.at].alternative) {
      declared[each.name] = each.at;
      found.erase(each.name);
      given.erase(each.name);
      if (each.value)
        found[each.name] = *each.value;
      else
        given.insert(each.name);
    } else if (tokens_[each.at].is(">") && is_new) {
      given.insert(each.name);  // std::cin >> n, its only value
    } else {
      // Which of two values it has is not known.
      const bool is_first = (is_new || is_default) && each.member.empty();
      found[each.name] = is_first ? each.value.value_or(Tokens()) : Tokens();
    }
  }
  for (auto& [name, value] : constants_at(launch))
    if (!declared.contains(name)) found.try_emplace(name, std::move(value));
  return found;
}

std::optional<FunctionArgument> HostCode::declared(const std::string& name, const Launch& launch,
                                                   std::size_t before) const {
  const Function& function = functions_[launch.function];
  const std::size_t arguments_end = closing(tokens_, function.begin);
  for (std::size_t i = function.begin + 1; i < launch.at && tokens_[i].begin < before; ++i) {
    // const float* w declares no variable `float`.
    if (!tokens_[i].is(name) || tokens_[i + 1].is_word() || RE2::FullMatch(tokens_[i + 1].text, "[*&<]|::")) continue;
    std::size_t from = i;
    while (!RE2::FullMatch(tokens_[from - 1].text, i < arguments_end ? "[(,]" : "[;{}()]")) --from;
    if (RE2::FullMatch(tokens_[from].text, "return|else|delete|case|goto|throw")) continue;
    const std::vector<Tokens> declared = split_arguments(part(tokens_, from, i + 1));  // int a = 1, *b
    FunctionArgument argument = argument_of(declared.front());
    if (argument.name.empty() || argument.type.empty()) continue;
    if (declared.size() > 1) argument.pointers = static_cast<int>(mentions(declared.back(), "*"));
    argument.name = name;
    return argument;
  }
  return std::nullopt;
}

std::vector<std::string> HostCode::callable_types() const {
  std::vector<std::string> types;
  for (std::size_t i = 0; i + 2 < tokens_.size(); ++i) {
    if (!(tokens_[i].is("struct") || tokens_[i].is("class")) || !tokens_[i + 2].is("{")) continue;
    const Tokens body = part(tokens_, i + 3, closing(tokens_, i + 2));
    const auto call = std::ranges::find_if(body, [](const Token& each) { return each.is("operator"); });
    if (call != body.end() && call + 1 != body.end() && (call + 1)->is("(")) types.push_back(tokens_[i + 1].text);
  }
  return types;
}

bool HostCode::is_dim3(const std::string& name) const {
  for (std::size_t i = 2; i < tokens_.size(); ++i)
    if (tokens_[i].is(name) && tokens_[RE2::FullMatch(tokens_[i - 1].text, "[*&]") ? i - 2 : i - 1].is("dim3"))
      return true;
  return std::ranges::any_of(
      changes_, [&](const Change& each) { return each.name == name && each.value && is_at(*each.value, 0, "dim3"); });
}

/// kernel<TILE><<<grid, block, shared>>>(arguments); at: of the "<<"
std::optional<Launch> HostCode::marked_launch(std::size_t at, const std::set<std::string>& kernels) const {
  Launch launch;
  launch.at = name_before(tokens_, at - 1, launch.templates);
  launch.kernel = tokens_[launch.at].text;
  std::size_t end = at + 2;
  for (int depth = 0; end < tokens_.size(); ++end) {
    depth += RE2::FullMatch(tokens_[end].text, "[({\\[]") - RE2::FullMatch(tokens_[end].text, "[)}\\]]");
    if (depth == 0 && tokens_[end].is(">") && is_at(tokens_, end + 1, ">") && is_at(tokens_, end + 2, ">")) break;
  }
  if (!kernels.contains(launch.kernel) || !is_at(tokens_, end + 3, "(")) return std::nullopt;
  std::vector<Tokens> settings = split_arguments(part(tokens_, at + 2, end));
  settings.resize(std::max<std::size_t>(settings.size(), 3));
  launch.grid = {settings[0]};
  launch.block = {settings[1]};
  launch.shared = settings[2];
  launch.arguments = split_arguments(part(tokens_, end + 4, closing(tokens_, end + 3)));
  return launch;
}

/// hipLaunchKernelGGL(kernel, grid, block, shared, stream, arguments...), cudaLaunchKernel(kernel, grid, block,
/// addresses, shared, stream)
std::optional<Launch> HostCode::called_launch(std::size_t at, const std::set<std::string>& kernels) const {
  std::vector<Tokens> given = split_arguments(part(tokens_, at + 2, closing(tokens_, at + 1)));
  if (given.size() < 4) return std::nullopt;
  Launch launch;
  launch.at = at;
  for (std::size_t i = 0; i < given[0].size(); ++i)
    if (kernels.contains(given[0][i].text)) {
      if (!launch.kernel.empty()) return std::nullopt;  // c ? k1 : k2
      launch.kernel = given[0][i].text;
      if (is_at(given[0], i + 1, "<"))
        launch.templates = split_arguments(part(given[0], i + 2, closing(given[0], i + 1)));
    }
  if (launch.kernel.empty()) return std::nullopt;
  launch.grid = {given[1]};
  launch.block = {given[2]};
  if (tokens_[at].is("hipLaunchKernelGGL")) {
    launch.shared = given[3];
    if (given.size() > 5) launch.arguments.assign(given.begin() + 5, given.end());
    return launch;
  }
  launch.is_cooperative = tokens_[at].text.find("Cooperative") != std::string::npos;
  if (given.size() > 4) launch.shared = given[4];
  launch.arguments = {given[3]};  // completed where definitions are known
  return launch;
}

void HostCode::find_launches(const std::set<std::string>& kernels) {
  static const RE2 calls("hipLaunchKernelGGL|(?:cuda|hip)Launch(?:Cooperative)?Kernel");
  for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
    const bool is_call = RE2::FullMatch(tokens_[i].text, calls) && tokens_[i + 1].is("(");
    if (!is_call && !(tokens_[i].is("<<") && tokens_[i + 1].is("<"))) continue;
    auto launch = is_call ? called_launch(i, kernels) : marked_launch(i, kernels);
    const auto function =
        std::ranges::find_if(functions_, [&](const Function& each) { return each.begin < i && i < each.end; });
    if (!launch || function == functions_.end()) continue;
    launch->line = tokens_[launch->at].line;
    launch->function = static_cast<std::size_t>(function - functions_.begin());
    launch->around = loops_around(launch->at, *function);
    const auto definitions = definitions_at(*launch);
    if (launch->block.front().size() == 1) launch->block_name = launch->block.front().front().text;
    for (std::vector<Tokens>* extents : {&launch->grid, &launch->block}) {
      if (auto shown = extents_of(extents->front(), definitions); !shown.empty()) *extents = std::move(shown);
      while (extents->size() > 1 && text_of(extents->back()) == "1") extents->pop_back();
    }
    if (is_call && !tokens_[i].is("hipLaunchKernelGGL")) {
      const auto list = definitions.find(text_of(launch->arguments.front()));
      launch->arguments.clear();
      if (list != definitions.end() && is_at(list->second, 0, "{"))
        for (const Tokens& each : split_arguments(part(list->second, 1, list->second.size() - 1)))
          launch->arguments.push_back(tokens_of(pointer_text(each)));
    }
    launches_.push_back(std::move(*launch));
  }
  // The first statement that has a kernel whose launch is not read.
  static const RE2 behind("[,)<>;}]");
  std::set<std::string> unread = kernels;
  for (const Launch& each : launches_) unread.erase(each.kernel);
  for (std::size_t number = 0; number < functions_.size(); ++number)
    for (std::size_t i = functions_[number].body + 1; i + 1 < std::min(functions_[number].end, tokens_.size()); ++i) {
      if (!unread.contains(tokens_[i].text) || tokens_[i - 1].is(".") || tokens_[i - 1].is("->") ||
          !RE2::FullMatch(tokens_[i + 1].text, behind))
        continue;
      std::size_t begin = i;
      while (!RE2::FullMatch(tokens_[begin - 1].text, "[;{}]")) --begin;
      const Tokens all = part(tokens_, begin, statement_end(tokens_, i) + 1);
      launches_.push_back(
          {tokens_[i].text, {}, {all}, {all}, {}, {}, {}, false, i, tokens_[i].line, number, {}, false});
      unread.erase(tokens_[i].text);
    }
}

void HostCode::find_memory() {
  static const RE2 calls("(?:cuda|hip)(Malloc|Memset|Memcpy)(?:Managed|Async)?");
  std::string what;
  for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
    if (!RE2::FullMatch(tokens_[i].text, calls, &what) || !tokens_[i + 1].is("(")) continue;
    const std::vector<Tokens> given = split_arguments(part(tokens_, i + 2, closing(tokens_, i + 1)));
    if (given.size() < 2) continue;
    MemoryUse use{MemoryUse::Kind::allocated, pointer_text(given[0]), given[1], i, tokens_[i].line,
                  closing(tokens_, i + 1)};
    if (what != "Malloc" && given.size() < 3) continue;
    if (what == "Memset") use.kind = MemoryUse::Kind::zeroed;
    if (what == "Memset" && text_of(given[1]) != "0") continue;
    if (what == "Memcpy") {
      const bool back = given.size() > 3 && text_of(given[3]).find("DeviceToHost") != std::string::npos;
      use.kind = back ? MemoryUse::Kind::to_host : MemoryUse::Kind::to_device;
      if (back) use.pointer = pointer_text(given[1]);
    }
    memory_.push_back(std::move(use));
  }
}

std::vector<MemoryUse> HostCode::memory_of(const std::string& pointer, const Launch& launch) const {
  const Function& function = functions_[launch.function];
  std::vector<MemoryUse> uses;
  std::copy_if(memory_.begin(), memory_.end(), std::back_inserter(uses), [&](const MemoryUse& use) {
    return (pointer == "*" || use.pointer == pointer) && function.begin < use.at && use.at < function.end;
  });
  for (MemoryUse& use : uses)
    for (std::size_t i = use.end; i < launch.at; ++i)
      use.is_last = use.is_last && !(tokens_[i].is_word() && mentions(tokens_of(pointer), tokens_[i].text));
  return uses;
}

}  // namespace xtune::init
