// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace attest::golden {

/// The whole file; throws std::runtime_error with the path and the system's reason.
std::string read_file(const std::filesystem::path& path);

/// Whether a file is on the disk when a function returns. `no` is for what is checked when it is read.
enum class Sync { yes, no };

/// Writes beside the target, syncs, renames: the old file survives any failure (a full disk, a missing folder),
/// no partial or temporary file stays behind. Throws std::runtime_error with the path and the system's reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes, Sync sync = Sync::yes);

/// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace attest::golden
