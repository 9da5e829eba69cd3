// SPDX-License-Identifier: MIT
// check --claim writes a claim, verify-claim checks one again.
#include "claim.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "attest/golden/files.hpp"
#include "attest/golden/store.hpp"
#include "attest/judge/waivers.hpp"

namespace attest::cli {
namespace {

constexpr std::string_view kFirst =
    "# What a candidate passed; `attest verify-claim FILE` checks it again. The last line is the SHA-256 of all lines "
    "before it.\n";
constexpr std::string_view kLast = "# sha256 = ";
constexpr int kFormat = 1;  // what the key "claim" says; a change that readers must know of counts up

/// A string or an array of strings: what JSON writes is TOML as well.
std::string as_toml(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string pairs(const judge::RegimeCounts& counts) {
  return fmt::format("{{ calls = {}, strength = {}, visited = {}, possible = {}, unseen = {}, left_out = {} }}",
                     counts.judged, counts.strength, counts.visited, counts.possible, counts.unseen, counts.left_out);
}

/// "n: 1, 2 to 13": the levels that were visited of each axis.
std::vector<std::string> conditions(const judge::RegimeCounts& counts) {
  std::vector<std::string> lines;
  for (const auto& axis : counts.axes) {
    std::vector<std::string> levels;
    for (const auto& level : axis.levels)
      if (level.judged > 0) levels.push_back(level.text);
    if (!levels.empty()) lines.push_back(fmt::format("{}: {}", axis.name, fmt::join(levels, ", ")));
  }
  return lines;
}

std::string hash_of_manifest(const Spec& spec) {
  return golden::sha256(golden::read_file(project_folder() / "golden" / golden::manifest_of(spec)));
}

/// "[a, b]" with an element on each line where there are any.
std::string listed(const std::vector<std::string>& texts) {
  std::string lines;
  for (const auto& text : texts) lines += fmt::format("  {},\n", as_toml(text));
  return texts.empty() ? "[]" : "[\n" + lines + "]";
}

std::string kernel_text(const judge::Row& row) {
  std::string text = "\n[[kernel]]\n";
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{} = {}\n", key, value);
  };
  add("equation", as_toml(row.kernel.equation));
  add("form", as_toml(row.kernel.form));
  add("reading", as_toml(row.kernel.reading));
  add("dtype", as_toml(row.kernel.dtype));
  add("layout", as_toml(row.kernel.layout));
  add("capabilities", as_toml(row.kernel.capabilities));
  add("profile", as_toml(row.kernel.profile));
  add("restricted", as_toml(row.reach.restricted));
  add("golden", as_toml(hash_of_manifest(find_spec(row.kernel.equation))));
  add("cases", fmt::format("{{ passed = {}, stored = {}, drawn = {}, left_out = {} }}", row.cases.passed,
                           row.cases.stored, row.cases.drawn, row.cases.skipped()));
  add("regimes", pairs(row.regimes));
  add("conditions", listed(conditions(row.regimes)));
  if (row.real.judged > 0) {
    add("real_sizes", pairs(row.real));
    add("real_conditions", listed(conditions(row.real)));
  }
  add("laws", fmt::format("{{ held = {}, not_applicable = {} }}", row.laws.held, row.laws.not_applicable));
  add("calls", std::to_string(row.reach.calls));
  add("elements", std::to_string(row.errors.elements));
  return text;
}

/// The options of `check` that a claim keeps: what decides how a candidate is judged.
struct Options {
  Judging judging;
  std::string part;

  void add_to(CLI::App& app) {
    judging.add_options(app);
    app.add_option("--part", part);
  }
};

/// Those that a command line gave, a word each: "--only=linear.*".
std::vector<std::string> arguments(const CLI::App& command) {
  CLI::App kept;
  Options options;
  options.add_to(kept);
  std::vector<std::string> words;
  for (const CLI::Option* option : kept.get_options()) {
    const CLI::Option* given = command.get_option_no_throw(option->get_name());
    if (given && given->count() > 0)
      words.push_back(fmt::format("{}={}", option->get_name(), fmt::join(given->results(), " ")));
  }
  return words;
}

std::string text_of(const judge::Report& report, const std::string& candidate, const std::string& library,
                    std::uint64_t seed, const CLI::App& command) {
  std::string text(kFirst);
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{} = {}\n", key, value);
  };
  add("claim", std::to_string(kFormat));
  add("attest", as_toml(ATTEST_VERSION));
  add("date", judge::today());
  add("verdict", as_toml(report::verdict(report)));
  add("candidate", as_toml(candidate));
  add("sha256", as_toml(library));
  add("name", as_toml(report.candidate));
  add("version", as_toml(report.version));
  add("arguments", as_toml(arguments(command)));
  add("seed", std::to_string(seed));
  for (const auto& row : report.rows) text += kernel_text(row);
  return text + fmt::format("{}{}\n", kLast, golden::sha256(text));
}

/// A claim as it was read.
struct Claim {
  std::string text, verdict, attest, candidate, library;
  std::vector<std::string> arguments;
  std::vector<std::pair<const Spec*, std::string>> golden;  // hashes of manifests
};

/// Why a claim does not hold: exit status 1.
class DoesNotHold : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The text of a claim with its hash checked. Throws UsageError where the file is none.
std::string whole_text(const std::string& file) {
  std::string text;
  try {
    text = golden::read_file(file);
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
  const auto last = text.rfind(kLast);
  const std::size_t digits = 64;
  if (last == std::string::npos || last == 0 || text[last - 1] != '\n' ||
      text.size() != last + kLast.size() + digits + 1 || text.back() != '\n')
    throw UsageError(
        fmt::format("{} is no claim, or not a whole one: the last line of a claim is '{}' and {} hexadecimal digits",
                    file, kLast, digits));
  const std::string said = text.substr(last + kLast.size(), digits), is = golden::sha256(text.substr(0, last));
  if (said != is)
    throw DoesNotHold(
        fmt::format("{}: the text has been changed since attest wrote it: its SHA-256 is {}, and the "
                    "last line says {}",
                    file, is, said));
  return text;
}

/// Throws UsageError where the file is no claim, or is one of another format.
Claim parsed(const std::string& file, std::string text) {
  const auto fail = [&](const std::string& what) { return UsageError(fmt::format("{}: {}", file, what)); };
  toml::table root;
  try {
    root = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw fail(fmt::format("line {}: {}", error.source().begin.line, error.description()));
  }
  const auto of = [&](const toml::table& table, const char* key) {
    const auto value = table[key].value<std::string>();
    if (!value) throw fail(fmt::format("'{}' is missing, or is no string", key));
    return *value;
  };
  if (const auto format = root["claim"].value<std::int64_t>(); format != kFormat)
    throw fail(format ? fmt::format("a claim of format {}; this attest reads format {}", *format, kFormat)
                      : "'claim' is missing, or is no number");
  Claim claim;
  claim.verdict = of(root, "verdict");
  claim.attest = of(root, "attest");
  claim.candidate = of(root, "candidate");
  claim.library = of(root, "sha256");
  const toml::array* arguments = root["arguments"].as_array();
  const toml::array* kernels = root["kernel"].as_array();
  if (!arguments || !kernels || kernels->empty()) throw fail("'arguments' or 'kernel' is missing");
  for (const auto& word : *arguments) claim.arguments.push_back(word.value_or(std::string()));
  std::set<const Spec*> told;
  for (const auto& node : *kernels) {
    if (!node.is_table()) throw fail("'kernel' is no array of tables");
    const Spec& spec = find_spec(of(*node.as_table(), "equation"));
    if (told.insert(&spec).second) claim.golden.emplace_back(&spec, of(*node.as_table(), "golden"));
  }
  claim.text = std::move(text);
  return claim;
}

void check_golden(const Claim& claim) {
  std::vector<const Spec*> specs;
  for (const auto& [spec, hash] : claim.golden) {
    specs.push_back(spec);
    if (const auto now = hash_of_manifest(*spec); now != hash)
      throw DoesNotHold(fmt::format("{} was judged by other golden data: the SHA-256 of {} is {}, and was {}", spec->id,
                                    golden::manifest_of(*spec).string(), now, hash));
  }
  if (const auto faults = golden::verify(specs, project_folder(), project_folder() / "golden"); !faults.empty())
    throw DoesNotHold(fmt::format("golden data: {}", fmt::join(faults, "; ")));
}

/// The lines of a claim that must be the same in another run; the last is the hash.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = text.find('\n', begin);
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("date = ") || line.starts_with("candidate = ") || line.starts_with(kLast)) line.clear();
    lines.push_back(std::move(line));
  }
  return lines;
}

/// Judges again as the claim says. Returns the exit status of a run that does not pass, after its report was printed.
int run_again(const Claim& claim, const std::string& candidate) {
  Options options;
  CLI::App app;
  options.add_to(app);
  try {
    auto words = claim.arguments;
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("the claim's 'arguments' are none of `check`: {}", error.what()));
  }
  const auto part = Part::parse_option(options.part);
  const auto chosen = options.judging.chosen();
  const auto report = judged(*candidate_of(candidate, part, options.judging.ranks), part, chosen);
  if (const auto status = report.status(); status != judge::Status::pass) {
    print(report);
    fmt::print("{}: {} was claimed\n", candidate, claim.verdict);
    return judge::exit_code(status);
  }
  const auto claimed = lines_of(claim.text),
             now = lines_of(text_of(report, candidate, hash_of_library(candidate), chosen.seed, app));
  const auto [was, is] = std::mismatch(claimed.begin(), claimed.end(), now.begin(), now.end());
  if (was != claimed.end() || is != now.end())
    throw DoesNotHold(fmt::format("line {}: claimed '{}', now it is '{}'", was - claimed.begin() + 1,
                                  was != claimed.end() ? *was : "", is != now.end() ? *is : ""));
  return 0;
}

int verify_claim(const std::string& file, std::string candidate, bool run) {
  try {
    const Claim claim = parsed(file, whole_text(file));
    if (candidate.empty()) candidate = claim.candidate;
    if (claim.attest != ATTEST_VERSION)
      throw DoesNotHold(fmt::format("attest {} made this claim, and this is attest {}", claim.attest, ATTEST_VERSION));
    if (const auto now = hash_of_library(candidate); now != claim.library)
      throw DoesNotHold(fmt::format("{} is another file than the one that was judged: its SHA-256 is {}, and was {}",
                                    candidate, now, claim.library));
    check_golden(claim);
    if (const int status = run ? run_again(claim, candidate) : 0; status != 0) return status;
    fmt::print("{}: {}\n{}: {}\n", candidate, claim.verdict, file,
               run ? "the text, the plugin and the golden data are the same, and the check passes with the same counts"
                   : "the text, the plugin and the golden data are the same; the check was not run again");
    return 0;
  } catch (const DoesNotHold& reason) {
    fmt::print(stderr, "attest: the claim does not hold: {}\n", reason.what());
    return 1;
  }
}

}  // namespace

std::string hash_of_library(const std::string& candidate) {
  const auto library = judge::library_of(candidate);
  try {
    return golden::sha256(golden::read_file(library));
  } catch (const std::runtime_error& error) {
    throw judge::InvalidCandidate(error.what());
  }
}

void write_claim(const std::string& file, const judge::Report& report, const std::string& candidate,
                 const std::string& library, std::uint64_t seed, const CLI::App& command) {
  if (report.status() != judge::Status::pass) {
    fmt::print(stderr, "attest: {} is not written: only a PASS can be claimed\n", file);
    return;
  }
  if (hash_of_library(candidate) != library)
    throw UsageError(fmt::format("{} is not written: the file of {} was changed while it was judged", file, candidate));
  try {
    golden::write_file_atomically(file, text_of(report, candidate, library, seed, command));
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
}

void add_verify_claim(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("verify-claim", "Check again what `check --claim` wrote");
  struct Line {
    std::string file, candidate;
    bool no_run = false;
  };
  const auto line = std::make_shared<Line>();
  command->add_option("FILE", line->file, "a claim")->required();
  command->add_option("CANDIDATE", line->candidate, "where the plugin lies now (default: where the claim says)");
  command->add_flag("--no-run", line->no_run, "compare the text, the plugin and the golden data, and judge nothing");
  command->callback([&status, line] { status = verify_claim(line->file, line->candidate, !line->no_run); });
}

}  // namespace attest::cli
