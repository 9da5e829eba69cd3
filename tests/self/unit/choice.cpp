// SPDX-License-Identifier: MIT
// Choices are enumerations; a word that is none is an error wherever it enters.
#include "attest/choice.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>

#include "attest/attest_kernel.h"
#include "attest/choice/zero_or_nan.hpp"
#include "attest/golden/case.hpp"
#include "attest/reference/binary64.hpp"
#include "attest/reference/evaluate.hpp"
#include "attest/spec/attention/scaled_dot_product.hpp"
#include "attest/spec/linear/causal.hpp"

namespace attest {
namespace {

using choice::zero_or_nan;

template <class F>
std::string error_of(F&& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(Choice, ParametersWithTheSameChoicesShareAType) {
  EXPECT_TRUE((std::is_same_v<spec::linear::causal::ZeroDenominator, zero_or_nan>));
  EXPECT_EQ(spec::linear::causal::In<double>{}.zero_denominator, zero_or_nan::zero);
  EXPECT_FALSE((std::is_same_v<spec::attention::scaled_dot_product::EmptyRow, zero_or_nan>));
}

TEST(Choice, WordsAndEnumeratorsAgree) {
  using spec::attention::scaled_dot_product::EmptyRow;
  EXPECT_EQ(choice_of<EmptyRow>("empty_row", "mean"), EmptyRow::mean);
  EXPECT_EQ(word_of(EmptyRow::nan), "nan");
  EXPECT_EQ(same_choice<zero_or_nan>(EmptyRow::nan), zero_or_nan::nan);
  EXPECT_EQ(error_of([] { choice_of<zero_or_nan>("zero_denominator", "one"); }),
            "zero_denominator 'one' must be one of: zero, nan");
  EXPECT_EQ(error_of([] { same_choice<zero_or_nan>(EmptyRow::mean); }), "the choice 'mean' must be one of: zero, nan");
}

TEST(Choice, AnUnknownOneIsAnErrorInAQueryAndInACase) {
  const std::string query = "attest:linear.causal:f32;n=3;c=2;m=2;zero_denominator=one;flag=random;seed=1";
  EXPECT_NE(error_of([&] { golden::parse_query(query); }).find("must be one of: zero, nan"), std::string::npos)
      << error_of([&] { golden::parse_query(query); });
  const Spec& causal = find_spec("linear.causal");
  const Sizes sizes{{"n", 3}, {"c", 2}, {"m", 2}};
  EXPECT_THROW(check_sizes(causal, sizes, {{"zero_denominator", std::string("one")}}), SpecError);
  const Problem unchecked{&causal, sizes, {{"zero_denominator", std::string("one")}}, {}};
  reference::Binary64 arithmetic;
  EXPECT_EQ(error_of([&] { reference::outputs_of(arithmetic, unchecked, "recurrent"); }),
            "zero_denominator 'one' must be one of: zero, nan");
}

/// The error of one call of feature_map in this project's plugin.
std::string error_of_call(const char* kind) {
  void* library = dlopen(ATTEST_OPENMP_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (!library) return dlerror();
  const auto* plugin = reinterpret_cast<attest_plugin_function>(dlsym(library, "attest_plugin_v1"))();
  std::array<std::int64_t, 4> shape{1, 1, 2, 3}, strides{6, 6, 3, 1};
  std::array<float, 6> x{}, phi{};
  const auto tensor = [&](const char* name, float* data) {
    return attest_tensor{name, {data, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape.data(), strides.data(), 0}};
  };
  const attest_tensor input = tensor("x", x.data()), output = tensor("phi", phi.data());
  const attest_parameter parameter{"kind", 1, 0, 0, kind};
  std::array<char, 200> error{};
  for (std::size_t i = 0; i < plugin->kernel_count; ++i) {
    const attest_kernel& kernel = plugin->kernels[i];
    if (std::string_view(kernel.equation) != "linear.feature_map" || kernel.dtype.bits != 32) continue;
    const attest_call call{
        sizeof(attest_call), kernel.equation, kernel.form, &input, 1, &output, 1, &parameter, 1, nullptr, 0, nullptr,
        error.data(),        error.size()};
    return kernel.run(&call) == 0 ? "" : error.data();
  }
  return "the plugin has no linear.feature_map";
}

TEST(Choice, AnUnknownOneIsAnErrorOfAPluginsCall) {
  EXPECT_EQ(error_of_call("relu"), "");
  EXPECT_EQ(error_of_call("rule"), "kind 'rule' must be one of: elu_plus_one, relu, identity, exp");
  EXPECT_EQ(error_of_call(nullptr), "kind '' must be one of: elu_plus_one, relu, identity, exp");
}

}  // namespace
}  // namespace attest
