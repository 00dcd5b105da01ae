// See recording.hpp.
namespace fixture {
namespace {

/// Another type than the Service of output.hpp.
class Service {};

struct Row {};  // unnamed here and in tool.cpp: two types that never meet

}  // namespace
}  // namespace fixture
