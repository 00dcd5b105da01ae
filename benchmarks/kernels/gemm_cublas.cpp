// A tuned product beside the vendor's, in one process: xtune::load() of a spec and cuBLASLt, launch by launch in turns,
// with random inputs and an overwritten L2 cache.
//
//   bench_gemm_cublas --spec configs/gemm_hopper.toml --size 4096x4096x4096 --type bf16 [--layout nn|nt|tn|tt]
//
// Prints one JSON object for each size: the medians of xtune's configuration, of the first algorithm that cuBLASLt's
// heuristic names and of the fastest of its first 8, in microseconds, and how far the results are apart
// (||C - C'|| / ||C'||, with C' of cuBLASLt). `xtune run` has to tune and validate the sizes first.
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/spec/dtype.hpp"
#include "xtune/kernel.hpp"

namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": " + cublasLtGetStatusString(status));
}
#define CHECKED(call) check((call), #call)

/// Device memory.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes) {
    CHECKED(cudaMalloc(&address_, std::max<std::size_t>(bytes, 256)));
  }
  ~Memory() { cudaFree(address_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* get() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_;
};

struct Size {
  int m, n, k;
};
struct Request {
  std::string spec, layout = "nn";
  xtune::DType type = xtune::DType::bf16;
  int launches = 15;
};

/// The element types, and the vendor's names for them.
const std::map<xtune::DType, cudaDataType_t> vendor_types = {{xtune::DType::bf16, CUDA_R_16BF},
                                                             {xtune::DType::f16, CUDA_R_16F},
                                                             {xtune::DType::f32, CUDA_R_32F},
                                                             {xtune::DType::f8e4m3, CUDA_R_8F_E4M3}};
/// The type of C: the operands' type, but bf16 for products of 8-bit floats.
xtune::DType result_type(xtune::DType type) { return type == xtune::DType::f8e4m3 ? xtune::DType::bf16 : type; }

/// Uniform in (-1, 1), in steps of 1/128, or of 1/8 for 8-bit floats: the types store these exactly.
std::vector<std::byte> random_matrix(std::size_t elements, xtune::DType type, std::uint32_t seed) {
  const std::size_t bytes = size_of(type);
  std::vector<std::byte> result(elements * bytes);
  std::minstd_rand random(seed);
  const int steps = bytes == 1 ? 8 : 128;
  std::uniform_int_distribution<int> step(1 - steps, steps - 1);
  for (std::size_t i = 0; i < elements; ++i)
    xtune::spec::encode(type, static_cast<double>(step(random)) / steps, result.data() + i * bytes);
  return result;
}

/// ||x - y|| / ||y|| of two matrices of one type.
double relative_difference(const std::vector<std::byte>& x, const std::vector<std::byte>& y, xtune::DType type) {
  double difference = 0, square = 0;
  for (std::size_t at = 0; at < y.size(); at += size_of(type)) {
    const double own = xtune::spec::decode(type, x.data() + at), other = xtune::spec::decode(type, y.data() + at);
    difference += (own - other) * (own - other);
    square += other * other;
  }
  return std::sqrt(difference / square);
}

/// The vendor's product. Its matrices are column-major, so that it computes the transposed C from B and A.
class Vendor {
 public:
  Vendor(cublasLtHandle_t handle, const Size& size, const Request& request) : handle_(handle) {
    const cudaDataType_t type = vendor_types.at(request.type);
    const bool transposed_a = request.layout[0] == 't', transposed_b = request.layout[1] == 't';
    CHECKED(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t first = transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(CUBLASLT_MATMUL_DESC_TRANSA, first);
    set(CUBLASLT_MATMUL_DESC_TRANSB, second);
    const auto layout = [](cublasLtMatrixLayout_t& to, cudaDataType_t element, int rows, int columns) {
      CHECKED(cublasLtMatrixLayoutCreate(&to, element, static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(columns), rows));
    };
    transposed_b ? layout(b_, type, size.k, size.n) : layout(b_, type, size.n, size.k);
    transposed_a ? layout(a_, type, size.m, size.k) : layout(a_, type, size.k, size.m);
    layout(c_, vendor_types.at(result_type(request.type)), size.n, size.m);
    cublasLtMatmulPreference_t preference = nullptr;
    CHECKED(cublasLtMatmulPreferenceCreate(&preference));
    const std::size_t bytes = workspace_.bytes();
    CHECKED(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                                 sizeof bytes));
    algorithms.resize(8);
    int count = 0;
    CHECKED(
        cublasLtMatmulAlgoGetHeuristic(handle_, operation_, b_, a_, c_, c_, preference, 8, algorithms.data(), &count));
    algorithms.resize(static_cast<std::size_t>(count));
    cublasLtMatmulPreferenceDestroy(preference);
  }
  ~Vendor() {
    for (cublasLtMatrixLayout_t layout : {a_, b_, c_}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(operation_);
  }
  Vendor(const Vendor&) = delete;
  Vendor& operator=(const Vendor&) = delete;

  void run(std::size_t algorithm, const Memory& a, const Memory& b, const Memory& c, cudaStream_t stream) {
    const float alpha = 1, beta = 0;
    CHECKED(cublasLtMatmul(handle_, operation_, &alpha, b.get(), b_, a.get(), a_, &beta, c.get(), c_, c.get(), c_,
                           &algorithms[algorithm].algo, workspace_.get(), workspace_.bytes(), stream));
  }
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms;

 private:
  void set(cublasLtMatmulDescAttributes_t attribute, cublasOperation_t value) {
    CHECKED(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value));
  }
  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  Memory workspace_{std::size_t{64} << 20};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

/// Times launches one by one, each after other bytes went through the cache.
class Timer {
 public:
  explicit Timer(cudaStream_t stream) : stream_(stream) {
    cudaDeviceProp properties{};
    CHECKED(cudaGetDeviceProperties(&properties, 0));
    other_ = std::make_unique<Memory>(static_cast<std::size_t>(properties.l2CacheSize) * 4);
    CHECKED(cudaEventCreate(&begin_));
    CHECKED(cudaEventCreate(&end_));
  }
  template <class Launch>
  double microseconds(const Launch& launch) {
    CHECKED(cudaMemsetAsync(other_->get(), ++count_ & 0xff, other_->bytes(), stream_));
    CHECKED(cudaEventRecord(begin_, stream_));
    launch();
    CHECKED(cudaEventRecord(end_, stream_));
    CHECKED(cudaEventSynchronize(end_));
    float milliseconds = 0;
    CHECKED(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return 1e3 * static_cast<double>(milliseconds);
  }

 private:
  cudaStream_t stream_;
  std::unique_ptr<Memory> other_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  int count_ = 0;
};

nlohmann::ordered_json compare(const Request& request, const Size& size, cublasLtHandle_t handle, cudaStream_t stream) {
  const auto elements = [](int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  };
  const xtune::DType result = result_type(request.type);
  const std::vector<std::byte> a_host = random_matrix(elements(size.m, size.k), request.type, 1);
  const std::vector<std::byte> b_host = random_matrix(elements(size.k, size.n), request.type, 2);
  const Memory a(a_host.size()), b(b_host.size()), c(elements(size.m, size.n) * size_of(result)), d(16), bias(16);
  CHECKED(cudaMemcpy(a.get(), a_host.data(), a_host.size(), cudaMemcpyHostToDevice));
  CHECKED(cudaMemcpy(b.get(), b_host.data(), b_host.size(), cudaMemcpyHostToDevice));

  xtune::LoadSettings settings;
  settings.checked = false;
  settings.defines = {{"TYPE", to_string(request.type)}, {"OUT", to_string(result)}};
  xtune::Bindings fixed = settings.defines;
  fixed.insert({{"TRANSPOSED_A", request.layout[0] == 't'}, {"TRANSPOSED_B", request.layout[1] == 't'}});
  fixed.insert({{"SCALED", false}, {"BIASED", false}, {"ACTIVATION", 0}});
  const xtune::Kernel gemm = xtune::load(request.spec, settings).for_problem(fixed);
  const xtune::Choice choice = gemm.choice({{"M", size.m}, {"N", size.n}, {"K", size.k}});
  std::vector<std::unique_ptr<Memory>> scratch;
  for (const auto& [name, needed] : choice.scratch) {
    scratch.push_back(std::make_unique<Memory>(needed));
    CHECKED(cudaMemset(scratch.back()->get(), 0, needed));
  }
  const auto scratch_at = [&](const std::string& name) {
    std::size_t i = 0;
    for (const auto& [each, needed] : choice.scratch) {
      if (each == name) return scratch[i]->get();
      ++i;
    }
    throw std::runtime_error("the spec has no scratch buffer '" + name + "'");
  };
  const auto run = [&] {
    gemm(stream, a.get(), b.get(), c.get(), d.get(), bias.get(), scratch_at("packed_a"), scratch_at("packed_b"),
         scratch_at("partial"), scratch_at("counters"), size.m, size.n, size.k, 1.0f, 0.0f);
  };

  Vendor vendor(handle, size, request);
  Timer timer(stream);
  std::vector<double> own;
  std::vector<std::vector<double>> theirs(vendor.algorithms.size());
  for (int round = 0; round < request.launches + 2; ++round) {
    const auto keep = [&](std::vector<double>& times, double time) {
      if (round >= 2) times.push_back(time);
    };
    keep(own, timer.microseconds(run));
    for (std::size_t i = 0; i < theirs.size(); ++i)
      keep(theirs[i], timer.microseconds([&] { vendor.run(i, a, b, c, stream); }));
  }
  // The results, each into memory with NaN.
  std::vector<std::byte> ours(c.bytes()), reference(c.bytes());
  CHECKED(cudaMemset(c.get(), 0xff, c.bytes()));
  run();
  CHECKED(cudaStreamSynchronize(stream));
  CHECKED(cudaMemcpy(ours.data(), c.get(), c.bytes(), cudaMemcpyDeviceToHost));
  nlohmann::ordered_json json{{"m", size.m},
                              {"n", size.n},
                              {"k", size.k},
                              {"type", to_string(request.type)},
                              {"layout", request.layout},
                              {"xtune_us", median(own)}};
  if (!theirs.empty()) {
    CHECKED(cudaMemset(c.get(), 0xff, c.bytes()));
    vendor.run(0, a, b, c, stream);
    CHECKED(cudaStreamSynchronize(stream));
    CHECKED(cudaMemcpy(reference.data(), c.get(), c.bytes(), cudaMemcpyDeviceToHost));
    double best = median(theirs[0]);
    for (const std::vector<double>& times : theirs) best = std::min(best, median(times));
    json["cublaslt_first_us"] = median(theirs[0]);
    json["cublaslt_best_us"] = best;
    json["difference"] = relative_difference(ours, reference, result);
  }
  json["config"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : choice.config) json["config"][name] = xtune::to_text(value);
  json["measured"] = choice.kind == xtune::Choice::Kind::exact;
  return json;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A tuned product beside cuBLASLt's");
  Request request;
  std::vector<std::string> sizes;
  app.add_option("--spec", request.spec)->required();
  app.add_option("--size", sizes, "MxNxK")->required();
  std::map<std::string, xtune::DType> types;
  for (const auto& [type, vendor] : vendor_types) types[to_string(type)] = type;
  app.add_option("--type", request.type)->transform(CLI::CheckedTransformer(types));
  app.add_option("--layout", request.layout)->check(CLI::IsMember({"nn", "nt", "tn", "tt"}));
  app.add_option("--launches", request.launches);
  CLI11_PARSE(app, argc, argv);
  try {
    cublasLtHandle_t handle = nullptr;
    CHECKED(cublasLtCreate(&handle));
    cudaStream_t stream = nullptr;
    CHECKED(cudaStreamCreate(&stream));
    for (const std::string& text : sizes) {
      Size size{};
      if (std::sscanf(text.c_str(), "%dx%dx%d", &size.m, &size.n, &size.k) != 3)
        throw std::runtime_error("size '" + text + "': expected MxNxK");
      std::puts(compare(request, size, handle, stream).dump().c_str());
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
