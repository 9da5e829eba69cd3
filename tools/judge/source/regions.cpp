// SPDX-License-Identifier: MIT
#include "regions.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "attest/dtype.hpp"
#include "shared_memory.hpp"

namespace attest::judge {
namespace {

using protocol::Access;

constexpr std::size_t workspace_alignment = 64;

std::string join(const std::vector<Index>& numbers) {
  std::string text;
  for (const Index number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

const char* long_name(DType dtype) {
  switch (dtype) {
    case DType::f64: return "float64";
    case DType::f32: return "float32";
    case DType::bf16: return "bfloat16";
    case DType::f16: return "float16";
    case DType::i64: return "int64";
    case DType::boolean: return "bool";
  }
  return "?";
}

std::size_t byte_count(const TensorSpec& spec) {
  std::size_t bytes = size_of(spec.dtype);
  for (const Index extent : spec.shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes))
      throw std::invalid_argument("tensor '" + spec.name + "' has an impossible shape [" + join(spec.shape) + "]");
  return bytes;
}

}  // namespace

std::string plural(std::uint64_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string verb(Access access) {
  return access == Access::read ? "read" : access == Access::write ? "wrote" : "read or wrote";
}

std::string Region::text() const {
  if (role == Role::workspace) return "the workspace of " + plural(size, "byte");
  return std::string(role == Role::input ? "input" : "output") + " '" + spec.name + "' [" + join(spec.shape) + "] " +
         long_name(spec.dtype);
}

std::string Region::element(std::uint64_t at) const {
  if (role == Role::workspace) return "byte " + std::to_string(at - begin());
  if (std::size_t bytes = byte_count(spec); bytes != size || data != 0)
    return "byte " + std::to_string(at - begin()) + " of the buffer that it is a view of";
  auto index = static_cast<Index>((at - begin()) / size_of(spec.dtype));
  std::vector<Index> position(spec.shape.size());
  for (std::size_t axis = position.size(); axis-- > 0; index /= spec.shape[axis])
    position[axis] = index % spec.shape[axis];
  return "element (" + join(position) + ")";
}

std::uint64_t AddressRange::take(std::size_t mapped) {
  const std::size_t length = mapped + 2 * protocol::guard_size;
  if (length > size / 2) throw std::length_error("a tensor is too large for the worker's address space");
  if (used + length > size) used = 0;
  const std::uint64_t address = begin + used + protocol::guard_size;
  used += length;
  return address;
}

Layout::Layout(const CallOptions& options, std::size_t slack)
    : options_(options), slack_(slack), file_end_(page_size()) {}

Region Layout::input(const InputTensor& tensor, const View& view) {
  const std::size_t size = byte_count(tensor);
  if (size != tensor.bytes.size())
    throw std::invalid_argument("input '" + tensor.name + "' [" + join(tensor.shape) + "] has " +
                                plural(tensor.bytes.size(), "byte") + " instead of " + std::to_string(size));
  Region region = place(Role::input, tensor, view.buffer.size());
  region.strides = view.strides;
  region.data = view.offset;
  return region;
}

Region Layout::output(const TensorSpec& tensor) {
  Region region = place(Role::output, tensor, byte_count(tensor));
  region.strides.assign(tensor.shape.size(), 1);
  for (std::size_t axis = tensor.shape.size(); axis-- > 1;)
    region.strides[axis - 1] = region.strides[axis] * tensor.shape[axis];
  return region;
}

Region Layout::workspace(std::size_t size) { return place(Role::workspace, {}, size); }

Region Layout::place(Role role, TensorSpec spec, std::size_t size) {
  Region region;
  region.role = role;
  region.size = size;
  region.mapped = round_up(size, page_size());
  const std::size_t least = role == Role::workspace ? workspace_alignment : size_of(spec.dtype);
  region.spec = std::move(spec);
  if (options_.placement == Placement::end_at_guard) {
    const std::size_t alignment = std::max(options_.alignment, least);
    region.front = (region.mapped - size) / alignment * alignment;
  }
  region.front += slack_;
  region.mapped += 2 * slack_;
  region.file = file_end_;
  file_end_ += region.mapped;
  return region;
}

namespace {

bool is_all(unsigned char byte, const unsigned char* first, const unsigned char* last) {
  return first == last ||
         (*first == byte && std::memcmp(first, first + 1, static_cast<std::size_t>(last - first - 1)) == 0);
}

}  // namespace

void check_slack(const Region& region, const unsigned char* bytes, unsigned char poison,
                 std::vector<std::string>& violations) {
  const auto changed = [poison](unsigned char byte) { return byte != poison; };
  const auto check_side = [&](auto nearest, auto farthest, const std::string& wrote, const std::string& side) {
    const auto first = std::find_if(nearest, farthest, changed);
    violations.push_back(wrote + " of " + region.text() + ": " +
                         plural(static_cast<std::uint64_t>(std::count_if(first, farthest, changed)), "byte") +
                         " changed, the nearest " + plural(static_cast<std::uint64_t>(first - nearest + 1), "byte") +
                         side);
  };
  const unsigned char *begin = bytes + region.front, *end = begin + region.size, *last = bytes + region.mapped;
  if (!is_all(poison, end, last)) check_side(end, last, "wrote past the end", " past the end");
  if (!is_all(poison, bytes, begin))
    check_side(std::make_reverse_iterator(begin), std::make_reverse_iterator(bytes), "wrote before the start",
               " before the start");
}

std::optional<std::string> describe_access(const std::vector<Region>& regions, std::uint64_t at, Access access) {
  for (const Region& region : regions) {
    if (at < region.address - protocol::guard_size || at >= region.address + region.mapped + protocol::guard_size)
      continue;
    if (at >= region.end())
      return verb(access) + " " + plural(at - region.end() + 1, "byte") + " past the end of " + region.text();
    if (at < region.begin())
      return verb(access) + " " + plural(region.begin() - at, "byte") + " before the start of " + region.text();
    if (region.role == Role::input && access != Access::read)
      return "wrote to read-only " + region.text() + " at " + region.element(at);
    return verb(access) + (access == Access::read ? " " : " to ") + region.text() + " at " + region.element(at);
  }
  return {};
}

}  // namespace attest::judge
