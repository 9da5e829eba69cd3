// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

namespace attest::golden {

/// What the file beside a golden file says of it.
struct Manifest {
  std::string sha256, sources;  // of the golden file's bytes, and of everything that its values come from
  std::size_t cases = 0, values = 0;
};

/// The one text of a manifest, in TOML.
std::string serialize(const Manifest& manifest);

/// Throws std::runtime_error naming `origin` where the text is not one that serialize() gives.
Manifest parse_manifest(const std::string& text, const std::string& origin);

}  // namespace attest::golden
