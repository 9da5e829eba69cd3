// SPDX-License-Identifier: MIT
// emit and judge: a candidate that is any program, through files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "attest/golden/files.hpp"
#include "attest/golden/npy.hpp"
#include "attest/judge/judge_kernel.hpp"
#include "commands.hpp"
#include "written.hpp"

namespace attest::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A program behind files is judged like a kernel of that dtype, layout and capabilities.
judge::Kernel kernel_of(const Spec& spec, const golden::Profile& profile, const std::string& layout,
                        const std::string& capabilities) {
  judge::Kernel kernel;
  kernel.info = {spec.id, "", "value", profile.storage, "cpu", layout, capabilities};
  kernel.spec = &spec;
  kernel.capabilities = judge::Capabilities(spec, capabilities);
  judge::check_layout(kernel);
  return kernel;
}

judge::Batch single(const Problem& problem) { return {{problem}, {{}}, 1, 1, 1}; }

struct EmitOptions {
  std::string id, profile = "f32", capabilities, layout = "nd";
  fs::path to;
};

/// The contents of a folder that `attest emit` wrote.
struct Emitted {
  const Spec& spec;
  const golden::Profile& profile;
  judge::Kernel kernel;
  std::map<std::string, std::string> folders;  // by query
  std::vector<std::string> queries;            // in the order of the folder
};

Emitted read_index(const fs::path& folder) {
  const fs::path path = folder / "attest.json";
  if (!fs::exists(path))
    throw UsageError(fmt::format("{} does not exist; write the folder with `attest emit` first", path.string()));
  const FolderIndex index = parse_index(golden::read_file(path), path.string());
  const Spec& spec = find_spec(index.equation);
  const golden::Profile& profile = golden::profile(index.profile);
  Emitted emitted{spec, profile, kernel_of(spec, profile, index.layout, index.capabilities), {}, {}};
  for (const auto& [query, place] : index.cases) {
    emitted.queries.push_back(golden::query(golden::parse_query(query).first, profile.name));
    emitted.folders[emitted.queries.back()] = place;
  }
  return emitted;
}

/// The emitted cases: from the golden file where it has them, or certified again. Their bounds hold for `profile`.
judge::Selection read_cases(const Emitted& emitted, const golden::Profile& profile, const fs::path& golden_folder) {
  std::map<std::string, golden::GoldenCase> stored;
  for (auto& c : golden::load_golden(emitted.spec, golden_folder))
    stored.emplace(golden::query(c.name, emitted.profile.name), std::move(c));
  judge::Selection selection;
  std::vector<golden::GoldenCase> drawn;
  for (const auto& query : emitted.queries) {
    const golden::Case c = golden::parse_query(query).first;
    if (c.spec != &emitted.spec) throw UsageError(fmt::format("'{}' is no case of {}", query, emitted.spec.id));
    if (const auto known = stored.find(query); known != stored.end())
      selection.cases.push_back(judge::judged_by(known->second, profile));
    else
      drawn.push_back(
          judge::judged_by(golden::certify_case(c, {.check_witnesses = false, .gradients = false}), profile));
  }
  selection.stored = static_cast<int>(selection.cases.size());
  selection.drawn = static_cast<int>(drawn.size());
  std::move(drawn.begin(), drawn.end(), std::back_inserter(selection.cases));
  return selection;
}

/// The bytes of an output file; throws std::runtime_error where it is not the array that was asked for.
std::vector<std::byte> read_output(const fs::path& path, const judge::TensorSpec& tensor) {
  auto array = golden::parse_npy(golden::read_file(path), path.string());
  if (array.shape != tensor.shape)
    throw std::runtime_error(fmt::format("{} has shape [{}], expected [{}]", path.string(),
                                         fmt::join(array.shape, ", "), fmt::join(tensor.shape, ", ")));
  if (array.dtype != tensor.dtype)
    throw std::runtime_error(fmt::format("{} has dtype {}, expected {}", path.string(), attest::name(array.dtype),
                                         attest::name(tensor.dtype)));
  return std::move(array.bytes);
}

/// The outputs that a program left for one case. An optional output may be missing.
judge::Answers answers_in(const fs::path& folder, const Emitted& emitted, const judge::Batch& batch) {
  std::vector<std::vector<std::byte>> outputs;
  std::string missing;
  for (const auto& tensor : judge::assemble(batch, emitted.kernel, emitted.profile).outputs) {
    const fs::path path = folder / "out" / (tensor.name + ".npy");
    try {
      if (fs::exists(path))
        outputs.push_back(read_output(path, tensor));
      else if (emitted.spec.output(tensor.name)->optional)
        missing += fmt::format("{} == false;", tensor.name);
      else
        return {judge::Status::fail, fmt::format("{} is missing", path.string()), {}};
    } catch (const std::bad_alloc&) {  // no fault of the program
      throw;
    } catch (const std::exception& error) {
      return {judge::Status::fail, error.what(), {}};
    }
  }
  judge::Kernel kernel = emitted.kernel;
  kernel.capabilities = judge::Capabilities(emitted.spec, kernel.capabilities.text() + ";" + missing);
  const auto request = judge::assemble(batch, kernel, emitted.profile);
  return {judge::Status::pass, "", {{"", judge::disassemble(batch, kernel, request, outputs)}}};
}

/// Writes the case and its inputs. Returns its query.
std::string write_case(const golden::GoldenCase& c, const judge::Kernel& kernel, const golden::Profile& profile,
                       const fs::path& folder) {
  const Spec& spec = *kernel.spec;
  const auto request = judge::assemble(single(c.problem), kernel, profile);
  std::error_code error;
  fs::create_directories(folder / "in", error);
  fs::create_directories(folder / "out", error);
  if (error) throw std::runtime_error(fmt::format("{}: {}", folder.string(), error.message()));
  json parameters = json::object();
  for (const auto& parameter : spec.parameters) {
    const auto value = setting(c.problem, parameter.name);
    parameters[parameter.name] = value ? report::setting(*value) : json(nullptr);
  }
  json inputs = json::array(), outputs = json::array();
  for (const auto& tensor : request.inputs) {
    golden::write_file_atomically(folder / "in" / (tensor.name + ".npy"),
                                  golden::serialize_npy({tensor.dtype, tensor.shape, tensor.bytes}));
    inputs.push_back({{"name", tensor.name},
                      {"dtype", attest::name(tensor.dtype)},
                      {"shape", tensor.shape},
                      {"file", "in/" + tensor.name + ".npy"}});
  }
  for (const auto& tensor : request.outputs)
    outputs.push_back({{"name", tensor.name},
                       {"dtype", attest::name(tensor.dtype)},
                       {"shape", tensor.shape},
                       {"file", "out/" + tensor.name + ".npy"},
                       {"optional", spec.output(tensor.name)->optional}});
  const std::string query = golden::query(c.name, profile.name);
  const json page = {
      {"query", query},           {"equation", spec.id},      {"profile", profile.name}, {"layout", kernel.info.layout},
      {"sizes", c.problem.sizes}, {"parameters", parameters}, {"inputs", inputs},        {"outputs", outputs}};
  golden::write_file_atomically(folder / "case.json", page.dump(2) + "\n");
  return query;
}

int emit(const EmitOptions& options) {
  const Spec& spec = find_spec(options.id);
  const golden::Profile& profile = golden::profile(options.profile);
  const judge::Kernel kernel = kernel_of(spec, profile, options.layout, options.capabilities);
  std::error_code error;
  if (fs::exists(options.to, error) && !fs::is_empty(options.to, error))
    throw UsageError(fmt::format("{} exists and is not empty", options.to.string()));
  const auto selection =
      judge::select(spec, "", kernel.capabilities, profile, golden::load_golden(spec, project_folder() / "golden"));
  if (selection.cases.empty()) {
    fmt::print(stderr, "attest: INVALID: no case of {} fits '{}' in profile {}\n", spec.id, options.capabilities,
               profile.name);
    return 3;
  }
  json index = {{"attest", "cases 1"},
                {"equation", spec.id},
                {"profile", profile.name},
                {"layout", options.layout},
                {"capabilities", options.capabilities},
                {"cases", json::array()}};
  for (std::size_t i = 0; i < selection.cases.size(); ++i) {
    const std::string name = fmt::format("case-{:03}", i);
    const std::string query = write_case(selection.cases[i], kernel, profile, options.to / name);
    index["cases"].push_back({{"folder", name}, {"query", query}});
  }
  golden::write_file_atomically(options.to / "attest.json", index.dump(2) + "\n");
  fmt::print("{} cases of {} in profile {} written to {}: {} stored, {} certified now; {}\n", selection.cases.size(),
             spec.id, profile.name, options.to.string(), selection.stored, selection.drawn,
             report::left_out(selection.left_out));
  return 0;
}

/// Judges the outputs that a program left in an emitted folder, by the emitted profile or another one.
int judge_folder(const fs::path& folder, const std::optional<std::string>& other_profile,
                 const judge::CheckOptions& options, const ReportFiles& files_to_write) {
  const Emitted emitted = read_index(folder);
  const golden::Profile& profile = other_profile ? golden::profile(*other_profile) : emitted.profile;
  const judge::Source files{[&](const judge::Batch& batch, const golden::GoldenCase& c) {
    return answers_in(folder / emitted.folders.at(golden::query(c.name, emitted.profile.name)), emitted, batch);
  }};
  judge::Bank bank(emitted.spec, profile);
  judge::Report report{folder.string(), "", {}};
  report.rows.push_back(judge::judge_selection(emitted.kernel, profile, read_cases(emitted, profile, options.golden),
                                               files, bank, options, static_cast<double>(emitted.spec.faults.size())));
  report.place.file = (folder / "attest.json").string();
  print(report);
  files_to_write.write(report);
  return judge::exit_code(report.status());
}

}  // namespace

void add_emit(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("emit", "Write an equation's cases as .npy files for any program");
  const auto options = std::make_shared<EmitOptions>();
  command->add_option("ID", options->id, "an equation, as in linear.causal")->required();
  command->add_option("--to", options->to, "folder; must not exist or be empty")->required();
  command->add_option("--profile", options->profile, "precision of the inputs (default f32)");
  command->add_option("--capabilities", options->capabilities,
                      "conditions on sizes and parameters, as in 'd in {64, 128}; causal == true'");
  const std::vector<std::string> layouts(judge::kLayouts.begin(), judge::kLayouts.end());
  command->add_option("--layout", options->layout, "how heads and sequences lie in a tensor")
      ->check(CLI::IsMember(layouts));
  command->callback([&status, options] { status = emit(*options); });
}

void add_judge(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("judge", "Judge what a program wrote into an emitted folder");
  struct Line {
    std::string folder, profile;
    ReportFiles files;
  };
  const auto line = std::make_shared<Line>();
  command->add_option("DIR", line->folder, "the folder that `emit` wrote, with the outputs in it")->required();
  command->add_option("--profile", line->profile, "precision to judge by (default: the emitted one)");
  line->files.add_options(*command);
  command->callback([&status, line] {
    status = judge_folder(line->folder, line->profile.empty() ? std::nullopt : std::optional(line->profile),
                          default_options(), line->files);
  });
}

}  // namespace attest::cli
