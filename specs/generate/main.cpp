// SPDX-License-Identifier: MIT
// specgen SPECS_DIR OUT_DIR LAW...: validates every spec, which may claim those laws, and derives from it what the
// other rooms compile against:
//   contract/attest/spec/<family>/<stem>.hpp   In<T>, Out<T> and how to fill them
//   contract/attest/choice/<choices>.hpp       the enumeration of one list of choices
//   specs.cpp                                  the specs and their reasons, for attest::specs() and attest::reasons()
//   reference/<id>.cpp, reference.cpp          every form, and their table
//   openmp/<id>.cpp, openmp.cpp                every kernel behind the C interface, and its plugin table
//   cuda.cpp                                   the table of the CUDA plugin
//   faults/<id>.cpp, faults.cpp                every fault of tests/faults, and their table
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include "attest/spec.hpp"
#include "attest/tokens.hpp"

namespace fs = std::filesystem;
using namespace attest;

const std::map<std::string, Spec>& attest::specs() {
  static const std::map<std::string, Spec> none;
  return none;
}
const Reasons& attest::reasons() {
  static const Reasons none;
  return none;
}

namespace {

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Leaves the file alone when it would not change, so that nothing is rebuilt for nothing.
void write(const fs::path& path, const std::string& text) {
  if (fs::exists(path) && read(path) == text) return;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string view(const TensorDeclaration& tensor, bool output) {
  const auto rank = tensor.shape.size();
  const std::string element = tensor.element == Element::real      ? "T"
                              : tensor.element == Element::boolean ? "bool"
                                                                   : "std::int64_t";
  return fmt::format("View<{}{}, {}>", output ? "" : "const ", element, rank);
}

/// "zero_or_nan": parameters with the same choices share an enumeration, so that an equation can hand its setting on.
std::string enumeration(const ParameterDeclaration& parameter) {
  return fmt::format("{}", fmt::join(parameter.choices, "_or_"));
}

/// "ZeroDenominator" of zero_denominator: what the equation calls that enumeration.
std::string type_name(const ParameterDeclaration& parameter) {
  std::string name;
  bool start = true;
  for (const char c : parameter.name) {
    if (c != '_') name += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    start = c == '_';
  }
  return name;
}

std::string choice(const ParameterDeclaration& parameter) {
  const std::string name = enumeration(parameter);
  return fmt::format(
      "// Generated from specs/; do not edit.\n#pragma once\n\n#include <array>\n#include <string_view>\n\n"
      "namespace attest::choice {{\n\nenum class {0} {{ {1} }};\n\n"
      "constexpr std::array<std::string_view, {2}> words_of({0}) {{ return {{\"{3}\"}}; }}\n\n"
      "}}  // namespace attest::choice\n",
      name, fmt::join(parameter.choices, ", "), parameter.choices.size(), fmt::join(parameter.choices, "\", \""));
}

std::vector<ParameterDeclaration> choices_of(const Spec& spec) {
  std::vector<ParameterDeclaration> choices;
  for (const auto& parameter : spec.parameters)
    if (parameter.type == ParameterDeclaration::Type::choice) choices.push_back(parameter);
  return choices;
}

std::string field_type(const ParameterDeclaration& parameter) {
  using Type = ParameterDeclaration::Type;
  const std::string type = parameter.type == Type::boolean   ? "bool"
                           : parameter.type == Type::integer ? "Index"
                           : parameter.type == Type::real    ? "double"
                                                             : type_name(parameter);
  return parameter.fallback ? type : fmt::format("std::optional<{}>", type);
}

std::string initial(const ParameterDeclaration& parameter) {
  if (!parameter.fallback) return "";
  if (const auto* flag = std::get_if<bool>(&*parameter.fallback)) return *flag ? " = true" : " = false";
  if (const auto* integer = std::get_if<Index>(&*parameter.fallback)) return fmt::format(" = {}", *integer);
  if (const auto* real = std::get_if<double>(&*parameter.fallback)) return fmt::format(" = {:.17g}", *real);
  return fmt::format(" = {}::{}", type_name(parameter), std::get<std::string>(*parameter.fallback));
}

std::string getter(const ParameterDeclaration& parameter) {
  using Type = ParameterDeclaration::Type;
  if (parameter.type == Type::choice)
    return fmt::format("source.template choice_parameter<{}>(\"{}\")", type_name(parameter), parameter.name);
  const std::string kind = parameter.type == Type::boolean   ? "boolean"
                           : parameter.type == Type::integer ? "integer"
                                                             : "real";
  return fmt::format("source.{}_parameter(\"{}\")", parameter.fallback ? kind : "optional_" + kind, parameter.name);
}

std::string contract_head(const Spec& spec) {
  std::string text =
      "// Generated from specs/" + spec.family() + "/" + spec.stem() +
      ".toml; do not edit.\n#pragma once\n\n#include <cstdint>\n#include <optional>\n#include <string_view>\n\n";
  std::set<std::string> enumerations;
  for (const auto& parameter : choices_of(spec)) enumerations.insert(enumeration(parameter));
  for (const auto& one : enumerations) text += fmt::format("#include \"attest/choice/{}.hpp\"\n", one);
  text += fmt::format(
      "#include \"attest/view.hpp\"\n\nnamespace attest::spec::{}::{} {{\n\n"
      "inline constexpr std::string_view id = \"{}\";\n\n",
      spec.family(), spec.stem(), spec.id);
  for (const auto& parameter : choices_of(spec))
    text += fmt::format("using {} = choice::{};\n", type_name(parameter), enumeration(parameter));
  return text;
}

std::string contract_types(const Spec& spec) {
  std::string text = "\ntemplate <class T>\nstruct In {\n";
  for (const auto& input : spec.inputs)
    text += fmt::format("  {} {};  // [{}]{} {}\n", view(input, false), input.name, fmt::join(input.shape, ", "),
                        input.optional ? " optional;" : "", input.meaning);
  for (const auto& parameter : spec.parameters)
    text += fmt::format("  {} {}{};{}\n", field_type(parameter), parameter.name, initial(parameter),
                        parameter.fallback ? "" : "  // default: " + parameter.fallback_text);
  text += "};\n\ntemplate <class T>\nstruct Out {\n";
  for (const auto& output : spec.outputs)
    text += fmt::format("  {} {};  // [{}] {}\n", view(output, true), output.name, fmt::join(output.shape, ", "),
                        output.meaning);
  return text + "};\n";
}

std::string contract_functions(const Spec& spec) {
  std::string text =
      "\n/// Fills In from anything that has tensors and parameters by name.\ntemplate <class T, class Source>\n"
      "In<T> read(Source&& source) {\n  return {\n";
  for (const auto& input : spec.inputs)
    text += fmt::format("      .{0} = source.template {1}<{2}{3}>(\"{0}\"),\n", input.name,
                        input.element == Element::real      ? "input"
                        : input.element == Element::boolean ? "boolean_input"
                                                            : "integer_input",
                        input.element == Element::real ? "T, " : "", input.shape.size());
  for (const auto& parameter : spec.parameters)
    text += fmt::format("      .{} = {},\n", parameter.name, getter(parameter));
  text += "  };\n}\n\ntemplate <class T, class Source>\nOut<T> write(Source&& source) {\n  return {\n";
  for (const auto& output : spec.outputs)
    text += fmt::format("      .{0} = source.template output<T, {1}>(\"{0}\"),\n", output.name, output.shape.size());
  return text + "  };\n}\n";
}

std::string contract(const Spec& spec) {
  return contract_head(spec) + contract_types(spec) + contract_functions(spec) +
         fmt::format("\n}}  // namespace attest::spec::{}::{}\n", spec.family(), spec.stem());
}

std::string symbol(const Spec& spec) {
  std::string name = spec.id;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

std::string reference_unit(const Spec& spec) {
  std::string text = fmt::format(
      "// Generated; every form of {0}.\n#include \"attest/reference/{1}/{2}.hpp\"\n#include "
      "\"attest/reference/evaluate.hpp\"\n\n"
      "namespace attest::reference {{\n\nvoid run_{3}(std::string_view form, Bundle& bundle);\nvoid "
      "run_{3}(std::string_view form, Bundle& bundle) {{\n"
      "  const auto in = attest::spec::{1}::{2}::read<Number>(bundle);\n  const auto out = "
      "attest::spec::{1}::{2}::write<Number>(bundle);\n",
      spec.id, spec.family(), spec.stem(), symbol(spec));
  for (const auto& form : spec.forms)
    text +=
        fmt::format("  if (form == \"{0}\") return {1}::{2}::{0}(in, out);\n", form.name, spec.family(), spec.stem());
  text += fmt::format("  unknown_form(\"{}\", form);\n}}\n\n}}  // namespace attest::reference\n", spec.id);
  return text;
}

std::string reference_table(const std::vector<Spec>& specs) {
  std::string text = "// Generated.\n#include \"attest/reference/evaluate.hpp\"\n\nnamespace attest::reference {\n\n";
  for (const auto& spec : specs)
    text += fmt::format("void run_{}(std::string_view form, Bundle& bundle);\n", symbol(spec));
  text +=
      "\nconst std::map<std::string, Run, std::less<>>& all_forms() {\n  static const std::map<std::string, Run, "
      "std::less<>> table{\n";
  for (const auto& spec : specs) text += fmt::format("      {{\"{}\", run_{}}},\n", spec.id, symbol(spec));
  text += "  };\n  return table;\n}\n\n}  // namespace attest::reference\n";
  return text;
}

std::string fault_unit(const Spec& spec) {
  std::string text = fmt::format(
      "// Generated; every fault of {0}.\n#include \"faults/{1}/{2}.hpp\"\n#include \"attest/judge/faults.hpp\"\n\n"
      "namespace attest::judge {{\n\nvoid fault_of_{3}(std::string_view fault, double amplitude, reference::Bundle& "
      "bundle);\n"
      "void fault_of_{3}(std::string_view fault, [[maybe_unused]] double amplitude, reference::Bundle& bundle) {{\n"
      "  const auto in = attest::spec::{1}::{2}::read<reference::Number>(bundle);\n"
      "  const auto out = attest::spec::{1}::{2}::write<reference::Number>(bundle);\n",
      spec.id, spec.family(), spec.stem(), symbol(spec));
  for (const auto& fault : spec.faults)
    text += fmt::format("  if (fault == \"{0}\") return attest::faults::{1}::{2}::{0}(in, out{3});\n", fault.name,
                        spec.family(), spec.stem(), fault.amplitude > 0 ? ", reference::parameter(amplitude)" : "");
  text += fmt::format("  unknown_fault(\"{0}\", fault);\n}}\n\n}}  // namespace attest::judge\n", spec.id);
  return text;
}

std::string fault_table(const std::vector<Spec>& specs) {
  std::string text = "// Generated.\n#include \"attest/judge/faults.hpp\"\n\nnamespace attest::judge {\n\n";
  for (const auto& spec : specs)
    text += fmt::format("void fault_of_{}(std::string_view fault, double amplitude, reference::Bundle& bundle);\n",
                        symbol(spec));
  text +=
      "\nconst std::map<std::string, FaultRun, std::less<>>& all_faults() {\n  static const std::map<std::string, "
      "FaultRun, std::less<>> table{\n";
  for (const auto& spec : specs) text += fmt::format("      {{\"{}\", fault_of_{}}},\n", spec.id, symbol(spec));
  text += "  };\n  return table;\n}\n\n}  // namespace attest::judge\n";
  return text;
}

std::vector<std::string> kernel_forms(const Spec& spec) {
  std::vector<std::string> forms;
  for (const auto& form : spec.forms)
    if (form.kernel) forms.push_back(form.name);
  return forms;
}

struct Layout {
  std::string name, capabilities;
};

/// The layouts other than bhnd that an equation's OpenMP kernels have: those under which some tensor lies otherwise.
std::vector<Layout> further_layouts(const Spec& spec) {
  bool rows = false, packable = false;
  std::string without;  // optional tensors that cannot be packed
  for (const auto* tensors : {&spec.inputs, &spec.outputs})
    for (const auto& tensor : *tensors) {
      rows = rows || has_tokens_as_rows(spec, tensor);
      packable = packable || begins_with_tokens(spec, tensor);
    }
  for (const auto* tensors : {&spec.inputs, &spec.outputs})
    for (const auto& tensor : *tensors) {
      if (!has_tokens_behind_the_first_axis(spec, tensor)) continue;
      packable = packable && tensor.optional;
      without += fmt::format("; {} == false", tensor.name);
    }
  std::vector<Layout> layouts;
  if (rows) layouts.push_back({"bnhd", "hidden_nan == true"});
  if (packable) layouts.push_back({"thd", "hidden_nan == true" + without});
  return layouts;
}

/// Of attest::openmp::Placement: which tensors begin with tokens.
std::string tokens_of(const Spec& spec, const std::vector<TensorDeclaration>& tensors) {
  std::vector<std::string> all;
  for (const auto& tensor : tensors)
    if (begins_with_tokens(spec, tensor))
      all.push_back(
          fmt::format("{{\"{}\", \"{}\", {}}}", tensor.name, tensor.shape[0], has_tokens_as_rows(spec, tensor)));
  return fmt::format("{{{}}}", fmt::join(all, ", "));
}

/// The C interface around one equation's OpenMP kernels: every form under bhnd, the first under the other layouts too.
std::string openmp_unit(const Spec& spec) {
  std::string text = fmt::format(
      "// Generated; the C interface of {0}.\n#include \"attest/spec/{1}/{2}.hpp\"\n#include "
      "\"attest/openmp/plugin.hpp\"\n\n"
      "namespace attest::openmp {{\nnamespace {1}::{2} {{\n\nnamespace contract = attest::spec::{1}::{2};\n",
      spec.id, spec.family(), spec.stem());
  for (const auto& form : kernel_forms(spec))
    text += fmt::format("template <class T>\nvoid {}(const contract::In<T>& in, const contract::Out<T>& out);\n", form);
  text += fmt::format(
      "\nnamespace {{\n\ntemplate <Layout layout>\nconst Placement placement{{layout, {}, {}}};\n"
      "template <>\nconst Placement placement<Layout::bhnd>{{}};\n",
      tokens_of(spec, spec.inputs), tokens_of(spec, spec.outputs));
  for (const auto& form : kernel_forms(spec))
    text += fmt::format(
        "\ntemplate <class T>\nvoid {0}_of(const Head& head) {{\n  {0}<T>(contract::read<T>(head), "
        "contract::write<T>(head));\n}}\ntemplate <class T, Layout layout>\nint run_{0}(const attest_call* call) {{\n"
        "  return over_heads(call, placement<layout>, {0}_of<T>);\n}}\n",
        form);
  text += fmt::format(
      "\n}}  // namespace\n}}  // namespace {1}::{2}\n\nextern const std::vector<attest_kernel> kernels_{0};\nconst "
      "std::vector<attest_kernel> kernels_{0} = {{\n",
      symbol(spec), spec.family(), spec.stem());
  const auto backend = spec.backends.find("openmp");
  const auto row = [&](const std::string& form, const std::string& dtype, const Layout& layout) {
    text += fmt::format("    kernel<{0}>(\"{1}\", \"{2}\", \"{5}\", \"{6}\", {3}::{4}::run_{2}<{0}, Layout::{5}>),\n",
                        dtype == "f32" ? "float" : "double", spec.id, form, spec.family(), spec.stem(), layout.name,
                        layout.capabilities);
  };
  const auto forms = kernel_forms(spec);
  for (const auto& form : forms)
    for (const auto& dtype : backend->second) row(form, dtype, {"bhnd", "hidden_nan == true"});
  for (const auto& layout : further_layouts(spec))
    for (const auto& dtype : backend->second) row(forms[0], dtype, layout);
  text += "};\n\n}  // namespace attest::openmp\n";
  return text;
}

std::string openmp_table(const std::vector<Spec>& specs) {
  std::string text = "// Generated.\n#include \"attest/openmp/plugin.hpp\"\n\nnamespace attest::openmp {\n\n";
  for (const auto& spec : specs)
    text += fmt::format("extern const std::vector<attest_kernel> kernels_{};\n", symbol(spec));
  text +=
      "\nstd::vector<attest_kernel> all_kernels() {\n  std::vector<attest_kernel> all;\n  for (const auto* kernels : "
      "std::initializer_list<const std::vector<attest_kernel>*>{\n";
  for (const auto& spec : specs) text += fmt::format("           &kernels_{},\n", symbol(spec));
  text +=
      "       })\n    all.insert(all.end(), kernels->begin(), kernels->end());\n  return all;\n}\n\n}  // namespace "
      "attest::openmp\n";
  return text;
}

/// The kernels of the CUDA backend: each equation's source says which it has.
std::string cuda_table(const std::vector<Spec>& specs) {
  std::string text = "// Generated.\n#include \"attest/cuda/plugin.hpp\"\n\nnamespace attest::cuda {\n\n";
  for (const auto& spec : specs)
    text += fmt::format("namespace {}::{} {{\nstd::vector<attest_kernel> kernels();\n}}\n", spec.family(), spec.stem());
  text += "\nstd::vector<attest_kernel> all_kernels() {\n  std::vector<attest_kernel> all;\n  for (auto* kernels : {\n";
  for (const auto& spec : specs) text += fmt::format("           {}::{}::kernels,\n", spec.family(), spec.stem());
  text +=
      "       })\n    for (const auto& kernel : kernels()) all.push_back(kernel);\n  return all;\n}\n\n}  // namespace "
      "attest::cuda\n";
  return text;
}

/// The text as raw string literals; `)~"` cannot occur in it: read_spec_file refuses it.
std::string literal(const std::string& text) {
  std::string pieces;
  for (std::size_t at = 0; at < text.size(); at += 8000)  // compilers limit the length of one literal
    pieces += "R\"~(" + text.substr(at, 8000) + ")~\"\n";
  return pieces;
}

std::string spec_texts(const std::vector<Spec>& specs, const std::string& reasons) {
  std::string text = fmt::format(
      "// Generated.\n#include \"attest/spec.hpp\"\n\nnamespace attest {{\n\n"
      "const Reasons& reasons() {{\n  static const Reasons all = parse_reasons({});\n  return all;\n}}\n\n"
      "const std::map<std::string, Spec>& specs() {{\n"
      "  static const std::map<std::string, Spec> table = [] {{\n    std::map<std::string, Spec> all;\n",
      literal(reasons));
  for (const auto& spec : specs)
    text += fmt::format("    all.emplace(\"{}\", parse_spec({}, \"{}/{}.toml\", reasons()));\n", spec.id,
                        literal(spec.text), spec.family(), spec.stem());
  text += "    return all;\n  }();\n  return table;\n}\n\n}  // namespace attest\n";
  return text;
}

std::string read_spec_file(const fs::path& root, const fs::path& file) {
  const std::string text = read(root / file);
  if (text.find(")~\"") != std::string::npos)
    throw SpecError(fmt::format("specs/{}: must not contain )~\"", file.string()));
  return text;
}

std::vector<Spec> read_specs(const fs::path& root, const Reasons& reasons) {
  std::vector<fs::path> files;
  for (const auto& folder : fs::directory_iterator(root))
    if (folder.is_directory())
      for (const auto& file : fs::directory_iterator(folder))
        if (file.path().extension() == ".toml") files.push_back(fs::relative(file.path(), root));
  std::sort(files.begin(), files.end());
  std::vector<Spec> specs;
  for (const auto& file : files) {
    Spec spec = parse_spec(read_spec_file(root, file), file.generic_string(), reasons);
    for (const auto& other : specs)
      if (other.id == spec.id)
        throw SpecError(fmt::format("specs/{}: id '{}' is taken already", file.string(), spec.id));
    specs.push_back(std::move(spec));
  }
  return specs;
}

/// Every law that a spec claims is one of tests/laws.
void check_laws(const Spec& spec, const std::vector<std::string>& laws) {
  for (std::size_t i = 0; i < spec.laws.size(); ++i)
    if (const auto& law = spec.laws[i].law; std::find(laws.begin(), laws.end(), law) == laws.end())
      throw SpecError(fmt::format("specs/{}/{}.toml: laws[{}]: no law is called '{}'{}; those of tests/laws: {}",
                                  spec.family(), spec.stem(), i, law, near_names(law, laws), fmt::join(laws, ", ")));
}

std::vector<Spec> with_backend(const std::vector<Spec>& specs, const std::string& backend) {
  std::vector<Spec> found;
  for (const auto& spec : specs)
    if (spec.backends.count(backend)) found.push_back(spec);
  return found;
}

void write_contracts(const std::vector<Spec>& specs, const fs::path& out) {
  for (const auto& spec : specs) {
    for (const auto& parameter : choices_of(spec))
      write(out / "contract/attest/choice" / (enumeration(parameter) + ".hpp"), choice(parameter));
    write(out / "contract/attest/spec" / spec.family() / (spec.stem() + ".hpp"), contract(spec));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::cerr << "usage: specgen SPECS_DIR OUT_DIR LAW...\n";
    return 2;
  }
  const fs::path root = argv[1], out = argv[2];
  const std::string reasons = read_spec_file(root, "reasons.toml");
  const std::vector<Spec> specs = read_specs(root, parse_reasons(reasons));
  for (const auto& spec : specs) check_laws(spec, {argv + 3, argv + argc});
  write_contracts(specs, out);
  for (const auto& spec : specs) {
    write(out / "reference" / (spec.id + ".cpp"), reference_unit(spec));
    write(out / "faults" / (spec.id + ".cpp"), fault_unit(spec));
  }
  write(out / "reference.cpp", reference_table(specs));
  write(out / "faults.cpp", fault_table(specs));
  const auto with_openmp = with_backend(specs, "openmp");
  for (const auto& spec : with_openmp) write(out / "openmp" / (spec.id + ".cpp"), openmp_unit(spec));
  write(out / "openmp.cpp", openmp_table(with_openmp));
  write(out / "cuda.cpp", cuda_table(with_backend(specs, "cuda")));
  write(out / "specs.cpp", spec_texts(specs, reasons));
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
