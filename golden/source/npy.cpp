// SPDX-License-Identifier: MIT
#include "attest/golden/npy.hpp"

#include <fmt/format.h>

#include <cstring>
#include <regex>
#include <stdexcept>

namespace attest::golden {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return "<f8";
    case DType::f32: return "<f4";
    case DType::bf16: return "<V2";
    case DType::f16: return "<f2";
    case DType::i64: return "<i8";
    case DType::boolean: return "|b1";
  }
  throw std::logic_error("dtype without a descr");
}

}  // namespace

std::string serialize_npy(const StoredTensor& tensor) {
  std::string shape;
  for (const Index extent : tensor.shape) shape += fmt::format("{},", extent);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(tensor.dtype), shape);
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return bytes;
}

StoredTensor parse_npy(const std::string& bytes, const std::string& origin) {
  const auto fail = [&](const std::string& message) { throw std::runtime_error(origin + ": " + message); };
  if (bytes.compare(0, kMagic.size(), kMagic) != 0) fail("is not an .npy file: it does not start with \\x93NUMPY");
  if (bytes.size() < 10) fail("truncated within the .npy header");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) fail(fmt::format("has .npy version {}; allowed: 1, 2, 3", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4, start = 8 + length_bytes;
  if (bytes.size() < start) fail("truncated within the .npy header");
  std::size_t header_size = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) header_size |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  if (header_size > bytes.size() - start) fail("truncated within the .npy header");
  const std::string header = bytes.substr(start, header_size);
  std::smatch match;
  if (!std::regex_search(header, match, std::regex("'descr':\\s*'([^']*)'"))) fail("has no plain dtype: structured and object arrays are not allowed");
  const std::string descr = match[1];
  StoredTensor tensor;
  const std::string kind = descr.size() > 1 ? descr.substr(1) : "";
  if (descr.starts_with(">")) fail(fmt::format("is big-endian ('{}'); allowed: little-endian", descr));
  if (kind == "f8") tensor.dtype = DType::f64;
  else if (kind == "f4") tensor.dtype = DType::f32;
  else if (kind == "f2") tensor.dtype = DType::f16;
  else if (kind == "V2") tensor.dtype = DType::bf16;
  else if (kind == "i8") tensor.dtype = DType::i64;
  else if (kind == "b1") tensor.dtype = DType::boolean;
  else fail(fmt::format("has dtype '{}'; allowed: <f8, <f4, <f2, V2 (bfloat16), <i8, |b1", descr));
  if (!std::regex_search(header, match, std::regex("'fortran_order':\\s*(True|False)"))) fail("has no fortran_order in its header");
  const bool fortran = match[1] == "True";
  if (!std::regex_search(header, match, std::regex("'shape':\\s*\\(([0-9,\\s]*)\\)"))) fail("has no shape in its header");
  const std::string shape = match[1];
  static const std::regex integer("[0-9]+");
  std::size_t elements = 1;
  for (std::sregex_iterator at(shape.begin(), shape.end(), integer), end; at != end; ++at) {
    if (at->str().size() > 12) fail("has an extent that is too large");
    tensor.shape.push_back(std::stoll(at->str()));
    if (tensor.shape.back() > 0 && elements > (std::size_t{1} << 40) / static_cast<std::size_t>(tensor.shape.back())) fail("is too large");
    elements *= static_cast<std::size_t>(tensor.shape.back());
  }
  const std::size_t width = size_of(tensor.dtype), data = start + header_size;
  if (bytes.size() - data < elements * width) fail(fmt::format("truncated: {} bytes of data, its shape needs {}", bytes.size() - data, elements * width));
  if (bytes.size() - data > elements * width) fail(fmt::format("{} bytes follow the data", bytes.size() - data - elements * width));
  tensor.bytes.resize(elements * width);
  if (!fortran || tensor.shape.size() < 2) {
    std::memcpy(tensor.bytes.data(), bytes.data() + data, elements * width);
    return tensor;
  }
  for (std::size_t flat = 0; flat < elements; ++flat) {  // flat in C order; its place in Fortran order
    std::size_t rest = flat, place = 0, stride = elements;
    for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(tensor.shape[axis]);
      stride /= extent;
      place += rest % extent * stride;
      rest /= extent;
    }
    std::memcpy(tensor.bytes.data() + flat * width, bytes.data() + data + place * width, width);
  }
  return tensor;
}

}  // namespace attest::golden
