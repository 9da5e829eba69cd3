// SPDX-License-Identifier: MIT
#include "attest/golden/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace attest::golden {
namespace {

struct Name {
  DType dtype;
  std::string_view text;
};
constexpr Name kNames[] = {{DType::f64, "F64"},   {DType::f32, "F32"}, {DType::bf16, "BF16"},
                           {DType::f16, "F16"},   {DType::i64, "I64"}, {DType::boolean, "BOOL"}};

std::string_view name_of(DType dtype) {
  for (const auto& known : kNames)
    if (known.dtype == dtype) return known.text;
  throw std::logic_error("dtype without a safetensors name");
}

}  // namespace

StoredTensor store(DType dtype, const Array& array) {
  StoredTensor tensor{dtype, array.shape, std::vector<std::byte>(array.values.size() * size_of(dtype))};
  encode(dtype, array.values, tensor.bytes.data());
  return tensor;
}

Array load(const StoredTensor& tensor) {
  Array array{tensor.shape, std::vector<double>(tensor.bytes.size() / size_of(tensor.dtype))};
  decode(tensor.dtype, tensor.bytes.data(), array.values);
  return array;
}

std::string serialize(const Safetensors& file) {
  nlohmann::json header = nlohmann::json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::size_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    header[name] = {{"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes += static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * i));
  bytes += text;
  bytes.reserve(bytes.size() + offset);
  for (const auto& [_, tensor] : file.tensors) bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return bytes;
}

Safetensors parse_safetensors(const std::string& bytes, const std::string& origin) {
  const auto fail = [&](const std::string& message) { throw std::runtime_error(origin + ": " + message); };
  if (bytes.size() < 8) fail("truncated: a safetensors file starts with 8 bytes of header length");
  std::uint64_t header_size = 0;
  for (std::size_t i = 0; i < 8; ++i) header_size |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  if (header_size > bytes.size() - 8) fail(fmt::format("truncated: the header should have {} bytes, {} are left", header_size, bytes.size() - 8));
  const auto header = nlohmann::json::parse(bytes.begin() + 8, bytes.begin() + 8 + static_cast<std::ptrdiff_t>(header_size), nullptr, false);
  if (!header.is_object()) fail("the header is not a JSON object");
  const std::size_t data = 8 + header_size;
  Safetensors file;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) fail("__metadata__ is not an object of strings");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) fail(fmt::format("__metadata__ '{}' is not a string", key));
        file.metadata[key] = value.get<std::string>();
      }
      continue;
    }
    if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() || !entry.contains("shape") || !entry["shape"].is_array() ||
        !entry.contains("data_offsets") || !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2 ||
        !entry["data_offsets"][0].is_number_unsigned() || !entry["data_offsets"][1].is_number_unsigned())
      fail(fmt::format("tensor '{}' needs dtype, shape and two data_offsets", name));
    StoredTensor tensor;
    const std::string dtype = entry["dtype"].get<std::string>();
    const auto known = std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& item) { return item.text == dtype; });
    if (known == std::end(kNames)) fail(fmt::format("tensor '{}' has dtype '{}'; known: F64, F32, BF16, F16, I64, BOOL", name, dtype));
    tensor.dtype = known->dtype;
    std::uint64_t elements = 1;
    for (const auto& extent : entry["shape"]) {
      if (!extent.is_number_unsigned()) fail(fmt::format("tensor '{}' has a shape that is not of integers >= 0", name));
      const auto size = extent.get<std::uint64_t>();
      if (size != 0 && elements > std::numeric_limits<std::uint64_t>::max() / 8 / size) fail(fmt::format("tensor '{}' is too large", name));
      elements *= size;
      tensor.shape.push_back(static_cast<Index>(size));
    }
    const auto begin = entry["data_offsets"][0].get<std::uint64_t>(), end = entry["data_offsets"][1].get<std::uint64_t>();
    if (begin > end || end > bytes.size() - data) fail(fmt::format("truncated: tensor '{}' lies at bytes {} to {} of {}", name, begin, end, bytes.size() - data));
    if (end - begin != elements * size_of(tensor.dtype)) fail(fmt::format("tensor '{}' has {} bytes, its shape needs {}", name, end - begin, elements * size_of(tensor.dtype)));
    const auto* first = reinterpret_cast<const std::byte*>(bytes.data() + data);
    tensor.bytes.assign(first + begin, first + end);
    ranges.emplace_back(begin, end);
    file.tensors[name] = std::move(tensor);
  }
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t at = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != at) fail(begin < at ? "tensors overlap" : "there is a gap between tensors");
    at = end;
  }
  if (at != bytes.size() - data) fail(fmt::format("{} bytes follow the last tensor", bytes.size() - data - at));
  return file;
}

}  // namespace attest::golden
