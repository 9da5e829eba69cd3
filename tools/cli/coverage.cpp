// SPDX-License-Identifier: MIT
// coverage: which parts of every operation of the catalogue are there, by running them.
#include "attest/judge/coverage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "attest/golden/files.hpp"
#include "commands.hpp"
#include "long_job.hpp"
#include "written.hpp"

namespace attest::cli {
namespace {

/// "8/9"; "7+1/9" where evidence of one more is declared only.
std::string text_of(const judge::Share& share) {
  if (share.listed == 0) return "-";
  const std::string declared = share.declared == 0 ? "" : fmt::format("+{}", share.declared);
  return fmt::format("{}{}/{}", share.stand, declared, share.listed);
}

std::string text_of(const judge::Coverage& row, const char* backend) {
  const auto at = row.kernels.find(backend);
  return at == row.kernels.end() || at->second.empty() ? "-" : fmt::format("{}", fmt::join(at->second, " "));
}

/// A row of the table; `kernels` is one column per backend, of those widths.
void line(const std::string& id, std::string_view status, const std::string& forms, const std::string& golden,
          const std::string& gradient, const std::string& laws, const std::string& faults,
          const std::vector<std::string>& kernels, const std::vector<std::size_t>& widths, const std::string& errata,
          const std::string& claims) {
  std::string backends;
  for (std::size_t i = 0; i < kernels.size(); ++i) backends += fmt::format(" {:<{}}", kernels[i], widths[i]);
  fmt::print("{:<46} {:<8} {:>6} {:>6} {:>4} {:>7} {:>7} {} {:>6} {:>6}\n", id, status, forms, golden, gradient, laws,
             faults, backends, errata, claims);
}

/// BACKEND=FILE of --kernels: the backend and the report.
std::pair<std::string, nlohmann::json> read_report(const std::string& text) {
  const auto equals = text.find('=');
  const std::string backend = text.substr(0, equals), file = equals == std::string::npos ? "" : text.substr(equals + 1);
  std::vector<std::string> backends;
  for (const judge::Backend& one : judge::kBackends) backends.emplace_back(one.name);
  if (file.empty() || std::find(backends.begin(), backends.end(), backend) == backends.end())
    throw UsageError(fmt::format("--kernels '{}' is not BACKEND=FILE; backends: {}", text, fmt::join(backends, ", ")));
  return {backend, parse_report(golden::read_file(file), file)};
}

void list(const char* title, const std::vector<judge::Coverage>& rows,
          std::vector<std::string> judge::Coverage::* sentences) {
  bool first = true;
  for (const auto& row : rows)
    for (const auto& sentence : row.*sentences) {
      if (std::exchange(first, false)) fmt::print("\n{}\n", title);
      fmt::print("  {}: {}\n", row.id, sentence);
    }
}

int coverage(const std::string& only, const std::vector<std::string>& reports,
             const std::optional<std::filesystem::path>& json, const LongJob& long_job) {
  judge::CoverageOptions options{.project = project_folder(), .only = only};
  std::vector<std::filesystem::path> files = files_of_check("fault:*");
  for (const auto& report : reports) {
    options.reports.insert(read_report(report));
    files.emplace_back(report.substr(report.find('=') + 1));
  }
  for (const judge::Backend& backend : judge::kBackends)
    if (!options.reports.count(backend.name)) files.push_back(judge::library_of(backend.candidate));
  const auto job = long_job.begin("coverage", files);
  options.job = job.get();
  const auto rows = judge::coverage(options, report::progress_bar("covering"));
  if (rows.empty()) throw UsageError(fmt::format("--only '{}' matches no operation", only));
  std::vector<std::string> backends;
  std::vector<std::size_t> widths;
  for (const judge::Backend& backend : judge::kBackends) {
    backends.emplace_back(backend.name);
    widths.push_back(backends.back().size());
    for (const auto& row : rows) widths.back() = std::max(widths.back(), text_of(row, backend.name).size());
  }
  line("operation", "spec", "forms", "golden", "grad", "laws", "faults", backends, widths, "errata", "claims");
  judge::Share forms, laws, faults, errata, claims;
  int golden = 0, gradients = 0, complete = 0;
  const auto add = [](judge::Share& sum, const judge::Share& one) {
    sum.stand += one.stand, sum.listed += one.listed, sum.declared += one.declared;
  };
  for (const auto& row : rows) {
    std::vector<std::string> kernels;
    for (const judge::Backend& backend : judge::kBackends) kernels.push_back(text_of(row, backend.name));
    line(row.id, name(row.status), text_of(row.forms), std::to_string(row.golden), row.gradient ? "yes" : "-",
         text_of(row.laws), text_of(row.faults), kernels, widths, text_of(row.errata), text_of(row.claims));
    add(forms, row.forms), add(laws, row.laws), add(faults, row.faults), add(errata, row.errata),
        add(claims, row.claims);
    golden += row.golden, gradients += row.gradient, complete += row.status == judge::Coverage::Status::complete;
  }
  line(fmt::format("{} of {} complete", complete, rows.size()), "", text_of(forms), std::to_string(golden),
       std::to_string(gradients), text_of(laws), text_of(faults), std::vector<std::string>(backends.size()), widths,
       text_of(errata), text_of(claims));
  list("Open", rows, &judge::Coverage::open);
  list("Declared by the spec, not run here (+ in the table)", rows, &judge::Coverage::declared);
  if (json) golden::write_file_atomically(*json, judge::to_json(rows).dump(2) + "\n");
  return 0;
}

}  // namespace

void add_coverage(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("coverage", "What every operation of the catalogue has and lacks, by running it");
  struct Line {
    std::string only = "*", json;
    std::vector<std::string> reports;
    LongJob job;
  };
  const auto line = std::make_shared<Line>();
  command->add_option("--only", line->only, "glob over operations");
  command->add_option("--kernels", line->reports,
                      "BACKEND=FILE: a report of `attest check --json`, for kernels that are not to be run again");
  command->add_option("--json", line->json, "write the table to this file as well");
  line->job.add_options(*command);
  command->callback(
      [&status, line] { status = coverage(line->only, line->reports, optional_path(line->json), line->job); });
}

}  // namespace attest::cli
