// Sums over the neighbours of a point: stencils on grids of any dimension, and convolutions of images.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/validate/builtin.hpp"
#include "system/parallel.hpp"

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
                     text_of(*weights.layout), rank));
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
    fail(fmt::format("stencil: x is {} and the output {}; they must have one shape of 1 to {} dimensions", text_of(x),
                     text_of(out), max_dimensions));
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

// Convolution of images (the cross-correlation of deep learning) in double precision, directly from its formula.

/// The sizes of one convolution, and the positions of its elements: in nchw, or with the channels last.
struct Convolution {
  std::uint64_t n, c, h, w, k, r, s, p, q;  ///< images, channels, image, outputs, window, result
  std::uint64_t groups, group_c, group_k;
  std::int64_t stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w;
  bool channels_last;

  std::uint64_t image(std::uint64_t in, std::uint64_t ic, std::uint64_t ih, std::uint64_t iw) const {
    return channels_last ? ((in * h + ih) * w + iw) * c + ic : ((in * c + ic) * h + ih) * w + iw;
  }
  std::uint64_t window(std::uint64_t ik, std::uint64_t ic, std::uint64_t ir, std::uint64_t is) const {
    return channels_last ? ((ik * r + ir) * s + is) * group_c + ic : ((ik * group_c + ic) * r + ir) * s + is;
  }
  std::uint64_t result(std::uint64_t in, std::uint64_t ik, std::uint64_t ip, std::uint64_t iq) const {
    return channels_last ? ((in * p + ip) * q + iq) * k + ik : ((in * k + ik) * p + ip) * q + iq;
  }
};

std::int64_t sized(const BuiltinCall& call, const std::string& name, const char* direction, std::int64_t otherwise,
                   std::int64_t least) {
  const std::int64_t both = integer(call, name, otherwise);
  const std::int64_t value = integer(call, name + direction, both);
  if (value < least) fail(fmt::format("conv2d: {} is {}, and must be at least {}", name, value, least));
  return value;
}

// The number of windows that fit.
std::uint64_t extent(std::uint64_t image, std::int64_t padding, std::int64_t dilation, std::uint64_t window,
                     std::int64_t stride) {
  const std::int64_t room =
      static_cast<std::int64_t>(image) + 2 * padding - dilation * (static_cast<std::int64_t>(window) - 1) - 1;
  return room < 0 ? 0 : static_cast<std::uint64_t>(room / stride + 1);
}

Convolution checked_conv2d(const BuiltinCall& call) {
  const ArgumentLayout &x = *find_array(call, "x")->layout, &w = *find_array(call, "w")->layout, &out = *call.output;
  const bool last = word(call, "layout", "nchw") == "nhwc";
  Convolution v{};
  v.channels_last = last;
  v.stride_h = sized(call, "stride", "_h", 1, 1), v.stride_w = sized(call, "stride", "_w", 1, 1);
  v.padding_h = sized(call, "padding", "_h", 0, 0), v.padding_w = sized(call, "padding", "_w", 0, 0);
  v.dilation_h = sized(call, "dilation", "_h", 1, 1), v.dilation_w = sized(call, "dilation", "_w", 1, 1);
  v.groups = static_cast<std::uint64_t>(sized(call, "groups", "", 1, 1));
  std::vector<std::uint64_t> wanted;
  bool fits = x.shape.size() == 4 && w.shape.size() == 4;
  if (fits) {
    v.n = x.shape[0], v.c = x.shape[last ? 3 : 1], v.h = x.shape[last ? 1 : 2], v.w = x.shape[last ? 2 : 3];
    v.k = w.shape[0], v.group_c = w.shape[last ? 3 : 1], v.r = w.shape[last ? 1 : 2], v.s = w.shape[last ? 2 : 3];
    v.group_k = v.k / v.groups;
    v.p = extent(v.h, v.padding_h, v.dilation_h, v.r, v.stride_h);
    v.q = extent(v.w, v.padding_w, v.dilation_w, v.s, v.stride_w);
    wanted = last ? std::vector{v.n, v.p, v.q, v.k} : std::vector{v.n, v.k, v.p, v.q};
    fits = v.group_c * v.groups == v.c && v.group_k * v.groups == v.k && out.shape == wanted;
  }
  if (!fits)
    fail(fmt::format("conv2d: x is {}, w {} and the output {}; with layout {} and {} groups they must be {}{}",
                     text_of(x), text_of(w), text_of(out), last ? "nhwc" : "nchw", v.groups,
                     last ? "[N, H, W, C], [K, R, S, C / groups] and [N, P, Q, K]"
                          : "[N, C, H, W], [K, C / groups, R, S] and [N, K, P, Q]",
                     wanted.empty() ? "" : ", here " + describe(out.dtype, wanted)));
  const ArrayView* bias = find_array(call, "bias");
  if (bias && bias->layout->elements() != v.k)
    fail(fmt::format("conv2d: bias is {}, but there are {} output channels", text_of(*bias->layout), v.k));
  return v;
}

double element(const Convolution& v, const std::vector<double>& x, const std::vector<double>& w, std::uint64_t n,
               std::uint64_t k, std::uint64_t p, std::uint64_t q) {
  double sum = 0;
  const std::uint64_t first = k / v.group_k * v.group_c;
  for (std::uint64_t r = 0; r < v.r; ++r) {
    const std::int64_t h =
        static_cast<std::int64_t>(p) * v.stride_h - v.padding_h + static_cast<std::int64_t>(r) * v.dilation_h;
    if (h < 0 || h >= static_cast<std::int64_t>(v.h)) continue;
    for (std::uint64_t s = 0; s < v.s; ++s) {
      const std::int64_t i =
          static_cast<std::int64_t>(q) * v.stride_w - v.padding_w + static_cast<std::int64_t>(s) * v.dilation_w;
      if (i < 0 || i >= static_cast<std::int64_t>(v.w)) continue;
      for (std::uint64_t c = 0; c < v.group_c; ++c)
        sum += x[v.image(n, first + c, static_cast<std::uint64_t>(h), static_cast<std::uint64_t>(i))] *
               w[v.window(k, c, r, s)];
    }
  }
  return sum;
}

}  // namespace

std::vector<std::byte> stencil(const BuiltinCall& call) {
  const Stencil weights = checked_stencil(call);
  const std::vector<std::uint64_t>& shape = call.output->shape;
  const std::vector<double> x = widen(*find_array(call, "x"));
  const ArrayView* kept = find_array(call, "y");
  std::vector<std::byte> result(call.output->bytes());
  const ResultEncoder encode(call);
  const std::size_t size = size_of(call.output->dtype);
  system::parallel_for(x.size(), 1024, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      std::vector<std::uint64_t> place(shape.size());
      std::uint64_t rest = i;
      for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) place[d] = rest % shape[d];
      const bool keeps = weights.boundary == "keep" && near_edge(weights, shape, place);
      encode(keeps ? spec::decode(kept->layout->dtype, kept->data.data() + i * size_of(kept->layout->dtype))
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

std::vector<std::byte> conv2d(const BuiltinCall& call) {
  const Convolution v = checked_conv2d(call);
  const std::vector<double> x = widen(*find_array(call, "x")), w = widen(*find_array(call, "w"));
  const ArrayView* bias = find_array(call, "bias");
  const std::vector<double> added = bias ? widen(*bias) : std::vector<double>(v.k);
  std::vector<std::byte> result(call.output->bytes());
  const ResultEncoder encode(call);
  const std::size_t size = size_of(call.output->dtype);
  system::parallel_for(v.n * v.k * v.p, 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t n = i / v.p / v.k, k = i / v.p % v.k, p = i % v.p;
      for (std::uint64_t q = 0; q < v.q; ++q)
        encode(element(v, x, w, n, k, p, q) + added[k], result.data() + v.result(n, k, p, q) * size);
    }
  });
  return result;
}

ResultFacts conv2d_facts(const BuiltinCall& call) {
  const Convolution v = checked_conv2d(call);
  const std::uint64_t terms = v.group_c * v.r * v.s;
  return {terms + 1, std::sqrt(static_cast<double>(terms)) * usual_size(*find_array(call, "x")) *
                         usual_size(*find_array(call, "w"))};
}

}  // namespace xtune::validate::builtin
