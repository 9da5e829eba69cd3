// SPDX-License-Identifier: MIT
// JSON files that attest wrote and reads again; anybody may have changed them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace attest::cli {

/// attest.json of a folder that `attest emit` wrote.
struct FolderIndex {
  std::string equation, profile, layout, capabilities;
  std::vector<std::pair<std::string, std::string>> cases;  // query and folder
};

/// Throws UsageError naming `origin`, what is wrong and what writes such a file; so does parse_report().
FolderIndex parse_index(const std::string& text, const std::string& origin);

/// A report of `attest check --json`: its member `rows` holds objects whose equation, dtype and status are strings.
nlohmann::json parse_report(const std::string& text, const std::string& origin);

}  // namespace attest::cli
