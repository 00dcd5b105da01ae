// Splits the text of an expression into tokens, and parses them by recursive descent, directly into instructions.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "core/space/code.hpp"
#include "core/space/expression.hpp"

namespace xtune::space::expr {

namespace {

struct Token {
  enum class Kind { end, number, text, name, symbol };
  Kind kind = Kind::end;
  std::size_t column = 0;   ///< byte offset
  std::string_view word;    ///< as written; keywords are names
  Value value = false;      ///< of a literal
  std::uint64_t large = 0;  ///< of an integer literal above 2^63 - 1, instead of the value
};

/// Reads the text one token ahead. All functions throw ExpressionError at the offending character.
class Lexer {
 public:
  explicit Lexer(std::string_view text);
  const Token& peek() const noexcept { return token_; }
  Token next();

 private:
  void advance();
  void read_number();
  void read_text();

  std::string_view text_;
  std::size_t position_ = 0;
  Token token_;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr std::string_view symbols[] = {"**", "//", "==", "!=", "<=", ">=", "<<", ">>", "+", "-", "*", "/",
                                        "%",  "&",  "|",  "^",  "~",  "<",  ">",  "(",  ")", "[", "]", ","};

// Suggests this language's operator for one that is common in other languages.
std::string unknown_character(std::string_view rest) {
  if (rest.substr(0, 2) == "&&") return "'&&' is written 'and' here";
  if (rest.substr(0, 2) == "||") return "'||' is written 'or' here";
  if (rest[0] == '?') return "'C ? A : B' is written 'A if C else B' here";
  if (rest[0] == '!') return "'!' is written 'not' here";
  if (rest[0] == '=') return "'=' does not compare, write '=='";
  const auto byte = static_cast<unsigned char>(rest[0]);
  if (byte >= 0x20 && byte < 0x7F) return std::string("unexpected character '") + rest[0] + "'";
  constexpr char digits[] = "0123456789abcdef";
  return std::string("unexpected byte 0x") + digits[byte >> 4] + digits[byte & 15];
}

int base_of(std::string_view prefix) {
  if (prefix == "0x" || prefix == "0X") return 16;
  if (prefix == "0b" || prefix == "0B") return 2;
  if (prefix == "0o" || prefix == "0O") return 8;
  return 10;
}

// Python allows single underscores between digits.
std::string without_underscores(std::string_view word, std::size_t column) {
  std::string digits;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '_')
      digits += word[i];
    else if (i + 1 == word.size() || word[i + 1] == '_' || i == 0)
      throw ExpressionError("misplaced '_' in a number", column + i, std::string(word));
  }
  return digits;
}

Lexer::Lexer(std::string_view text) : text_(text) { advance(); }

Token Lexer::next() {
  Token token = std::move(token_);
  advance();
  return token;
}

void Lexer::advance() {
  while (position_ < text_.size() && is_space(text_[position_])) ++position_;
  token_ = Token{};
  token_.column = position_;
  if (position_ == text_.size()) return;
  const char c = text_[position_];
  if (is_digit(c) || (c == '.' && position_ + 1 < text_.size() && is_digit(text_[position_ + 1]))) return read_number();
  if (c == '"' || c == '\'') return read_text();
  if (is_letter(c)) {
    std::size_t end = position_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) ||
                                  (text_[end] == '.' && end + 1 < text_.size() && is_letter(text_[end + 1]))))
      ++end;
    token_.kind = Token::Kind::name;
    token_.word = text_.substr(position_, end - position_);
    position_ = end;
    return;
  }
  const std::string_view two = text_.substr(position_, 2);
  for (const std::string_view symbol : symbols)
    if (two.substr(0, symbol.size()) == symbol && two != "&&" && two != "||") {
      token_.kind = Token::Kind::symbol;
      token_.word = text_.substr(position_, symbol.size());
      position_ += symbol.size();
      return;
    }
  throw ExpressionError(unknown_character(text_.substr(position_)), position_, std::string(1, c));
}

void Lexer::read_number() {
  const std::size_t start = position_;
  const int base = base_of(text_.substr(start, 2));
  std::size_t end = base == 10 ? start : start + 2;
  bool floating = false;
  for (; end < text_.size(); ++end) {
    const char c = text_[end];
    const bool exponent_sign = (c == '+' || c == '-') && base == 10 && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
    if (!is_digit(c) && !is_letter(c) && c != '.' && !(exponent_sign && end > start)) break;
    if (base == 10 && (c == '.' || c == 'e' || c == 'E')) floating = true;
  }
  token_.kind = Token::Kind::number;
  token_.word = text_.substr(start, end - start);
  position_ = end;
  const std::string word(token_.word);
  const std::string digits = without_underscores(base == 10 ? token_.word : token_.word.substr(2), start);
  const char* const last = digits.data() + digits.size();
  if (floating) {
    double value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), last, value);
    if (stop != last || error == std::errc::invalid_argument)
      throw ExpressionError("bad number '" + word + "'", start, word);
    if (error == std::errc::result_out_of_range)
      throw ExpressionError("the number '" + word + "' is out of a float's range", start, word);
    token_.value = value;
    return;
  }
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), last, value, base);
  if (stop != last || error == std::errc::invalid_argument)
    throw ExpressionError("bad number '" + word + "'", start, word);
  if (base == 10 && digits.size() > 1 && digits[0] == '0' && value != 0)
    throw ExpressionError("a decimal number has no leading zeros: '" + word + "'", start, word);
  if (error == std::errc::result_out_of_range)
    throw ExpressionError("the number '" + word + "' does not fit a 64-bit integer", start, word);
  if (value > std::numeric_limits<std::int64_t>::max())
    token_.large = value;
  else
    token_.value = static_cast<std::int64_t>(value);
}

void Lexer::read_text() {
  const char quote = text_[position_];
  const std::size_t start = position_++;
  std::string content;
  for (;; ++position_) {
    if (position_ >= text_.size() || text_[position_] == '\n') throw ExpressionError("the string is not closed", start);
    char c = text_[position_];
    if (c == quote) break;
    if (c == '\\') {
      if (++position_ >= text_.size()) throw ExpressionError("the string is not closed", start);
      c = text_[position_];
      if (c == 'n')
        c = '\n';
      else if (c == 't')
        c = '\t';
      else if (c != '\\' && c != '\'' && c != '"')
        throw ExpressionError(std::string("unknown escape '\\") + c + "' in a string", position_ - 1);
    }
    content += c;
  }
  ++position_;
  token_.kind = Token::Kind::text;
  token_.word = text_.substr(start, position_ - start);
  token_.value = std::move(content);
}

constexpr int deepest = 200;

struct FunctionEntry {
  std::string_view name;
  Function function;
  std::size_t least, most;
  std::array<std::string_view, 5> facts{};  ///< names whose values follow the arguments
};
constexpr std::size_t any_number = 1000;
constexpr std::array<FunctionEntry, 9> functions{{
    {"min", Function::min, 2, any_number},
    {"max", Function::max, 2, any_number},
    {"abs", Function::abs, 1, 1},
    {"ceildiv", Function::ceildiv, 2, 2},
    {"pow2", Function::pow2, 1, 1},
    {"log2", Function::log2, 1, 1},
    {"int", Function::to_int, 1, 1},
    {"float", Function::to_float, 1, 1},
    {"device.max_active_clusters",
     Function::max_active_clusters,
     3,
     3,
     {"device.compute_units", "device.warp_size", "device.max_threads_per_compute_unit",
      "device.shared_per_compute_unit", "device.max_cluster_blocks"}},
}};

/// Writes the instructions of an expression.
class CodeWriter {
 public:
  explicit CodeWriter(std::string_view text) { code_.text = text; }

  // change: how many values the instruction adds to the stack (negative: removes).
  std::size_t emit(Opcode opcode, int change, std::size_t column, std::size_t operand = 0, std::uint8_t detail = 0) {
    code_.instructions.push_back(
        {opcode, detail, static_cast<std::uint32_t>(operand), static_cast<std::uint32_t>(column)});
    height_ += change;
    code_.stack_size = std::max(code_.stack_size, static_cast<std::size_t>(height_));
    return code_.instructions.size() - 1;
  }
  void land(std::size_t jump) {
    code_.instructions[jump].operand = static_cast<std::uint32_t>(code_.instructions.size());
  }
  void constant(Value value, std::size_t column) {
    code_.values.push_back(std::move(value));
    emit(Opcode::constant, 1, column, code_.values.size() - 1);
  }
  /// Above 2^63 - 1: twice its half, and the rest, because no Value holds it.
  void large_constant(std::uint64_t value, std::size_t column) {
    constant(static_cast<std::int64_t>(value / 2), column);
    constant(std::int64_t{2}, column);
    emit(Opcode::arithmetic, -1, column, 0, static_cast<std::uint8_t>(Arithmetic::multiply));
    constant(static_cast<std::int64_t>(value % 2), column);
    emit(Opcode::arithmetic, -1, column, 0, static_cast<std::uint8_t>(Arithmetic::add));
  }

  // The condition comes after the value in the text, and is computed before it. Returns the position of the branch.
  std::size_t condition_first(std::size_t value, std::size_t condition, std::size_t column) {
    auto& code = code_.instructions;
    const std::size_t end = code.size();
    for (std::size_t i = value; i < end; ++i)
      if (is_jump(code[i].opcode))
        code[i].operand += static_cast<std::uint32_t>(i < condition ? end - condition + 1 : value - condition);
    const auto at = [&](std::size_t place) { return code.begin() + static_cast<std::ptrdiff_t>(place); };
    std::rotate(at(value), at(condition), at(end));
    const std::size_t branch = value + end - condition;
    code.insert(at(branch), {Opcode::branch, 0, 0, static_cast<std::uint32_t>(column)});
    return branch;
  }

  /// The position of the name among the names that the code uses.
  std::size_t use(const std::string& name, std::size_t column) {
    const auto known =
        std::find_if(code_.uses.begin(), code_.uses.end(), [&](const NameUse& each) { return each.name == name; });
    const auto index = static_cast<std::size_t>(known - code_.uses.begin());
    if (known == code_.uses.end()) {
      code_.uses.push_back({name, column});
      code_.names.insert(name);
    }
    return index;
  }

  /// Inserts the code of a derived name; its errors are reported at the name.
  void inlined(const Expression::Code& from, const Token& token) {
    constexpr std::size_t max_instructions = 100'000;
    const std::size_t begin = code_.instructions.size(), constants = code_.values.size();
    if (begin + from.instructions.size() > max_instructions)
      throw ExpressionError("the expression is too long with what '" + std::string(token.word) + "' stands for",
                            token.column, std::string(token.word));
    code_.values.insert(code_.values.end(), from.values.begin(), from.values.end());
    for (Instruction instruction : from.instructions) {
      if (instruction.opcode == Opcode::name)
        instruction.operand = static_cast<std::uint32_t>(use(from.uses[instruction.operand].name, token.column));
      else if (instruction.opcode == Opcode::constant)
        instruction.operand += static_cast<std::uint32_t>(constants);
      else if (is_jump(instruction.opcode))
        instruction.operand += static_cast<std::uint32_t>(begin);
      instruction.column = static_cast<std::uint32_t>(token.column);
      code_.instructions.push_back(instruction);
    }
    code_.stack_size = std::max(code_.stack_size, static_cast<std::size_t>(height_) + from.stack_size);
    ++height_;
  }

  std::size_t size() const noexcept { return code_.instructions.size(); }
  int height() const noexcept { return height_; }
  void set_height(int height) noexcept { height_ = height; }

  Expression::Code take() {
    for (const Value& value : code_.values) code_.constants.push_back(Scalar::of(value));
    return std::move(code_);
  }

 private:
  Expression::Code code_;
  int height_ = 0;
};

class Parser {
 public:
  Parser(std::string_view text, const Expression::Derived* derived) : lexer_(text), derived_(derived), code_(text) {}

  Expression::Code parse() {
    if (lexer_.peek().kind == Token::Kind::end) throw ExpressionError("the expression is empty", 0);
    expression();
    if (lexer_.peek().kind != Token::Kind::end) unexpected("an operator or the end");
    return code_.take();
  }

 private:
  // The grammar recurses through parentheses, lists, arguments, `not`, signs and the right side of **.
  struct Nesting {
    explicit Nesting(Parser& parser) : depth(parser.depth_) {
      if (++depth > deepest)
        throw ExpressionError("the expression is nested deeper than 200 levels", parser.lexer_.peek().column);
    }
    ~Nesting() { --depth; }
    int& depth;
  };

  bool at(std::string_view word) const {
    const Token& token = lexer_.peek();
    return (token.kind == Token::Kind::symbol || token.kind == Token::Kind::name) && token.word == word;
  }
  bool accept(std::string_view word) {
    if (!at(word)) return false;
    lexer_.next();
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word)) unexpected("'" + std::string(word) + "'");
  }
  [[noreturn]] void unexpected(const std::string& wanted) const {
    const Token& token = lexer_.peek();
    if (token.kind == Token::Kind::end)
      throw ExpressionError("expected " + wanted + " but the expression ends", token.column);
    throw ExpressionError("expected " + wanted + ", got '" + std::string(token.word.substr(0, 40)) + "'", token.column,
                          std::string(token.word));
  }

  // VALUE if CONDITION else OTHER
  void expression() {
    const std::size_t value = code_.size();
    const int height = code_.height();
    disjunction();
    if (!at("if")) return;
    const Nesting nesting(*this);
    const std::size_t column = lexer_.next().column, condition = code_.size();
    disjunction();
    expect("else");
    const std::size_t branch = code_.condition_first(value, condition, column);
    const std::size_t jump = code_.emit(Opcode::jump, 0, column);
    code_.land(branch);
    code_.set_height(height);  // only one of the two values is computed
    expression();
    code_.land(jump);
  }

  void disjunction() {
    short_circuit("or", Opcode::skip_if_true, [this] { conjunction(); });
  }
  void conjunction() {
    short_circuit("and", Opcode::skip_if_false, [this] { negation(); });
  }

  template <class Operand>
  void short_circuit(std::string_view word, Opcode opcode, Operand operand) {
    operand();
    while (at(word)) {
      const std::size_t jump = code_.emit(opcode, -1, lexer_.next().column);
      operand();
      code_.land(jump);
    }
  }

  void negation() {
    if (!at("not")) return comparison();
    const Nesting nesting(*this);
    const std::size_t column = lexer_.next().column;
    negation();
    code_.emit(Opcode::logical_not, 0, column);
  }

  std::optional<Relation> relation() const {
    for (const Relation candidate : {Relation::equal, Relation::not_equal, Relation::less, Relation::less_equal,
                                     Relation::greater, Relation::greater_equal})
      if (lexer_.peek().kind == Token::Kind::symbol && at(symbol(candidate))) return candidate;
    return std::nullopt;
  }

  void comparison() {
    const std::size_t start = lexer_.peek().column;
    joined();
    const Tuple first_operand = std::exchange(tuple_, {});
    if (first_operand.width > 1 && first_operand.column != start)
      throw ExpressionError("a tuple in (..) stands before 'in', or in the list behind it", first_operand.column);
    std::vector<std::size_t> jumps;
    for (;;) {
      if (at("in") || at("not")) {
        membership(jumps.empty() ? first_operand.width : 1);
        if (relation() || at("in") || at("not")) unexpected("parentheses around a comparison that follows `in [..]`");
        break;
      }
      const auto first = relation();
      if (!first) break;
      const std::size_t column = lexer_.next().column;
      joined();
      if (tuple_.width > 1) throw ExpressionError("a tuple in (..) cannot be compared: use 'in'", tuple_.column);
      const auto detail = static_cast<std::uint8_t>(*first);
      if (!relation() && !at("in") && !at("not")) {
        code_.emit(Opcode::compare, -1, column, 0, detail);
        break;
      }
      jumps.push_back(code_.emit(Opcode::chain, -1, column, 0, detail));
    }
    for (const std::size_t jump : jumps) code_.land(jump);
  }

  /// width: the values of the tuple before `in`; 1: no tuple.
  void membership(std::size_t width) {
    const bool negated = at("not");
    const std::size_t column = lexer_.next().column;
    if (negated) expect("in");
    if (!at("[") && !at("(")) unexpected("a list in [..] or (..) after 'in'");
    if (width > std::numeric_limits<std::uint8_t>::max())
      throw ExpressionError("the tuple has too many values", column);
    const Token open = lexer_.next();
    const auto [count, comma] = list(open.word == "(" ? ")" : "]", width);
    if (open.word == "(" && count == 1 && !comma)
      throw ExpressionError("a list of one value is written '[..]' or '(..,)'", open.column);
    code_.emit(Opcode::contains, -static_cast<int>(count * width + width - 1), column, count,
               static_cast<std::uint8_t>(width));
    if (negated) code_.emit(Opcode::logical_not, 0, column);
  }

  struct List {
    std::size_t count = 0;
    bool comma = false;  ///< after the last element, which is allowed, as in Python
  };
  /// Elements up to the closing bracket; tuples of `width` values, if it is not 1.
  List list(std::string_view close, std::size_t width = 1) {
    const Nesting nesting(*this);
    List read;
    for (; !accept(close); ++read.count) {
      const std::size_t column = lexer_.peek().column;
      if (width == 1)
        expression();
      else if (expect("("); list(")").count != width)
        throw ExpressionError("expected a tuple of " + std::to_string(width) + " values", column);
      read.comma = accept(",");
      if (!read.comma && !at(close)) unexpected("',' or '" + std::string(close) + "'");
    }
    return read;
  }

  /// Operators that join from the left, from the loosest level on.
  void joined(std::size_t level = 0) {
    using enum Arithmetic;
    static const std::vector<std::vector<Arithmetic>> levels{{bit_or},        {bit_xor},
                                                             {bit_and},       {shift_left, shift_right},
                                                             {add, subtract}, {multiply, divide, floor_divide, modulo}};
    if (level == levels.size()) return sign();
    for (joined(level + 1);;) {
      const auto operation = std::ranges::find_if(levels[level], [this](Arithmetic candidate) {
        return lexer_.peek().kind == Token::Kind::symbol && at(symbol(candidate));
      });
      if (operation == levels[level].end()) return;
      const std::size_t column = lexer_.next().column;
      joined(level + 1);
      code_.emit(Opcode::arithmetic, -1, column, 0, static_cast<std::uint8_t>(*operation));
    }
  }

  void sign() {
    if (!at("-") && !at("+") && !at("~")) return power();
    const Nesting nesting(*this);
    const Token token = lexer_.next();
    sign();
    code_.emit(token.word == "-" ? Opcode::negate : token.word == "~" ? Opcode::invert : Opcode::plus, 0, token.column);
  }

  void power() {
    primary();
    if (!at("**")) return;
    const Nesting nesting(*this);
    const std::size_t column = lexer_.next().column;
    sign();  // 2 ** -1, and right-associative
    code_.emit(Opcode::arithmetic, -1, column, 0, static_cast<std::uint8_t>(Arithmetic::power));
  }

  void primary() {
    const Token& token = lexer_.peek();
    if (token.kind == Token::Kind::number || token.kind == Token::Kind::text) {
      Token literal = lexer_.next();
      literal.large > 0 ? code_.large_constant(literal.large, literal.column)
                        : code_.constant(std::move(literal.value), literal.column);
    } else if (at("(")) {
      const Nesting nesting(*this);
      const std::size_t column = lexer_.next().column;
      expression();
      std::size_t width = 1;
      if (accept(",")) do {
          expression();
          ++width;
        } while (accept(",") && !at(")"));
      expect(")");
      if (width > 1 && !at("in") && !at("not")) unexpected("'in' after a tuple in (..)");
      tuple_ = {width, column};
    } else if (token.kind == Token::Kind::name) {
      name();
    } else {
      unexpected("a value");
    }
  }

  void name() {
    constexpr std::array<std::string_view, 6> operators{"and", "or", "not", "in", "if", "else"};
    if (std::find(operators.begin(), operators.end(), lexer_.peek().word) != operators.end()) unexpected("a value");
    const Token token = lexer_.next();
    if (at("(")) return function(token);
    if (token.word == "true" || token.word == "True") return code_.constant(true, token.column);
    if (token.word == "false" || token.word == "False") return code_.constant(false, token.column);
    if (derived_)
      if (const auto found = derived_->find(token.word); found != derived_->end())
        return code_.inlined(found->second.code(), token);
    code_.emit(Opcode::name, 1, token.column, code_.use(std::string(token.word), token.column));
  }

  void function(const Token& token) {
    const auto* const entry = std::find_if(functions.begin(), functions.end(), [&](const FunctionEntry& candidate) {
      return candidate.name == token.word;
    });
    const std::string word(token.word);
    if (entry == functions.end()) {
      std::vector<std::string> names;
      for (const FunctionEntry& candidate : functions) names.emplace_back(candidate.name);
      throw ExpressionError("unknown function '" + word + "'" + base::did_you_mean(word, names), token.column, word);
    }
    lexer_.next();
    std::size_t count = list(")").count;
    if (count > entry->most && entry->most == any_number)
      throw ExpressionError(
          word + " takes at most " + std::to_string(entry->most) + " arguments, got " + std::to_string(count),
          token.column, word);
    if (count < entry->least || count > entry->most) {
      const std::string wanted = entry->most == any_number ? "at least 2 arguments"
                                 : entry->least == 1       ? "1 argument"
                                                           : std::to_string(entry->least) + " arguments";
      throw ExpressionError(word + " takes " + wanted + ", got " + std::to_string(count), token.column, word);
    }
    for (const std::string_view fact : entry->facts) {
      if (fact.empty()) break;
      code_.emit(Opcode::name, 1, token.column, code_.use(std::string(fact), token.column));
      ++count;
    }
    code_.emit(Opcode::call, 1 - static_cast<int>(count), token.column, count,
               static_cast<std::uint8_t>(entry->function));
  }

  /// The last (..) that was read.
  struct Tuple {
    std::size_t width = 1, column = 0;
  };

  Lexer lexer_;
  const Expression::Derived* const derived_;
  Tuple tuple_;
  CodeWriter code_;
  int depth_ = 0;
};

}  // namespace

Expression::Code parse(std::string_view text, const Expression::Derived* derived) {
  constexpr std::size_t longest = 1 << 16;
  if (text.size() > longest) throw ExpressionError("the expression is longer than 64 KiB", 0);
  return Parser(text, derived).parse();
}

}  // namespace xtune::space::expr
