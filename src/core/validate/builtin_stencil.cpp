// Stencils on grids of any dimension: weights of a star or of a box around each point.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/validate/builtin_detail.hpp"
#include "core/validate/parallel.hpp"

namespace xtune::validate::builtin {

namespace {

constexpr std::size_t max_dimensions = 8;
constexpr std::int64_t max_radius = 16;

struct Point {
  std::vector<std::int64_t> offset;  ///< in each dimension
  double weight;
};

struct Stencil {
  std::vector<Point> points;
  std::vector<std::int64_t> reach;  ///< in each dimension
  std::string boundary;             ///< "zero", "clamp", "periodic", "keep"
};

void add_star(const BuiltinCall& call, std::size_t rank, Stencil& stencil) {
  const std::int64_t radius = integer(call, "radius", 1);
  if (radius < 0 || radius > max_radius) fail(fmt::format("stencil: radius is {}; it is 0 to {}", radius, max_radius));
  for (std::int64_t r = 0; r <= radius; ++r) {
    const std::string name = "c" + std::to_string(r);
    if (!call.scalars.contains(name))
      fail(
          fmt::format("stencil: a star of radius {} needs the weight {} of points {} steps away, or an array 'weights'",
                      radius, name, r));
    const double weight = number(call, name, 0);
    if (r == 0) stencil.points.push_back({std::vector<std::int64_t>(rank), weight});
    for (std::size_t axis = 0; r > 0 && axis < rank; ++axis)
      for (const std::int64_t sign : {-1, 1}) {
        Point point{std::vector<std::int64_t>(rank), weight};
        point.offset[axis] = sign * r;
        stencil.points.push_back(point);
      }
  }
  stencil.reach.assign(rank, radius);
}

void add_box(const ArrayView& weights, std::size_t rank, Stencil& stencil) {
  const auto& shape = weights.layout->shape;
  const bool odd = std::all_of(shape.begin(), shape.end(), [](std::uint64_t extent) { return extent % 2 == 1; });
  if (shape.size() != rank || !odd)
    fail(fmt::format("stencil: weights is {}; it must have x's {} dimensions, each of odd extent",
                     describe(weights.layout->dtype, shape), rank));
  const std::vector<double> values = widen(weights);
  for (const std::uint64_t extent : shape) stencil.reach.push_back(static_cast<std::int64_t>(extent / 2));
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    Point point{std::vector<std::int64_t>(rank), values[i]};
    std::uint64_t rest = i;
    for (std::size_t d = rank; d-- > 0; rest /= shape[d])
      point.offset[d] = static_cast<std::int64_t>(rest % shape[d]) - stencil.reach[d];
    stencil.points.push_back(std::move(point));
  }
}

Stencil checked_stencil(const BuiltinCall& call) {
  const ArgumentLayout &x = *find_array(call, "x")->layout, &out = *call.output;
  if (x.shape != out.shape || x.shape.empty() || x.shape.size() > max_dimensions)
    fail(fmt::format("stencil: x is {} and the output {}; they must have one shape of 1 to {} dimensions",
                     describe(x.dtype, x.shape), describe(out.dtype, out.shape), max_dimensions));
  Stencil stencil;
  stencil.boundary = word(call, "boundary", "zero");
  if (const ArrayView* weights = find_array(call, "weights"))
    add_box(*weights, x.shape.size(), stencil);
  else
    add_star(call, x.shape.size(), stencil);
  const ArrayView* kept = find_array(call, "y");
  if (stencil.boundary == "keep" && (!kept || kept->layout->shape != x.shape))
    fail("stencil: boundary = \"keep\" needs an array 'y' of x's shape: what the points near the edge are");
  return stencil;
}

// The position of a neighbour along one dimension; -1: outside, counted as zero.
std::int64_t neighbour(std::int64_t place, std::int64_t extent, const std::string& boundary) {
  if (place >= 0 && place < extent) return place;
  if (boundary == "clamp") return std::clamp<std::int64_t>(place, 0, extent - 1);
  if (boundary == "periodic") return ((place % extent) + extent) % extent;
  return -1;
}

double value_at(const Stencil& stencil, const std::vector<std::uint64_t>& shape, const std::vector<double>& x,
                const std::vector<std::uint64_t>& place) {
  double sum = 0;
  for (const Point& point : stencil.points) {
    std::uint64_t index = 0;
    bool outside = false;
    for (std::size_t d = 0; d < shape.size() && !outside; ++d) {
      const std::int64_t at = neighbour(static_cast<std::int64_t>(place[d]) + point.offset[d],
                                        static_cast<std::int64_t>(shape[d]), stencil.boundary);
      outside = at < 0;
      index = index * shape[d] + static_cast<std::uint64_t>(at);
    }
    if (!outside) sum += point.weight * x[index];
  }
  return sum;
}

bool near_edge(const Stencil& stencil, const std::vector<std::uint64_t>& shape,
               const std::vector<std::uint64_t>& place) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto at = static_cast<std::int64_t>(place[d]);
    if (at < stencil.reach[d] || at >= static_cast<std::int64_t>(shape[d]) - stencil.reach[d]) return true;
  }
  return false;
}

}  // namespace

std::vector<std::byte> stencil(const BuiltinCall& call) {
  const Stencil weights = checked_stencil(call);
  const std::vector<std::uint64_t>& shape = call.output->shape;
  const std::vector<double> x = widen(*find_array(call, "x"));
  const ArrayView* kept = find_array(call, "y");
  std::vector<std::byte> result(call.output->bytes());
  const DType type = call.output->dtype;
  const std::size_t size = size_of(type);
  parallel_for(x.size(), 1024, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      std::vector<std::uint64_t> place(shape.size());
      std::uint64_t rest = i;
      for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) place[d] = rest % shape[d];
      const bool keeps = weights.boundary == "keep" && near_edge(weights, shape, place);
      encode_result(type,
                    keeps ? spec::decode(kept->layout->dtype, kept->data.data() + i * size_of(kept->layout->dtype))
                          : value_at(weights, shape, x, place),
                    result.data() + i * size);
    }
  });
  return result;
}

ResultFacts stencil_facts(const BuiltinCall& call) {
  const Stencil weights = checked_stencil(call);
  double squares = 0;
  for (const Point& point : weights.points) squares += point.weight * point.weight;
  return {weights.points.size(), std::sqrt(squares) * usual_size(*find_array(call, "x"))};
}

}  // namespace xtune::validate::builtin
