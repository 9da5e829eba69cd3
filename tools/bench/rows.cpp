// SPDX-License-Identifier: MIT
// attest_bench_rows [--keys N] [--width N] [--repetitions N] [--json]: the cost of one query of causal attention at a
// real size, in milliseconds of processor time: its value, its bound and expected size, and what a judgement of it
// needs beside (its faults, correct kernels of other orders). Medians over the repetitions.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

#include "attest/golden/rows.hpp"
#include "attest/judge/faults.hpp"
#include "attest/reference/binary64.hpp"
#include "attest/reference/certificate.hpp"
#include "attest/reference/error_model.hpp"

namespace {

using namespace attest;

double processor_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Problem causal_attention(Index keys, Index width) {
  Problem problem;
  problem.spec = &find_spec("attention.scaled_dot_product");
  problem.sizes = {{"n", keys}, {"s", keys}, {"d", width}, {"m", width}};
  problem.parameters = {{"causal", true}};
  std::mt19937_64 engine(7);
  for (const char* name : {"q", "k", "v"}) {
    Array array;
    array.shape = {keys, width};
    for (Index i = 0; i < keys * width; ++i)
      array.values.push_back(static_cast<double>(static_cast<int>(engine() % 257) - 128) / 64);
    problem.inputs[name] = std::move(array);
  }
  return problem;
}

}  // namespace

int main(int argc, char** argv) {
  Index keys = 4096, width = 128;
  int repetitions = 7;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const long long number = i + 1 < argc ? std::atoll(argv[i + 1]) : 0;
    if (option == "--json")
      json = true;
    else if (option == "--keys" && number > 0)
      keys = number, ++i;
    else if (option == "--width" && number > 0)
      width = number, ++i;
    else if (option == "--repetitions" && number > 0)
      repetitions = static_cast<int>(number), ++i;
    else {
      fmt::print(stderr, "usage: {} [--keys N] [--width N] [--repetitions N] [--json]\n", argv[0]);
      return 2;
    }
  }
  const Problem problem = causal_attention(keys, width);
  const reference::WantedRows last{{"n", {keys - 1}}};
  const auto& f32 = golden::profile("f32");
  const auto emulate = [&](const std::string& form, reference::Order order) {
    reference::Emulation emulation(judge::kernel_of(f32, order, 7));
    reference::outputs_of(emulation, problem, form, nullptr, last);
  };
  const auto plant = [&](const Fault& fault) {
    reference::Emulation emulation(judge::kernel_of(golden::profile("f64")));
    const auto run = judge::all_faults().find(problem.spec->id)->second;
    reference::outputs_of(
        emulation, problem, [&](reference::Bundle& bundle) { run(fault.name, fault.amplitude, bundle); }, nullptr,
        last);
  };
  using reference::Order;
  const std::vector<std::pair<std::string, std::function<void()>>> subjects{
      {"value (binary64)",
       [&] {
         reference::Binary64 plain;
         reference::outputs_of(plain, problem, "max_shift", nullptr, last);
       }},
      {"value, bound, expected size, one form",
       [&] { golden::enclose_rows(problem, f32, last, {.forms = {"max_shift"}}); }},
      {"value, bound, expected size, every form", [&] { golden::enclose_rows(problem, f32, last); }},
      {"null: two forms, four orders",
       [&] {
         for (const char* form : {"max_shift", "online_blocked"})
           for (const Order order : {Order::ascending, Order::pairwise, Order::lanes, Order::exp2})
             emulate(form, order);
       }},
      {"value in Arb, 128 bits",
       [&] {
         reference::Certificate arb(128);
         reference::outputs_of(arb, problem, "max_shift", nullptr, last);
       }},
  };
  const auto milliseconds = [&](const std::function<void()>& run) {
    std::vector<double> seconds;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      const double start = processor_seconds();
      run();
      seconds.push_back(processor_seconds() - start);
    }
    std::sort(seconds.begin(), seconds.end());
    return 1e3 * seconds[seconds.size() / 2];
  };
  const auto show = [&](std::string_view name, double figure) {
    if (json)
      fmt::print("{{\"keys\": {}, \"width\": {}, \"subject\": \"{}\", \"milliseconds\": {:.4g}}}\n", keys, width, name,
                 figure);
    else
      fmt::print("  {:<50} {:>10.2f} ms\n", name, figure);
  };
  if (!json)
    fmt::print("One query of causal attention, {} keys, d = m = {}, profile f32; processor time, median of {}.\n\n",
               keys, width, repetitions);
  for (const auto& [name, run] : subjects) show(name, milliseconds(run));
  std::vector<std::pair<double, std::string>> faults;
  for (const auto& fault : problem.spec->faults) faults.emplace_back(milliseconds([&] { plant(fault); }), fault.name);
  std::sort(faults.begin(), faults.end());
  double all = 0;
  for (const auto& [figure, name] : faults) {
    all += figure;
    if (!json) show("fault " + name, figure);
  }
  show(fmt::format("{} faults, all but {}", faults.size() - 1, faults.back().second), all - faults.back().first);
  show("fault " + faults.back().second, faults.back().first);
  flint_cleanup();
  return 0;
}
