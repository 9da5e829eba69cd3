// SPDX-License-Identifier: MIT
#include "attest/golden/store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <set>

#include "attest/golden/agreement.hpp"
#include "attest/golden/files.hpp"
#include "attest/golden/manifest.hpp"
#include "attest/golden/safetensors.hpp"

namespace attest::golden {
namespace {

namespace fs = std::filesystem;

std::string prefix(std::size_t index) { return fmt::format("{:03}/", index); }

/// Where the results lie when decisions go another way: "alternative/", "alternative2/" ...
std::string alternative(std::size_t way) { return way == 0 ? "alternative/" : fmt::format("alternative{}/", way + 1); }

void put(Safetensors& file, const std::string& at, const CertifiedTensor& tensor) {
  file.tensors[at + "/hi"] = store(DType::f64, {tensor.shape, tensor.hi});
  file.tensors[at + "/lo"] = store(DType::f32, {tensor.shape, {tensor.lo.begin(), tensor.lo.end()}});
  std::vector<Index> shape{reference::kChannels};
  shape.insert(shape.end(), tensor.shape.begin(), tensor.shape.end());
  const auto stacked = [&](const ChannelValues& channels) {
    Array array{shape, {}};
    for (const auto& channel : channels) array.values.insert(array.values.end(), channel.begin(), channel.end());
    return store(DType::bf16, array);
  };
  file.tensors[at + "/bound"] = stacked(tensor.bound);
  file.tensors[at + "/rms"] = stacked(tensor.rms);
}

class Reader {
public:
  Reader(const Safetensors& file, std::string origin) : file_(file), origin_(std::move(origin)) {}

  [[noreturn]] void fail(const std::string& message) const { throw std::runtime_error(origin_ + ": " + message); }

  Array array(const std::string& name, const std::vector<Index>& shape) {
    const auto at = file_.tensors.find(name);
    if (at == file_.tensors.end()) fail(fmt::format("tensor '{}' is missing", name));
    used_.insert(name);
    Array array = load(at->second);
    if (array.shape != shape) fail(fmt::format("tensor '{}' has the wrong shape", name));
    return array;
  }
  bool has(const std::string& name) const { return file_.tensors.count(name) > 0; }

  CertifiedTensor certified(const std::string& at, const std::vector<Index>& shape) {
    CertifiedTensor tensor;
    tensor.shape = shape;
    tensor.hi = array(at + "/hi", shape).values;
    const Array lo = array(at + "/lo", shape);
    tensor.lo.assign(lo.values.begin(), lo.values.end());
    std::vector<Index> stacked{reference::kChannels};
    stacked.insert(stacked.end(), shape.begin(), shape.end());
    const auto split = [&](const Array& all, ChannelValues& channels) {
      const auto n = static_cast<std::ptrdiff_t>(tensor.hi.size());
      for (std::size_t c = 0; c < channels.size(); ++c) {
        const auto first = all.values.begin() + static_cast<std::ptrdiff_t>(c) * n;
        channels[c].assign(first, first + n);
      }
    };
    split(array(at + "/bound", stacked), tensor.bound);
    split(array(at + "/rms", stacked), tensor.rms);
    return tensor;
  }
  void finish() const {
    for (const auto& [name, _] : file_.tensors)
      if (!used_.count(name)) fail(fmt::format("tensor '{}' belongs to no case", name));
  }

private:
  const Safetensors& file_;
  std::string origin_;
  std::set<std::string> used_;
};

std::vector<std::string> results_of(const Problem& problem, const Arrays& cotangents) {
  std::vector<std::string> names;
  for (const auto& output : problem.spec->outputs) names.push_back(output.name);
  if (!cotangents.empty())
    for (const auto& name : problem.spec->gradient)
      if (problem.inputs.count(name)) names.push_back(gradient_of(name));
  return names;
}

Manifest read_manifest(const fs::path& path) { return parse_manifest(read_file(path), path.string()); }

std::size_t value_count(const GoldenCase& c) {
  std::size_t values = 0;
  for (const auto& [_, tensor] : c.certified.outputs) values += tensor.hi.size();
  return values;
}

}  // namespace

GoldenCase certify_case(const Case& c, const CertifyOptions& options) {
  GoldenCase golden{c, draw(c), options.gradients ? draw_cotangents(c) : Arrays(), {}};
  try {
    golden.certified = certify(golden.problem, golden.cotangents, options);
  } catch (const Uncertifiable& error) {
    throw Uncertifiable(fmt::format("{}: {}", query(c, "f64"), error.what()));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{}: {}", query(c, "f64"), error.what()));
  }
  return golden;
}

std::string serialize(const Spec& spec, const std::vector<GoldenCase>& cases) {
  Safetensors file;
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const GoldenCase& c = cases[i];
    const std::string at = prefix(i);
    for (const auto& [name, array] : c.problem.inputs) {
      const Element element = spec.input(name)->element;
      DType dtype = element == Element::real      ? dtype_from(c.name.exact)
                    : element == Element::boolean ? DType::boolean
                                                  : DType::i64;
      file.tensors[at + "input/" + name] = store(dtype, array);
    }
    for (const auto& [name, array] : c.cotangents)
      file.tensors[at + "cotangent/" + name] = store(dtype_from(c.name.exact), array);
    for (const auto& [name, tensor] : c.certified.outputs) put(file, at + "output/" + name, tensor);
    for (std::size_t way = 0; way < c.certified.alternatives.size(); ++way)
      for (const auto& [name, tensor] : c.certified.alternatives[way]) put(file, at + alternative(way) + name, tensor);
    if (!c.certified.margin.empty())
      file.tensors[at + "margin"] =
          store(DType::f64, {{static_cast<Index>(c.certified.margin.size())}, c.certified.margin});
    list.push_back({{"query", query(c.name, "any")}, {"flag", c.name.flag}, {"units", c.certified.units}});
  }
  file.metadata = {{"attest", "golden 1"},
                   {"equation", spec.id},
                   {"channels", fmt::format("{}", fmt::join(kChannelNames, ","))},
                   {"cases", list.dump()}};
  return golden::serialize(file);
}

std::vector<GoldenCase> parse_golden(const Spec& spec, const std::string& bytes, const std::string& origin) {
  const Safetensors file = parse_safetensors(bytes, origin);
  Reader reader(file, origin);
  const auto meta = [&](const std::string& key) {
    const auto at = file.metadata.find(key);
    return at == file.metadata.end() ? std::string() : at->second;
  };
  if (meta("attest") != "golden 1") reader.fail("is not a golden file of this version");
  if (meta("equation") != spec.id) reader.fail(fmt::format("holds '{}', not '{}'", meta("equation"), spec.id));
  if (meta("channels") != fmt::format("{}", fmt::join(kChannelNames, ",")))
    reader.fail("names other rounding channels");
  const auto list = nlohmann::json::parse(meta("cases"), nullptr, false);
  const auto expected = stored_cases(spec);
  if (!list.is_array() || list.size() != expected.size())
    reader.fail(fmt::format("is stale: it holds {} cases, the spec lists {}", list.is_array() ? list.size() : 0,
                            expected.size()));
  std::vector<GoldenCase> cases;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    GoldenCase c;
    c.name = expected[i];
    const std::string wanted = query(expected[i], "any");
    if (!list[i].is_object() || list[i].value("query", "") != wanted)
      reader.fail(fmt::format("is stale: case {} is '{}', the spec says '{}'", i,
                              list[i].is_object() ? list[i].value("query", "") : "", wanted));
    c.problem = draw(c.name);
    c.cotangents = draw_cotangents(c.name);
    const std::string at = prefix(i);
    for (const auto& [name, array] : c.problem.inputs)
      if (reader.array(at + "input/" + name, array.shape).values != array.values)
        reader.fail(fmt::format("input '{}' of case {} is not what its query draws", name, i));
    for (const auto& [name, array] : c.cotangents)
      if (reader.array(at + "cotangent/" + name, array.shape).values != array.values)
        reader.fail(fmt::format("cotangent '{}' of case {} is not what its query draws", name, i));
    const auto names = results_of(c.problem, c.cotangents);
    for (const auto& name : names)
      c.certified.outputs[name] = reader.certified(at + "output/" + name, shape_of_result(c.problem, name));
    for (std::size_t way = 0; !names.empty() && reader.has(at + alternative(way) + names[0] + "/hi"); ++way) {
      auto& tensors = c.certified.alternatives.emplace_back();
      for (const auto& name : names)
        tensors[name] = reader.certified(at + alternative(way) + name, shape_of_result(c.problem, name));
    }
    if (reader.has(at + "margin"))
      c.certified.margin = reader.array(at + "margin", load(file.tensors.at(at + "margin")).shape).values;
    c.certified.units = list[i].value("units", "");
    if (c.certified.units != "wide" && c.certified.units != "narrow")
      reader.fail(fmt::format("case {} has unknown units", i));
    cases.push_back(std::move(c));
  }
  reader.finish();
  return cases;
}

fs::path file_of(const Spec& spec) { return fs::path(spec.family()) / (spec.stem() + ".safetensors"); }

fs::path manifest_of(const Spec& spec) { return file_of(spec).replace_extension(".manifest.toml"); }

void regenerate(const std::vector<const Spec*>& specs, const fs::path& project, const fs::path& folder,
                const Progress& progress) {
  struct Job {
    std::size_t spec, index;
    Case name;
  };
  std::vector<Job> jobs;
  std::vector<std::vector<GoldenCase>> cases(specs.size());
  for (std::size_t s = 0; s < specs.size(); ++s) {
    const auto names = stored_cases(*specs[s]);
    cases[s].resize(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) jobs.push_back({s, i, names[i]});
  }
  std::exception_ptr failure;
  std::size_t done = 0;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    bool stop;
#pragma omp critical(attest_regenerate)
    stop = failure != nullptr;
    if (stop) continue;
    try {
      cases[jobs[j].spec][jobs[j].index] = certify_case(jobs[j].name);
#pragma omp critical(attest_regenerate)
      if (progress) progress(++done, jobs.size(), specs[jobs[j].spec]->id);
    } catch (...) {
#pragma omp critical(attest_regenerate)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);

  for (std::size_t s = 0; s < specs.size(); ++s) {
    const std::string bytes = serialize(*specs[s], cases[s]);
    const fs::path file = folder / file_of(*specs[s]);
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error) throw std::runtime_error(fmt::format("{}: {}", file.parent_path().string(), error.message()));
    write_file_atomically(file, bytes);
    std::size_t values = 0;
    for (const auto& c : cases[s]) values += value_count(c);
    write_file_atomically(folder / manifest_of(*specs[s]),
                          serialize(Manifest{sha256(bytes), source_hash(*specs[s], project), cases[s].size(), values}));
  }
}

std::vector<std::string> verify(const std::vector<const Spec*>& specs, const fs::path& project,
                                const fs::path& folder) {
  std::vector<std::string> faults;
  std::set<std::string> expected;
  for (const Spec* one : specs) {
    const Spec& spec = *one;
    const std::string name = file_of(spec).generic_string();
    expected.insert({name, manifest_of(spec).generic_string()});
    try {
      const Manifest entry = read_manifest(folder / manifest_of(spec));
      const std::string bytes = read_file(folder / name);
      if (sha256(bytes) != entry.sha256) {
        faults.push_back(fmt::format("{} is damaged: its SHA-256 is not the manifest's", name));
        continue;
      }
      if (source_hash(spec, project) != entry.sources) {
        faults.push_back(fmt::format(
            "{} is stale: its spec, reference or generator has changed; run `attest golden regenerate`", name));
        continue;
      }
      const auto cases = parse_golden(spec, bytes, (folder / name).string());
      std::size_t values = 0;
      for (const auto& c : cases) values += value_count(c);
      if (cases.size() != entry.cases || values != entry.values)
        faults.push_back(fmt::format("{} does not hold the number of cases or values that its manifest says", name));
    } catch (const std::bad_alloc&) {  // no fault of the file
      throw;
    } catch (const std::exception& error) {
      faults.push_back(fmt::format("{}; run `attest golden regenerate`", error.what()));
    }
  }
  if (specs.size() < attest::specs().size()) return faults;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(file.path(), folder).generic_string();
    const bool golden = file.path().extension() == ".safetensors" || name.ends_with(".manifest.toml");
    if (golden && !expected.count(name)) faults.push_back(fmt::format("{} has no spec", name));
  }
  return faults;
}

std::vector<GoldenCase> load_golden(const Spec& spec, const fs::path& folder) {
  const fs::path path = folder / file_of(spec);
  const std::string remedy = "; run `attest golden regenerate`";
  try {
    const Manifest entry = read_manifest(folder / manifest_of(spec));
    const std::string bytes = read_file(path);
    if (sha256(bytes) != entry.sha256)
      throw std::runtime_error(path.string() + ": its SHA-256 is not the manifest's: damaged or stale");
    return parse_golden(spec, bytes, path.string());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(error.what() + remedy);
  }
}

}  // namespace attest::golden
