// SPDX-License-Identifier: MIT
// attest.native: the judge for kernels that are Python functions. Users see attest/*.py; this file turns
// the judge's calls into calls of one Python function, and its results into JSON and arrays.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "attest/jobs/channel.hpp"
#include "attest/jobs/job.hpp"
#include "attest/judge/check.hpp"
#include "attest/judge/json.hpp"
#include "attest/judge/memory.hpp"
#include "attest/judge/process.hpp"
#include "attest/judge/reproduce.hpp"
#include "attest/judge/waivers.hpp"
#include "attest/report.hpp"

namespace nb = nanobind;

namespace attest::python {
namespace {

constexpr std::size_t kAlignment = 64;  // what XLA asks for before it takes a buffer as it is

/// NumPy has no bfloat16 of its own: such tensors travel as 16-bit words.
nb::dlpack::dtype dlpack_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return nb::dtype<double>();
    case DType::f32: return nb::dtype<float>();
    case DType::bf16: return nb::dtype<std::uint16_t>();
    case DType::f16: return {static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
    case DType::i64: return nb::dtype<std::int64_t>();
    case DType::boolean: return nb::dtype<bool>();
  }
  throw std::logic_error("unknown dtype");
}

/// A NumPy array with memory of its own.
nb::object array_of(DType dtype, const std::vector<Index>& shape, const void* bytes, std::size_t size,
                    std::size_t offset = 0, const std::vector<Index>& strides = {}) {
  void* data = std::aligned_alloc(kAlignment, (size + kAlignment) / kAlignment * kAlignment);
  if (!data) throw std::bad_alloc();
  if (size > 0) std::memcpy(data, bytes, size);
  const nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
  std::vector<std::size_t> extents(shape.begin(), shape.end());
  return nb::cast(nb::ndarray<nb::numpy>(static_cast<std::byte*>(data) + offset, extents.size(), extents.data(), owner,
                                         strides.empty() ? nullptr : strides.data(), dlpack_type(dtype)),
                  nb::rv_policy::reference);
}

nb::object array_of(DType dtype, const std::vector<Index>& shape, const void* bytes) {
  return array_of(dtype, shape, bytes, static_cast<std::size_t>(count(shape)) * size_of(dtype));
}

/// The same, lying in a buffer as `memory` says.
nb::object array_of(const judge::InputTensor& tensor, const judge::CallOptions& options, std::size_t number) {
  if (options.memory.empty()) return array_of(tensor.dtype, tensor.shape, tensor.bytes.data());
  const judge::View view =
      tensor.view ? *tensor.view : judge::laid_out(tensor, options.memory, number, options.alignment);
  return array_of(tensor.dtype, tensor.shape, view.buffer.data(), view.buffer.size(), view.offset, view.strides);
}

nb::object array_of(const std::vector<Index>& shape, const std::vector<double>& values) {
  return array_of(DType::f64, shape, values.data());
}

nb::object array_of(const Array& array) { return array_of(array.shape, array.values); }

nb::object python_of(const ParameterSetting& value) {
  return std::visit([](const auto& x) { return nb::cast(x); }, value);
}

nb::dict tensor_of(const judge::TensorSpec& tensor) {
  nb::dict result;
  result["name"] = tensor.name;
  result["dtype"] = std::string(attest::name(tensor.dtype));
  result["shape"] = nb::tuple(nb::cast(tensor.shape));
  return result;
}

/// Calls one Python function for every kernel: call(reading, inputs, parameters, outputs, second_thread) -> arrays,
/// with
///   inputs         {name: (dtype, array)}
///   parameters     {name: value or None}
///   outputs        [{"name", "dtype", "shape"}]
///   second_thread  whether the kernel is to be called from a thread of its own
/// It returns C-contiguous arrays of those shapes and item sizes, or raises attest._kernel.Refused where the function
/// raised, and anything else where the contract was broken. settle() returns sentences.
class PythonHost : public judge::Host {
public:
  PythonHost(std::string name, std::string version, std::vector<judge::KernelInfo> kernels, nb::callable call,
             nb::callable settle)
      : name_(std::move(name)),
        version_(std::move(version)),
        kernels_(std::move(kernels)),
        call_(std::move(call)),
        settle_(std::move(settle)) {}

  ~PythonHost() override {
    const nb::gil_scoped_acquire gil;
    call_.reset();
    settle_.reset();
  }

  const std::string& name() const override { return name_; }
  const std::string& version() const override { return version_; }
  const std::vector<judge::KernelInfo>& kernels() const override { return kernels_; }
  bool places_outputs() const override { return false; }
  bool interrupted() const { return interrupted_; }

  /// Between calls: whether Ctrl-C was pressed.
  bool pressed() {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) {
      PyErr_Clear();
      interrupted_ = true;
    }
    return interrupted_;
  }

  judge::Response call(std::size_t kernel, const judge::Request& request, const judge::CallOptions& options) override {
    judge::Response response;
    response.end = judge::Response::End::kernel_error;
    if (interrupted_) {
      response.message = "interrupted";
      return response;
    }
    const nb::gil_scoped_acquire gil;
    std::fenv_t environment;
    std::fegetenv(&environment);
    try {
      nb::dict inputs, parameters;
      nb::list outputs;
      for (std::size_t i = 0; i < request.inputs.size(); ++i)
        inputs[request.inputs[i].name.c_str()] =
            nb::make_tuple(std::string(attest::name(request.inputs[i].dtype)), array_of(request.inputs[i], options, i));
      const Spec& spec = find_spec(request.equation);
      for (const auto& parameter : request.parameters)
        parameters[parameter.name.c_str()] = value_of(*spec.parameter(parameter.name), parameter);
      for (const auto& tensor : request.outputs) outputs.append(tensor_of(tensor));
      const auto arrays = nb::cast<std::vector<nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>>(
          call_(kernels_[kernel].reading, inputs, parameters, outputs, options.second_thread));
      for (std::size_t i = 0; i < request.outputs.size(); ++i) {
        const auto& array = arrays.at(i);
        const auto size = static_cast<std::size_t>(count(request.outputs[i].shape)) * size_of(request.outputs[i].dtype);
        if (array.nbytes() != size) throw std::logic_error("an output of another size came through");
        const auto* bytes = static_cast<const std::byte*>(array.data());
        response.outputs.emplace_back(bytes, bytes + size);
      }
      response.end = judge::Response::End::finished;
    } catch (nb::python_error& error) {
      response.outputs.clear();
      if (error.matches(PyExc_KeyboardInterrupt)) {
        interrupted_ = true;
        response.message = "interrupted";
      } else {
        if (error.matches(nb::module_::import_("attest._kernel").attr("Refused")))
          response.end = judge::Response::End::refused;
        response.message = nb::cast<std::string>(nb::str(error.value()));
      }
    }
    std::fesetenv(&environment);  // a library may have left flush-to-zero or another rounding behind
    return response;
  }

  std::vector<std::string> settle(std::chrono::milliseconds) override {
    const nb::gil_scoped_acquire gil;
    return nb::cast<std::vector<std::string>>(settle_());
  }

private:
  static nb::object value_of(const ParameterDeclaration& declared, const judge::ParameterValue& value) {
    using Type = ParameterDeclaration::Type;
    if (!value.given) return nb::none();
    switch (declared.type) {
      case Type::boolean: return nb::cast(value.integer != 0);
      case Type::integer: return nb::cast(value.integer);
      case Type::real: return nb::cast(value.real);
      case Type::choice: return nb::cast(value.text);
    }
    return nb::none();
  }

  std::string name_, version_;
  std::vector<judge::KernelInfo> kernels_;
  nb::callable call_, settle_;
  bool interrupted_ = false;
};

/// A run's report: data, the table, and each kernel's diagnosis in words.
nb::dict result_of(const judge::Report& report, bool interrupted) {
  nb::dict result;
  nb::list diagnoses;
  for (const auto& row : report.rows) diagnoses.append(report::diagnosis(row));
  result["json"] = judge::to_json(report).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  result["table"] = report::table(report);
  result["judged"] = nb::cast(report);
  result["diagnoses"] = diagnoses;
  result["interrupted"] = interrupted;
  return result;
}

/// The report of another name and with the place of the function, with one more note on its first row.
judge::Report named(judge::Report report, const std::string& name, const std::string& note, const std::string& file,
                    int line) {
  report.candidate = name;
  report.place = {file, line};
  if (!note.empty() && !report.rows.empty()) report.rows[0].notes.push_back(note);
  return report;
}

struct Job {
  std::string equation, name, version, profile, form, layout, capabilities, golden;
  std::vector<std::string> readings;
  std::string query;  // judges that case alone; empty: all
  std::string only = "*";
  std::uint64_t seed = 1;
  int laws = 6, strength = 2, repeat = 1;
  bool real_sizes = false;
  std::optional<int> max_cases, shapes;
  std::optional<double> budget;
  std::string waivers;  // a file; empty: none
};

nb::dict run(const Job& job, nb::callable call, nb::callable settle) {
  const golden::Profile& profile = golden::profile(job.profile);
  std::vector<judge::KernelInfo> kernels;
  for (const auto& reading : job.readings)
    kernels.push_back({job.equation, job.form, reading, profile.storage, "cpu", job.layout, job.capabilities});
  auto host =
      std::make_unique<PythonHost>(job.name, job.version, std::move(kernels), std::move(call), std::move(settle));
  PythonHost& python = *host;
  judge::Report report;
  {
    const nb::gil_scoped_release no_gil;
    judge::Candidate candidate(job.name, std::move(host));
    judge::CheckOptions options;
    options.profile = job.profile;
    options.golden = job.golden;
    options.cache = judge::cache_folder();
    options.flags = job.only;
    options.most_cases = job.max_cases;
    options.seed = job.seed;
    options.law_draws = options.property_draws = job.laws;
    options.strength = job.strength;
    options.sizes = job.real_sizes ? judge::SizesJudged::real : judge::SizesJudged::small;
    options.repeat = job.repeat;
    options.shapes = job.shapes;
    const auto start = std::chrono::steady_clock::now();
    options.stop = [&] {
      if (python.pressed()) return judge::Stop::interrupt;
      const bool spent =
          job.budget && std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > *job.budget;
      return spent ? judge::Stop::budget : judge::Stop::no;
    };
    const auto waivers = job.waivers.empty() ? std::vector<judge::Waiver>() : judge::read_waivers(job.waivers);
    judge::check_waivers(waivers, candidate.kernels());
    report = job.query.empty() ? judge::check(candidate, options, report::progress_bar("checking"))
                               : judge::reproduce(candidate, job.query, options);
    judge::apply_waivers(waivers, judge::today(), judge::does_less(options), report);
    const nb::gil_scoped_acquire gil;
    return result_of(report, python.interrupted());
  }
}

/// Does the items with those keys, shared by the ranks where a launcher has started several, and keeps what is finished
/// in the folder `journal`, where it is not empty. Returns what run(i) gives for each of them, a text; nothing on a
/// rank other than the first.
std::optional<std::vector<std::string>> run_items(const std::string& identity, const std::string& journal, bool resume,
                                                  const std::vector<std::string>& keys, const nb::callable& run) {
  std::vector<jobs::Item> items;
  for (const auto& key : keys) items.push_back({key});
  const nb::gil_scoped_release no_gil;
  try {
    jobs::JobOptions options{.identity = identity, .journal = journal, .resume = resume};
    if (jobs::launched().size > 1) options.channel = &jobs::begin_mpi(judge::plugin_folder() / "attest_ranks.so");
    return jobs::Job(options).run(
        items,
        [&](std::size_t i) {
          const nb::gil_scoped_acquire gil;
          return nb::cast<std::string>(run(i));
        },
        false);
  } catch (const jobs::Helped&) {
    return std::nullopt;
  } catch (const std::runtime_error& error) {
    throw SpecError(error.what());
  }
}

nb::dict certified_of(const golden::CertifiedTensors& tensors) {
  nb::dict all;
  for (const auto& [name, tensor] : tensors) {
    nb::dict one;
    std::vector<Index> channels = tensor.shape;
    channels.insert(channels.begin(), static_cast<Index>(tensor.bound.size()));
    const auto slabs = [&](const golden::ChannelValues& values) {
      std::vector<float> flat;
      for (const auto& channel : values) flat.insert(flat.end(), channel.begin(), channel.end());
      flat.resize(static_cast<std::size_t>(count(channels)));
      return array_of(DType::f32, channels, flat.data());
    };
    one["hi"] = array_of(tensor.shape, tensor.hi);
    one["lo"] = array_of(DType::f32, tensor.shape, tensor.lo.data());
    one["bound"] = slabs(tensor.bound);
    one["rms"] = slabs(tensor.rms);
    all[name.c_str()] = one;
  }
  return all;
}

nb::dict case_of(const golden::GoldenCase& c) {
  nb::dict sizes, parameters, inputs, cotangents, result;
  for (const auto& [name, size] : c.problem.sizes) sizes[name.c_str()] = size;
  for (const auto& declared : c.problem.spec->parameters) {
    const auto value = setting(c.problem, declared.name);
    parameters[declared.name.c_str()] = value ? python_of(*value) : nb::none();
  }
  for (const auto& [name, array] : c.problem.inputs) inputs[name.c_str()] = array_of(array);
  for (const auto& [name, array] : c.cotangents) cotangents[name.c_str()] = array_of(array);
  result["query"] = golden::query(c.name, "any");
  result["flag"] = c.name.flag;
  result["exact"] = c.name.exact;
  result["units"] = c.certified.units;
  result["sizes"] = sizes;
  result["parameters"] = parameters;
  result["inputs"] = inputs;
  result["cotangents"] = cotangents;
  result["outputs"] = certified_of(c.certified.outputs);
  nb::list alternatives;
  for (const auto& alternative : c.certified.alternatives) alternatives.append(certified_of(alternative));
  result["alternatives"] = alternatives;
  result["margin"] = array_of({static_cast<Index>(c.certified.margin.size())}, c.certified.margin);
  return result;
}

nb::list profiles() {
  nb::list all;
  for (const auto& profile : golden::profiles()) {
    nb::dict one, units;
    for (std::size_t c = 0; c < profile.units.size(); ++c)
      units[std::string(golden::kChannelNames[c]).c_str()] = profile.units[c];
    one["name"] = profile.name;
    one["storage"] = std::string(name(profile.storage));
    one["meaning"] = profile.meaning;
    one["units"] = units;
    all.append(one);
  }
  return all;
}

}  // namespace
}  // namespace attest::python

NB_MODULE(native, m) {
  using namespace attest;
  m.attr("__version__") = ATTEST_VERSION;
  m.attr("most_strength") = judge::kMostStrength;
  m.attr("layouts") = nb::tuple(nb::cast(std::vector<std::string>(judge::kLayouts.begin(), judge::kLayouts.end())));
  const auto usage_error = nb::exception<SpecError>(m, "UsageError", PyExc_ValueError);
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* type) {
        try {
          std::rethrow_exception(thrown);
        } catch (const judge::InvalidCandidate& error) {
          PyErr_SetString(static_cast<PyObject*>(type), error.what());
        }
      },
      usage_error.ptr());
  m.def("operations", [] {
    std::vector<std::string> ids;
    for (const auto& [id, _] : specs()) ids.push_back(id);
    return ids;
  });
  m.def("describe", [](const std::string& id) { return report::page(find_spec(id)).dump(); });
  m.def("profiles", python::profiles);
  m.def("golden", [](const std::string& id, const std::string& folder) {
    nb::list cases;
    for (const auto& c : golden::load_golden(find_spec(id), folder)) cases.append(python::case_of(c));
    return cases;
  });
  m.def("as_dlpack", [](const nb::object& owner, const std::string& dtype) {
    // The same memory under its real name, for libraries that know bfloat16.
    const auto array = nb::cast<nb::ndarray<nb::device::cpu>>(owner);
    std::vector<std::size_t> shape;
    std::vector<std::int64_t> strides;
    for (std::size_t axis = 0; axis < array.ndim(); ++axis)
      shape.push_back(array.shape(axis)), strides.push_back(array.stride(axis));
    const nb::dlpack::dtype type =
        dtype == "bf16" ? nb::dlpack::dtype{static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1}
                        : array.dtype();
    return nb::ndarray<nb::array_api>(array.data(), shape.size(), shape.data(), owner, strides.data(), type);
  });
  m.def("query_parts", [](const std::string& query) {
    const auto [c, profile] = golden::parse_query(query);
    return std::vector<std::string>{c.spec->id, profile, c.flag};
  });
  nb::class_<judge::Report>(m, "Judged")
      .def("named", python::named, nb::arg("name"), nb::arg("note"), nb::arg("file"), nb::arg("line"));
  m.def("html", report::html, nb::arg("reports"));
  m.def("junit", report::junit, nb::arg("reports"));
  m.def(
      "sarif", [](const std::vector<judge::Report>& reports) { return report::sarif(reports, ATTEST_VERSION); },
      nb::arg("reports"));
  nb::class_<python::Job>(m, "Job")
      .def(nb::init<>())
      .def_rw("equation", &python::Job::equation)
      .def_rw("name", &python::Job::name)
      .def_rw("version", &python::Job::version)
      .def_rw("profile", &python::Job::profile)
      .def_rw("form", &python::Job::form)
      .def_rw("layout", &python::Job::layout)
      .def_rw("capabilities", &python::Job::capabilities)
      .def_rw("golden", &python::Job::golden)
      .def_rw("readings", &python::Job::readings)
      .def_rw("query", &python::Job::query)
      .def_rw("only", &python::Job::only)
      .def_rw("seed", &python::Job::seed)
      .def_rw("laws", &python::Job::laws)
      .def_rw("strength", &python::Job::strength)
      .def_rw("real_sizes", &python::Job::real_sizes)
      .def_rw("repeat", &python::Job::repeat)
      .def_rw("max_cases", &python::Job::max_cases, nb::arg().none())
      .def_rw("shapes", &python::Job::shapes, nb::arg().none())
      .def_rw("budget", &python::Job::budget, nb::arg().none())
      .def_rw("waivers", &python::Job::waivers);
  m.def("run", python::run, nb::arg("job"), nb::arg("call"), nb::arg("settle"));
  m.def("run_items", python::run_items, nb::arg("identity"), nb::arg("journal"), nb::arg("resume"), nb::arg("keys"),
        nb::arg("run"));
  m.def("end_ranks", jobs::end_mpi, nb::arg("status"));
}
