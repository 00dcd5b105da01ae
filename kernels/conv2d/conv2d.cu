// Convolution of images with filters, NCHW or NHWC, f32 or f16 inputs, f32 accumulation and result.
//
// A block computes TILE_P x TILE_Q pixels of BLOCK_F results. Along the channels it moves, CHANNELS at a time, the part
// of the image that these pixels need and the filters' coefficients through two buffers in shared memory. A thread
// computes THREAD_Q pixels of a row for THREAD_F filters in registers. The parameters are macros from -D; README.md
// describes each.
#include "shape.cuh"

__host__ __device__ constexpr int round_up(int a, int b) { return ceil_div(a, b) * b; }

constexpr int filter_groups = BLOCK_F / THREAD_F, groups_q = TILE_Q / THREAD_Q;
constexpr int thread_count = TILE_P * groups_q * filter_groups;
static_assert(TILE_Q % THREAD_Q == 0 && BLOCK_F % THREAD_F == 0 && THREAD_F % 4 == 0, "a tile is made of thread tiles");

constexpr int patch_h = (TILE_P - 1) * STRIDE + (FILTER_H - 1) * DILATION + 1;
constexpr int patch_w = (TILE_Q - 1) * STRIDE + (FILTER_W - 1) * DILATION + 1;
constexpr int thread_w = (THREAD_Q - 1) * STRIDE + (FILTER_W - 1) * DILATION + 1;  // inputs of a row for a thread
constexpr int pack_q = THREAD_Q * STRIDE % 4 == 0 ? 4 : THREAD_Q * STRIDE % 2 == 0 ? 2 : 1;
constexpr int pitch = round_up((TILE_Q - THREAD_Q) * STRIDE + round_up(thread_w, 4), 4);
// In NHWC, neighbouring threads write neighbouring channels: planes 4 banks apart.
constexpr int plane = NHWC ? round_up(patch_h * pitch, 32) + 4 : patch_h * pitch;
constexpr int filter_pitch = round_up(BLOCK_F, 32) + 4;
/// The row of shared memory for the coefficients of a channel, in the order of global memory; place: row and column of
/// the filter as one number.
__device__ inline int filter_row(int channel, int place) {
  return NHWC ? place * CHANNELS + channel : channel * filter_size + place;
}
constexpr int buffer_size = CHANNELS * (plane + filter_size * filter_pitch);

/// This thread's share of copying the image's part to shared memory; zeros beyond the image. In NCHW a thread copies
/// the same pixels of every channel, in NHWC packs of neighbouring channels.
class PatchCopy {
 public:
  __device__ PatchCopy(const Shape& shape, const Input* x, int image, int first_row, int first_column)
      : next_(x + image * shape.image_size()), channels_left_(shape.c), packed_(rows_take_packs<pack>(x, shape.c)) {
    channel_step_ = NHWC ? 1 : shape.h * shape.w;
#pragma unroll
    for (int i = 0; i < slots; ++i) {
      const int row = first_row + pixel(i) / patch_w, column = first_column + pixel(i) % patch_w;
      const bool inside = row >= 0 && row < shape.h && column >= 0 && column < shape.w;
      index_[i] = inside && exists(i) ? shape.input_index(first_channel(), row, column) : -1;
    }
  }

  /// Starts reading the next CHANNELS channels into registers; store() writes them to shared memory.
  __device__ void load() {
#pragma unroll
    for (int i = 0; i < slots; ++i) {
#pragma unroll
      for (int j = 0; j < channels_per_thread; j += pack) {
        Pack<Input, pack> inputs = {};
        const Input* const from = next_ + index_[i] + j * channel_step_;
        if (pack > 1 && packed_) {
          if (index_[i] >= 0 && first_channel() < channels_left_) inputs = load_pack<pack>(from);
        } else {
#pragma unroll
          for (int v = 0; v < pack; ++v) {
            if (index_[i] >= 0 && first_channel() + j + v < channels_left_) inputs.x[v] = from[v];
          }
        }
        staged_[i][j / pack] = inputs;
      }
    }
    next_ += CHANNELS * channel_step_;
    channels_left_ -= CHANNELS;
  }

  __device__ void store(float* patch) const {
#pragma unroll
    for (int i = 0; i < slots; ++i) {
      if (!exists(i)) continue;
      float* const to = patch + first_channel() * plane + pixel(i) / patch_w * pitch + pixel(i) % patch_w;
#pragma unroll
      for (int j = 0; j < channels_per_thread; ++j) to[j * plane] = to_float(staged_[i][j / pack].x[j % pack]);
    }
  }

 private:
  static constexpr int pack = NHWC ? min_of(CHANNELS, 4) : 1;
  static constexpr int channels_per_thread = NHWC ? pack : CHANNELS;
  static constexpr int across = CHANNELS / channels_per_thread, down = thread_count / across;
  static constexpr int slots = ceil_div(patch_h * patch_w, down);

  // Neighbouring threads copy neighbours in memory.
  static __device__ int first_channel() { return static_cast<int>(threadIdx.x) % across * channels_per_thread; }
  static __device__ int pixel(int i) { return i * down + static_cast<int>(threadIdx.x) / across; }
  static __device__ bool exists(int i) {
    return pixel(i) < patch_h * patch_w && static_cast<int>(threadIdx.x) < down * across;
  }

  const Input* next_;
  int channels_left_, channel_step_;
  bool packed_;
  int index_[slots];  // or -1
  Pack<Input, pack> staged_[slots][channels_per_thread / pack];
};

/// This thread's share of copying the filters' coefficients of CHANNELS channels to shared memory; zeros beyond the
/// last channel and filter. Four neighbouring threads copy from four filters, and eight such groups neighbours in
/// memory: the rows of shared memory that they write to are four banks apart.
class FilterCopy {
 public:
  __device__ FilterCopy(const Shape& shape, const Input* filters, int first_filter)
      : next_(filters), channels_left_(shape.c) {
#pragma unroll
    for (int i = 0; i < slots; ++i) {
      const Place from = place(i);
      const int filter = first_filter + from.filter;
      index_[i] = exists(i) && filter < shape.f ? shape.filter_index(filter, from.channel, from.place) : -1;
    }
  }

  __device__ void load() {
#pragma unroll
    for (int i = 0; i < slots; ++i) {
      staged_[i] = index_[i] >= 0 && place(i).channel < channels_left_ ? next_[index_[i]] : Input(0.0f);
    }
    next_ += NHWC ? CHANNELS : CHANNELS * filter_size;
    channels_left_ -= CHANNELS;
  }

  __device__ void store(float* filters) const {
#pragma unroll
    for (int i = 0; i < slots; ++i) {
      const Place to = place(i);
      if (exists(i)) filters[filter_row(to.channel, to.place) * filter_pitch + to.filter] = to_float(staged_[i]);
    }
  }

 private:
  static constexpr int rows = CHANNELS * filter_size, slots = ceil_div(rows * BLOCK_F, thread_count);
  static_assert(BLOCK_F % 4 == 0, "four filters at a time");

  struct Place {
    int filter, channel, place;  // place: row and column of the filter as one number
  };
  static __device__ int number(int i) { return i * thread_count + static_cast<int>(threadIdx.x); }
  static __device__ bool exists(int i) { return number(i) < rows * BLOCK_F; }
  static __device__ Place place(int i) {
    const int four = number(i) / 4, row = four % rows, filter = four / rows * 4 + number(i) % 4;
    if (NHWC) return {filter, row % CHANNELS, row / CHANNELS};
    return {filter, row / filter_size, row % filter_size};
  }

  const Input* next_;
  int channels_left_;
  int index_[slots];  // or -1
  Input staged_[slots];
};

/// The results of one thread: THREAD_Q pixels from (row, column) of the tile on, and filters in packs of 4.
struct Results {
  int row, column, group;
  float sum[THREAD_Q][THREAD_F];

  __device__ Results() : sum{} {
    const int thread = static_cast<int>(threadIdx.x), pixels = thread / filter_groups;
    group = thread % filter_groups;
    row = pixels / groups_q;
    column = pixels % groups_q * THREAD_Q;
  }

  __device__ void accumulate(const float* patch, const float* filters) {
    const float* const own_patch = patch + row * STRIDE * pitch + column * STRIDE;
    const float* const own_filters = filters + group * 4;
#pragma unroll UNROLL
    for (int step = 0; step < CHANNELS * FILTER_H; ++step) {
      const int channel = step / FILTER_H, row_in_filter = step % FILTER_H;
      const float* const from = own_patch + channel * plane + row_in_filter * DILATION * pitch;
      float inputs[round_up(thread_w, 4)];
#pragma unroll
      for (int i = 0; i < ceil_div(thread_w, pack_q); ++i) {
        const Pack<float, pack_q> pack = load_pack<pack_q>(from + i * pack_q);
#pragma unroll
        for (int v = 0; v < pack_q; ++v) inputs[i * pack_q + v] = pack.x[v];
      }
#pragma unroll
      for (int s = 0; s < FILTER_W; ++s) {
#pragma unroll
        for (int j = 0; j < THREAD_F; j += 4) {
          const Pack<float, 4> filter =
              load_pack<4>(own_filters + filter_row(channel, row_in_filter * FILTER_W + s) * filter_pitch + j * filter_groups);
#pragma unroll
          for (int q = 0; q < THREAD_Q; ++q) {
#pragma unroll
            for (int v = 0; v < 4; ++v) sum[q][j + v] += inputs[q * STRIDE + s * DILATION] * filter.x[v];
          }
        }
      }
    }
  }

  __device__ void store(float* y, const Shape& shape, int image, int first_row, int first_column,
                        int first_filter) const {
    constexpr int pack = NHWC || THREAD_Q % 4 == 0 ? 4 : THREAD_Q % 2 == 0 ? 2 : 1;
    const int p = first_row + row, q = first_column + column;
    if (p >= shape.p) return;
    const bool packed = rows_take_packs<pack>(y, NHWC ? shape.f : shape.q);
#pragma unroll
    for (int j = 0; j < THREAD_F; ++j) {
#pragma unroll
      for (int i = 0; i < THREAD_Q; ++i) {
        const int filter = first_filter + j / 4 * 4 * filter_groups + group * 4 + j % 4;
        if (filter >= shape.f || q + i >= shape.q) continue;
        float* const to = y + shape.output_index(image, filter, p, q + i);
        if (!packed) {
          *to = sum[i][j];
        } else if ((NHWC ? j : i) % pack == 0) {
          Pack<float, pack> results;
#pragma unroll
          for (int v = 0; v < pack; ++v) results.x[v] = NHWC ? sum[i][j + v] : sum[i + v][j];
          store_pack<pack>(to, results);
        }
      }
    }
  }
};

/// Grid: one dimension, ceil(f / BLOCK_F) * ceil(q / TILE_Q) * ceil(p / TILE_P) * n. Block: thread_count. Dynamic
/// shared memory: two buffers of buffer_size floats.
extern "C" __global__ void LAUNCH_BOUNDS(thread_count, MIN_BLOCKS)
    conv2d(const Input* x, const Input* filters, float* y, int n, int c, int h, int w, int f, int p, int q) {
  extern __shared__ float4 shared[];
  float* const buffers = reinterpret_cast<float*>(shared);
  const Shape shape{n, c, h, w, f, p, q};
  const int tiles_f = ceil_div(f, BLOCK_F), tiles_q = ceil_div(q, TILE_Q), tiles_p = ceil_div(p, TILE_P);
  int tile = static_cast<int>(blockIdx.x);
  const int first_filter = tile % tiles_f * BLOCK_F;
  tile /= tiles_f;
  const int first_column = tile % tiles_q * TILE_Q;
  tile /= tiles_q;
  const int first_row = tile % tiles_p * TILE_P, image = tile / tiles_p;

  PatchCopy patch_copy(shape, x, image, first_row * STRIDE - PADDING, first_column * STRIDE - PADDING);
  FilterCopy filter_copy(shape, filters, first_filter);
  Results results;
  const auto patch = [&](int step) { return buffers + step % 2 * buffer_size; };
  const auto load = [&] {
    patch_copy.load();
    filter_copy.load();
  };
  const auto store = [&](int step) {
    patch_copy.store(patch(step));
    filter_copy.store(patch(step) + CHANNELS * plane);
  };
  const int steps = ceil_div(c, CHANNELS);
  load();
  store(0);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    __syncthreads();
    const bool more = step + 1 < steps;
    if (more) load();
    results.accumulate(patch(step), patch(step) + CHANNELS * plane);
    if (more) store(step + 1);
  }
  results.store(y, shape, image, first_row, first_column, first_filter);
}
