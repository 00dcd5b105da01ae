// What a drafted spec says, before it is text.
#pragma once

#include <string>
#include <vector>

#include "core/outline/draft.hpp"
#include "core/space/value.hpp"

namespace xtune::outline {

struct DraftParameter {
  std::string name;
  std::vector<Value> values;
  bool compile_time = true;
  std::string comment;
  bool commented_out = false;  ///< it is offered, and has no effect yet
};

struct DraftSize {
  std::string name, value;  ///< value as TOML
  std::string host_value;   ///< empty: the same
  std::string comment;
};

struct DraftArgument {
  std::string name, dtype;
  std::vector<std::string> shape;  ///< of a buffer
  std::string role;
  std::string kind{};  ///< empty: by the other members
  std::string value;   ///< of a scalar; not empty
  std::string comment;
  std::string of{};                ///< of a tensor map: the buffer
  std::vector<std::string> box{};  ///< of a tensor map
};

struct DraftModel {
  std::string kernel, entry;
  std::vector<std::string> kernel_args{};  ///< empty: the kernel takes all arguments
  std::vector<DraftSize> sizes;
  std::vector<DraftParameter> parameters;
  std::vector<std::string> constraints;
  std::vector<std::string> grid, block;
  std::string grid_comment, block_comment;
  std::string shared;  ///< empty: none
  std::vector<DraftArgument> arguments;
  std::vector<std::string> notes;  ///< remarks that belong to no other entry
};

/// As TOML, with the comments.
std::string draft_text(const DraftModel& model, const DraftRequest& request);

}  // namespace xtune::outline
