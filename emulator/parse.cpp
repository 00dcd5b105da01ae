#include "emulator/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "emulator/operations.hpp"
#include "emulator/wave.hpp"

namespace xtune::emulator {
namespace {

/// Splits at a character that is in no brackets.
std::vector<std::string_view> split_outside(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == '(')) ++depth;
    if (i < text.size() && (text[i] == ']' || text[i] == ')')) --depth;
    if (i < text.size() && (text[i] != at || depth > 0)) continue;
    if (const std::string_view part = base::trimmed(text.substr(begin, i - begin)); !part.empty())
      parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

std::string_view without_encoding(std::string_view mnemonic) {
  for (const std::string_view suffix : {"_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"})
    if (mnemonic.ends_with(suffix)) return mnemonic.substr(0, mnemonic.size() - suffix.size());
  return mnemonic;
}

std::uint8_t bit_list(std::string_view text, int sources) {
  std::uint8_t bits = 0;
  int place = 0;
  for (const char each : text) {
    if (each != '0' && each != '1') continue;
    const int bit = place == sources ? 3 : place;  // the entry after those of the sources is the target's
    if (each == '1') bits = static_cast<std::uint8_t>(bits | 1 << bit);
    ++place;
  }
  return bits;
}

std::optional<Part> parse_part(std::string_view text) {
  constexpr std::string_view names[] = {"DWORD", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1"};
  const auto* const at = std::find(std::begin(names), std::end(names), text);
  if (at == std::end(names)) return std::nullopt;
  return static_cast<Part>(at - std::begin(names));
}

bool add_sdwa(std::string_view name, std::string_view value, Modifiers& to) {
  to.sdwa = true;
  if (name == "dst_unused") {
    to.unused = value == "UNUSED_PRESERVE" ? Unused::preserve
                : value == "UNUSED_SEXT"   ? Unused::sign_extend
                                           : Unused::pad;
    return true;
  }
  const auto part = parse_part(value);
  if (!part) return false;
  (name == "dst_sel" ? to.target_part : to.source_part[name == "src1_sel"]) = *part;
  return true;
}

/// Modifiers without a value. Hints for caches change no result.
bool add_flag(std::string_view word, Modifiers& to) {
  if (word == "clamp")
    to.clamp = true;
  else if (word == "offen")
    to.offset_enabled = true;
  else if (word == "idxen")
    to.index_enabled = true;
  else
    return word == "glc" || word == "sc0" || word == "slc" || word == "dlc" || word == "nt" || word == "sc1";
  return true;
}

struct NumberModifier {
  std::string_view name;
  int& (*place)(Modifiers& to);
};
constexpr NumberModifier number_modifiers[] = {
    {"offset", [](Modifiers& to) -> int& { return to.offset; }},
    {"offset0", [](Modifiers& to) -> int& { return to.offsets[0]; }},
    {"offset1", [](Modifiers& to) -> int& { return to.offsets[1]; }},
    {"byte_sel", [](Modifiers& to) -> int& { return to.byte; }},
    {"cbsz", [](Modifiers& to) -> int& { return to.cbsz; }},
    {"abid", [](Modifiers& to) -> int& { return to.abid; }},
    {"blgp", [](Modifiers& to) -> int& { return to.blgp; }},
};

bool add_modifier(std::string_view word, int sources, Modifiers& to) {
  const std::string_view name = word.substr(0, word.find(':'));
  if (name.size() == word.size()) return add_flag(word, to);
  const std::string_view value = word.substr(name.size() + 1);
  if (const auto number = parse_number(value)) {
    for (const NumberModifier& one : number_modifiers)
      if (one.name == name) return one.place(to) = static_cast<int>(*number), true;
    if (name == "clamp") return to.clamp = *number != 0, true;
    if (name == "mul" || name == "div") return to.output_scale = name == "div" ? -1 : *number == 4 ? 2 : 1, true;
  }
  if (name == "op_sel")
    to.op_sel = bit_list(value, sources);
  else if (name == "neg_lo")
    to.neg_lo = bit_list(value, sources);
  else if (name == "neg_hi")
    to.neg_hi = bit_list(value, sources);
  else if (name == "op_sel_hi") {
    to.op_sel_hi = bit_list(value, sources);
    to.has_op_sel_hi = true;
  } else if (name == "src0_sel" || name == "src1_sel" || name == "dst_sel" || name == "dst_unused") {
    return add_sdwa(name, value, to);
  } else {
    return name == "scope" || name == "th" ||
           (name == "offset" && value.starts_with("swizzle("));  // decode.cpp reads the pattern
  }
  return true;
}

struct CounterName {
  std::string_view name;
  Counter counter;
};
constexpr CounterName counter_names[] = {{"vmcnt", Counter::vector_memory}, {"loadcnt", Counter::vector_memory},
                                         {"lgkmcnt", Counter::lds},         {"dscnt", Counter::lds},
                                         {"vscnt", Counter::store},         {"storecnt", Counter::store},
                                         {"kmcnt", Counter::scalar_memory}};

/// "s_waitcnt vmcnt(0) lgkmcnt(1)", "s_waitcnt_vscnt null, 0x0", "s_wait_loadcnt_dscnt 0x102".
bool add_waits(std::string_view mnemonic, std::string_view text, Modifiers& to) {
  const auto number = parse_number(text.substr(std::min(text.rfind(' ') + 1, text.size())));
  if (mnemonic == "s_waitcnt" && !number) {
    for (const std::string_view word : split_outside(text, ' ')) {
      const std::size_t open = word.find('(');
      const auto count =
          open == std::string_view::npos ? std::nullopt : parse_number(word.substr(open + 1, word.size() - open - 2));
      if (!count) return false;
      for (const CounterName& one : counter_names)
        if (word.substr(0, open) == one.name) to.counts[static_cast<unsigned>(one.counter)] = static_cast<int>(*count);
    }
    return true;
  }
  if (!number) return false;
  if (mnemonic == "s_waitcnt") {
    if (*number != 0) return false;  // LLVM prints names
    to.counts = {0, 0, -1, -1};
  }
  const bool both = mnemonic.ends_with("cnt_dscnt");
  if (both) to.counts[static_cast<unsigned>(Counter::lds)] = static_cast<int>(*number & 63);
  for (const CounterName& one : counter_names) {
    if (both && one.counter == Counter::lds) continue;
    if (mnemonic.find(one.name) != std::string_view::npos)
      to.counts[static_cast<unsigned>(one.counter)] = static_cast<int>(both ? *number >> 8 & 63 : *number);
  }
  return true;
}

bool is_wait(std::string_view mnemonic) {
  return mnemonic.starts_with("s_wait") && mnemonic != "s_waitcnt_depctr" && mnemonic != "s_wait_idle" &&
         mnemonic != "s_wait_alu";
}

void add_range(Instruction& in, const Operand& operand) {
  if ((operand.kind != OperandKind::vector && operand.kind != OperandKind::scalar) || in.ranges == in.range.size())
    return;
  const int first = operand.kind == OperandKind::scalar ? first_scalar + operand.index : operand.index;
  in.range[in.ranges++] = {static_cast<std::uint16_t>(first), operand.registers};
}

/// Operands and modifiers; empty, or what is not known.
std::string add_operands(Instruction& in, std::string_view text, int wave_size) {
  const std::vector<std::string_view> parts = split_outside(text, ',');
  std::vector<std::string_view> modifiers;
  for (const std::string_view part : parts) {
    const std::vector<std::string_view> words = split_outside(part, ' ');
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto operand = i == 0 ? parse_operand(words[0], wave_size) : std::nullopt;
      if (!operand) {
        modifiers.push_back(words[i]);
        continue;
      }
      if (in.operands + 1U >= in.operand.size()) return "too many operands";
      in.operand[in.operands++] = *operand;
      add_range(in, *operand);
    }
  }
  std::optional<LaneMove> move;
  for (const std::string_view word : modifiers)
    if (!add_lane_move(word, wave_size, move) && !add_modifier(word, in.operands - 1, in.modifiers))
      return fmt::format("'{}' is not known", word);
  if (move) in.modifiers.move = std::make_shared<const LaneMove>(*move);
  return {};
}

Instruction parse_single(std::string_view text, int wave_size) {
  Instruction in;
  in.text = text;
  const std::size_t end = std::min(text.find(' '), text.find('\t'));
  const std::string_view mnemonic = text.substr(0, end);
  const std::string_view rest = end >= text.size() ? std::string_view() : base::trimmed(text.substr(end));
  const KnownOperation operation = find_operation(without_encoding(mnemonic));
  if (operation.run == nullptr) {
    in.reason = "the instruction is not known";
    return in;
  }
  in.run = operation.run;
  in.kind = operation.kind;
  const auto has = [&](std::string_view part) { return mnemonic.find(part) != std::string_view::npos; };
  in.loads =
      in.kind >= Kind::lds && in.kind <= Kind::scalar_memory && !has("store") && !has("write") && !has("load_lds");
  if (is_wait(mnemonic)) {
    if (!add_waits(mnemonic, rest, in.modifiers)) in.reason = "its counts are not known";
  } else if (operation.sources != Sources::none) {
    in.reason = add_operands(in, rest, wave_size);
    if (operation.sources == Sources::with_target) in.operand[in.operands++] = in.operand[0];
    if (operation.sources == Sources::with_vcc && in.operands == 3)
      in.operand[in.operands++] = *parse_operand("vcc", wave_size);
  }
  if (!in.reason.empty()) in.kind = Kind::unknown;
  return in;
}

}  // namespace

Instruction parse_instruction(std::string_view text, int wave_size) {
  const std::size_t pair = text.find(" :: ");
  if (pair == std::string_view::npos) return parse_single(text, wave_size);
  Instruction first = parse_single(base::trimmed(text.substr(0, pair)), wave_size);
  Instruction second = parse_single(base::trimmed(text.substr(pair + 4)), wave_size);
  if (second.kind == Kind::unknown) {
    first.kind = Kind::unknown;
    first.reason = second.reason;
  }
  for (int i = 0; i < second.ranges && first.ranges < first.range.size(); ++i)
    first.range[first.ranges++] = second.range[static_cast<unsigned>(i)];
  first.text = text;
  first.second = std::make_shared<const Instruction>(std::move(second));
  return first;
}

}  // namespace xtune::emulator
