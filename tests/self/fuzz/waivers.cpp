// SPDX-License-Identifier: MIT
// Waivers, and what they waive.
#include "attest/judge/waivers.hpp"

#include "attest/golden/case.hpp"
#include "fuzz.hpp"

using namespace attest;

namespace {

std::vector<judge::Kernel> kernels() {
  std::vector<judge::Kernel> all;
  for (const char* id : {"linear.causal", "attention.scaled_dot_product"}) {
    judge::Kernel kernel;
    kernel.info = {id, "", "value", DType::f32, "cpu", "nd", ""};
    kernel.spec = &find_spec(id);
    all.push_back(kernel);
  }
  return all;
}

judge::Report failures() {
  judge::Report report{"kernel", "1", {}};
  for (const judge::Kernel& kernel : kernels()) {
    judge::Row row;
    row.kernel = {kernel.info.equation, "", "value", "f32", "f32", "nd", ""};
    const std::string query = golden::query(golden::stored_cases(*kernel.spec)[0], "f32");
    row.failures = {{judge::Status::fail, query, "message", "T2", "random"},
                    {judge::Status::crashed, "", "message", "T0", "random"}};
    row.conclude();
    report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto all = kernels();
  static const auto failing = failures();
  try {
    const auto waivers = judge::parse_waivers(fuzz::text_of(data, size), "input");
    judge::check_waivers(waivers, all);
    judge::Report report = failing;
    judge::apply_waivers(waivers, "2027-01-01", false, report);
    for (const auto& row : report.rows)
      fuzz::require(row.status != judge::Status::pass, "a waiver makes no failure a PASS");
  } catch (const SpecError&) {
  }
  return 0;
}
