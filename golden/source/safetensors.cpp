// SPDX-License-Identifier: MIT
#include "attest/golden/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace attest::golden {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensors lie in files as they lie in memory");

constexpr std::string_view metadata_key = "__metadata__";
constexpr std::size_t prefix_size = 8;

constexpr std::array<std::pair<DType, std::string_view>, 6> format_names{{
    {DType::f64, "F64"},
    {DType::f32, "F32"},
    {DType::bf16, "BF16"},
    {DType::f16, "F16"},
    {DType::i64, "I64"},
    {DType::boolean, "BOOL"},
}};

std::string_view format_name(DType dtype) {
  for (const auto& [candidate, text] : format_names) {
    if (candidate == dtype) return text;
  }
  throw std::invalid_argument("not a DType");
}

class Reader {
public:
  explicit Reader(std::string origin) : origin_(std::move(origin)) {}

  [[noreturn]] void fail(const std::string& message) const {
    throw std::runtime_error(fmt::format("{}: {}", origin_, message));
  }
  [[noreturn]] void fail(const std::string& tensor, const std::string& message) const {
    fail(fmt::format("tensor '{}': {}", tensor, message));
  }

  Safetensors read(std::string_view bytes) const {
    if (bytes.size() < prefix_size) {
      fail(fmt::format("truncated: {} bytes, the header length alone takes {}", bytes.size(), prefix_size));
    }
    std::uint64_t header_size = 0;
    std::memcpy(&header_size, bytes.data(), prefix_size);
    bytes.remove_prefix(prefix_size);
    if (header_size > bytes.size()) {
      fail(fmt::format("truncated: the header has {} bytes, {} follow its length", header_size, bytes.size()));
    }
    const json header = parse_header(bytes.substr(0, header_size));
    const std::string_view data = bytes.substr(header_size);

    Safetensors file;
    std::vector<Entry> entries;
    for (const auto& [key, value] : header.items()) {
      if (key == metadata_key) {
        file.metadata = metadata(value);
      } else {
        entries.push_back(entry(key, value));
      }
    }
    check_layout(entries, data.size());
    for (Entry& item : entries) {
      item.tensor.bytes.resize(item.end - item.begin);
      // An empty tensor has no memory to copy to.
      if (item.end > item.begin) std::memcpy(item.tensor.bytes.data(), data.data() + item.begin, item.end - item.begin);
      file.tensors.emplace(std::move(item.name), std::move(item.tensor));
    }
    return file;
  }

private:
  struct Entry {
    std::string name;
    StoredTensor tensor;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  json parse_header(std::string_view text) const {
    // The format asks for this, and it keeps out the byte order mark that the JSON parser would skip.
    if (!text.starts_with('{')) fail("the header does not begin with '{'");
    // The parser keeps the last of two equal keys; the format forbids them.
    std::vector<std::set<std::string>> keys;
    const auto reject_duplicates = [&](int, json::parse_event_t event, json& parsed) {
      if (event == json::parse_event_t::object_start) keys.emplace_back();
      if (event == json::parse_event_t::object_end) keys.pop_back();
      if (event == json::parse_event_t::key) {
        const auto& key = parsed.get_ref<const std::string&>();
        if (!keys.back().insert(key).second) fail(fmt::format("the header names '{}' twice", key));
      }
      return true;
    };
    try {
      return json::parse(text, reject_duplicates);
    } catch (const json::exception& error) {
      fail(fmt::format("the header is not JSON: {}", error.what()));
    }
  }

  std::map<std::string, std::string> metadata(const json& value) const {
    if (!value.is_object()) fail(fmt::format("'{}' must map strings to strings", metadata_key));
    std::map<std::string, std::string> result;
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail(fmt::format("'{}': the value of '{}' must be a string", metadata_key, key));
      result.emplace(key, text.get<std::string>());
    }
    return result;
  }

  Entry entry(const std::string& name, const json& value) const {
    if (!value.is_object()) fail(name, "its header entry must be an object");
    for (const auto& [key, _] : value.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        fail(name, fmt::format("unknown key '{}'; allowed: dtype, shape, data_offsets", key));
      }
    }
    Entry result;
    result.name = name;
    result.tensor.dtype = dtype(name, member(name, value, "dtype"));

    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
    std::uint64_t size = size_of(result.tensor.dtype);
    for (const std::uint64_t extent : naturals(name, value, "shape")) {
      if (extent > largest || (extent != 0 && size > largest / extent)) fail(name, "its shape overflows 64 bits");
      size *= extent;
      result.tensor.shape.push_back(static_cast<Index>(extent));
    }
    const auto offsets = naturals(name, value, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
      fail(name, fmt::format("'data_offsets' must be [begin, end], not [{}]", fmt::join(offsets, ", ")));
    }
    result.begin = offsets[0];
    result.end = offsets[1];
    if (result.end - result.begin != size) {
      fail(name, fmt::format("{} of shape [{}] takes {} bytes, its data_offsets [{}] hold {}",
                             format_name(result.tensor.dtype), fmt::join(result.tensor.shape, ", "), size,
                             fmt::join(offsets, ", "), result.end - result.begin));
    }
    return result;
  }

  const json& member(const std::string& name, const json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end()) fail(name, fmt::format("missing key '{}'", key));
    return *found;
  }

  DType dtype(const std::string& name, const json& value) const {
    if (!value.is_string()) fail(name, "'dtype' must be a string");
    const auto& text = value.get_ref<const std::string&>();
    std::vector<std::string_view> known;
    for (const auto& [candidate, candidate_name] : format_names) {
      if (candidate_name == text) return candidate;
      known.push_back(candidate_name);
    }
    fail(name, fmt::format("unknown dtype '{}'; allowed: {}", text, fmt::join(known, ", ")));
  }

  std::vector<std::uint64_t> naturals(const std::string& name, const json& object, const char* key) const {
    const json& value = member(name, object, key);
    std::vector<std::uint64_t> result;
    if (!value.is_array()) fail(name, fmt::format("'{}' must be an array of non-negative integers", key));
    for (const json& item : value) {
      if (!item.is_number_unsigned()) fail(name, fmt::format("'{}' must be an array of non-negative integers", key));
      result.push_back(item.get<std::uint64_t>());
    }
    return result;
  }

  /// The tensors must tile the data: every byte belongs to exactly one.
  void check_layout(const std::vector<Entry>& entries, std::size_t data_size) const {
    std::vector<const Entry*> order;
    for (const Entry& item : entries) order.push_back(&item);
    // By end as well, so that an empty tensor comes before the one that starts where it lies.
    std::sort(order.begin(), order.end(),
              [](const Entry* a, const Entry* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
    std::uint64_t covered = 0;
    const Entry* previous = nullptr;
    for (const Entry* item : order) {
      if (item->begin < covered) {
        fail(item->name, fmt::format("overlaps tensor '{}': begins at byte {}, that one ends at {}", previous->name,
                                     item->begin, covered));
      }
      if (item->begin > covered) {
        fail(item->name,
             fmt::format("leaves a gap: begins at byte {}, the data before it end at {}", item->begin, covered));
      }
      if (item->end > data_size) {
        fail(item->name, fmt::format("truncated: ends at byte {} of the data, which have {}", item->end, data_size));
      }
      covered = item->end;
      previous = item;
    }
    if (covered != data_size) fail(fmt::format("{} trailing bytes after the last tensor", data_size - covered));
  }

  std::string origin_;
};

void check_size(const StoredTensor& tensor, const std::string& what) {
  const bool negative = std::any_of(tensor.shape.begin(), tensor.shape.end(), [](Index extent) { return extent < 0; });
  if (!negative && static_cast<std::size_t>(count(tensor.shape)) * size_of(tensor.dtype) == tensor.bytes.size()) return;
  throw std::invalid_argument(fmt::format("{}: {} of shape [{}] does not take {} bytes", what, name(tensor.dtype),
                                          fmt::join(tensor.shape, ", "), tensor.bytes.size()));
}

}  // namespace

StoredTensor store(DType dtype, const Array& array) {
  StoredTensor tensor{dtype, array.shape, std::vector<std::byte>(array.values.size() * size_of(dtype))};
  check_size(tensor, "store");
  encode(dtype, array.values, tensor.bytes.data());
  return tensor;
}

Array load(const StoredTensor& tensor) {
  check_size(tensor, "load");
  Array array{tensor.shape, std::vector<double>(tensor.bytes.size() / size_of(tensor.dtype))};
  decode(tensor.dtype, tensor.bytes.data(), array.values);
  return array;
}

std::string serialize(const Safetensors& file) {
  json header = json::object();
  if (!file.metadata.empty()) header[std::string(metadata_key)] = file.metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    if (name == metadata_key) throw std::invalid_argument(fmt::format("a tensor cannot be named '{}'", name));
    check_size(tensor, fmt::format("tensor '{}'", name));
    const std::uint64_t end = offset + tensor.bytes.size();
    header[name] = {{"dtype", format_name(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception& error) {
    throw std::invalid_argument(fmt::format("a tensor name or metadata is not UTF-8: {}", error.what()));
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');

  const std::uint64_t header_size = text.size();
  std::string bytes(prefix_size, '\0');
  bytes.reserve(prefix_size + text.size() + offset);
  std::memcpy(bytes.data(), &header_size, prefix_size);
  bytes += text;
  for (const auto& [_, tensor] : file.tensors) {
    bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return bytes;
}

Safetensors parse_safetensors(const std::string& bytes, const std::string& origin) {
  return Reader(origin).read(bytes);
}

}  // namespace attest::golden
