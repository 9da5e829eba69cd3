// SPDX-License-Identifier: MIT
#include "attest/golden/safetensors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace attest::golden {
namespace {

/// A file from a header written by hand.
std::string file_of(const std::string& header, std::size_t data_size) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + std::string(data_size, '\0');
}

/// The message of the refusal; it must always name the file.
std::string refusal(const std::string& bytes) {
  try {
    parse_safetensors(bytes, "folder/some.safetensors");
  } catch (const std::runtime_error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("folder/some.safetensors"), std::string::npos) << message;
    return message;
  }
  return "accepted";
}

testing::AssertionResult says(const std::string& message, const std::string& wanted) {
  if (message.find(wanted) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << message << "' does not say '" << wanted << "'";
}

Safetensors sample() {
  Safetensors file;
  file.tensors["q"] = store(DType::bf16, {{2, 3}, {1, 2, 3, -4, 0.5, 0}});
  file.tensors["mask"] = store(DType::boolean, {{3}, {1, 0, 1}});
  file.tensors["a \"name\"\n"] = store(DType::f64, {{1, 1, 2}, {1e-300, -1.0 / 3}});
  file.tensors["positions"] = store(DType::i64, {{2}, {-7, 9007199254740992.0}});
  file.tensors["scale"] = store(DType::f32, {{}, {0.125}});
  file.tensors["half"] = store(DType::f16, {{1}, {65504}});
  file.tensors["empty"] = store(DType::f32, {{4, 0}, {}});
  file.metadata = {{"equation", "linear.causal"}, {"seed", "17"}};
  return file;
}

void expect_equal(const Safetensors& a, const Safetensors& b) {
  EXPECT_EQ(a.metadata, b.metadata);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, tensor] : a.tensors) {
    ASSERT_TRUE(b.tensors.count(name)) << name;
    const StoredTensor& other = b.tensors.at(name);
    EXPECT_EQ(tensor.dtype, other.dtype) << name;
    EXPECT_EQ(tensor.shape, other.shape) << name;
    EXPECT_EQ(tensor.bytes, other.bytes) << name;
  }
}

TEST(Safetensors, EveryDtypeComesBack) {
  const Safetensors file = sample();
  const std::string bytes = serialize(file);
  const Safetensors back = parse_safetensors(bytes, "sample");
  expect_equal(file, back);
  EXPECT_EQ(serialize(back), bytes);
  EXPECT_EQ(load(back.tensors.at("q")).values, (std::vector<double>{1, 2, 3, -4, 0.5, 0}));
  EXPECT_EQ(load(back.tensors.at("empty")).shape, (std::vector<Index>{4, 0}));
  EXPECT_EQ(load(back.tensors.at("scale")).values, std::vector<double>{0.125});
}

TEST(Safetensors, NothingAtAllComesBack) {
  const std::string bytes = serialize({});
  EXPECT_EQ(bytes, file_of("{}      ", 0));
  expect_equal(parse_safetensors(bytes, "nothing"), {});
}

TEST(Safetensors, BytesAreCanonical) {
  Safetensors file;
  file.tensors["b"] = store(DType::f32, {{1}, {1}});
  file.tensors["a"] = store(DType::boolean, {{3}, {1, 0, 1}});
  file.metadata["k"] = "v";
  std::string header = R"({"__metadata__":{"k":"v"},"a":{"data_offsets":[0,3],"dtype":"BOOL","shape":[3]},)"
                       R"("b":{"data_offsets":[3,7],"dtype":"F32","shape":[1]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(serialize(file), file_of(header, 0) + std::string("\1\0\1\0\0\x80\x3f", 7));
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string bytes = serialize(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string message = refusal(bytes.substr(0, size));
    ASSERT_TRUE(says(message, "truncated")) << size << " of " << bytes.size() << " bytes";
  }
}

TEST(Safetensors, TrailingBytesAreRefused) {
  EXPECT_TRUE(says(refusal(serialize(sample()) + '\0'), "1 "));
  EXPECT_NE(refusal(file_of("{}", 3)), "accepted");
}

TEST(Safetensors, HeaderLengthThatOverflowsIsRefused) {
  EXPECT_TRUE(says(refusal(std::string(8, '\xff') + "{}"), "truncated"));
  EXPECT_TRUE(says(refusal("\xff\xff\xff\xff\xff\xff\xff\x7f{}"), "truncated"));
}

TEST(Safetensors, HeaderThatIsNotAnObjectIsRefused) {
  for (const char* header : {"", "    ", "[]", "1", "null", "{", "{]", "{} {}", "{\"a\":}", "{\"\xff\":{}}"}) {
    EXPECT_NE(refusal(file_of(header, 0)), "accepted") << header;
  }
}

TEST(Safetensors, BrokenEntriesAreRefusedByName) {
  const char* entries[] = {
      "[]",
      "{}",
      R"({"dtype":"F32","shape":[1]})",
      R"({"dtype":"F32","data_offsets":[0,4]})",
      R"({"shape":[1],"data_offsets":[0,4]})",
      R"({"dtype":7,"shape":[1],"data_offsets":[0,4]})",
      R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})",
      R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})",
      R"({"dtype":"F32","shape":["1"],"data_offsets":[0,4]})",
      R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})",
      R"({"dtype":"F32","shape":[1],"data_offsets":[0]})",
      R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,4]})",
      R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})",
      R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})",
      R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})",
      R"({"dtype":"F32","shape":[0],"data_offsets":[0,4]})",
      R"({"dtype":"F64","shape":[1],"data_offsets":[0,4]})",
      R"({"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]})",
      R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})",
      R"({"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]})",
  };
  for (const char* entry : entries) {
    EXPECT_TRUE(says(refusal(file_of(std::string(R"({"the one":)") + entry + "}", 4)), "the one")) << entry;
  }
}

TEST(Safetensors, AnExtentThatIsNoIndexIsRefusedEvenInAnEmptyTensor) {
  EXPECT_NE(refusal(file_of(R"({"t":{"dtype":"F32","shape":[0,9223372036854775809],"data_offsets":[0,0]}})", 0)),
            "accepted");
}

TEST(Safetensors, UnknownDtypeIsAnsweredWithTheKnown) {
  for (const char* dtype : {"F8_E4M3", "U8", "I32", "f32", ""}) {
    const nlohmann::json header = {{"odd", {{"dtype", dtype}, {"shape", {4}}, {"data_offsets", {0, 4}}}}};
    const std::string message = refusal(file_of(header.dump(), 4));
    EXPECT_TRUE(says(message, "'odd'"));
    EXPECT_TRUE(says(message, dtype));
    for (const char* known : {"F64", "F32", "BF16", "F16", "I64", "BOOL"}) EXPECT_TRUE(says(message, known));
  }
}

std::string two(int first_begin, int first_end, int second_begin, int second_end, std::size_t data_size) {
  const auto entry = [](int begin, int end) {
    return nlohmann::json{{"dtype", "BOOL"}, {"shape", {end - begin}}, {"data_offsets", {begin, end}}};
  };
  const nlohmann::json header = {{"first", entry(first_begin, first_end)}, {"other", entry(second_begin, second_end)}};
  return file_of(header.dump(), data_size);
}

TEST(Safetensors, TensorsMustTileTheData) {
  EXPECT_EQ(refusal(two(0, 4, 4, 8, 8)), "accepted");
  EXPECT_EQ(refusal(two(4, 8, 0, 4, 8)), "accepted") << "the order in the file is free";
  EXPECT_EQ(refusal(two(0, 8, 0, 0, 8)), "accepted") << "an empty tensor lies anywhere between others";
  EXPECT_EQ(refusal(two(0, 8, 8, 8, 8)), "accepted");
  EXPECT_TRUE(says(refusal(two(0, 5, 4, 8, 8)), "overlap"));
  EXPECT_TRUE(says(refusal(two(0, 4, 0, 4, 4)), "overlap"));
  EXPECT_TRUE(says(refusal(two(0, 8, 2, 4, 8)), "overlap"));
  EXPECT_TRUE(says(refusal(two(0, 4, 5, 8, 8)), "gap"));
  EXPECT_TRUE(says(refusal(two(1, 4, 4, 8, 8)), "gap"));
  EXPECT_TRUE(says(refusal(two(0, 4, 4, 9, 8)), "truncated"));
}

TEST(Safetensors, OverlapsAndGapsNameTheTensor) {
  EXPECT_TRUE(says(refusal(two(0, 5, 4, 8, 8)), "other"));
  EXPECT_TRUE(says(refusal(two(0, 4, 5, 8, 8)), "other"));
}

TEST(Safetensors, DuplicateKeysAreRefused) {
  // JSON parsers keep one of the two, so that two readers could disagree on what the file says.
  EXPECT_TRUE(says(refusal(file_of(R"({"same":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]},)"
                                   R"("same":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                   4)),
                   "same"));
}

TEST(Safetensors, MetadataMustBeStrings) {
  EXPECT_TRUE(says(refusal(file_of(R"({"__metadata__":{"k":1}})", 0)), "__metadata__"));
  EXPECT_TRUE(says(refusal(file_of(R"({"__metadata__":["k"]})", 0)), "__metadata__"));
  EXPECT_EQ(parse_safetensors(file_of(R"({"__metadata__":{"k":"v"}})", 0), "m").metadata.at("k"), "v");
}

TEST(Safetensors, DeepNestingDoesNotExhaustTheStack) {
  EXPECT_NE(refusal(file_of(R"({"t":)" + std::string(200000, '['), 0)), "accepted");
}

TEST(Safetensors, WhatItCouldNotReadBackIsNotWritten) {
  Safetensors file;
  file.tensors["t"] = {DType::f32, {2}, std::vector<std::byte>(4)};
  EXPECT_ANY_THROW(serialize(file)) << "shape and bytes disagree";
  file.tensors = {{"__metadata__", store(DType::f32, {{1}, {1}})}};
  EXPECT_ANY_THROW(serialize(file)) << "a tensor cannot take the metadata's place";
  file.tensors = {{"\xff", store(DType::f32, {{1}, {1}})}};
  EXPECT_ANY_THROW(serialize(file)) << "JSON is UTF-8";
}

TEST(Store, RoundsToNearest) {
  const Array back = load(store(DType::bf16, {{3}, {1 + 0x1p-8, 1 + 0x1p-8 + 0x1p-40, 1e39}}));
  EXPECT_EQ(back.values[0], 1);
  EXPECT_EQ(back.values[1], 1 + 0x1p-7);
  EXPECT_TRUE(std::isinf(back.values[2]));
}

}  // namespace
}  // namespace attest::golden
