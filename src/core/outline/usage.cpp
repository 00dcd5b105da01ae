// Follows names through definitions and comparisons of one body; control flow does not matter.
#include "core/outline/usage.hpp"

#include <algorithm>

namespace xtune::outline {

namespace {

int axis_of(const Token& token) { return token.text.size() == 1 ? token.text[0] - 'x' : -1; }

/// a.x and a->x: x is not a variable.
bool is_member(const Tokens& tokens, std::size_t i) {
  return i > 0 && (tokens[i - 1].is(".") || tokens[i - 1].is("->"));
}

/// The axis of `name.x` at i, or -1.
int member_axis(const Tokens& tokens, std::size_t i, std::string_view name) {
  if (!tokens[i].is(name) || i + 2 >= tokens.size() || !tokens[i + 1].is(".")) return -1;
  const int axis = axis_of(tokens[i + 2]);
  return axis >= 0 && axis < 3 ? axis : -1;
}

bool is_assignment(const Token& token) {
  return token.text.size() <= 2 && token.text.ends_with('=') && !token.is("==") && !token.is("!=") && !token.is("<=") &&
         !token.is(">=");
}

/// static_cast<int>(i) as (i): its brackets are not comparisons.
Tokens without_casts(const Tokens& body) {
  Tokens rest;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const bool cast = body[i].text.ends_with("_cast") && i + 1 < body.size() && body[i + 1].is("<");
    if (cast) i = closing(body, i + 1);
    if (!cast) rest.push_back(body[i]);
  }
  return rest;
}

class BodyReader {
 public:
  BodyReader(const Tokens& body, const std::set<std::string>& sizes, const std::set<std::string>& pointers)
      : body_(without_casts(body)), sizes_(sizes) {
    for (const std::string& pointer : pointers) {
      aliases_[pointer] = pointer;
      found_.pointers[pointer];
    }
    find_definitions();
    find_aliases();
    find_bounds();
  }

  BodyUse run() {
    for (std::size_t i = 0; i < body_.size(); ++i) {
      note_axes(i);
      note_pointer(i);
      if (body_[i].is("__shared__") && i > 0 && body_[i - 1].is("extern")) note_shared(i + 1);
    }
    for (int axis = 0; axis < 3; ++axis) note_limits(axis);
    return std::move(found_);
  }

 private:
  /// From i to the end of the expression: ; or , or what closes a bracket that was opened before.
  Tokens expression_at(std::size_t i) const {
    Tokens tokens;
    int depth = 0;
    for (; i < body_.size(); ++i) {
      const std::string& text = body_[i].text;
      if (text == "(" || text == "[" || text == "{") ++depth;
      if ((text == ")" || text == "]" || text == "}") && --depth < 0) break;
      if (depth == 0 && (text == ";" || text == ",")) break;
      tokens.push_back(body_[i]);
    }
    return tokens;
  }

  void find_definitions() {
    for (std::size_t i = 1; i < body_.size(); ++i) {
      const bool constructed = body_[i].is("(") && i > 1 && body_[i - 1].is_word() && body_[i - 2].is("int");
      if (!constructed && !(is_assignment(body_[i]) && body_[i - 1].is_word())) continue;
      if (is_member(body_, i - 1)) continue;
      definitions_[body_[i - 1].text].push_back(expression_at(i + 1));
    }
  }

  /// float* row = x + i * n: what is done to row is done to x.
  void find_aliases() {
    for (std::size_t i = 2; i + 1 < body_.size(); ++i) {
      const bool pointer = body_[i].is_word() && body_[i + 1].is("=") &&
                           (body_[i - 1].is("*") || body_[i - 1].is("__restrict__") || body_[i - 1].is("auto") ||
                            (body_[i - 1].is("const") && body_[i - 2].is("*")));
      if (!pointer || aliases_.contains(body_[i].text)) continue;
      const Tokens value = expression_at(i + 2);
      for (std::size_t at = 0; at < value.size(); ++at)
        if (aliases_.contains(value[at].text) &&
            !(at + 1 < value.size() && value[at + 1].is("[") && !(at > 0 && value[at - 1].is("&")))) {
          aliases_[body_[i].text] = aliases_[value[at].text];
          break;
        }
    }
  }

  static bool ends_comparison(const Token& token) {
    static const std::set<std::string> ends{"&&", "||", ";",      "{", "}", ",",  "?",
                                            ":",  "=",  "return", "<", ">", "<=", ">="};
    return ends.contains(token.text);
  }

  void find_bounds() {
    for (std::size_t i = 1; i + 1 < body_.size(); ++i) {
      static const std::set<std::string> comparisons{"<", "<=", ">", ">=", "!=", "=="};
      if (!comparisons.contains(body_[i].text)) continue;
      Tokens left, right;
      int depth = 0;
      for (std::size_t at = i; at-- > 0;) {
        if (body_[at].is(")") || body_[at].is("]")) ++depth;
        if ((body_[at].is("(") || body_[at].is("[")) && --depth < 0) break;
        if (depth == 0 && ends_comparison(body_[at])) break;
        left.push_back(body_[at]);
      }
      depth = 0;
      for (std::size_t at = i + 1; at < body_.size(); ++at) {
        if (body_[at].is("(") || body_[at].is("[")) ++depth;
        if ((body_[at].is(")") || body_[at].is("]")) && --depth < 0) break;
        if (depth == 0 && ends_comparison(body_[at])) break;
        right.push_back(body_[at]);
      }
      bound(left, right);
      bound(right, left);
    }
  }

  void bound(const Tokens& names, const Tokens& limit) {
    std::set<std::string> sizes;
    std::set<std::string> seen;
    named_sizes(limit, sizes, seen);
    if (sizes.empty()) return;
    for (const Token& token : names)
      if (token.is_word() && !sizes_.contains(token.text)) bounds_[token.text].insert(sizes.begin(), sizes.end());
  }

  /// The sizes in an expression and in the definitions of its names: packs = columns / 4.
  /// seen: the names whose definitions were followed.
  void named_sizes(const Tokens& tokens, std::set<std::string>& sizes, std::set<std::string>& seen) const {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      if (is_member(tokens, i)) continue;
      if (sizes_.contains(token.text)) sizes.insert(token.text);
      const auto defined = definitions_.find(token.text);
      if (defined == definitions_.end() || !seen.insert(token.text).second) continue;
      for (const Tokens& value : defined->second) named_sizes(value, sizes, seen);
    }
  }

  void add_extent(const Tokens& tokens, Extent& extent, const std::string& pointer) const {
    std::set<std::string> seen;
    add_extent(tokens, extent, pointer, seen);
  }

  void add_extent(const Tokens& tokens, Extent& extent, const std::string& pointer, std::set<std::string>& seen) const {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      if (!token.is_word() || is_member(tokens, i)) continue;
      if (sizes_.contains(token.text)) {
        extent.sizes.insert(token.text);
        extent.rows = extent.rows || is_factor(tokens, i);
      }
      if (const int axis = member_axis(tokens, i, "blockIdx"); axis >= 0) extent.blocks.insert(axis);
      if (const auto alias = aliases_.find(token.text); alias != aliases_.end()) {
        extent.data = extent.data || alias->second != pointer;
        continue;
      }
      if (const auto bounds = bounds_.find(token.text); bounds != bounds_.end()) {
        extent.sizes.insert(bounds->second.begin(), bounds->second.end());
        if (!of_data(token.text)) continue;
      }
      const auto defined = definitions_.find(token.text);
      if (defined == definitions_.end() || !seen.insert(token.text).second) continue;
      for (const Tokens& value : defined->second) add_extent(value, extent, pointer, seen);
    }
  }

  /// Whether the word is multiplied by something that is not a number.
  static bool is_factor(const Tokens& tokens, std::size_t i) {
    const auto counts = [](const Token& other) { return other.is_word() || other.is("(") || other.is(")"); };
    return (i >= 2 && tokens[i - 1].is("*") && counts(tokens[i - 2])) ||
           (i + 2 < tokens.size() && tokens[i + 1].is("*") && counts(tokens[i + 2]));
  }

  /// Whether a definition of this name reads an argument.
  bool of_data(const std::string& name) const {
    const auto defined = definitions_.find(name);
    if (defined == definitions_.end()) return false;
    for (const Tokens& value : defined->second)
      for (std::size_t i = 0; i < value.size(); ++i)
        if (aliases_.contains(value[i].text) && !is_member(value, i)) return true;
    return false;
  }

  void note_pointer(std::size_t i) {
    const auto alias = aliases_.find(body_[i].text);
    if (alias == aliases_.end() || is_member(body_, i)) return;
    const std::string& name = alias->second;
    PointerUse& use = found_.pointers[name];
    if (alias->first != name) {
      if (i + 1 < body_.size() && body_[i + 1].is("=")) {
        Extent offset;
        add_extent(expression_at(i + 2), offset, name);
        merge(use.extent, offset);
        return;
      }
    }
    const auto at = [&](std::size_t place, std::string_view text) {
      return place < body_.size() && body_[place].is(text);
    };
    const bool dereferenced = i > 0 && body_[i - 1].is("*") && !at(i + 1, "[") &&
                              (i < 2 || !(body_[i - 2].is_word() || body_[i - 2].is(")") || body_[i - 2].is("]")));
    std::size_t end = i;
    if (at(i + 1, "[")) {
      end = closing(body_, i + 1);
      const bool first = end == i + 3 && body_[i + 2].kind == Token::Kind::number;
      use.beyond_first = use.beyond_first || !first;
      add_extent(Tokens(body_.begin() + static_cast<std::ptrdiff_t>(i) + 2,
                        body_.begin() + static_cast<std::ptrdiff_t>(std::min(end, body_.size()))),
                 use.extent, name);
    } else if (!dereferenced) {
      return note_passed(i, use, name);
    }
    use.indexed = true;
    while (at(end + 1, ".") || at(end + 1, "->")) end += 2;
    const bool set = end + 1 < body_.size() && is_assignment(body_[end + 1]);
    const bool changed = (set && !at(end + 1, "=")) || at(end + 1, "++") || at(end + 1, "--") ||
                         (i > 0 && (body_[i - 1].is("&") || body_[i - 1].is("++") || body_[i - 1].is("--")));
    use.written = use.written || set || changed;
    use.read = use.read || !set || changed;
  }

  void note_passed(std::size_t i, PointerUse& use, const std::string& name) {
    // An alias's own definition was looked at there.
    for (std::size_t at = i; at-- > 0 && !body_[at].is(";") && !body_[at].is("{") && !body_[at].is("}");)
      if (body_[at].is("=") && at > 0 && aliases_.contains(body_[at - 1].text)) return;
    use.passed = use.read = use.written = true;
    add_extent(expression_at(i), use.extent, name);
  }

  static void merge(Extent& to, const Extent& from) {
    to.sizes.insert(from.sizes.begin(), from.sizes.end());
    to.blocks.insert(from.blocks.begin(), from.blocks.end());
    to.data = to.data || from.data;
    to.rows = to.rows || from.rows;
  }

  void note_axes(std::size_t i) {
    if (const int axis = member_axis(body_, i, "threadIdx"); axis >= 0) axis_use(axis).thread = true;
    if (const int axis = member_axis(body_, i, "blockDim"); axis >= 0) axis_use(axis).block_size = true;
    if (const int axis = member_axis(body_, i, "blockIdx"); axis >= 0) {
      axis_use(axis).block = true;
      if (axis_use(axis).tile.empty()) note_tile(i, axis_use(axis));
      note_added_thread(i, axis_use(axis).tile);
    }
    if (!body_[i].is("+=") || i == 0) return;
    const auto defined = definitions_.find(body_[i - 1].text);
    if (defined == definitions_.end() || defined->second.empty()) return;
    for (int axis = 0; axis < 3; ++axis)
      if (begins_at_thread(defined->second.front(), axis, 0) && axis_use(axis).stride.empty())
        axis_use(axis).stride = expression_at(i + 1);
  }

  /// blockIdx.x * ROWS + threadIdx.y: a block has ROWS threads along y.
  void note_added_thread(std::size_t i, const std::vector<Tokens>& tile) {
    const std::size_t thread = i + 4 + (tile.empty() ? 0 : tile.front().size()) + 1;
    if (tile.empty() || thread + 2 >= body_.size() || !body_[i + 3].is("*") || !body_[thread - 1].is("+")) return;
    const int axis = member_axis(body_, thread, "threadIdx");
    if (axis < 0 || (thread + 3 < body_.size() && (body_[thread + 3].is("/") || body_[thread + 3].is("%")))) return;
    if (axis_use(axis).stride.empty()) axis_use(axis).stride = tile.front();
  }

  /// Whether an index is threadIdx of the axis and nothing of blockIdx.
  bool begins_at_thread(const Tokens& tokens, int axis, int depth) const {
    if (depth > 2 || tokens.size() > 8) return false;
    bool thread = false;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].is("blockIdx") || tokens[i].is("/") || tokens[i].is("%")) return false;
      thread = thread || member_axis(tokens, i, "threadIdx") == axis;
      const auto defined = definitions_.find(tokens[i].text);
      if (tokens.size() <= 2 && defined != definitions_.end() && defined->second.size() == 1)
        thread = thread || begins_at_thread(defined->second.front(), axis, depth + 1);
    }
    return thread;
  }

  /// The factors of blockIdx.x at i: (blockIdx.x * BLOCK + threadIdx.x) * PER_THREAD has two.
  void note_tile(std::size_t i, AxisUse& use) const {
    const auto factor_at = [&](std::size_t at) -> Tokens {
      if (at >= body_.size()) return {};
      if (body_[at].is("(")) {
        const std::size_t end = closing(body_, at);
        return Tokens(body_.begin() + static_cast<std::ptrdiff_t>(at),
                      body_.begin() + static_cast<std::ptrdiff_t>(std::min(end + 1, body_.size())));
      }
      if (member_axis(body_, at, "blockDim") >= 0)
        return Tokens(body_.begin() + static_cast<std::ptrdiff_t>(at),
                      body_.begin() + static_cast<std::ptrdiff_t>(at) + 3);
      return {body_[at]};
    };
    std::size_t end = i + 2;
    if (end + 1 < body_.size() && body_[end + 1].is("*"))
      use.tile.push_back(factor_at(end + 2));
    else if (i > 1 && body_[i - 1].is("*"))
      use.tile.push_back(i > 3 && member_axis(body_, i - 4, "blockDim") >= 0 ? factor_at(i - 4) : factor_at(i - 2));
    int depth = 0;
    for (std::size_t at = end; at < body_.size() && !body_[at].is(";") && !body_[at].is(",") && !body_[at].is("{");
         ++at) {
      if (body_[at].is("(") || body_[at].is("[")) ++depth;
      if (body_[at].is("]") && depth == 0) return;
      if (!body_[at].is(")") && !body_[at].is("]")) continue;
      if (--depth >= 0) continue;
      depth = 0;
      if (at + 2 < body_.size() && body_[at + 1].is("*") && body_[at + 2].is_word())
        use.tile.push_back(factor_at(at + 2));
    }
  }

  /// The sizes that limit a name that is made of blockIdx.
  void note_limits(int axis) {
    AxisUse& use = axis_use(axis);
    std::set<std::string> derived;
    for (int round = 0; round < 3; ++round)
      for (const auto& [name, values] : definitions_)
        for (const Tokens& value : values)
          if (is_of_block(value, axis) ||
              std::any_of(value.begin(), value.end(), [&](const Token& t) { return derived.contains(t.text); }))
            derived.insert(name);
    // What is made of blockIdx itself, before what is made of that.
    for (const bool direct : {true, false})
      for (const auto& [name, values] : definitions_) {
        const bool of_block =
            std::any_of(values.begin(), values.end(), [&](const Tokens& v) { return is_of_block(v, axis); });
        if (of_block != direct || !derived.contains(name) || !bounds_.contains(name) || !use.sizes.empty()) continue;
        use.sizes = bounds_.at(name);
      }
  }

  static bool is_of_block(const Tokens& tokens, int axis) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (member_axis(tokens, i, "blockIdx") == axis) return true;
    return false;
  }

  void note_shared(std::size_t i) {
    Tokens type;
    for (; i + 1 < body_.size() && !body_[i + 1].is("[") && !body_[i].is(";"); ++i)
      if (body_[i].is("__align__") || body_[i].is("alignas"))
        i = std::min(closing(body_, i + 1), body_.size() - 1);
      else
        type.push_back(body_[i]);
    found_.shared_type = text_of(type);
  }

  AxisUse& axis_use(int axis) { return found_.axes[static_cast<std::size_t>(axis)]; }

  const Tokens body_;
  const std::set<std::string>& sizes_;
  std::map<std::string, std::vector<Tokens>> definitions_;
  std::map<std::string, std::set<std::string>> bounds_;
  std::map<std::string, std::string> aliases_;  ///< and the pointers themselves
  BodyUse found_;
};

}  // namespace

BodyUse body_use(const Tokens& body, const std::set<std::string>& sizes, const std::set<std::string>& pointers) {
  return BodyReader(body, sizes, pointers).run();
}

}  // namespace xtune::outline
