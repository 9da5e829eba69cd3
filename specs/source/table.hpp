// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attest/spec.hpp"

namespace attest {

/// A TOML table whose keys must all be known: what is not taken is an error. A parser says the keys first, by `only`,
/// so that a misspelt key is told as such, and not as the absence of the one that was meant.
class Table {
public:
  Table(const toml::table& table, std::string path, std::string place)
      : table_(table), path_(std::move(path)), place_(std::move(place)) {}

  [[noreturn]] void fail(const std::string& message) const { fail(message, table_.source()); }

  /// The keys that the table may have; `take` takes no other.
  void only(std::initializer_list<std::string_view> keys) {
    allowed_.assign(keys.begin(), keys.end());
    for (const auto& [key, _] : table_)
      if (!is_allowed(key.str())) unknown(key, allowed_);
  }

  std::string string(std::string_view key) {
    const auto* node = take(key);
    if (!node) fail(fmt::format("missing key '{}'", key));
    auto result = text(*node, key);
    if (result.empty()) fail(fmt::format("'{}' must not be empty", key));
    return result;
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
    if (!allowed_.empty() && !is_allowed(key)) throw std::logic_error(fmt::format("'{}' is not among the keys", key));
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
    for (const auto& [key, _] : table_)
      if (!taken_.count(std::string(key.str()))) unknown(key, {taken_.begin(), taken_.end()});
  }

private:
  [[noreturn]] void fail(const std::string& message, const toml::source_region& source) const {
    throw SpecError(
        fmt::format("specs/{}:{}: {}{}", path_, source.begin.line, place_.empty() ? "" : place_ + ": ", message));
  }
  [[noreturn]] void unknown(const toml::key& key, const std::vector<std::string>& allowed) const {
    fail(fmt::format("unknown key '{}'{}; allowed: {}", key.str(), near_names(key.str(), allowed),
                     fmt::join(allowed, ", ")),
         key.source());
  }
  bool is_allowed(std::string_view key) const {
    return std::find(allowed_.begin(), allowed_.end(), key) != allowed_.end();
  }
  std::string text(const toml::node& node, std::string_view key) const {
    if (!node.is_string()) fail(fmt::format("'{}' must be a string", key));
    return **node.as_string();
  }

  const toml::table& table_;
  std::string path_, place_;
  std::vector<std::string> allowed_;  // empty: any
  std::set<std::string> taken_;
};

}  // namespace attest
