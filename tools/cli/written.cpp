// SPDX-License-Identifier: MIT
#include "written.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "usage_error.hpp"

namespace attest::cli {

using nlohmann::json;

namespace {

bool has_string(const json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string();
}

std::string string(const json& object, const char* key, const std::string& origin) {
  if (!has_string(object, key))
    throw UsageError(
        fmt::format("{}: '{}' is missing or not a string; was the folder written by `attest emit`?", origin, key));
  return object[key].get<std::string>();
}

}  // namespace

FolderIndex parse_index(const std::string& text, const std::string& origin) {
  const json index = json::parse(text, nullptr, false);
  if (string(index, "attest", origin) != "cases 1" || !index.contains("cases") || !index["cases"].is_array())
    throw UsageError(fmt::format("{}: was not written by this version of `attest emit`", origin));
  FolderIndex read{string(index, "equation", origin),
                   string(index, "profile", origin),
                   string(index, "layout", origin),
                   string(index, "capabilities", origin),
                   {}};
  for (const auto& entry : index["cases"])
    read.cases.emplace_back(string(entry, "query", origin), string(entry, "folder", origin));
  return read;
}

json parse_report(const std::string& text, const std::string& origin) {
  json report = json::parse(text, nullptr, false);
  const auto is_row = [](const json& row) {
    return has_string(row, "equation") && has_string(row, "dtype") && has_string(row, "status");
  };
  if (!report.is_object() || !report.contains("rows") || !report["rows"].is_array() ||
      !std::all_of(report["rows"].begin(), report["rows"].end(), is_row))
    throw UsageError(fmt::format("{} is no report of `attest check --json`", origin));
  return report;
}

}  // namespace attest::cli
