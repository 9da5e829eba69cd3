// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attest/spec.hpp"

namespace attest {

/// A TOML table whose keys must all be known: what is not taken is an error.
class Table {
public:
  Table(const toml::table& table, std::string path, std::string place)
      : table_(table), path_(std::move(path)), place_(std::move(place)) {}

  [[noreturn]] void fail(const std::string& message) const {
    const auto line = table_.source().begin.line;
    throw SpecError(fmt::format("specs/{}:{}: {}{}", path_, line, place_.empty() ? "" : place_ + ": ", message));
  }

  std::string string(std::string_view key) {
    const auto* node = take(key);
    if (!node) fail(fmt::format("missing key '{}'", key));
    return text(*node, key);
  }
  std::string string(std::string_view key, std::string fallback) {
    const auto* node = take(key);
    return node ? text(*node, key) : fallback;
  }
  bool boolean(std::string_view key, bool fallback) {
    const auto* node = take(key);
    if (!node) return fallback;
    if (!node->is_boolean()) fail(fmt::format("'{}' must be true or false", key));
    return **node->as_boolean();
  }
  std::vector<std::string> strings(std::string_view key) {
    std::vector<std::string> result;
    const auto* node = take(key);
    if (!node) return result;
    if (!node->is_array()) fail(fmt::format("'{}' must be an array of strings", key));
    for (const auto& item : *node->as_array()) result.push_back(text(item, key));
    return result;
  }
  std::vector<Table> tables(std::string_view key) {
    std::vector<Table> result;
    const auto* node = take(key);
    if (!node) return result;
    if (!node->is_array()) fail(fmt::format("'{}' must be an array of tables", key));
    int index = 0;
    for (const auto& item : *node->as_array()) {
      if (!item.is_table()) fail(fmt::format("'{}' must be an array of tables", key));
      result.emplace_back(*item.as_table(), path_, fmt::format("{}[{}]", key, index++));
    }
    return result;
  }
  std::optional<Table> table(std::string_view key) {
    const auto* node = take(key);
    if (!node) return std::nullopt;
    if (!node->is_table()) fail(fmt::format("'{}' must be a table", key));
    return Table(*node->as_table(), path_, place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key));
  }
  /// The value that a word of the file stands for; one of `words`.
  template <class Value>
  Value word(std::string_view key, const std::vector<std::pair<std::string_view, Value>>& words,
             std::optional<std::string> fallback = std::nullopt) {
    const std::string given = fallback ? string(key, *fallback) : string(key);
    std::vector<std::string_view> allowed;
    for (const auto& [name, value] : words) {
      if (name == given) return value;
      allowed.push_back(name);
    }
    fail(fmt::format("{} '{}' must be one of: {}", key, given, fmt::join(allowed, ", ")));
  }
  const toml::node* take(std::string_view key) {
    taken_.insert(std::string(key));
    return table_.get(key);
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> result;
    for (const auto& [key, _] : table_) result.emplace_back(key.str());
    return result;
  }
  /// Every key must have been taken.
  void finish() const {
    for (const auto& [key, _] : table_) {
      if (taken_.count(std::string(key.str()))) continue;
      fail(fmt::format("unknown key '{}'; allowed: {}", key.str(), fmt::join(taken_, ", ")));
    }
  }

private:
  std::string text(const toml::node& node, std::string_view key) const {
    if (!node.is_string()) fail(fmt::format("'{}' must be a string", key));
    return **node.as_string();
  }

  const toml::table& table_;
  std::string path_, place_;
  std::set<std::string> taken_;
};

}  // namespace attest
