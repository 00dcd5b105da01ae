// Reads items at namespace scope from the tokens, and keeps what the entries reach. Whatever cannot be read for sure is
// an item of unknown kind, which stays with all that it mentions.
#include "core/build/device_unit.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "core/build/tokens.hpp"

namespace xtune::build {

namespace {

using Names = std::set<std::string, std::less<>>;

bool is_one_of(const Token& token, const RE2& words) { return token.is_word() && RE2::FullMatch(token.text, words); }

bool is_class_key(const Token& token) {
  static const RE2 words("struct|class|union|enum");
  return is_one_of(token, words);
}

/// Words before brackets that are not the arguments of a function.
bool takes_brackets(const Token& token) {
  static const RE2 words(
      "__attribute__|__declspec|alignas|_Alignas|__align__|decltype|noexcept|throw|explicit|requires|__?asm(?:__)?|asm|"
      "typeof|__typeof__|sizeof|__cluster_dims__|__maxnreg__|(?i:_*launch_?bounds_*)");
  return is_one_of(token, words);
}

/// Words between the arguments of a function and its body.
bool follows_arguments(const Token& token) {
  static const RE2 words("const|volatile|noexcept|throw|override|final|try|requires|__attribute__|__?asm(?:__)?|asm");
  return is_one_of(token, words);
}

struct Item {
  enum class Kind { function, operation, variable, type, alias, unknown };
  Kind kind = Kind::unknown;
  std::size_t first = 0, last = 0;  ///< of the text's tokens
  std::size_t body = 0;             ///< where that of a function or class begins, or `last`
  std::vector<std::string> names{};
  bool marked = false;  ///< for the device
  /// constexpr, with a word in capitals, which an option or a header may define, or with the space of a declaration.
  bool may_be_marked = false;
  bool is_const = false;
  bool launches = false;  ///< a kernel, or calls the runtime
  bool stays = false;

  /// A file that has such an item holds more than kernels.
  bool is_host_code() const {
    return !marked &&
           (launches || kind == Kind::function || kind == Kind::operation || (kind == Kind::variable && !is_const));
  }
};

struct Macros {
  std::map<std::string, std::vector<Tokens>, std::less<>> bodies;
  std::map<std::string, std::vector<std::pair<std::size_t, std::size_t>>, std::less<>> places;  ///< text, byte
  Names marks{"__global__", "__device__", "__constant__", "__shared__", "__managed__"};
  bool forces_marks = false;  ///< clang's pragma that marks what has no mark

  void add(const std::vector<Directive>& directives, std::size_t text) {
    for (const Directive& directive : directives) {
      forces_marks = forces_marks || directive.text.find("force_cuda_host_device") != std::string::npos;
      if (directive.name != "define") continue;
      Tokens tokens = tokens_of(directive.text);
      if (tokens.empty()) continue;
      const std::string name = tokens.front().text;
      tokens.erase(tokens.begin());
      bodies[name].push_back(std::move(tokens));
      places[name].emplace_back(text, directive.begin);
    }
  }
  /// What a name at this place declares, where it may be a macro: itself, if the macro is only defined behind it (void
  /// check(int); #define check(x) check(x)); one other word; nothing, if it cannot be told.
  std::optional<std::string> declares(const std::string& name, std::size_t text, std::size_t byte) const {
    const auto found = bodies.find(name);
    if (found == bodies.end()) return name;
    const auto is_behind = [&](const auto& place) { return place.first == text && place.second > byte; };
    if (std::ranges::all_of(places.at(name), is_behind)) return name;
    const Tokens& body = found->second.front();
    const bool is_word = found->second.size() == 1 && body.size() == 1 && body.front().is_word();
    return is_word && !bodies.contains(body.front().text) ? std::optional(body.front().text) : std::nullopt;
  }
  /// Whether a name is a macro that may be more than a type or a specifier: further code, a template's head, or a
  /// name that is put together.
  bool makes_code(const std::string& name, int depth = 0) const {
    static const RE2 words("template|using|typedef|namespace|struct|class|enum|union|operator");
    const auto found = bodies.find(name);
    if (found == bodies.end()) return false;
    const auto is_code = [&](const Token& each) {
      return each.is("{") || each.is("}") || each.is(";") || each.is("#") || is_one_of(each, words) || depth > 16 ||
             (each.is_word() && each.text != name && makes_code(each.text, depth + 1));
    };
    return std::ranges::any_of(found->second, [&](const Tokens& body) { return std::ranges::any_of(body, is_code); });
  }
  /// Whether what a macro stands for is complete by itself.
  bool ends(const std::string& name) const {
    const auto found = bodies.find(name);
    return found != bodies.end() && std::ranges::all_of(found->second, [](const Tokens& body) {
             return body.empty() || body.back().is(";") || body.back().is("}") || body.back().is("{");
           });
  }
  /// Adds the macros that stand for marks.
  void find_marks() {
    for (std::size_t before = 0; before != marks.size();) {
      before = marks.size();
      for (const auto& [name, definitions] : bodies)
        for (const Tokens& body : definitions)
          if (std::any_of(body.begin(), body.end(), [&](const Token& each) { return marks.contains(each.text); }))
            marks.insert(name);
    }
  }
};

/// The items among some of a text's tokens.
class ItemReader {
 public:
  ItemReader(const Tokens& all, std::vector<std::size_t> numbers, std::size_t text, const Macros& macros,
             std::vector<Item>& found)
      : numbers_(std::move(numbers)), text_(text), macros_(macros), found_(found) {
    for (const std::size_t number : numbers_) tokens_.push_back(all[number]);
  }

  void run() {
    for (std::size_t i = 0; i < tokens_.size();) i = step(i);
  }

 private:
  bool is(std::size_t i, std::string_view text) const { return i < tokens_.size() && tokens_[i].text == text; }
  bool is_word(std::size_t i) const { return i < tokens_.size() && tokens_[i].is_word(); }
  std::size_t close(std::size_t i) const { return i < tokens_.size() ? closing(tokens_, i) : i; }

  std::size_t step(std::size_t i) {
    if (is(i, ";") || is(i, "}")) return i + 1;
    if (const std::size_t inside = past_opening(i)) return inside;
    if (const std::size_t end = past_macro(i)) {
      // A macro from elsewhere that names a scope is complete; another one may be the head of what follows.
      attached_ = is(i + 1, "(") && !macros_.ends(tokens_[i].text);
      return add({}, i, end);
    }
    if ((is(i, "using") && is(i + 1, "namespace")) || is(i, "static_assert") || is(i, "asm")) {
      while (i < tokens_.size() && !is(i, ";")) add({}, i, i + 1), ++i;
      return i;
    }
    return Declaration(*this, i).read();
  }

  /// Behind the brace of a namespace or of extern "C"; 0: there is none.
  std::size_t past_opening(std::size_t i) const {
    if (is(i, "extern") && is(i + 1, "\"C\"") && is(i + 2, "{")) return i + 3;
    i += is(i, "inline");
    if (!is(i, "namespace")) return 0;
    for (++i; is_word(i) || is(i, "::") || is(i, "[") || is(i, "("); ++i)
      if (!is_word(i) && !is(i, "::")) i = close(i);
    return is(i, "{") ? i + 1 : 0;
  }

  /// Behind a macro that is not part of a declaration; 0: there is none.
  std::size_t past_macro(std::size_t i) const {
    static const RE2 scope("[A-Z0-9_]*(?:BEGIN|END|NAMESPACE|OPEN|CLOSE)[A-Z0-9_]*");
    if (!is_word(i) || takes_brackets(tokens_[i])) return 0;
    const auto ends_line = [&](std::size_t at) {
      return at + 1 >= tokens_.size() || tokens_[at + 1].line > tokens_[at].line;
    };
    if (is(i + 1, "(")) {
      const std::size_t end = close(i + 1);
      return end < tokens_.size() && ends_line(end) && !is(end + 1, "{") && !is(end + 1, ":") && !is(end + 1, ";")
                 ? end + 1
                 : 0;
    }
    const auto known = macros_.bodies.find(tokens_[i].text);
    if (known == macros_.bodies.end()) return ends_line(i) && RE2::FullMatch(tokens_[i].text, scope) ? i + 1 : 0;
    const auto has_brace = [](const Tokens& body) {
      return std::any_of(body.begin(), body.end(), [](const Token& each) { return each.is("{") || each.is("}"); });
    };
    return std::any_of(known->second.begin(), known->second.end(), has_brace) ? i + 1 : 0;
  }

  /// Where the first word behind the heads of templates is.
  std::size_t past_heads(std::size_t i) const {
    while (is(i, "template") && is(i + 1, "<")) i = close(i + 1) + 1;
    return i;
  }

  /// Returns `end`, where the next item begins.
  std::size_t add(Item item, std::size_t begin, std::size_t end) {
    item.first = numbers_[begin];
    item.last = numbers_[std::max(begin + 1, std::min(end, tokens_.size())) - 1];
    if (item.kind == Item::Kind::unknown) item.body = item.last;
    found_.push_back(std::move(item));
    return std::max(end, begin + 1);
  }

  class Declaration {
   public:
    Declaration(ItemReader& reader, std::size_t begin) : r_(reader), begin_(begin), at_(begin) {}

    std::size_t read() {
      const Tokens& tokens = r_.tokens_;
      at_ = r_.past_heads(at_);
      attached_ = std::exchange(r_.attached_, false);
      const bool named = r_.is(at_, "using") || r_.is(at_, "typedef") || r_.is(at_, "namespace");
      for (; at_ < tokens.size() && !r_.is(at_, "}"); ++at_) {
        if (r_.is(at_, ";")) return finish(named);
        if (tokens[at_].is_word())
          word();
        else if (!mark(named))
          return unknown(tokens.size());
        else if (function_end_ > 0)
          return finish(false);
      }
      return unknown(at_);
    }

   private:
    std::size_t unknown(std::size_t end) { return r_.add({}, begin_, end); }

    void word() {
      if (is_class_key(r_.tokens_[at_]) && !key_ && !arguments_ && !assigned_) key_ = at_;
      if (!r_.is(at_, "operator")) return;
      operates_ = true;
      if (r_.is(at_ + 1, "(")) at_ = r_.close(at_ + 1);
      while (at_ + 1 < r_.tokens_.size() && !r_.is(at_ + 1, "(") && !r_.is(at_ + 1, ";")) ++at_;
    }

    /// False where brackets do not balance.
    bool mark(bool named) {
      const std::string& text = r_.tokens_[at_].text;
      const bool after_word = at_ > begin_ && r_.is_word(at_ - 1);
      if (text == "=") assigned_ = true;
      if (text == ":" && arguments_) initializes_ = true;
      const bool opens = text == "(" || text == "[" || text == "{";
      if (!opens && !(text == "<" && after_word && !assigned_)) return true;
      const std::size_t end = r_.close(at_);
      if (end >= r_.tokens_.size()) return !opens;  // a comparison
      if (text == "<") template_ = {at_ - 1, end};
      if (text == "(" && !assigned_ && !arguments_) arguments(end, after_word);
      if (text == "{" && !assigned_) {
        if (key_ && !arguments_ && !type_body_) type_body_ = at_;
        const bool of_member = initializes_ && (after_word || r_.is(at_ - 1, ">"));
        if (arguments_ && !of_member && !named) body_ = at_, function_end_ = end + 1;
      }
      at_ = end;
      return true;
    }

    void arguments(std::size_t end, bool after_word) {
      const bool after_template = template_.end > 0 && at_ == template_.end + 1;
      if (!after_word && !after_template && !operates_) return;
      if (r_.is(at_ + 1, "*") || r_.is(at_ + 1, "&")) {  // void (*f)(int)
        for (std::size_t i = at_ + 1; i < end && !pointer_; ++i)
          if (r_.is_word(i)) pointer_ = i;
        return;
      }
      // MACRO(3) int f(int)
      const bool goes_on = r_.is_word(end + 1) && !follows_arguments(r_.tokens_[end + 1]) && !operates_ &&
                           !RE2::FullMatch(r_.tokens_[end + 1].text, "[A-Z0-9_]+");
      if (takes_brackets(r_.tokens_[at_ - 1]) || goes_on) return;
      name_ = after_template ? template_.name : at_ - 1;
      arguments_ = at_;
      arguments_end_ = end;
    }

    std::size_t finish(bool named) {
      const std::size_t end = function_end_ ? function_end_ : at_ + 1;
      Item item;
      if (named)
        item.kind = Item::Kind::alias;
      else if (operates_)
        item.kind = Item::Kind::operation;
      else if (arguments_ && !assigned_ && (function_end_ || are_parameters()))
        item.kind = Item::Kind::function;
      else
        item.kind = key_ ? Item::Kind::type : Item::Kind::variable;
      item.names = names(item.kind, end - 1);
      if (item.names.empty() && item.kind != Item::Kind::operation) return unknown(end);
      const std::size_t declared = function_end_ ? body_ : end;
      if (!is_understood(item, declared)) return unknown(end);
      for (std::string& name : item.names) {
        const auto declares = r_.macros_.declares(name, r_.text_, r_.tokens_[begin_].begin);
        if (!declares) return unknown(end);
        name = *declares;
      }
      static const RE2 capitals("[A-Z][A-Z0-9_]+");
      for (std::size_t i = begin_; i < declared; ++i) {
        item.marked = item.marked || r_.macros_.marks.contains(r_.tokens_[i].text);
        item.is_const = item.is_const || r_.is(i, "const") || r_.is(i, "constexpr");
        item.may_be_marked = item.may_be_marked || r_.is(i, "constexpr") || r_.is(i, "consteval") ||
                             r_.is(i, "__attribute__") ||
                             (is_one_of(r_.tokens_[i], capitals) && i < arguments_.value_or(declared) && !is_scope(i));
      }
      const bool is_specialised = r_.is(begin_, "template") && r_.is(begin_ + 1, "<") && r_.is(begin_ + 2, ">");
      item.may_be_marked = item.may_be_marked || is_specialised || r_.macros_.forces_marks;
      static const RE2 calls("(?:cuda|hip)(?:Launch|Malloc|Memcpy)\\w*");
      for (std::size_t i = begin_; i + 1 < end; ++i)
        item.launches = item.launches || (r_.is(i, "<<") && r_.is(i + 1, "<")) || is_one_of(r_.tokens_[i], calls);
      const bool has_members = type_body_ && !r_.is(*key_, "enum");
      item.body = r_.numbers_[has_members ? *type_body_ : declared - 1];
      return r_.add(std::move(item), begin_, end);
    }

    /// NAME::, not a macro before ::f.
    bool is_scope(std::size_t i) const { return r_.is(i + 1, "::") && r_.tokens_[i].end == r_.tokens_[i + 1].begin; }

    /// Not where macros may make other code of it, nor enums, specialisations of types, and deduction guides, which
    /// count without a name.
    bool is_understood(const Item& item, std::size_t declared) const {
      const std::size_t first = r_.past_heads(begin_);
      const bool is_main = item.names == std::vector<std::string>{"main"};
      static const RE2 words("void|bool|char|short|int|long|signed|unsigned|float|double|auto|catch");
      const bool is_call = r_.is_word(first) && r_.is(first + 1, "(") && !takes_brackets(r_.tokens_[first]) &&
                           !RE2::FullMatch(r_.tokens_[first].text, words);
      if ((attached_ || is_call) && !is_main) return false;
      bool has_type = false;  // of the result
      for (std::size_t i = first; item.kind == Item::Kind::function && i < *name_; ++i)
        has_type = has_type || !r_.is(i, "explicit");
      if (item.kind == Item::Kind::function && !has_type && r_.is(arguments_end_ + 1, "->")) return false;
      const bool is_type = item.kind == Item::Kind::type;
      if (is_type && (r_.is(*key_, "enum") || (first != begin_ && is_specialisation()))) return false;
      for (std::size_t i = begin_; i < declared; ++i) {
        if (type_body_ && i == *type_body_) i = std::min(r_.close(i), declared - 1);
        const bool is_name = std::ranges::find(item.names, r_.tokens_[i].text) != item.names.end();
        if (r_.is_word(i) && !is_name && r_.macros_.makes_code(r_.tokens_[i].text)) return false;
      }
      return true;
    }

    bool is_specialisation() const {
      for (std::size_t i = *key_ + 1; i < type_body_.value_or(at_) && !r_.is(i, ":"); ++i)
        if (r_.is(i, "<")) return true;
      return false;
    }

    /// Whether the brackets hold what a function takes, and not a variable's first value.
    bool are_parameters() const {
      static const RE2 types("void|int|unsigned|signed|long|short|char|float|double|bool|auto|size_t|half");
      if (arguments_end_ == *arguments_ + 1) return true;
      for (std::size_t i = *arguments_ + 1; i < arguments_end_; ++i) {
        const bool points = (r_.is(i + 1, "*") || r_.is(i + 1, "&")) && r_.tokens_[i + 2].kind != Token::Kind::number;
        if (r_.is_word(i) && (r_.is_word(i + 1) || points || is_one_of(r_.tokens_[i], types))) return true;
      }
      return false;
    }

    std::vector<std::string> names(Item::Kind kind, std::size_t end) const {
      const Tokens& tokens = r_.tokens_;
      if (kind == Item::Kind::operation) return {};
      if (kind == Item::Kind::function) return {tokens[*name_].text};
      std::vector<std::string> found;
      if (pointer_) return {tokens[*pointer_].text};
      const bool is_using = r_.is(begin_, "namespace") || r_.is(begin_, "using") ||
                            (kind == Item::Kind::alias && !r_.is(begin_, "typedef"));
      if (key_) add_tag(found);
      // using A = B; namespace a = b;: what stands before "="; otherwise the last word of each declarator.
      std::optional<std::string> last;
      std::size_t i = type_body_ ? r_.close(*type_body_) + 1 : begin_;
      for (; i <= end; ++i) {
        if (r_.is(i, "=") || r_.is(i, ",") || i == end) {
          if (last) found.push_back(*last);
          last.reset();
          if (r_.is(i, "=") && is_using) break;
          while (r_.is(i, "=") && i < end && !r_.is(i, ",")) {
            for (++i; i < end && !r_.is(i, ","); ++i)
              if (r_.is(i, "(") || r_.is(i, "[") || r_.is(i, "{")) i = std::min(r_.close(i), end - 1);
          }
        } else if (r_.is(i, "(") || r_.is(i, "[") || r_.is(i, "{") || (r_.is(i, "<") && r_.is_word(i - 1))) {
          if (const std::size_t closed = r_.close(i); closed < end) i = closed;
        } else if (r_.is_word(i) && !is_class_key(tokens[i])) {
          last = tokens[i].text;
        }
      }
      return found;
    }

    /// The name of a type, and those of an enum's values.
    void add_tag(std::vector<std::string>& found) const {
      std::string name;
      for (std::size_t i = *key_ + 1; i < type_body_.value_or(at_) && !r_.is(i, ":") && !r_.is(i, "<"); ++i) {
        if (r_.is(i, "(") || r_.is(i, "["))
          i = r_.close(i);
        else if (r_.is_word(i) && !is_class_key(r_.tokens_[i]) && !r_.is(i, "final"))
          name = r_.tokens_[i].text;
      }
      if (!name.empty()) found.push_back(name);
      if (!type_body_ || !r_.is(*key_, "enum")) return;
      const std::size_t close = r_.close(*type_body_);
      for (std::size_t i = *type_body_ + 1; i < close; ++i)
        if (r_.is_word(i) && (r_.is(i - 1, "{") || r_.is(i - 1, ","))) found.push_back(r_.tokens_[i].text);
    }

    using Place = std::optional<std::size_t>;  ///< the number of a token
    ItemReader& r_;
    const std::size_t begin_;
    std::size_t at_;
    struct {
      std::size_t name = 0, end = 0;
    } template_;  ///< the last name with template arguments
    std::size_t arguments_end_ = 0, body_ = 0, function_end_ = 0;
    Place key_, name_, arguments_, pointer_, type_body_;
    bool assigned_ = false, operates_ = false, initializes_ = false;
    bool attached_ = false;  ///< a macro before it may be its head
  };

  Tokens tokens_;
  const std::vector<std::size_t> numbers_;
  const std::size_t text_;  ///< its number
  const Macros& macros_;
  std::vector<Item>& found_;
  bool attached_ = false;  ///< the last item is a macro that may go on in the next one
};

struct UnitText {
  std::string_view text;
  TokenizedSource read;
  std::vector<Item> items{};
};

/// Tokens in the first branch of all conditions are read as one text, and what other branches have between its items as
/// further ones.
void read_items(UnitText& text, std::size_t number, const Macros& macros) {
  const Tokens& tokens = text.read.tokens;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (!tokens[i].alternative) numbers.push_back(i);
  ItemReader(tokens, std::move(numbers), number, macros, text.items).run();
  std::vector<bool> covered(tokens.size());
  for (const Item& item : text.items)
    for (std::size_t i = item.first; i <= item.last; ++i) covered[i] = true;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::vector<std::size_t> run;
    for (; i < tokens.size() && tokens[i].alternative && !covered[i]; ++i) run.push_back(i);
    if (!run.empty()) ItemReader(tokens, std::move(run), number, macros, text.items).run();
  }
}

/// Items of which some branch of a condition has only a part stay, and so do these parts.
void keep_divided(UnitText& text) {
  static const RE2 condition("if|ifdef|ifndef|elif|else|endif");
  const Tokens& tokens = text.read.tokens;
  std::ranges::sort(text.items, {}, &Item::first);
  bool divided = false;
  for (Item& item : text.items) {
    divided = (divided && tokens[item.first].alternative) ||
              std::ranges::any_of(text.read.directives, [&](const Directive& each) {
                return each.begin > tokens[item.first].begin && each.begin < tokens[item.body].begin &&
                       RE2::FullMatch(each.name, condition);
              });
    if (divided) item.kind = Item::Kind::unknown;
  }
}

/// Which items the entries reach.
class Reach {
 public:
  /// named: code with further names.
  Reach(std::vector<UnitText>& texts, Macros& macros, const std::set<std::string>& entries, const Tokens& named)
      : texts_(texts), macros_(macros), all_marked_(entries.empty()) {
    for_each_item([&](const UnitText&, const Item& item) {
      for (const std::string& name : item.names) {
        // Where only a declaration has the mark, the definition need not.
        if (item.marked && item.kind == Item::Kind::function && item.body < item.last) marked_.insert(name);
        if (item.kind == Item::Kind::type) types_.insert(name);
      }
    });
    for (const std::string& entry : entries) {
      all_marked_ = all_marked_ || !marked_.contains(entry);
      used_.insert(entry);
    }
    read(named, 0, named.size());
  }

  /// Returns the names in what stays.
  const Names& run() {
    for (bool changes = true; changes;) {
      changes = false;
      for_each_item([&](const UnitText& text, Item& item) {
        if (item.stays || !is_reached(text, item)) return;
        changes = true;
        stay(text, item);
      });
    }
    return used_;
  }

  /// A text that is not cut. Returns whether that is news.
  bool keep(UnitText& text) {
    bool changes = false;
    for (Item& item : text.items)
      if (!item.stays) changes = true, stay(text, item);
    return changes;
  }

 private:
  void stay(const UnitText& text, Item& item) {
    item.stays = true;
    for (const std::string& name : item.names) kept_.insert(name);
    const bool is_function = item.kind == Item::Kind::function;
    read(text.read.tokens, item.first, item.last + 1, is_function ? parameters(text.read.tokens, item) : Names());
  }

  /// The names of a function's parameters, which hide others of its text: words behind a type at the end of each.
  Names parameters(const Tokens& tokens, const Item& item) const {
    static const RE2 qualifiers("const|volatile|struct|class|union|enum|typename|register|__grid_constant__");
    Names found;
    std::size_t open = item.first;
    while (open < item.body && !(tokens[open].is(item.names.front()) && tokens[open + 1].is("("))) ++open;
    const std::size_t close = open < item.body ? closing(tokens, open + 1) : tokens.size();
    if (close > item.body) return found;
    for (const Tokens& each : split_arguments(part(tokens, open + 2, close))) {
      if (each.size() < 2 || !each.back().is_word() || macros_.places.contains(each.back().text)) continue;
      const Token& before = each[each.size() - 2];
      if (before.is("*") || before.is("&") || before.is(">") || (before.is_word() && !is_one_of(before, qualifiers)))
        found.insert(each.back().text);
    }
    return found;
  }

  template <class Use>
  void for_each_item(const Use& use) {
    for (UnitText& text : texts_)
      for (Item& item : text.items) use(text, item);
  }

  bool is_reached(const UnitText& text, const Item& item) const {
    const auto is_in = [](const Names& names) {
      return [&names](const std::string& name) { return names.contains(name); };
    };
    switch (item.kind) {
      case Item::Kind::unknown:
        return true;
      case Item::Kind::function: {
        const std::string& name = item.names.front();
        // Called without a name: for (auto x : range), auto [a, b] = pair.
        const bool is_implied = name == "begin" || name == "end" || name == "get";
        if (item.marked && (all_marked_ || pastes_ || is_implied)) return true;
        return used_.contains(name) && (item.marked || item.may_be_marked || !marked_.contains(name));
      }
      case Item::Kind::operation:
        return is_reached_operator(text, item);
      default:
        return (pastes_ && !item.names.empty()) || std::any_of(item.names.begin(), item.names.end(), is_in(used_));
    }
  }

  /// Operators are not called by name. One without a mark goes with a stream, or with a type that it takes.
  bool is_reached_operator(const UnitText& text, const Item& item) const {
    if (item.marked || item.may_be_marked) return true;
    const Tokens& tokens = text.read.tokens;
    const bool is_template = tokens[item.first].is("template");
    bool takes = false;
    for (std::size_t i = item.first; i <= item.body; ++i) {
      const std::string& word = tokens[i].text;
      if (word.ends_with("stream")) return false;
      takes = takes || (i > item.first && word == "(" && !tokens[i - 1].is("operator"));
      if (takes && !is_template && types_.contains(word) && !kept_.contains(word)) return false;
    }
    return true;
  }

  /// Names in tokens that stay, but those of members and hidden ones.
  void read(const Tokens& tokens, std::size_t begin, std::size_t end, const Names& hidden = {}) {
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens[i].is("#") && i + 1 < end && tokens[i + 1].is("#")) pastes_ = true;
      if (!tokens[i].is_word()) continue;
      use_macro(tokens[i].text);
      const std::string before = i > begin ? tokens[i - 1].text : "";
      if (before == "." || before == "->" || (before != "::" && hidden.contains(tokens[i].text))) continue;
      used_.insert(tokens[i].text);
    }
  }

  void use_macro(const std::string& name) {
    const auto found = macros_.bodies.find(name);
    if (found == macros_.bodies.end()) return;
    const std::vector<Tokens> bodies = std::move(found->second);
    macros_.bodies.erase(found);
    for (const Tokens& body : bodies) read(body, 0, body.size());
  }

  std::vector<UnitText>& texts_;
  Macros& macros_;
  Names marked_, types_;  ///< functions with a mark; types that the texts define
  Names used_, kept_;     ///< names in kept text; of kept items
  bool all_marked_;       ///< an entry was not found
  bool pastes_ = false;   ///< a kept macro makes names by ##
};

void blank(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (text[i] != '\n' && text[i] != '\r' && text[i] != '\t') text[i] = ' ';
}

/// The text without an item: its tokens, the comments between them, and directives that would be out of place.
void blank_item(std::string& text, const UnitText& from, const Item& item) {
  const Tokens& tokens = from.read.tokens;
  for (std::size_t i = item.first; i <= item.last; ++i) {
    blank(text, tokens[i].begin, tokens[i].end);
    const std::size_t gap = i < item.last ? tokens[i + 1].begin : tokens[i].end;
    if (from.text.substr(tokens[i].end, gap - tokens[i].end).find_first_of("#") == std::string_view::npos)
      blank(text, tokens[i].end, gap);
  }
  for (const Directive& directive : from.read.directives)
    if (directive.begin > tokens[item.first].begin && directive.end < tokens[item.last].end &&
        (directive.name == "include" || directive.name == "pragma"))
      blank(text, directive.begin, directive.end);
}

/// Whether something is to be blanked.
bool holds_host_code(const UnitText& text) {
  return std::any_of(text.items.begin(), text.items.end(),
                     [](const Item& item) { return !item.stays && item.is_host_code(); });
}

/// used: names in what stays. NVIDIA's libraries of host functions are omitted as well where nothing names them.
std::string cut(const UnitText& from, const Names& used, std::map<std::string, std::size_t>& left_out) {
  std::string text(from.text);
  for (const Item& item : from.items) {
    if (item.stays) continue;
    blank_item(text, from, item);
    for (const std::string& name : item.names) left_out.try_emplace(name, from.read.tokens[item.first].line);
  }
  for (const auto& [library, macros] : {std::pair("cub", "\\bCUB_"), std::pair("thrust", "\\bTHRUST_")}) {
    const RE2 macro(macros);
    const auto asks = [&](const std::string& word) { return RE2::PartialMatch(word, macro); };
    if (used.contains(library) || std::ranges::any_of(used, asks) ||
        std::ranges::any_of(from.read.directives, asks, &Directive::text))
      continue;
    for (const Directive& directive : from.read.directives)
      if (directive.name == "include" && directive.text.substr(0, 1).find_first_of("<\"") == 0 &&
          directive.text.substr(1).starts_with(std::string(library) + "/"))
        blank(text, directive.begin, directive.end);
  }
  return text;
}

}  // namespace

DeviceUnit device_unit(const std::string& source, const std::map<std::string, std::string>& headers,
                       const UnitRoots& roots) {
  std::vector<UnitText> texts{{source, tokenize(source)}};
  for (const auto& [name, text] : headers) texts.push_back({text, tokenize(text)});
  Macros macros;
  for (std::size_t i = 0; i < texts.size(); ++i) macros.add(texts[i].read.directives, i);
  const TokenizedSource named = tokenize(roots.text);
  macros.add(named.directives, texts.size());
  macros.find_marks();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    read_items(texts[i], i, macros);
    keep_divided(texts[i]);
  }
  Reach reach(texts, macros, roots.entries, named.tokens);
  Names used;
  bool is_program = false;
  const auto is_cut = [&](const UnitText& text) { return is_program || holds_host_code(text); };
  for (bool changes = true; changes;) {
    used = reach.run();
    is_program = holds_host_code(texts.front());
    changes = false;
    for (UnitText& text : texts) changes = (!is_cut(text) && reach.keep(text)) || changes;
  }
  DeviceUnit unit{source};
  if (is_program) unit.source = cut(texts.front(), used, unit.left_out);
  std::size_t i = 0;
  for (const auto& [name, text] : headers)
    if (const UnitText& header = texts[++i]; is_cut(header))
      if (std::string rest = cut(header, used, unit.left_out); rest != text) unit.headers[name] = std::move(rest);
  return unit;
}

namespace {

bool is_blank(std::string_view line) { return base::trimmed(line, " \t\r").empty(); }

/// calls use(before, after) for each line of the source; after is empty behind the unit's end.
template <class Use>
void compare_lines(const std::string& source, const std::string& unit, const Use& use) {
  const auto before = base::split_lines(source), after = base::split_lines(unit);
  for (std::size_t i = 0; i < before.size(); ++i) use(before[i], i < after.size() ? after[i] : std::string_view());
}

}  // namespace

std::size_t lines_left_out(const std::string& source, const std::string& unit) {
  std::size_t lines = 0;
  compare_lines(source, unit, [&](std::string_view before, std::string_view after) {
    lines += !is_blank(before) && is_blank(after);
  });
  return lines;
}

std::string without_traces(const std::string& source, const std::string& unit) {
  std::string text, pending;
  compare_lines(source, unit, [&](std::string_view before, std::string_view after) {
    const bool is_cut = is_blank(after) && !is_blank(before);
    if (!is_blank(after)) text += std::exchange(pending, {}) + std::string(after) + "\n";
    if (is_blank(after)) pending += (is_cut ? "" : std::string(after)) + "\n";
  });
  return text;
}

}  // namespace xtune::build
