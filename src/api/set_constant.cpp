// Data belongs to this directory, and the kernels that take them to dispatch.
#include "base/text.hpp"
#include "dispatch/kernel_state.hpp"
#include "xtune/error.hpp"
#include "xtune/kernel.hpp"

namespace xtune {

void Kernel::set_constant(const std::string& constant, const Data& data) const {
  if (data.kind() != Data::Kind::host)
    throw Error(ErrorKind::invalid_argument,
                name() + ": the constant '" + base::printable(constant, 80) + "' takes host data: a vector or a span");
  state_->set_constant(constant, data.dtype(), data.host());
}

}  // namespace xtune
