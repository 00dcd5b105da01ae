// What the templates' fields do to the work of a configuration, counted by hand.
#include <doctest/doctest.h>

#include <map>

#include "core/model/template.hpp"
#include "ranking.hpp"

using namespace xtune::device;
using namespace xtune::model;

using namespace xtune;
using namespace xtune::test;

namespace {

using Fields = std::map<std::string, double>;

/// The work of a template with these fields, in f32 on one GPU.
Work work_of(const char* name, const Fields& fields, DType type = DType::f32) {
  const CandidateTemplate& candidate = *find_template(name);
  std::vector<double> values(candidate.fields.size(), NAN);
  std::size_t known = 0;
  for (std::size_t i = 0; i < candidate.fields.size(); ++i)
    if (const auto found = fields.find(candidate.fields[i].name); found != fields.end())
      values[i] = found->second, ++known;
  REQUIRE(known == fields.size());
  return candidate.work(values, model_of("sm_90"), type);
}

Fields with(Fields fields, const Fields& changes) {
  for (const auto& [name, value] : changes) fields[name] = value;
  return fields;
}

const Fields layer{{"width", 56},   {"height", 56},   {"filter_width", 3},  {"filter_height", 3},
                   {"block_x", 7},  {"block_y", 8},   {"tile_x", 8},        {"shared", 1},
                   {"chunked", 1},  {"channels", 64}, {"filters", 128},     {"block_f", 64},
                   {"thread_f", 8}, {"images", 32},   {"step_channels", 4}, {"stages", 2}};

}  // namespace

TEST_CASE("convolution counts images, filters and channels") {
  const Work work = work_of("convolution", layer);
  CHECK(work.blocks == 7 * 2 * 32);  // rows of tiles, groups of filters, images
  CHECK(work.threads == 7 * 8 * 8);
  CHECK(work.flops * work.blocks == doctest::Approx(2.0 * 56 * 56 * 9 * 64 * 128 * 32));
  // Two buffers of 4 channels: 10 rows of 58 pixels, and 9 coefficients for 64 filters.
  CHECK(work.shared_bytes == 2 * 4 * (10 * 58 + 9 * 64) * 4);
  const double image = 56 * 56 * 4;
  CHECK(work.memory_bytes == doctest::Approx(32 * image * (64 + 128) + 9 * 64 * 128 * 4));
  // An output of two bytes instead of four.
  const Work half = work_of("convolution", with(layer, {{"out_bytes", 2}}));
  CHECK(half.memory_bytes == doctest::Approx(work.memory_bytes - 32 * image * 128 / 2));
}

TEST_CASE("convolution: stride, dilation and padding set the size of results and inputs") {
  const Work strided = work_of("convolution", with(layer, {{"stride", 2}}));
  CHECK(strided.blocks == 4 * 2 * 32);  // 28 rows of results
  CHECK(strided.shared_bytes == 2 * 4 * (17 * 113 + 9 * 64) * 4);
  const Work apart = work_of("convolution", with(layer, {{"dilation", 2}}));
  CHECK(apart.blocks == 7 * 2 * 32);
  CHECK(apart.shared_bytes == 2 * 4 * (12 * 60 + 9 * 64) * 4);
  CHECK(apart.flops == work_of("convolution", layer).flops);
  const Work bare = work_of("convolution", with(layer, {{"padding", 0}, {"block_y", 9}}));
  CHECK(bare.blocks == 6 * 2 * 32);  // 54 rows of results
  // A filter that is larger than the padded image has no results.
  CHECK(misfit(work_of("convolution", with(layer, {{"padding", 0}, {"filter_height", 57}})), model_of("sm_90")));
}

TEST_CASE("convolution: channels that are adjacent waste sectors if few are read at a time") {
  const Fields nhwc = with(layer, {{"nhwc", 1}});
  const Work few = work_of("convolution", with(nhwc, {{"step_channels", 2}}));
  const Work many = work_of("convolution", with(nhwc, {{"step_channels", 8}}));
  CHECK(few.l2_bytes > 2 * many.l2_bytes);
  CHECK(many.l2_bytes == work_of("convolution", with(layer, {{"step_channels", 8}})).l2_bytes);
}

TEST_CASE("matmul: inputs that are adjacent along k waste sectors in short steps") {
  const Fields product{{"m", 4096},      {"n", 4096},     {"k", 4096},     {"block_m", 128},
                       {"block_n", 128}, {"thread_m", 8}, {"thread_n", 8}, {"block_k", 4}};
  const Work suits = work_of("matmul", product);
  const Work rows = work_of("matmul", with(product, {{"transpose_a", 0}}));
  CHECK(rows.l2_bytes == suits.l2_bytes + 128 * 4096 * 4);  // half of each sector of A
  CHECK(rows.cache_cycles > suits.cache_cycles);
  CHECK(work_of("matmul", with(product, {{"transpose_a", 1}, {"transpose_b", 0}})) == suits);
  const Work both = work_of("matmul", with(product, {{"transpose_a", 0}, {"transpose_b", 1}}));
  CHECK(both.l2_bytes == rows.l2_bytes + 128 * 4096 * 4);
  const Fields longer = with(product, {{"block_k", 32}});
  CHECK(work_of("matmul", with(longer, {{"transpose_a", 0}})).l2_bytes == work_of("matmul", longer).l2_bytes);
}

TEST_CASE("matmul: a bias is read, and accumulators take registers by their size") {
  const Fields product{{"m", 512},      {"n", 1024},     {"k", 256},     {"block_m", 64},
                       {"block_n", 64}, {"thread_m", 8}, {"thread_n", 4}};
  const Work plain = work_of("matmul", product), biased = work_of("matmul", with(product, {{"bias", 1}}));
  CHECK(biased.memory_bytes == plain.memory_bytes + 1024 * 4);
  CHECK(biased.l2_bytes == plain.l2_bytes + 64 * 4);
  CHECK(work_of("matmul", with(product, {{"sum_bytes", 8}})).registers == plain.registers + 32);
  CHECK(work_of("matmul", with(product, {{"sum_bytes", 2}})).registers == plain.registers - 16);
}

TEST_CASE("reduction: over another axis than the last, sums are adjacent") {
  const Fields rows{{"n", 4096}, {"outputs", 65536}, {"threads", 256}, {"blocks", 4096}};
  const Work last = work_of("reduction", rows);
  CHECK(last.memory_bytes == 4096.0 * 65536 * 4);
  const Work narrow = work_of("reduction", with(rows, {{"inner", 1024}, {"sums", 4}}));
  CHECK(narrow.memory_bytes == 2 * last.memory_bytes);  // 16 of 32 bytes
  CHECK(narrow.l2_bytes == 2 * last.l2_bytes);
  CHECK(work_of("reduction", with(rows, {{"inner", 1024}, {"sums", 32}})) == last);
  // Rows of two elements leave most of a sector unused, however many sums a block has.
  CHECK(work_of("reduction", with(rows, {{"inner", 2}, {"sums", 32}})).l2_bytes == 4 * last.l2_bytes);
  CHECK(work_of("reduction", {{"n", 16}, {"outputs", 1024}, {"threads", 256}, {"sums", 8}}).blocks == 128);
}

TEST_CASE("stencil: tiles, borders and planes") {
  const Fields flat{{"width", 8192}, {"height", 8192}, {"block_x", 32}, {"block_y", 4}, {"vector", 4}, {"tile_y", 8}};
  const Work work = work_of("stencil", flat);
  CHECK(work.blocks == 64 * 256);
  CHECK(work.threads == 128);
  CHECK(work.flops * work.blocks == 2.0 * 5 * 8192 * 8192);
  CHECK(work.memory_bytes == 2.0 * 4 * 8192 * 8192);
  CHECK(work.l2_bytes == (130 * 34 + 128 * 32) * 4);
  CHECK(work.shared_bytes == 0);
  CHECK(work_of("stencil", with(flat, {{"points", 9}})).flops == work.flops * 9 / 5);
  const Work staged = work_of("stencil", with(flat, {{"shared", 1}}));
  CHECK(staged.shared_bytes == 2 * 130 * 34 * 4);
  CHECK(staged.cache_cycles < work.cache_cycles);

  const Fields deep{{"width", 512}, {"height", 512}, {"depth", 512}, {"radius", 4}, {"block_x", 32},
                    {"block_y", 4}, {"vector", 4},   {"tile_y", 2},  {"tile_z", 32}};
  const Work star = work_of("stencil", deep);
  CHECK(star.blocks == 4 * 64 * 16);
  CHECK(star.flops * star.blocks == 2.0 * 25 * 512 * 512 * 512);
  // A thread that marches holds nine planes of its two rows, and what is next; without marching, its neighbours are
  // read for each plane.
  const Work still = work_of("stencil", with(deep, {{"tile_z", 1}}));
  CHECK(star.registers > still.registers + 4 * 2 * 8);
  CHECK(star.l2_bytes / 32 < still.l2_bytes);
  CHECK(star.cache_cycles / 32 < still.cache_cycles);
}

TEST_CASE("histogram: copies cost shared memory and keep threads apart, parts read keys again") {
  const Fields keys{{"n", 1 << 28}, {"bins", 256}, {"threads", 512}, {"unroll", 4}, {"blocks", 264}};
  const Work work = work_of("histogram", keys);
  CHECK(work.shared_bytes == 256 * 4);
  CHECK(work.memory_bytes == 4.0 * (1 << 28) + 256 * 4);
  const Work copied = work_of("histogram", with(keys, {{"copies", 8}}));
  CHECK(copied.shared_bytes == 8 * 256 * 4);
  CHECK(copied.shared_cycles < work.shared_cycles);
  // Keys of which most are equal meet in one counter.
  const Work equal = work_of("histogram", with(keys, {{"distinct", 1}}));
  CHECK(equal.shared_cycles > 5 * work.shared_cycles);
  CHECK(work_of("histogram", with(keys, {{"distinct", 1}, {"copies", 32}})).shared_cycles < 2 * copied.shared_cycles);
  const Work parted = work_of("histogram", with(keys, {{"bins", 65536}, {"parts", 2}}));
  CHECK(parted.shared_bytes == 32768 * 4);
  CHECK(parted.memory_bytes == 4.0 * (1 << 28) + 65536 * 4);
  CHECK(parted.l2_bytes * parted.blocks > 2 * parted.memory_bytes);
  CHECK(misfit(work_of("histogram", with(keys, {{"bins", 65536}})), model_of("sm_90")));
}

TEST_CASE("spmv: a long row delays the launch unless blocks share its elements") {
  const Fields matrix{{"rows", 1 << 20}, {"columns", 1 << 20}, {"nnz", 1 << 24},
                      {"threads", 128},  {"lanes", 8},         {"vector", 2}};
  const Work even = work_of("spmv", matrix);
  CHECK(even.blocks == (1 << 20) / 16);
  CHECK(even.memory_bytes == 8.0 * (1 << 24) + 12.0 * (1 << 20));
  CHECK(even.extra_us == 0);
  const Work uneven = work_of("spmv", with(matrix, {{"longest", 1 << 17}}));
  CHECK(uneven.extra_us > 1000);
  const Work balanced =
      work_of("spmv", with(matrix, {{"longest", 1 << 17}, {"balanced", 1}, {"lanes", 1}, {"unroll", 4}}));
  CHECK(balanced.extra_us == 0);
  CHECK(balanced.blocks == (1 << 24) / (128 * 8));
  CHECK(balanced.shared_bytes == (128 * 8 + 128) * 8);
  // One thread for each row reads from 32 places at a time.
  CHECK(work_of("spmv", with(matrix, {{"lanes", 1}})).cache_cycles / 128 > even.cache_cycles / 16);
  // Columns all over x cost more lines of the cache than a band.
  CHECK(work_of("spmv", with(matrix, {{"spread", 1 << 20}})).cache_cycles > 2 * even.cache_cycles);
  CHECK(work_of("spmv", matrix, DType::f64).memory_bytes == 12.0 * (1 << 24) + 20.0 * (1 << 20));
}

TEST_CASE("matmul_tma: tiles, parts of k and few rows") {
  const Fields square{{"m", 4096},      {"n", 4096},     {"k", 4096},   {"block_m", 128},
                      {"block_n", 256}, {"block_k", 64}, {"stages", 4}, {"consumers", 2}};
  const Work work = work_of("matmul_tma", square, DType::bf16);
  CHECK(work.blocks == 32 * 16);
  CHECK(work.threads == 3 * 128);
  CHECK(work.flops * work.blocks == 2.0 * 4096 * 4096 * 4096);
  CHECK(work_of("matmul_tma", with(square, {{"split_k", 2}}), DType::bf16).blocks == 2 * work.blocks);
  // A cluster's tiles are whole: 4096 = 32 x 128 rows, and 33 need a row of clusters more.
  CHECK(work_of("matmul_tma", with(square, {{"m", 4097}, {"cluster_m", 2}}), DType::bf16).blocks == 34 * 16);
  // Only what others left in L2 is written back if the copies may displace it.
  const Work once = work_of("matmul_tma", with(square, {{"once", 1}}), DType::bf16);
  CHECK(once.memory_bytes < work.memory_bytes);

  const auto ms = [&](const Fields& changes) {
    return estimate(work_of("matmul_tma", with(square, changes), DType::bf16), model_of("sm_90")).time_ms;
  };
  // As measured (kernels/gemm_hopper): large tiles, and whole ones, for large products.
  CHECK(ms({}) < ms({{"block_n", 128}}));
  CHECK(ms({}) < ms({{"block_m", 64}, {"consumers", 1}, {"block_n", 64}}));
  CHECK(ms({}) < ms({{"cluster_k", 2}}));
  CHECK(ms({}) < ms({{"tile_store", 0}}));
  CHECK(1.2 * ms({{"stages", 3}}) < ms({{"stages", 2}}));
  CHECK(1.1 * ms({{"block_n", 224}}) < ms({{"block_n", 224}, {"loaded_n", 256}}));
  CHECK(ms({{"split_k", 1}}) < ms({{"split_k", 0}}));
  // Two consumers get 232 registers each, whatever the launch gives all threads.
  const Fields in_turns{{"block_n", 192}, {"pingpong", 1}};
  CHECK(estimate(work_of("matmul_tma", with(square, in_turns), DType::bf16), model_of("sm_90")).spilled == 0);
  // Rows that begin within a line of L2 take longer to load; blocks that share loads feel it less.
  const auto misplaced = [&](Fields changes) {
    const double whole = ms(changes);
    return ms(with(with(changes, {{"pitch_a", 2000}}), {{"pitch_b", 10000}})) / whole;
  };
  CHECK(misplaced(in_turns) > 1.1);
  CHECK(misplaced(with(in_turns, {{"cluster_m", 2}})) < misplaced(in_turns));
  const auto with_rows_of = [&](double bytes) { return ms(with(in_turns, {{"pitch_b", bytes}})); };
  CHECK(with_rows_of(2048) < with_rows_of(2016));
  CHECK(with_rows_of(2016) < with_rows_of(2032));
  // Few rows of A take the place of columns of a product, so that less of each is wasted.
  const Fields row{{"m", 16},       {"n", 8192},      {"k", 8192},  {"block_m", 64},
                   {"block_n", 64}, {"consumers", 1}, {"stages", 8}};
  CHECK(ms(with(row, {{"block_m", 16}, {"swap", 1}})) < ms(row));
  // One tile for each block: nothing for the second of two consumers that take turns.
  const Fields small{{"m", 1024}, {"n", 1024}, {"k", 1024}, {"block_m", 64}, {"block_n", 128}};
  CHECK(ms(with(small, {{"consumers", 1}})) < ms(with(small, {{"pingpong", 1}})));
}

TEST_CASE("matmul_tma: operands that no tensor map describes") {
  const auto time = [](const Fields& fields) {
    return estimate(work_of("matmul_tma", fields, DType::bf16), model_of("sm_90"));
  };
  const Fields square{{"m", 4097},      {"n", 4095},     {"k", 4093},   {"block_m", 128},
                      {"block_n", 256}, {"block_k", 64}, {"stages", 4}, {"consumers", 2}};
  const auto ms = [&](const Fields& fields, const Fields& changes) { return time(with(fields, changes)).time_ms; };
  // Each operand that is copied first costs time; both in one launch cost less than each in its own.
  const double none = ms(square, {}), a = ms(square, {{"packed_a", 1}}), b = ms(square, {{"packed_b", 1}});
  const double both = ms(square, {{"packed_a", 1}, {"packed_b", 1}});
  CHECK(none < a);
  CHECK(a < both);
  CHECK(both - none < (a - none) + (b - none));
  // As measured (kernels/gemm_hopper): large products are packed, and those of few rows read what they have.
  CHECK(both < ms(square, {{"direct_a", 1}, {"packed_b", 1}}));
  CHECK(both < ms(square, {{"packed_a", 1}, {"direct_b", 1}}));
  const Fields rows{{"m", 17},        {"n", 8191},      {"k", 8189},   {"block_m", 32}, {"block_n", 64},
                    {"block_k", 128}, {"consumers", 1}, {"stages", 5}, {"swap", 1}};
  CHECK(ms(rows, {{"direct_a", 1}, {"direct_b", 1}}) < ms(rows, {{"packed_a", 1}, {"packed_b", 1}}));
  // Threads hold one stage, however many stages shared memory has.
  const auto in_flight = [&](const Fields& changes) {
    return work_of("matmul_tma", with(rows, changes), DType::bf16).bytes_in_flight;
  };
  CHECK(in_flight({{"direct_b", 1}}) == in_flight({{"direct_b", 1}, {"stages", 3}}));
  CHECK(in_flight({}) > in_flight({{"stages", 3}}));
}
