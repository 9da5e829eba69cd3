// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attest/jobs/job.hpp"

namespace CLI {
class App;
}

namespace attest::cli {

/// The options of commands whose items the ranks of an MPI job share, and a journal keeps.
struct LongJob {
  std::string journal, resume;

  void add_options(CLI::App& command);
  /// Nothing where this process is alone and keeps no journal. Results depend on the words of the command line, this
  /// program and those files. `name` is that of the file of costs. Throws UsageError where the journal cannot be used.
  std::unique_ptr<jobs::Job> begin(const std::string& name, const std::vector<std::filesystem::path>& files) const;
};

/// What the verdicts on a candidate depend on beside the program: the library and the golden data.
std::vector<std::filesystem::path> files_of_check(const std::string& candidate);

/// Throws UsageError where a launcher has started several processes of a command that has no items to share.
void check_launched(const CLI::App& app);

}  // namespace attest::cli
