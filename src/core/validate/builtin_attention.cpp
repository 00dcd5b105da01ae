// Scaled dot-product attention in double precision, row by row of the queries.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/validate/builtin.hpp"
#include "system/parallel.hpp"

namespace xtune::validate::builtin {

namespace {

/// An array [batch, heads, rows, width] and the positions of its elements; shapes with fewer dimensions have one batch
/// or head.
struct Heads {
  std::uint64_t batch = 1, heads = 1, rows = 1, width = 1;
  bool rows_first = false;  ///< bshd: rows before heads

  Heads(const std::vector<std::uint64_t>& shape, bool rows_first_) : rows_first(rows_first_) {
    const std::size_t rank = shape.size();
    if (rank < 2 || rank > 4) return;
    width = shape[rank - 1];
    rows = shape[rank > 2 && rows_first ? rank - 3 : rank - 2];
    if (rank > 2) heads = shape[rows_first ? rank - 2 : rank - 3];
    if (rank > 3) batch = shape[0];
  }
  std::uint64_t at(std::uint64_t b, std::uint64_t h, std::uint64_t row) const {
    return (rows_first ? (b * rows + row) * heads + h : (b * heads + h) * rows + row) * width;
  }
};

struct Attention {
  Heads q, k, v, out;
  double scale;
  bool causal;
  std::int64_t offset;
};

Attention checked_attention(const BuiltinCall& call) {
  const auto shape = [&](const char* role) { return find_array(call, role)->layout->shape; };
  const bool rows_first = word(call, "layout", "bhsd") == "bshd";
  Attention a{Heads(shape("q"), rows_first),
              Heads(shape("k"), rows_first),
              Heads(shape("v"), rows_first),
              Heads(call.output->shape, rows_first),
              0,
              flag(call, "causal"),
              integer(call, "offset", 0)};
  a.scale = number(call, "scale", 1 / std::sqrt(static_cast<double>(a.q.width)));
  const std::size_t rank = shape("q").size();
  const bool fits = rank >= 2 && rank <= 4 && shape("k").size() == rank && shape("v").size() == rank &&
                    call.output->shape.size() == rank && a.k.batch == a.q.batch && a.v.batch == a.q.batch &&
                    a.out.batch == a.q.batch && a.k.heads == a.v.heads && a.k.heads > 0 && a.q.heads % a.k.heads == 0 &&
                    a.out.heads == a.q.heads && a.k.width == a.q.width && a.v.rows == a.k.rows &&
                    a.out.rows == a.q.rows && a.out.width == a.v.width;
  if (!fits)
    fail(fmt::format(
        "attention: q is {}, k {}, v {} and the output {}; with layout {} they must be {}, with a number of "
        "query heads that is a multiple of k's and v's",
        text_of(*find_array(call, "q")->layout), text_of(*find_array(call, "k")->layout),
        text_of(*find_array(call, "v")->layout), text_of(*call.output), rows_first ? "bshd" : "bhsd",
        rows_first ? "[B, S, H, D], [B, T, G, D], [B, T, G, E] and [B, S, H, E]"
                   : "[B, H, S, D], [B, G, T, D], [B, G, T, E] and [B, H, S, E]"));
  return a;
}

/// The value that is added to a score; minus infinity hides a key.
class Mask {
 public:
  Mask(const BuiltinCall& call, const Attention& a) : heads_({1, 1}, false) {
    const ArrayView* array = find_array(call, "mask");
    if (!array) return;
    const auto& shape = array->layout->shape;
    heads_ = Heads(shape, false);
    const bool fits = shape.size() >= 2 && shape.size() <= 4 && heads_.rows == a.q.rows && heads_.width == a.k.rows &&
                      (heads_.heads == 1 || heads_.heads == a.q.heads) &&
                      (heads_.batch == 1 || heads_.batch == a.q.batch);
    if (!fits)
      fail(
          fmt::format("attention: mask is {}; it must be [S, T] = [{}, {}], or [H, S, T] or [B, H, S, T] with 1 or all "
                      "of the heads and batches",
                      text_of(*array->layout), a.q.rows, a.k.rows));
    values_ = widen(*array);
    if (array->layout->dtype == DType::boolean)
      for (double& value : values_) value = value != 0 ? 0 : -std::numeric_limits<double>::infinity();
  }
  const double* row(std::uint64_t b, std::uint64_t h, std::uint64_t i) const {
    return values_.empty() ? nullptr
                           : values_.data() + heads_.at(heads_.batch == 1 ? 0 : b, heads_.heads == 1 ? 0 : h, i);
  }

 private:
  Heads heads_;
  std::vector<double> values_;
};

// exp(score - largest) in place; returns their sum, 0 if every key is hidden.
double weigh(std::vector<double>& scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = largest == -HUGE_VAL ? 0 : std::exp(score - largest);
  return sum;
}

}  // namespace

std::vector<std::byte> attention(const BuiltinCall& call) {
  const Attention a = checked_attention(call);
  const Mask mask(call, a);
  const std::vector<double> q = widen(*find_array(call, "q")), k = widen(*find_array(call, "k")),
                            v = widen(*find_array(call, "v"));
  std::vector<std::byte> result(call.output->bytes());
  const std::size_t size = size_of(call.output->dtype);
  system::parallel_for(a.q.batch * a.q.heads * a.q.rows, 1, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<double> scores(a.k.rows), sums(a.v.width);
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t row = i % a.q.rows, h = i / a.q.rows % a.q.heads, b = i / a.q.rows / a.q.heads;
      const std::uint64_t group = h / (a.q.heads / a.k.heads);
      const double* const masked = mask.row(b, h, row);
      for (std::uint64_t j = 0; j < a.k.rows; ++j) {
        double dot = 0;
        for (std::uint64_t d = 0; d < a.q.width; ++d) dot += q[a.q.at(b, h, row) + d] * k[a.k.at(b, group, j) + d];
        const bool hidden = a.causal && static_cast<std::int64_t>(j) > static_cast<std::int64_t>(row) + a.offset;
        scores[j] = hidden ? -HUGE_VAL : a.scale * dot + (masked ? masked[j] : 0);
      }
      const double total = a.k.rows > 0 ? weigh(scores) : 0;
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::uint64_t j = 0; j < a.k.rows; ++j)
        for (std::uint64_t e = 0; e < a.v.width; ++e) sums[e] += scores[j] * v[a.v.at(b, group, j) + e];
      for (std::uint64_t e = 0; e < a.v.width; ++e)
        encode_result(call.output->dtype, total == 0 ? 0.0 : sums[e] / total,
                      result.data() + (a.out.at(b, h, row) + e) * size);
    }
  });
  return result;
}

// The scores are sums over the width, the results over the keys.
ResultFacts attention_facts(const BuiltinCall& call) {
  const Attention a = checked_attention(call);
  return {a.k.rows + a.q.width, 0};
}

}  // namespace xtune::validate::builtin
