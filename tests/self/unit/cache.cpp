// SPDX-License-Identifier: MIT
#include "attest/judge/cache.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "attest/golden/agreement.hpp"
#include "attest/golden/case.hpp"
#include "attest/golden/files.hpp"
#include "attest/golden/store.hpp"
#include "attest/judge/bank.hpp"
#include "attest/judge/packed.hpp"
#include "attest/judge/regimes.hpp"
#include "attest/judge/true_values.hpp"
#include "temporary_folder.hpp"

namespace attest::judge {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

TEST(Cache, FindsWhatWasKeptAndNothingElse) {
  const TemporaryFolder folder;
  const std::string bytes("\0 any\nbytes", 11);
  Cache(folder.path()).keep("key", bytes);
  Cache cache(folder.path());
  EXPECT_EQ(cache.find("key"), bytes);
  EXPECT_EQ(cache.find("other"), std::nullopt);
  cache.keep("nothing", "");
  EXPECT_EQ(cache.find("nothing"), "");
}

TEST(Cache, IsOffWithoutAFolder) {
  Cache cache({});
  cache.keep("key", "bytes");
  EXPECT_EQ(cache.find("key"), std::nullopt);
}

TEST(Cache, TakesADamagedFileForNone) {
  const TemporaryFolder folder;
  Cache cache(folder.path());
  cache.keep("key", "the bytes that were kept");
  const auto files = files_in(folder.path());
  ASSERT_EQ(files.size(), 1u);
  const std::string whole = golden::read_file(files[0]);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    golden::write_file_atomically(files[0], damaged);
    EXPECT_EQ(cache.find("key"), std::nullopt) << "byte " << at;
    golden::write_file_atomically(files[0], whole.substr(0, at));
    EXPECT_EQ(cache.find("key"), std::nullopt) << "cut to " << at;
  }
}

TEST(Cache, TakesTheFileOfAnotherKeyForNone) {
  const TemporaryFolder folder;
  Cache cache(folder.path());
  cache.keep("one", "bytes of one");
  const auto one = files_in(folder.path()).at(0);
  cache.keep("other", "bytes of the other");
  for (const auto& file : files_in(folder.path()))
    if (file != one) fs::copy_file(one, file, fs::copy_options::overwrite_existing);
  EXPECT_EQ(cache.find("one"), "bytes of one");
  EXPECT_EQ(cache.find("other"), std::nullopt);
}

TEST(Cache, GoesWithoutAFolderThatCannotBeWritten) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  golden::write_file_atomically(file, "");
  Cache cache(file / "below");
  cache.keep("key", "bytes");
  EXPECT_EQ(cache.find("key"), std::nullopt);
}

TEST(Cache, NamesTheFileThatHoldsOtherValues) {
  const TemporaryFolder folder;
  const Cache cache(folder.path());
  EXPECT_THROW(
      {
        try {
          cache.reject("the query");
        } catch (const std::runtime_error& error) {
          EXPECT_NE(std::string(error.what()).find(folder.path().string()), std::string::npos);
          EXPECT_NE(std::string(error.what()).find("the query"), std::string::npos);
          throw;
        }
      },
      std::runtime_error);
}

TEST(Cache, ChecksOneFindInSoMany) {
  Cache cache({});
  int checked = 0;
  for (std::uint64_t i = 0; i < 10 * Cache::kChecked; ++i) checked += cache.is_to_be_checked();
  EXPECT_EQ(checked, 10);
}

/// A check that asks for conditions, then for what they cost, and so on, never checked one of the two otherwise.
TEST(Cache, ChecksEachOfTheKindsThatAreAskedForInTurn) {
  for (std::uint64_t kinds = 2; kinds < 20; ++kinds) {
    Cache cache({});
    std::set<std::uint64_t> checked;
    for (std::uint64_t i = 0; i < kinds * Cache::kChecked; ++i)
      if (cache.is_to_be_checked()) checked.insert(i % kinds);
    EXPECT_EQ(checked.size(), kinds);
  }
}

void expect_same(const Arrays& a, const Arrays& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, array] : a) {
    EXPECT_EQ(array.shape, b.at(name).shape);
    EXPECT_EQ(array.values, b.at(name).values);
  }
}

/// Every field of what is true of a batch.
void expect_same(const TrueBatch& a, const TrueBatch& b) {
  EXPECT_EQ(a.name.seed, b.name.seed);
  ASSERT_EQ(a.drawn.problems.size(), b.drawn.problems.size());
  for (std::size_t p = 0; p < a.drawn.problems.size(); ++p) {
    expect_same(a.drawn.problems[p].inputs, b.drawn.problems[p].inputs);
    expect_same(a.drawn.cotangents[p], b.drawn.cotangents[p]);
  }
  ASSERT_EQ(a.judged.size(), b.judged.size());
  for (std::size_t j = 0; j < a.judged.size(); ++j) {
    EXPECT_EQ(a.judged[j].at, b.judged[j].at);
    EXPECT_EQ(a.judged[j].rows, b.judged[j].rows);
    const auto &one = a.judged[j].certified, &other = b.judged[j].certified;
    EXPECT_EQ(one.margin, other.margin);
    EXPECT_EQ(one.units, other.units);
    ASSERT_EQ(one.alternatives.size(), other.alternatives.size());
    const auto expect_same_tensors = [](const golden::CertifiedTensors& x, const golden::CertifiedTensors& y) {
      ASSERT_EQ(x.size(), y.size());
      for (const auto& [name, tensor] : x) {
        EXPECT_EQ(tensor.shape, y.at(name).shape);
        EXPECT_EQ(tensor.hi, y.at(name).hi);
        EXPECT_EQ(tensor.lo, y.at(name).lo);
        EXPECT_EQ(tensor.bound, y.at(name).bound);
        EXPECT_EQ(tensor.rms, y.at(name).rms);
      }
    };
    expect_same_tensors(one.outputs, other.outputs);
    for (std::size_t way = 0; way < one.alternatives.size(); ++way)
      expect_same_tensors(one.alternatives[way], other.alternatives[way]);
  }
}

class TrueValuesInACache : public testing::TestWithParam<const char*> {
protected:
  std::shared_ptr<const TrueBatch> with(Cache* cache) const { return TrueValues(cache).of(c_, kernel_, profile_); }
  std::string key() const { return TrueValues::key_of(c_, kernel_, profile_); }

private:
  golden::Case c_ = golden::parse_query(GetParam()).first;
  const golden::Profile& profile_ = golden::profile(golden::parse_query(GetParam()).second);
  Kernel kernel_{
      0,
      {c_.spec->id, "", c_.spec->gradient.empty() ? "value" : "gradient", profile_.storage, "cpu", "bhnd", ""},
      c_.spec,
      Capabilities(*c_.spec, "")};
};

TEST_P(TrueValuesInACache, AreThoseThatWereComputed) {
  const TemporaryFolder folder;
  Cache cache(folder.path());
  const auto computed = with(nullptr);
  ASSERT_TRUE(computed);
  expect_same(*with(&cache), *computed);
  ASSERT_EQ(files_in(folder.path()).size(), 1u);
  for (std::uint64_t i = 0; i <= Cache::kChecked; ++i) expect_same(*with(&cache), *computed);  // one is computed again
}

TEST_P(TrueValuesInACache, AreFoundOutWhereTheyAreWrong) {
  const TemporaryFolder folder;
  Cache cache(folder.path());
  const auto computed = with(&cache);
  std::string bytes = cache.find(key()).value();
  const auto& values = computed->judged[0].certified.outputs.begin()->second.hi;
  const double value = *std::find_if(values.begin(), values.end(), [](double x) { return x != 0; });
  const auto at = bytes.find(std::string(reinterpret_cast<const char*>(&value), sizeof value));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 6] ^= 0x10;  // of the first true value that is not 0, the last bit of the exponent
  cache.keep(key(), bytes);
  EXPECT_THROW(for (std::uint64_t i = 0; i <= Cache::kChecked; ++i) with(&cache), std::runtime_error);
}

class FactsInACache : public testing::Test {
protected:
  /// What the first golden case shows of each fault, and the report on a kernel that gave its true values.
  std::string with(Cache* cache) const {
    Bank bank(spec_, profile_, cache);
    std::string all;
    for (const Fault& fault : spec_.faults) all += fmt::format("{} {}\n", fault.name, bank.shown(case_, fault));
    Arrays got;
    for (const auto& [name, tensor] : case_.certified.outputs) got[name] = {tensor.shape, tensor.hi};
    Row row;
    row.statistics = bank.statistics({{&case_, got}}, 1);
    return all + packed(std::vector<Row>{row});
  }
  std::string key() const { return Bank::kept_as(case_, profile_); }

  const Spec& spec_ = specs().at("attention.softmax_one");
  const golden::Profile& profile_ = golden::profile("f32");
  golden::GoldenCase case_ = golden::load_golden(spec_, std::string(ATTEST_PROJECT_DIR) + "/golden").front();
};

TEST_F(FactsInACache, AreThoseThatWereComputed) {
  const TemporaryFolder folder;
  Cache cache(folder.path());
  const std::string computed = with(nullptr);
  EXPECT_EQ(with(&cache), computed);
  EXPECT_TRUE(cache.find(key()));
  for (std::uint64_t i = 0; i <= Cache::kChecked; ++i) EXPECT_EQ(with(&cache), computed);  // one is computed again
}

TEST_F(FactsInACache, AreFoundOutWhereTheyAreWrong) {
  const TemporaryFolder folder;
  Cache cache(folder.path());
  with(&cache);
  std::string bytes = cache.find(key()).value();
  bytes.back() ^= 1;
  cache.keep(key(), bytes);
  EXPECT_THROW(for (std::uint64_t i = 0; i <= Cache::kChecked; ++i) with(&cache), std::runtime_error);
}

TEST_F(FactsInACache, AreOfTheFileThatTheCaseIsReadFrom) {
  const std::string before = key();
  case_.certified.outputs.begin()->second.hi[0] += 1;
  const std::string other_truth = key();
  case_.problem.inputs.begin()->second.values[0] += 1;
  EXPECT_EQ((std::set{before, other_truth, key()}).size(), 3u);
}

class RegimesInACache : public testing::Test {
protected:
  std::shared_ptr<const Regimes> made_with(Cache* cache) const {
    return KnownRegimes(cache).of(kernel_, profile_, SizesJudged::small, 1, 1, {});
  }
  std::string with(Cache* cache) const { return packed(made_with(cache)->covering()); }
  std::string key() const { return Regimes::kept_as(kernel_, profile_, SizesJudged::small, 1, 1, {}); }

private:
  const Spec& spec_ = specs().at("attention.softmax_one");
  const golden::Profile& profile_ = golden::profile("f32");
  Kernel kernel_{0, {spec_.id, "", "value", profile_.storage, "cpu", "bhnd", ""}, &spec_, Capabilities(spec_, "")};
};

TEST_F(RegimesInACache, AreThoseThatWereMade) {
  const TemporaryFolder folder;
  Cache cache(folder.path());
  const std::string made = with(nullptr);
  EXPECT_EQ(with(&cache), made);
  EXPECT_EQ(cache.find(key()), made);
  for (std::uint64_t i = 0; i <= Cache::kChecked; ++i) EXPECT_EQ(with(&cache), made);  // one is made again
}

TEST_F(RegimesInACache, AreFoundOutWhereTheyAreWrong) {
  const TemporaryFolder folder;
  Cache cache(folder.path());
  Covering fewer = unpacked_covering(with(&cache));
  fewer.settings.pop_back();
  cache.keep(key(), packed(fewer));
  EXPECT_THROW(for (std::uint64_t i = 0; i <= Cache::kChecked; ++i) with(&cache), std::runtime_error);
}

/// Settings that Regimes::again() makes are kept by the combinations that they are for.
TEST_F(RegimesInACache, AreMadeAgainForOtherCombinations) {
  const TemporaryFolder folder;
  Cache cache(folder.path());
  const auto all = [&](const Regimes& regimes) {
    std::vector<Combination> unseen;
    for (std::size_t axis = 0; axis < regimes.axes().size(); ++axis) unseen.push_back({{axis}, {0}});
    return unseen;
  };
  const auto with_and_without = [&](auto combinations_of) {
    const auto made = made_with(nullptr), found = made_with(&cache);
    const auto combinations = combinations_of(*made);
    const auto bytes_of = [&](const Regimes& regimes) {
      Covering covering;
      covering.settings = regimes.again(combinations, 1);
      return packed(covering);
    };
    const std::string again = bytes_of(*made);
    for (std::uint64_t i = 0; i <= Cache::kChecked; ++i) EXPECT_EQ(bytes_of(*found), again);
    return again;
  };
  const auto of_all = with_and_without(all);
  const auto of_last = with_and_without([&](const Regimes& regimes) { return std::vector{all(regimes).back()}; });
  EXPECT_FALSE(unpacked_covering(of_all).settings.empty());
  EXPECT_NE(of_all, of_last);
}

/// Packed sequences differ in the lengths of queries and keys, those in pages in the lengths of keys alone.
TEST(TrueValues, OfLayoutsWithOtherLengthsHaveOtherKeys) {
  const auto [c, profile] =
      golden::parse_query("attest:attention.scaled_dot_product:f32;n=3;s=4;d=2;m=2;flag=random;seed=3;grid=2x2x1");
  std::set<std::string> keys;
  for (const char* layout : {"bhnd", "thd", "pkv"}) {
    const Kernel kernel{
        0, {c.spec->id, "max_shift", "value", DType::f32, "cpu", layout, ""}, c.spec, Capabilities(*c.spec, "")};
    keys.insert(TrueValues::key_of(c, kernel, golden::profile(profile)));
  }
  EXPECT_EQ(keys.size(), 3u);
}

/// Batches with binary32 inputs, values and gradients, of an input that heads share.
class TrueValuesOfBinary32Inputs : public testing::TestWithParam<const char*> {
protected:
  std::shared_ptr<const TrueBatch> by(const char* profile) const {
    const golden::Case c = golden::parse_query(GetParam()).first;
    const auto& known = golden::profile(profile);
    const Kernel kernel{
        0,
        {c.spec->id, "", c.spec->gradient.empty() ? "value" : "gradient", known.storage, "cpu", "bhnd", ""},
        c.spec,
        Capabilities(*c.spec, "")};
    return TrueValues(nullptr).of(c, kernel, known);
  }
};

/// A value in binary64 and one that is close enough for binary64 kernels differ by rounding errors, bounds not at all.
TEST_P(TrueValuesOfBinary32Inputs, HaveTheBoundsOfBinary32InBinary64) {
  const auto single = by("f32"), wide = by("f64");
  ASSERT_TRUE(single && wide);
  ASSERT_EQ(wide->judged.size(), single->judged.size());
  for (std::size_t j = 0; j < wide->judged.size(); ++j) {
    const golden::Certified &a = wide->judged[j].certified, &b = single->judged[j].certified;
    EXPECT_EQ(a.units, "f64");
    for (const auto& [name, tensor] : a.outputs) {
      EXPECT_EQ(tensor.bound, b.outputs.at(name).bound) << name;
      EXPECT_EQ(tensor.rms, b.outputs.at(name).rms) << name;
      for (std::size_t i = 0; i < tensor.hi.size(); ++i)
        EXPECT_LE(std::abs(tensor.hi[i] + static_cast<double>(tensor.lo[i]) - b.outputs.at(name).hi[i]),
                  golden::bound_of(tensor, i, golden::profile("f64").units))
            << name << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Batches, TrueValuesOfBinary32Inputs,
    testing::Values("attest:content.lsh_hash:f32;n=5;d=3;c=2;flag=random;exact=f32;seed=1;grid=2x1x1",
                    "attest:linear.causal:f32;n=9;c=4;m=3;flag=random;exact=f32;seed=5;grid=1x2x1",
                    "attest:attention.scaled_dot_product:f32;n=5;s=6;d=4;m=3;flag=random;exact=f32;seed=7;"
                    "grid=2x4x2"));

INSTANTIATE_TEST_SUITE_P(
    Batches, TrueValuesInACache,
    testing::Values("attest:attention.scaled_dot_product:f32;n=3;s=4;d=2;m=2;flag=random;seed=3;grid=2x2x1",
                    "attest:content.lsh_hash:f64;n=5;d=3;c=2;flag=random;seed=1;grid=1x1x1"));

}  // namespace
}  // namespace attest::judge
