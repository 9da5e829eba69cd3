// SPDX-License-Identifier: MIT
// The parent side of PluginProcess: kernels of one process are called in a child, those of several in the ranks of a
// job.
#include "attest/judge/process.hpp"

#include <bit>
#include <system_error>
#include <thread>

#include "endpoint.hpp"
#include "team.hpp"

namespace attest::judge {
namespace {

void check_is_file(const std::filesystem::path& library) {
  std::error_code error;
  const auto kind = std::filesystem::status(library, error).type();
  if (kind == std::filesystem::file_type::not_found)
    throw InvalidCandidate(library.string() + ": there is no such file");
  if (kind == std::filesystem::file_type::directory)
    throw InvalidCandidate(library.string() + ": is a directory, not a shared library");
}

}  // namespace

struct PluginProcess::State {
  State(const std::string& library, Index ranks)
      : alone(
            library, [library](int memory) { return std::make_unique<Child>(library, memory); }, true),
        team(library, ranks) {}

  Endpoint alone;
  Team team;
};

PluginProcess::PluginProcess(const std::filesystem::path& library, Index ranks) {
  check_is_file(library);
  // Absolute, because the child has another working directory.
  state_ = std::make_unique<State>(std::filesystem::absolute(library).string(), ranks);
  state_->alone.start();
}

PluginProcess::~PluginProcess() = default;

const std::string& PluginProcess::name() const { return state_->alone.name; }
const std::string& PluginProcess::version() const { return state_->alone.version; }
const std::vector<KernelInfo>& PluginProcess::kernels() const { return state_->alone.kernels; }
Index PluginProcess::ranks() const { return state_->team.ranks(); }

Response PluginProcess::call(std::size_t kernel, const Request& request, const CallOptions& options) {
  if (kernel >= kernels().size())
    throw std::out_of_range("there is no kernel " + std::to_string(kernel) + "; the plugin has " +
                            std::to_string(kernels().size()));
  if (options.alignment != 0 && (!std::has_single_bit(options.alignment) || options.alignment > page_size()))
    throw std::invalid_argument("alignment must be a power of two up to " + std::to_string(page_size()));
  return request.collective ? state_->team.call(kernel, request, options)
                            : state_->alone.call(kernel, request, options);
}

std::vector<std::string> PluginProcess::settle(std::chrono::milliseconds patience) {
  Response response;
  std::this_thread::sleep_for(patience);
  state_->alone.report_death_between_calls(response, "after the last call: ");
  state_->team.report_deaths(response, "after the last call: ");
  return response.violations;
}

}  // namespace attest::judge
