// SPDX-License-Identifier: MIT
// Values as bytes for a process of the same build: every member, every bit of every number. Private to the judge.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// The members of a struct, all of them: a binding of fewer or more names does not compile. To be used in the struct's
// namespace.
#define ATTEST_MEMBERS(TYPE, ...)                       \
  template <class T>                                    \
    requires std::same_as<std::remove_const_t<T>, TYPE> \
  auto members(T& value) {                              \
    auto& [__VA_ARGS__] = value;                        \
    return std::tie(__VA_ARGS__);                       \
  }

namespace attest::judge {

template <class T>
concept HasMembers = requires(T& value) { members(value); };

template <class T>
concept IsNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// How floats that follow each other are written: bounds and their like are often all 0, or rounded to bfloat16.
enum class FloatsAs : std::uint8_t { zeros, upper_halves, whole };

class ByteWriter {
public:
  /// All that was put; the writer is empty afterwards.
  std::string take() { return std::exchange(bytes_, {}); }

  template <IsNumber T>
  void put(T number) {
    raw(&number, 1);
  }

  void put(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }

  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    if constexpr (std::same_as<T, float>)
      floats(values);
    else if constexpr (IsNumber<T>)
      raw(values.data(), values.size());
    else
      for (const auto& value : values) put(value);
  }

  template <class T, std::size_t N>
  void put(const std::array<T, N>& values) {
    for (const auto& value : values) put(value);
  }

  template <class Key, class T, class Order>
  void put(const std::map<Key, T, Order>& values) {
    put(values.size());
    for (const auto& value : values) put(value);
  }

  template <class First, class Second>
  void put(const std::pair<First, Second>& pair) {
    put(pair.first);
    put(pair.second);
  }

  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }

  template <HasMembers T>
  void put(const T& value) {
    std::apply([this](const auto&... member) { (this->put(member), ...); }, members(value));
  }

private:
  template <class T>
  void raw(const T* numbers, std::size_t count) {
    bytes_.append(reinterpret_cast<const char*>(numbers), count * sizeof(T));
  }

  void floats(const std::vector<float>& values) {
    std::vector<std::uint16_t> upper(values.size());
    std::uint32_t any = 0, lower = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(values[i]);
      any |= bits, lower |= bits & 0xffffu, upper[i] = static_cast<std::uint16_t>(bits >> 16);
    }
    put(any == 0 ? FloatsAs::zeros : lower == 0 ? FloatsAs::upper_halves : FloatsAs::whole);
    if (lower != 0)
      raw(values.data(), values.size());
    else if (any != 0)
      raw(upper.data(), upper.size());
  }

  std::string bytes_;
};

/// Throws std::runtime_error where the bytes are not those of a ByteWriter that put the same types.
class ByteReader {
public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <IsNumber T>
  void get(T& number) {
    if constexpr (std::same_as<T, bool>) {
      std::uint8_t byte = 0;
      raw(&byte, 1);
      number = byte != 0;
    } else {
      raw(&number, 1);
    }
  }

  void get(std::string& text) {
    const std::size_t size = count_of(1);
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }

  template <class T>
  void get(std::vector<T>& values) {
    values.clear();
    if constexpr (std::same_as<T, float>) {
      floats(values);
    } else if constexpr (IsNumber<T>) {
      values.resize(count_of(sizeof(T)));
      raw(values.data(), values.size());
    } else {
      values.resize(count_of(1));
      for (auto& value : values) get(value);
    }
  }

  template <class T, std::size_t N>
  void get(std::array<T, N>& values) {
    for (auto& value : values) get(value);
  }

  template <class Key, class T, class Order>
  void get(std::map<Key, T, Order>& values) {
    values.clear();
    for (std::size_t left = count_of(1); left > 0; --left) {
      std::pair<Key, T> value;
      get(value);
      values.insert(std::move(value));
    }
  }

  template <class First, class Second>
  void get(std::pair<First, Second>& pair) {
    get(pair.first);
    get(pair.second);
  }

  template <class T>
  void get(std::optional<T>& value) {
    bool has_value = false;
    get(has_value);
    value.reset();
    if (has_value) get(value.emplace());
  }

  template <HasMembers T>
  void get(T& value) {
    std::apply([this](auto&... member) { (this->get(member), ...); }, members(value));
  }

  /// Throws where something is left.
  void end() const {
    if (!rest_.empty()) fail();
  }

private:
  [[noreturn]] static void fail() { throw std::runtime_error("these bytes are not those of the values asked for"); }

  /// A number of values that are at least so many bytes each: no more than there are bytes for.
  std::size_t count_of(std::size_t least) {
    std::size_t count = 0;
    get(count);
    if (count > rest_.size() / least) fail();
    return count;
  }

  template <class T>
  void raw(T* numbers, std::size_t count) {
    if (count > rest_.size() / sizeof(T)) fail();
    if (count > 0) rest_.copy(reinterpret_cast<char*>(numbers), count * sizeof(T));
    rest_.remove_prefix(count * sizeof(T));
  }

  void floats(std::vector<float>& values) {
    constexpr std::size_t kMost = std::size_t{1} << 32;  // zeros have no bytes
    std::size_t count = 0;
    auto as = FloatsAs::zeros;
    get(count);
    get(as);
    if (as > FloatsAs::whole || count > (as == FloatsAs::zeros ? kMost : rest_.size())) fail();
    values.assign(count, 0);
    if (as == FloatsAs::whole) raw(values.data(), count);
    if (as != FloatsAs::upper_halves) return;
    std::vector<std::uint16_t> upper(count);
    raw(upper.data(), count);
    std::transform(upper.begin(), upper.end(), values.begin(),
                   [](std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); });
  }

  std::string_view rest_;
};

template <class T>
std::string bytes_of(const T& value) {
  ByteWriter writer;
  writer.put(value);
  return writer.take();
}

/// Throws std::runtime_error where the bytes are not those of bytes_of() of a T.
template <class T>
T value_of(std::string_view bytes) {
  T value{};
  ByteReader reader(bytes);
  reader.get(value);
  reader.end();
  return value;
}

}  // namespace attest::judge
