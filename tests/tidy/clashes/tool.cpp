// See recording.hpp.
namespace fixture {
namespace {
struct Row {};
}  // namespace
}  // namespace fixture
