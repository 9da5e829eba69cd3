// SPDX-License-Identifier: MIT
// The table of a plugin: a line "ABI VERSION|name|version", then one a kernel, "equation|form|reading|code|bits|lanes|
// device|layout|capabilities". NULL stands for that.
#include <charconv>
#include <memory>
#include <utility>

#include "attest/golden/case.hpp"
#include "attest/judge/candidate.hpp"
#include "attest/judge/situation.hpp"
#include "fuzz.hpp"
#include "messages.hpp"
#include "worker_table.hpp"

using namespace attest;

namespace {

/// The fields of a line; those that it lacks are NULL.
class Fields {
public:
  explicit Fields(const std::string& line) : fields_(fuzz::split(line, '|')) {}

  const char* text(std::size_t i) const {
    return i < fields_.size() && fields_[i] != "NULL" ? fields_[i].c_str() : nullptr;
  }

  template <class N>
  N number(std::size_t i) const {
    N number{};
    if (i < fields_.size()) std::from_chars(fields_[i].data(), fields_[i].data() + fields_[i].size(), number);
    return number;
  }

private:
  std::vector<std::string> fields_;
};

class Table : public judge::Host {
public:
  explicit Table(std::vector<judge::KernelInfo> kernels) : kernels_(std::move(kernels)) {}
  const std::string& name() const override { return name_; }
  const std::string& version() const override { return name_; }
  const std::vector<judge::KernelInfo>& kernels() const override { return kernels_; }
  judge::Response call(std::size_t, const judge::Request&, const judge::CallOptions&) override { return {}; }
  std::vector<std::string> settle(std::chrono::milliseconds) override { return {}; }
  bool places_outputs() const override { return true; }

private:
  std::string name_;
  std::vector<judge::KernelInfo> kernels_;
};

/// What is asked of a kernel before it is called.
void ask(const judge::Kernel& kernel) {
  kernel.profile();
  kernel.ragged_sizes();
  const Spec& spec = *kernel.spec;
  const golden::Case c = golden::stored_cases(spec)[0];
  kernel.capabilities.allow(spec, judge::situation_of(c));
  kernel.capabilities.leave_out(spec, c.parameters, c.with);
  if (const auto fitting = kernel.capabilities.adapted(spec, c.sizes, c.parameters))
    fuzz::require(kernel.capabilities.allow(spec, fitting->first, fitting->second), "adapted() fits the conditions");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto lines = fuzz::split(fuzz::text_of(data, size), '\n');
  const Fields head(lines[0]);
  std::vector<Fields> rows(lines.begin() + 1, lines.end());
  const auto run = [](const attest_call*) { return 0; };
  std::vector<attest_kernel> given;
  for (const Fields& row : rows) {
    attest_kernel kernel{};
    kernel.equation = row.text(0), kernel.form = row.text(1), kernel.reading = row.text(2);
    kernel.dtype = {row.number<std::uint8_t>(3), row.number<std::uint8_t>(4), row.number<std::uint16_t>(5)};
    kernel.device = static_cast<DLDeviceType>(row.number<int>(6));
    kernel.layout = row.text(7), kernel.capabilities = row.text(8);
    kernel.run = run;
    given.push_back(kernel);
  }
  const attest_plugin plugin{head.number<std::uint32_t>(0), head.text(1), head.text(2),
                             static_cast<std::uint32_t>(given.size()), given.empty() ? nullptr : given.data()};
  try {
    std::vector<attest_kernel> kernels;
    const judge::Candidate candidate(
        "input", std::make_unique<Table>(judge::kernels_of_table(judge::table_of(&plugin, kernels))));
    for (const judge::Kernel& kernel : candidate.kernels()) ask(kernel);
  } catch (const judge::LoadError&) {
  } catch (const judge::InvalidCandidate&) {
  }
  return 0;
}
