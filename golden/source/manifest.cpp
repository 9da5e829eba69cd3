// SPDX-License-Identifier: MIT
#include "attest/golden/manifest.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <stdexcept>

namespace attest::golden {

std::string serialize(const Manifest& manifest) {
  return fmt::format(
      "# Written by `attest golden regenerate`. sha256 is of the file; sources is of everything its values come from.\n"
      "sha256  = \"{}\"\nsources = \"{}\"\ncases   = {}\nvalues  = {}\n",
      manifest.sha256, manifest.sources, manifest.cases, manifest.values);
}

Manifest parse_manifest(const std::string& text, const std::string& origin) {
  toml::table root;
  try {
    root = toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    throw std::runtime_error(fmt::format("{}:{}: {}", origin, error.source().begin.line, error.description()));
  }
  if (!root["sha256"].is_string() || !root["sources"].is_string() || !root["cases"].is_integer() ||
      !root["values"].is_integer() || root.size() != 4)
    throw std::runtime_error(fmt::format("{}: must hold exactly sha256, sources, cases and values", origin));
  const Manifest manifest{**root["sha256"].as_string(), **root["sources"].as_string(),
                          static_cast<std::size_t>(**root["cases"].as_integer()),
                          static_cast<std::size_t>(**root["values"].as_integer())};
  if (text != serialize(manifest))
    throw std::runtime_error(fmt::format("{}: is not as `attest golden regenerate` writes it", origin));
  return manifest;
}

}  // namespace attest::golden
