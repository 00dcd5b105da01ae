// Contents of buffers.
#include "xtune/data.hpp"

#include "api/checks.hpp"
#include "base/text.hpp"
#include "system/files.hpp"

namespace xtune {
namespace {

const HostArray& find(const std::vector<HostArray>& arrays, std::string_view name, const char* what) {
  std::vector<std::string> names;
  for (const HostArray& array : arrays) {
    if (array.name == name) return array;
    names.push_back(array.name);
  }
  std::string list;
  for (const std::string& each : names) list += (list.empty() ? "" : ", ") + each;
  throw Error(ErrorKind::invalid_argument, "there is no " + std::string(what) + " '" + std::string(name) + "'" +
                                               base::did_you_mean(std::string(name), names) + "; there is " +
                                               (list.empty() ? "none" : list));
}

}  // namespace

Data::Data(Fill fill, const std::vector<Value>& numbers) : fill_(fill) {
  for (const Value& number : numbers) numbers_.push_back(to_text(number));
}

Data Data::bytes(DType dtype, std::span<const std::byte> elements) {
  require_dtype(dtype);
  if (elements.size() % size_of(dtype) != 0)
    throw Error(ErrorKind::invalid_argument,
                std::to_string(elements.size()) + " bytes are not a whole number of " + to_string(dtype) + " elements");
  if (elements.data() == nullptr && !elements.empty())
    throw Error(ErrorKind::invalid_argument, "Data: the host data is a null pointer");
  Data data;
  data.kind_ = Kind::host;
  data.dtype_ = dtype;
  data.host_ = std::make_shared<const std::vector<std::byte>>(elements.begin(), elements.end());
  return data;
}

Data Data::file(const std::filesystem::path& npy) {
  Data data;
  data.kind_ = Kind::file;
  data.path_ = system::absolute_path(npy).lexically_normal();
  return data;
}

Data Data::device(const void* pointer, std::size_t bytes) {
  if (pointer == nullptr) throw Error(ErrorKind::invalid_argument, "Data::device: the device pointer is null");
  Data data;
  data.kind_ = Kind::device;
  data.pointer_ = pointer;
  data.pointer_bytes_ = bytes;
  return data;
}

Data Data::generate(Generator generator) {
  if (!generator) throw Error(ErrorKind::invalid_argument, "Data::generate: the function is empty");
  Data data;
  data.kind_ = Kind::generator;
  data.generator_ = std::move(generator);
  return data;
}

Data Data::generate(std::function<std::vector<std::byte>(const Bindings&)> generator) {
  if (!generator) return generate(Generator());
  return generate(
      [generator = std::move(generator)](const DataRequest& request) { return generator(request.problem); });
}

std::uint64_t DataRequest::elements() const noexcept {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

std::span<const std::byte> Data::host() const noexcept {
  return host_ ? std::span<const std::byte>(*host_) : std::span<const std::byte>();
}

void HostArray::check_dtype(DType wanted) const {
  if (wanted == dtype) return;
  throw Error(ErrorKind::invalid_argument, "'" + name + "' has elements of type " + to_string(dtype) +
                                               ", and was asked for as " + to_string(wanted));
}

const HostArray& Arguments::input(std::string_view name) const { return find(inputs, name, "input"); }
const HostArray& Arguments::output(std::string_view name) const { return find(outputs, name, "output"); }

std::int64_t Arguments::size(std::string_view name) const {
  for (const Bindings* bindings : {&config, &problem})
    if (const auto found = bindings->find(name); found != bindings->end()) {
      if (const auto* integer = std::get_if<std::int64_t>(&found->second)) return *integer;
      throw Error(ErrorKind::invalid_argument,
                  "'" + std::string(name) + "' is not an integer: it is " + to_text(found->second));
    }
  throw Error(ErrorKind::invalid_argument, "neither problem nor configuration has a '" + std::string(name) + "'");
}

}  // namespace xtune
