#include <re2/re2.h>

#include <algorithm>

#include "core/init/drafting.hpp"

namespace xtune::init {

namespace {

using Words = std::set<std::string>;

bool is_assignment(const Token& token) {
  static const RE2 form("[^=!<>]?=");
  return RE2::FullMatch(token.text, form);
}

bool is_comparison(const Token& token) {
  static const RE2 form("[<>]=?|[!=]=");
  return RE2::FullMatch(token.text, form);
}

/// Adds tokens behind a mark, if both sides of it are there.
void append(Tokens& to, const char* mark, const Tokens& more) {
  if (!to.empty() && !more.empty()) to.push_back({Token::Kind::mark, mark});
  to.insert(to.end(), more.begin(), more.end());
}

/// The side of the comparison at i. step: -1, before it; 1, behind it.
Tokens side_of(const Tokens& tokens, std::size_t i, int step) {
  static const RE2 ends("&&|\\|\\||[;{},?:=<>]|[<>]=|[!=]=|return"), opens("[(\\[]"), closes("[)\\]]");
  int depth = 0;
  std::size_t at = i + static_cast<std::size_t>(step);
  for (; at < tokens.size(); at += static_cast<std::size_t>(step)) {
    const std::string& text = tokens[at].text;
    depth += step * (RE2::FullMatch(text, opens) - RE2::FullMatch(text, closes));
    if (depth < 0 || (depth == 0 && RE2::FullMatch(text, ends))) break;
  }
  return step > 0 ? part(tokens, i + 1, at) : part(tokens, at + 1, i);
}

/// The "(" of the if, while or for whose header has the token at i; 0: none.
std::size_t header_around(const Tokens& tokens, std::size_t i) {
  int depth = 0;
  for (; i > 0 && !tokens[i].is("{") && !tokens[i].is("}"); --i) {
    depth += tokens[i].is(")") - tokens[i].is("(");
    if (depth < 0 && RE2::FullMatch(tokens[i - 1].text, "if|constexpr|while|for")) return i;
    depth = std::max(depth, 0);
  }
  return 0;
}

/// Where the statement at i ends, or the one behind its headers.
std::size_t end_behind_headers(const Tokens& tokens, std::size_t i) {
  while (i + 1 < tokens.size() && RE2::FullMatch(tokens[i].text, "if|constexpr|while|for"))
    i = is_at(tokens, i + 1, "(") ? closing(tokens, i + 1) + 1 : i + 1;
  return is_at(tokens, i, "{") ? closing(tokens, i) : i + expression_at(tokens, i).size();
}

/// Behind which token the variable has the value that it is given at i: in the last part of a for, behind the loop.
std::size_t change_end(const Tokens& tokens, std::size_t i) {
  const std::size_t open = header_around(tokens, i);
  const auto is_end = [](const Token& each) { return each.is(";"); };
  if (open > 0 && tokens[open - 1].is("for") && std::ranges::count_if(part(tokens, open, i), is_end) == 2)
    return end_behind_headers(tokens, closing(tokens, open) + 1);
  return i + expression_at(tokens, i).size();
}

/// Whether work is done only where the side before the comparison at i (step: 1) or behind it (-1) is below the other:
/// if (index < n) work; or if (index >= n) return;
bool is_upper_limit(const Tokens& tokens, std::size_t i, int step) {
  static const RE2 leave("return|continue|break");
  const auto leaves = [&](std::size_t at) { return at < tokens.size() && RE2::FullMatch(tokens[at].text, leave); };
  const std::size_t open = header_around(tokens, i),
                    body = open > 0 ? std::min(closing(tokens, open) + 1, tokens.size()) : tokens.size();
  const bool is_if = open > 0 && RE2::FullMatch(tokens[open - 1].text, "if|constexpr");
  if (tokens[i].is("!=")) return open > 0 && !is_if;
  if (tokens[i].is("==")) return false;
  if (tokens[i].text.starts_with(step > 0 ? "<" : ">"))
    return !is_if || !leaves(is_at(tokens, body, "{") ? body + 1 : body);
  if (!is_if) return is_at(tokens, i + 1 + side_of(tokens, i, 1).size(), "?");
  std::size_t end = is_at(tokens, body, "{") ? closing(tokens, body) : body + expression_at(tokens, body).size();
  if (is_at(tokens, end + 1, "else")) return true;
  while (end > body && !leaves(end)) --end;
  return leaves(end);
}

/// Whether one of the words is divided in the expression: several values of it make one of the result.
bool divides(const Tokens& expression, const Words& words) {
  for (std::size_t i = 1; i < expression.size(); ++i) {
    if (!RE2::FullMatch(expression[i].text, "[/%]") && !(expression[i].is(">") && is_at(expression, i + 1, ">")))
      continue;
    const Tokens divided = operands(side_of(expression, i, -1), "[-+]").back().second;
    if (std::ranges::any_of(divided, [&](const Token& each) { return words.contains(each.text); })) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> IndexBounds::factors_of(const Tokens& tokens) const {
  std::vector<std::string> factors;
  for (const auto& [mark, factor] : operands(unwrapped(tokens), "[*]")) {
    const auto text = values_.text_of(factor);
    if (!text || text->starts_with(' ')) return {};
    for (const std::string& name : names_in(*text))
      if (!fixed_.contains(name)) return {};
    factors.push_back(*text);
  }
  return factors;
}

IndexBounds::IndexBounds(const Tokens& tokens, const SpecExpressions& values, std::set<std::string> fixed)
    : values_(values), fixed_(std::move(fixed)) {
  for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
    const bool constructed = tokens[i].is("(") && i > 1 && tokens[i - 2].is("int");
    if (tokens[i - 1].is_word() && (constructed || tokens[i].is("=")))
      definitions_[tokens[i - 1].text].emplace_back(i, expression_at(tokens, i + 1));
    else if (tokens[i - 1].is_word() && (is_assignment(tokens[i]) || tokens[i].is("++") || tokens[i].is("--")))
      changed_.insert(tokens[i - 1].text);
    else if (tokens[i].is_word() && (tokens[i - 1].is("++") || tokens[i - 1].is("--")))
      changed_.insert(tokens[i].text);
    else
      continue;
    changes_[tokens[tokens[i].is_word() ? i : i - 1].text].push_back(change_end(tokens, i));
  }
  for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
    if (!is_comparison(tokens[i])) continue;
    for (const int step : {-1, 1}) {
      if (!is_upper_limit(tokens, i, step)) continue;
      // n - 1 is a limit below n.
      Operands terms = terms_of(side_of(tokens, i, step));
      const bool closed = step > 0 ? tokens[i].is("<=") || tokens[i].is(">") : tokens[i].is(">=") || tokens[i].is("<");
      std::int64_t slack = closed ? -1 : 0;
      if (const auto number = integer_of(text_of(terms.back().second)); number && terms.size() == 2) {
        slack += terms.back().first == "-" ? *number : -*number;
        terms.pop_back();
      }
      const auto extents = terms.size() == 1 ? factors_of(terms.front().second) : std::vector<std::string>();
      const Tokens other = unwrapped(side_of(tokens, i, -step));
      // What is compared with a number may be a choice: only a loop's "less" is a limit.
      const bool number = extents.size() == 1 && integer_of(extents.front());
      if (extents.empty() || !factors_of(other).empty() || slack < -1) continue;
      if (number && !(integer_of(extents.front()) > 0 && tokens[i].is(step > 0 ? "<" : ">"))) continue;
      limits_[text_of(other)].emplace_back(i, Bound{extents, slack});
      upper_.insert(i);
    }
  }
}

std::optional<Bound> IndexBounds::of_product(const Tokens& product, std::size_t at, int& steps) const {
  auto parts = operands(product, "[*/%]");
  const std::string last = parts.back().first;
  if (last == "/" || last == "%") {
    const auto divisor = factors_of(parts.back().second);
    auto bound = of(part(product, 0, product.size() - parts.back().second.size() - 1), at, steps);
    const bool is_whole = bound && bound->is_whole && bound->distance == 0;
    if (last == "%") return divisor.empty() ? std::nullopt : std::optional(Bound{divisor, 0, is_whole});
    if (!bound || divisor.empty() || bound->extents.size() < divisor.size()) return std::nullopt;
    const auto tail = bound->extents.end() - static_cast<std::ptrdiff_t>(divisor.size());
    if (!std::equal(divisor.begin(), divisor.end(), tail)) return std::nullopt;
    bound->extents.erase(tail, bound->extents.end());
    return Bound{bound->extents.empty() ? std::vector<std::string>{"1"} : bound->extents, 0, is_whole};
  }
  // One factor counts, and the others are a distance: the last element before the next one is not used.
  std::optional<Tokens> counted;
  std::vector<std::string> distance;
  for (const auto& [mark, factor] : parts) {
    const auto texts = mark == "/" || mark == "%" ? std::vector<std::string>() : factors_of(factor);
    if (texts.empty() && counted) return std::nullopt;
    if (texts.empty())
      counted = factor;
    else
      distance.insert(distance.end(), texts.begin(), texts.end());
  }
  auto bound = counted && parts.size() > 1 ? of(*counted, at, steps) : std::nullopt;
  if (!bound) return std::nullopt;
  const auto number = distance.size() == 1 ? integer_of(distance.front()) : std::nullopt;
  bound->extents.insert(bound->extents.end(), distance.begin(), distance.end());
  bound->slack = number.value_or(1) - 1;
  bound->is_whole = bound->is_whole && bound->distance == 0;
  bound->distance = distance.size();
  return bound;
}

bool IndexBounds::counts_all(const Tokens& expression, int depth) const {
  return std::ranges::all_of(terms_of(expression), [&](const auto& each) {
    const auto& [sign, term] = each;
    const auto made = definitions_.find(text_of(term));
    if (made != definitions_.end() && depth < 8)
      return sign == "+" && std::ranges::all_of(made->second, [&](const auto& definition) {
               return counts_all(definition.second, depth + 1);
             });
    const Words words = words_behind(term);
    const auto has = [&](const char* coordinate) {
      const auto found = words.lower_bound(coordinate);
      return found != words.end() && found->starts_with(coordinate);
    };
    // Of both, it is the distance of elements.
    const bool is_coordinate = !words.empty() && !words.contains("[") && has("blockIdx.") != has("threadIdx.");
    return sign == "+" && (integer_of(text_of(term)) == 0 || is_coordinate);
  });
}

std::optional<Bound> IndexBounds::of(const Tokens& index, std::size_t at, int& steps) const {
  constexpr int max_steps = 500;
  const Tokens whole = unwrapped(index);
  if (whole.empty() || ++steps > max_steps) return std::nullopt;
  const auto last = [&](const auto& list) {  // before it is used
    const auto found = std::find_if(list.rbegin(), list.rend(), [&](const auto& each) { return each.first < at; });
    return found == list.rend() ? nullptr : &*found;
  };
  if (const auto known = limits_.find(text_of(whole)); known != limits_.end()) {
    const auto* const before = last(known->second);
    Bound limit = before ? before->second : known->second.front().second;
    for (const Token& word : whole)  // it may have another value since
      if (const auto changed = changes_.find(word.text); changed != changes_.end() && before)
        for (const std::size_t change : changed->second)
          if (before->first < change && change < at) return std::nullopt;
    limit.is_whole = limit.slack == 0 && counts_all(whole);
    return limit;
  }
  if (const std::string& word = whole.front().text; whole.size() == 1) {
    if (const auto place = places_.find(word); place != places_.end()) return Bound{place->second, 0, true};
    if (const auto number = integer_of(word)) return Bound{{std::to_string(*number + 1)}, 0, *number == 0};
    const auto made = definitions_.find(word);
    const bool is_made = made != definitions_.end() && !changed_.contains(word);
    const auto* const before = is_made ? last(made->second) : nullptr;
    return before ? of(before->second, at, steps) : std::nullopt;
  }
  const Operands terms = terms_of(whole);
  std::int64_t offset = 0;
  Tokens rest;
  std::vector<Tokens> counted;
  for (const auto& [sign, term] : terms) {
    const auto number = integer_of(text_of(term));
    if (!number && sign == "-") return std::nullopt;
    if (number)
      offset += sign == "-" ? -*number : *number;
    else
      counted.push_back(term);
  }
  if (counted.empty()) return Bound{{std::to_string(offset + 1)}, 0};
  std::optional<Bound> bound;
  if (counted.size() == 1)
    bound = operands(counted.front(), "[*/%]").size() > 1 ? of_product(counted.front(), at, steps)
            : terms.size() > 1                            ? of(counted.front(), at, steps)
                                                          : std::nullopt;
  // row * n + column, where column < n
  for (std::size_t i = 0; i < counted.size() && counted.size() > 1 && !bound; ++i) {
    bound = of_product(counted[i], at, steps);
    Tokens others;
    for (std::size_t other = 0; other < counted.size(); ++other)
      if (other != i) append(others, "+", counted[other]);
    const auto within = bound ? of(others, at, steps) : std::nullopt;
    const bool fits = within && within->extents.size() < bound->extents.size() &&
                      std::equal(within->extents.rbegin(), within->extents.rend(), bound->extents.rbegin());
    if (!fits) {
      bound.reset();
      continue;
    }
    bound->slack = within->slack;
    bound->is_whole = bound->is_whole && within->is_whole && within->extents.size() == bound->distance;
    bound->distance = within->distance;
  }
  if (!bound || offset > bound->slack) return std::nullopt;
  bound->slack -= offset;
  return bound;
}

std::set<std::string> IndexBounds::words_behind(const Tokens& tokens) const {
  std::set<std::string> words;
  std::vector<const Tokens*> open{&tokens};
  while (!open.empty()) {
    const Tokens& next = *open.back();
    open.pop_back();
    for (const Token& token : next) {
      if (!(token.is_word() || token.is("[")) || !words.insert(token.text).second) continue;
      if (const auto made = definitions_.find(token.text); made != definitions_.end())
        for (const auto& [at, expression] : made->second) open.push_back(&expression);
    }
  }
  return words;
}

Tokens IndexBounds::resolved(Tokens expression) const {
  for (int steps = 0; steps < 8 && expression.size() == 1; ++steps) {
    const auto made = definitions_.find(expression.front().text);
    if (made == definitions_.end() || made->second.size() != 1 || changed_.contains(made->first)) break;
    expression = unwrapped(made->second.front().second);
  }
  if (expression.empty()) expression.emplace_back();
  return expression;
}

bool IndexBounds::starts_at(const std::string& name, const std::string& word) const {
  const auto made = definitions_.find(name);
  return made != definitions_.end() && std::ranges::any_of(made->second, [&](const auto& each) {
           return mentions(each.second, word) && !mentions(each.second, "/") && !mentions(each.second, "%");
         });
}

bool IndexBounds::is_limited(const std::string& place) const {
  return std::ranges::any_of(limits_, [&](const auto& each) {
    const auto made = definitions_.find(each.first);
    return each.first == place || (made != definitions_.end() && text_of(made->second.front().second) == place);
  });
}

std::vector<std::vector<std::string>> IndexBounds::limits_of(const std::string& place) const {
  std::vector<std::vector<std::string>> found;
  // What is made of it directly, before what is made of that.
  std::set<std::string> made{place};
  for (int step = 0; step <= 3 && found.empty(); ++step) {
    for (const auto& [name, limits] : limits_)
      for (const auto& [at, limit] : limits)
        if (const Tokens side = simplified(tokens_of(name));
            !integer_of(limit.extents.front()) &&
            std::ranges::any_of(side, [&](const Token& each) { return made.contains(each.text); }) &&
            std::ranges::find(found, limit.extents) == found.end())
          found.push_back(limit.extents);
    std::set<std::string> more = made;
    for (const auto& [name, expressions] : definitions_)
      for (const auto& [at, expression] : expressions)
        if (std::ranges::any_of(expression, [&](const Token& each) { return made.contains(each.text); }) &&
            !divides(expression, made))
          more.insert(name);
    made = std::move(more);
  }
  return found;
}

namespace {

/// A pointer, and the index in it that a variable points to: float* row = x + i * n.
struct Alias {
  std::string pointer;
  Tokens base;
};

/// Pointers, and the variables that are made of them.
std::map<std::string, Alias> aliases_in(const Tokens& tokens, const Words& pointers) {
  std::map<std::string, Alias> aliases;
  for (const std::string& pointer : pointers) aliases[pointer] = {pointer, {}};
  for (std::size_t i = 2; i + 1 < tokens.size(); ++i) {
    if (!tokens[i].is_word() || !tokens[i + 1].is("=") || aliases.contains(tokens[i].text)) continue;
    if (!RE2::FullMatch(tokens[i - 1].text, "\\*|__restrict__|auto|const")) continue;
    const Tokens value = unwrapped(expression_at(tokens, i + 2));
    for (std::size_t at = 0; at < value.size(); ++at) {
      const auto known = aliases.find(value[at].text);
      if (known == aliases.end() || (is_at(value, at + 1, "[") && (at == 0 || !value[at - 1].is("&")))) continue;
      Alias alias = known->second;
      // Of another expression, such as a choice between two, the index is unknown.
      const bool plain = at == 0 && (value.size() == 1 || value[1].is("+"));
      const bool address = at == 1 && value[0].is("&") && closing(value, 2) + 1 == value.size();
      Tokens more = plain ? part(value, 2, value.size()) : address ? part(value, 3, value.size() - 1) : value;
      append(more, "+", alias.base);
      alias.base = std::move(more);
      aliases[tokens[i].text] = std::move(alias);
      break;
    }
  }
  return aliases;
}

/// Notes the use of a pointer at i, and returns its index. is_set: it is given a value there.
Tokens note_use(const Tokens& tokens, std::size_t i, PointerUse& use, bool& is_set) {
  const std::size_t before = i > 0 && tokens[i - 1].is("(") ? i - 2 : i - 1;  // *(x + i)
  // No pointer is a factor.
  const bool dereferenced = before > 0 && before < i && tokens[before].is("*") &&
                            (!tokens[before - 1].is_word() || tokens[before - 1].is("return"));
  if (!is_at(tokens, i + 1, "[") && !dereferenced) {  // it is passed to a function, which may do anything with it
    use.passed = use.read = use.written = true;
    return expression_at(tokens, i);
  }
  const std::size_t first = is_at(tokens, i + 1, "[") ? closing(tokens, i + 1)
                            : before + 1 < i          ? closing(tokens, i - 1)
                                                      : i;
  std::size_t end = first;  // of its rows or fields, too
  while (is_at(tokens, end + 1, "[")) end = closing(tokens, end + 1);
  const bool set = end + 1 < tokens.size() && is_assignment(tokens[end + 1]);
  const bool changed = (set && !tokens[end + 1].is("=")) || is_at(tokens, end + 1, "++") ||
                       is_at(tokens, end + 1, "--") || is_at(tokens, i - 1, "&") || is_at(tokens, i - 1, "++") ||
                       is_at(tokens, i - 1, "--");
  use.written = use.written || set || changed;
  use.read = use.read || !set || changed;
  is_set = set && !changed;
  return part(tokens, i + 2, first);
}

void note_pointers(const Tokens& tokens, const Words& pointers, BodyUse& body) {
  const std::map<std::string, Alias> aliases = aliases_in(tokens, pointers);
  std::size_t defined_until = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto found = aliases.find(tokens[i].text);
    if (found == aliases.end()) continue;
    const auto& [name, alias] = *found;
    if (name != alias.pointer && is_at(tokens, i + 1, "=")) defined_until = i + 2 + expression_at(tokens, i + 2).size();
    if (i < defined_until) continue;
    PointerUse& use = body.pointers[alias.pointer];
    bool is_set = false;
    Tokens index = note_use(tokens, i, use, is_set);
    if (index.empty()) index.push_back({Token::Kind::number, "0"});
    append(index, "+", alias.base);
    const Tokens data = body.indices->resolved(index);
    if (const auto other = aliases.find(data.front().text);
        other != aliases.end() && is_at(data, 1, "[") && closing(data, 1) + 1 == data.size())
      use.indexed_by.insert(other->second.pointer);
    for (const std::string& word : body.indices->words_behind(index))
      if (const auto other = aliases.find(word); other != aliases.end() && other->second.pointer != alias.pointer)
        use.data.insert(other->second.pointer);
    use.indices.push_back({i, std::move(index), is_set});
  }
}

/// The factors of blockIdx.x at i: (blockIdx.x * BLOCK + threadIdx.x) * PER_THREAD has two. What multiplies a sum of
/// block and no thread, as (batch * heads + blockIdx.x) * DIM, is the distance of rows.
std::vector<Tokens> tile_at(const Tokens& tokens, std::size_t i, const IndexBounds& indices) {
  const auto factor = [&](std::size_t at) {
    return part(tokens, at, is_at(tokens, at, "(") ? closing(tokens, at) + 1 : at + 1);
  };
  const auto is_thread = [](const std::string& word) { return word.starts_with("threadIdx"); };
  std::vector<Tokens> tile;
  if (is_at(tokens, i - 1, "*")) tile.push_back(factor(is_at(tokens, i - 2, ")") ? opening(tokens, i - 2) : i - 2));
  for (std::size_t at = i + 1; is_at(tokens, at, "*"); at += 1 + tile.back().size()) tile.push_back(factor(at + 1));
  int depth = 0;
  for (std::size_t at = i + 1; at < tokens.size() && !RE2::FullMatch(tokens[at].text, "[;,{]"); ++at) {
    depth += (tokens[at].is("(") || tokens[at].is("[")) - (tokens[at].is(")") || tokens[at].is("]"));
    if (depth >= 0) continue;
    const Tokens sum = part(tokens, opening(tokens, at) + 1, at);
    if (tokens[at].is("]") || (tile.empty() && operands(sum, "[-+]").size() > 1 &&
                               std::ranges::none_of(indices.words_behind(sum), is_thread)))
      break;
    depth = 0;
    if (is_at(tokens, at + 1, "*") && at + 2 < tokens.size() && tokens[at + 2].kind != Token::Kind::mark)
      tile.push_back(factor(at + 2));
  }
  return tile;
}

/// F in blockIdx.x * F + threadIdx.x, which is at i. More than one name: a tile, and the block may be smaller.
std::optional<Tokens> threads_at(const Tokens& tokens, std::size_t i, const std::string& block) {
  if (is_at(tokens, i - 1, "*") || (i + 1 < tokens.size() && RE2::FullMatch(tokens[i + 1].text, "[*/%]")))
    return std::nullopt;
  for (const int step : {-1, 1}) {
    if (!is_at(tokens, i + static_cast<std::size_t>(step), "+")) continue;
    const Tokens side = step > 0 ? expression_at(tokens, i + 2) : side_of(tokens, i - 1, -1);
    const auto terms = operands(side, "[-+]");
    const auto factors = operands(step > 0 ? terms.front().second : terms.back().second, "[*]");
    Tokens threads;
    bool is_block = false;
    for (const auto& [mark, factor] : factors) {
      if (mentions(factor, block))
        is_block = true;
      else
        append(threads, "*", factor);
    }
    if (is_block) return threads;
  }
  return std::nullopt;
}

void note_axis(const Tokens& tokens, const IndexBounds& indices, const std::string& axis, AxisUse& use) {
  const std::string block = "blockIdx." + axis, thread = "threadIdx." + axis;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].is(thread))
      if (const auto threads = threads_at(tokens, i, block)) use.threads.push_back(*threads);
    if (tokens[i].is("+=") && i > 0 && tokens[i - 1].is_word()) {
      const auto words = indices.words_behind({tokens[i - 1]});
      if (words.contains(thread) && !words.contains(block) && indices.starts_at(tokens[i - 1].text, thread))
        use.strides.push_back(expression_at(tokens, i + 1));
    }
    if (tokens[i].is(block) && use.tile.empty()) use.tile = tile_at(tokens, i, indices);
  }
  use.limits = indices.limits_of(block);
  use.is_limited = indices.is_limited(block);
}

/// Whether blocks have more threads than this, however many: the kernel asks for those below it, and blocks count by
/// blockDim.
bool has_more_threads(const Tokens& tokens, const std::string& axis, const Tokens& extent, const BodyUse& use) {
  if (std::ranges::none_of(use.axes[axis_names.find(axis)].threads,
                           [&](const Tokens& each) { return mentions(each, "blockDim." + axis); }))
    return false;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i)
    if (tokens[i].is("threadIdx." + axis) && tokens[i + 1].is("<") &&
        text_of(side_of(tokens, i + 1, 1)) == text_of(extent))
      return true;
  return false;
}

/// Notes which extents of the array that is declared at i threads index by their own coordinates.
void note_shared(const Tokens& tokens, std::size_t i, BodyUse& use) {
  const bool is_extern = i > 0 && tokens[i - 1].is("extern");
  Tokens type;
  for (++i; i + 1 < tokens.size() && !tokens[i + 1].is("[") && !tokens[i].is(";"); ++i)
    if (tokens[i].is("__align__") || tokens[i].is("alignas"))
      i = std::min(closing(tokens, i + 1), tokens.size() - 1);
    else
      type.push_back(tokens[i]);
  if (i >= tokens.size()) return;
  const std::string name = tokens[i].text;
  std::vector<Tokens> extents;
  for (; is_at(tokens, i + 1, "["); i = closing(tokens, i + 1))
    extents.push_back(part(tokens, i + 2, closing(tokens, i + 1)));
  if (is_extern) use.shared_type = text_of(type);
  for (++i; i < tokens.size(); ++i) {
    if (!tokens[i].is(name)) continue;
    std::size_t open = i + 1;
    const auto words = use.indices->words_behind(part(tokens, open, closing(tokens, open)));
    use.shared_by_block = use.shared_by_block || words.lower_bound("blockIdx.") != words.lower_bound("blockIdx/");
    bool is_own = false;  // the index is the thread's
    for (const Tokens& extent : extents) {
      std::string axis;
      if (!is_at(tokens, open, "[")) break;
      const Tokens index = use.indices->resolved(part(tokens, open + 1, closing(tokens, open)));
      is_own = RE2::FullMatch(text_of(index), "threadIdx\\.([xyz])", &axis);
      if (is_own && !extent.empty() && !has_more_threads(tokens, axis, extent, use))
        use.axes[axis_names.find(axis)].arrays.push_back(extent);
      open = closing(tokens, open) + 1;
    }
    use.shared_per_thread = use.shared_per_thread && (!is_extern || is_own);
    use.shared_passed = use.shared_passed || !is_at(tokens, i + 1, "[");
  }
}

/// A variable that only stands for a coordinate, as in int bx = blockIdx.x, is that coordinate.
Tokens with_coordinates(Tokens tokens, const SpecExpressions& values) {
  static const RE2 coordinate("(?:(?:thread|block)Idx|blockDim)\\.[xyz]");
  const IndexBounds definitions(tokens, values, {});
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i].is_word() && !is_at(tokens, i + 1, "="))
      if (const Tokens made = definitions.resolved({tokens[i]}); RE2::FullMatch(text_of(made), coordinate))
        tokens[i].text = made.front().text;
  return tokens;
}

}  // namespace

BodyUse body_use(const Tokens& body, const SpecExpressions& values, const std::set<std::string>& fixed,
                 const std::set<std::string>& pointers) {
  BodyUse use{with_coordinates(simplified(body), values)};
  const Tokens& tokens = use.tokens;
  use.indices.emplace(tokens, values, fixed);
  for (const std::string& pointer : pointers) use.pointers[pointer];
  note_pointers(tokens, pointers, use);
  for (std::size_t axis = 0; axis < 3; ++axis)
    note_axis(tokens, *use.indices, std::string(1, axis_names[axis]), use.axes[axis]);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i].is("__shared__")) note_shared(tokens, i, use);
  return use;
}

bool IndexBounds::is_reached(const Tokens& tokens, const IndexUse& use,
                             const std::map<std::string, PointerUse>& pointers) const {
  static const RE2 header("if|while|for|switch"), leave("return|continue|break");
  const Words words = words_behind(use.index);
  const auto has_data = [&](const Words& all) {
    return std::ranges::any_of(all, [&](const std::string& each) { return each == "[" || pointers.contains(each); });
  };
  const auto shares = [&](const Tokens& side) {
    return std::ranges::any_of(words_behind(side), [&](const std::string& word) {
      return words.contains(word) && (definitions_.contains(word) || word.find("Idx.") != std::string::npos);
    });
  };
  for (std::size_t i = 0; i < use.at && !has_data(words); ++i) {
    if (!RE2::FullMatch(tokens[i].text, header)) continue;
    const std::size_t open = i + 1 + is_at(tokens, i + 1, "constexpr"), close = closing(tokens, open);
    std::size_t end = end_behind_headers(tokens, i);
    while (is_at(tokens, end + 1, "else")) end = end_behind_headers(tokens, end + 2);
    // What leaves before it is a condition, too.
    const Tokens condition = part(tokens, open, close), inside = part(tokens, close, end);
    const auto leaves = [](const Token& each) { return RE2::FullMatch(each.text, leave); };
    if (end < use.at && std::ranges::none_of(inside, leaves)) continue;
    const bool is_compared = std::ranges::any_of(condition, is_comparison);
    if (has_data(words_behind(condition)) || (!is_compared && shares(condition))) return false;
    for (std::size_t at = open; at < std::min(close, use.at); ++at)
      if (is_comparison(tokens[at]) && !upper_.contains(at) &&
          (shares(side_of(tokens, at, -1)) || shares(side_of(tokens, at, 1))))
        return false;
  }
  return !has_data(words);
}

}  // namespace xtune::init
