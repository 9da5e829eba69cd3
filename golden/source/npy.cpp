// SPDX-License-Identifier: MIT
#include "attest/golden/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace attest::golden {
namespace {

static_assert(std::endian::native == std::endian::little, "elements lie in files as they lie in memory");

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t alignment = 64;

constexpr std::array<std::pair<DType, std::string_view>, 6> descriptions{{
    {DType::f64, "<f8"},
    {DType::f32, "<f4"},
    {DType::bf16, "<V2"},
    {DType::f16, "<f2"},
    {DType::i64, "<i8"},
    {DType::boolean, "|b1"},
}};

std::string_view description(DType dtype) {
  for (const auto& [candidate, text] : descriptions) {
    if (candidate == dtype) return text;
  }
  throw std::invalid_argument("not a DType");
}

/// "(3,)": Python needs the comma to tell a tuple of one from a number in parentheses.
std::string tuple(const std::vector<Index>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

class Failure {
public:
  explicit Failure(std::string origin) : origin_(std::move(origin)) {}
  [[noreturn]] void operator()(const std::string& message) const {
    throw std::runtime_error(fmt::format("{}: {}", origin_, message));
  }

private:
  std::string origin_;
};

/// The header is a Python literal: a dict of a string, a bool and a tuple, in any order.
class Header {
public:
  Header(std::string_view text, const Failure& fail) : rest_(text), fail_(fail) {
    expect('{');
    while (!take('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr") {
        once(descr_, key, dtype());
      } else if (key == "fortran_order") {
        once(fortran_, key, boolean());
      } else if (key == "shape") {
        once(shape_, key, extents());
      } else {
        fail_(fmt::format("unknown header key '{}'; allowed: descr, fortran_order, shape", key));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!rest_.empty()) broken("the end of the header");
    if (!descr_ || !fortran_ || !shape_) fail_("the header must have the keys descr, fortran_order and shape");
  }

  DType descr() const { return *descr_; }
  bool fortran() const { return *fortran_; }
  const std::vector<Index>& shape() const { return *shape_; }

private:
  [[noreturn]] void broken(std::string_view wanted) const {
    fail_(fmt::format("broken header: expected {} at '{}'", wanted, rest_.substr(0, 20)));
  }

  template <class T>
  void once(std::optional<T>& member, std::string_view key, T value) const {
    if (member) fail_(fmt::format("the header names '{}' twice", key));
    member = std::move(value);
  }

  void skip_space() {
    const auto first = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
  }
  bool take(char wanted) {
    skip_space();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view wanted) {
    skip_space();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) broken(fmt::format("'{}'", wanted));
  }

  std::string_view string() {
    skip_space();
    if (!rest_.starts_with('\'') && !rest_.starts_with('"')) broken("a string");
    const auto end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) broken("a closed string");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool boolean() {
    if (take("True")) return true;
    if (take("False")) return false;
    broken("True or False");
  }

  std::vector<Index> extents() {
    std::vector<Index> result;
    expect('(');
    while (!take(')')) {
      skip_space();
      Index extent = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) broken("a non-negative 64-bit extent");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      result.push_back(extent);
      take('L');  // Python 2 wrote its long integers so
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }

  DType dtype() {
    skip_space();
    std::vector<std::string_view> known;
    for (const auto& [_, text] : descriptions) known.push_back(text);
    const std::string allowed = fmt::format("allowed: {}", fmt::join(known, ", "));
    if (rest_.starts_with('[') || rest_.starts_with('(')) fail_("structured dtype; " + allowed);

    const std::string_view descr = string();
    std::string_view type = descr;
    const bool big_endian = type.starts_with('>');
    if (big_endian || type.starts_with('<') || type.starts_with('|') || type.starts_with('=')) type.remove_prefix(1);
    if (type.starts_with('O')) fail_(fmt::format("object dtype '{}'; {}", descr, allowed));
    if (big_endian) fail_(fmt::format("big-endian dtype '{}'; {}", descr, allowed));
    for (const auto& [candidate, text] : descriptions) {
      if (text.substr(1) == type) return candidate;
    }
    fail_(fmt::format("unknown dtype '{}'; {}", descr, allowed));
  }

  std::string_view rest_;
  const Failure& fail_;
  std::optional<DType> descr_;
  std::optional<bool> fortran_;
  std::optional<std::vector<Index>> shape_;
};

/// Bytes of the elements, or nothing when they overflow.
std::optional<std::size_t> byte_count(const std::vector<Index>& shape, DType dtype) {
  constexpr auto largest = static_cast<std::size_t>(std::numeric_limits<Index>::max());
  std::size_t size = size_of(dtype);
  for (const Index extent : shape) {
    const auto factor = static_cast<std::size_t>(extent);
    if (extent < 0 || (factor != 0 && size > largest / factor)) return std::nullopt;
    size *= factor;
  }
  return size;
}

/// First axis fastest, to last axis fastest.
std::vector<std::byte> from_fortran(std::string_view data, const std::vector<Index>& shape, std::size_t element) {
  const std::size_t rank = shape.size();
  std::vector<std::size_t> strides(rank);
  std::size_t stride = element;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    strides[axis] = stride;
    stride *= static_cast<std::size_t>(shape[axis]);
  }
  std::vector<std::byte> bytes(data.size());
  std::vector<Index> at(rank);
  std::size_t source = 0;
  for (std::size_t target = 0; target < bytes.size(); target += element) {
    std::memcpy(bytes.data() + target, data.data() + source, element);
    for (std::size_t axis = rank; axis-- > 0;) {
      source += strides[axis];
      if (++at[axis] < shape[axis]) break;
      source -= strides[axis] * static_cast<std::size_t>(shape[axis]);
      at[axis] = 0;
    }
  }
  return bytes;
}

}  // namespace

std::string serialize_npy(const StoredTensor& tensor) {
  if (byte_count(tensor.shape, tensor.dtype) != tensor.bytes.size()) {
    throw std::invalid_argument(fmt::format("{} of shape {} does not take {} bytes", name(tensor.dtype),
                                            tuple(tensor.shape), tensor.bytes.size()));
  }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                   description(tensor.dtype), tuple(tensor.shape));
  // The newline that ends the header is its last byte, and the data after it are aligned for mapping into memory.
  const std::size_t before = magic.size() + 2 + 2;
  const std::size_t unpadded = before + header.size() + 1;
  header.append((unpadded + alignment - 1) / alignment * alignment - unpadded, ' ');
  header += '\n';
  if (header.size() > 0xffff) {
    throw std::invalid_argument(fmt::format("rank {} is too large for .npy version 1.0", tensor.shape.size()));
  }

  std::string bytes(magic);
  bytes += '\x01';
  bytes += '\x00';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return bytes;
}

StoredTensor parse_npy(const std::string& bytes, const std::string& origin) {
  const Failure fail(origin);
  std::string_view rest = bytes;
  // A short file that begins like one is truncated; any other is something else.
  if (rest.empty() || !magic.starts_with(rest.substr(0, magic.size()))) {
    fail("not an .npy file: it does not begin with \\x93NUMPY");
  }
  const auto take = [&](std::size_t size, std::string_view what) {
    if (rest.size() < size) fail(fmt::format("truncated: the {} take {} bytes, {} are left", what, size, rest.size()));
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  };
  take(magic.size(), "magic bytes");
  const std::string_view version = take(2, "version numbers");
  const int major = static_cast<unsigned char>(version[0]);
  const int minor = static_cast<unsigned char>(version[1]);
  if (major < 1 || major > 3 || minor != 0) {
    fail(fmt::format("unknown .npy version {}.{}; allowed: 1.0, 2.0, 3.0", major, minor));
  }
  const std::size_t length_size = major == 1 ? 2 : 4;
  std::uint32_t header_size = 0;
  std::memcpy(&header_size, take(length_size, "header length's bytes").data(), length_size);
  const Header header(take(header_size, "header's bytes"), fail);

  const auto size = byte_count(header.shape(), header.descr());
  if (!size) fail(fmt::format("shape {} overflows 64 bits", tuple(header.shape())));
  if (rest.size() < *size) {
    fail(fmt::format("truncated: {} of shape {} takes {} bytes, {} are left", name(header.descr()),
                     tuple(header.shape()), *size, rest.size()));
  }
  if (rest.size() > *size) {
    fail(fmt::format("{} trailing bytes after {} of shape {}", rest.size() - *size, name(header.descr()),
                     tuple(header.shape())));
  }

  StoredTensor tensor{header.descr(), header.shape(), {}};
  if (header.fortran()) {
    tensor.bytes = from_fortran(rest, tensor.shape, size_of(tensor.dtype));
  } else {
    const auto* data = reinterpret_cast<const std::byte*>(rest.data());
    tensor.bytes.assign(data, data + rest.size());
  }
  return tensor;
}

}  // namespace attest::golden
