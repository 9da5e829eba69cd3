// SPDX-License-Identifier: MIT
#include "attest/golden/npy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace attest::golden {
namespace {

/// A file from a header written by hand, in any version.
std::string file_of(const std::string& header, const std::string& data, int major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

std::string header_of(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// The message of the refusal; it must always name the file.
std::string refusal(const std::string& bytes) {
  try {
    parse_npy(bytes, "folder/some.npy");
  } catch (const std::runtime_error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("folder/some.npy"), std::string::npos) << message;
    return message;
  }
  return "accepted";
}

testing::AssertionResult says(const std::string& message, const std::string& wanted) {
  if (message.find(wanted) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << message << "' does not say '" << wanted << "'";
}

TEST(Npy, EveryDtypeAndRankComesBack) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::boolean}) {
    for (const std::vector<Index>& shape :
         std::vector<std::vector<Index>>{{}, {1}, {5}, {0}, {2, 3}, {3, 0, 2}, {1, 2, 3, 4}}) {
      Array array{shape, {}};
      for (Index i = 0; i < count(shape); ++i) array.values.push_back(static_cast<double>(i % 2));
      const StoredTensor tensor = store(dtype, array);
      const StoredTensor back = parse_npy(serialize_npy(tensor), "memory");
      EXPECT_EQ(back.dtype, dtype);
      EXPECT_EQ(back.shape, shape);
      EXPECT_EQ(back.bytes, tensor.bytes);
    }
  }
}

TEST(Npy, IsWrittenAsNumpyWrites) {
  const std::pair<DType, const char*> descriptions[] = {{DType::f64, "'<f8'"},  {DType::f32, "'<f4'"},
                                                        {DType::bf16, "'<V2'"}, {DType::f16, "'<f2'"},
                                                        {DType::i64, "'<i8'"},  {DType::boolean, "'|b1'"}};
  for (const auto& [dtype, descr] : descriptions) {
    const std::string bytes = serialize_npy(store(dtype, {{3}, {1, 0, 1}}));
    ASSERT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    const std::size_t length = static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
    EXPECT_EQ((10 + length) % 64, 0u) << "the data are aligned";
    EXPECT_EQ(bytes.size(), 10 + length + 3 * size_of(dtype));
    const std::string header = bytes.substr(10, length);
    EXPECT_EQ(header.back(), '\n');
    EXPECT_TRUE(says(header, std::string("'descr': ") + descr));
    EXPECT_TRUE(says(header, "'fortran_order': False"));
    EXPECT_TRUE(says(header, "'shape': (3,)"));
  }
  EXPECT_TRUE(says(serialize_npy(store(DType::f32, {{}, {1}})), "'shape': ()"));
}

TEST(Npy, EveryVersionIsRead) {
  for (const int major : {1, 2, 3}) {
    const StoredTensor tensor =
        parse_npy(file_of(header_of("'<f4'", "(2,)"), bytes_of<float>({1, -2}), major), "memory");
    EXPECT_EQ(load(tensor).values, (std::vector<double>{1, -2})) << major;
  }
  for (const int major : {0, 4, 255}) {
    EXPECT_TRUE(says(refusal(file_of(header_of("'<f4'", "(0,)"), "", major)), "version")) << major;
  }
}

TEST(Npy, HeadersOfOtherWritersAreRead) {
  const std::string data = bytes_of<double>({1, 2, 3, 4, 5, 6});
  for (const char* header : {"{'descr':'<f8','fortran_order':False,'shape':(2,3)}",
                             "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f8'}   \n",
                             "{'descr': '<f8', 'fortran_order': False, 'shape': (2,3,), }\n"}) {
    const StoredTensor tensor = parse_npy(file_of(header, data), "memory");
    EXPECT_EQ(tensor.shape, (std::vector<Index>{2, 3})) << header;
    EXPECT_EQ(load(tensor).values, (std::vector<double>{1, 2, 3, 4, 5, 6})) << header;
  }
}

TEST(Npy, TwoRawBytesAreBfloat16) {
  for (const char* descr : {"'|V2'", "'<V2'"}) {
    const StoredTensor tensor =
        parse_npy(file_of(header_of(descr, "(3,)"), bytes_of<std::uint16_t>({0x3f80, 0xc000, 0x7f80})), "memory");
    EXPECT_EQ(tensor.dtype, DType::bf16);
    EXPECT_EQ(load(tensor).values, (std::vector<double>{1, -2, HUGE_VAL}));
  }
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  // x[i][j][k] = 100 i + 10 j + k, first index fastest.
  std::vector<std::int64_t> data;
  std::vector<double> expected;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) data.push_back(100 * i + 10 * j + k);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) expected.push_back(100 * i + 10 * j + k);
  const StoredTensor tensor = parse_npy(file_of(header_of("'<i8'", "(2, 3, 4)", "True"), bytes_of(data)), "memory");
  EXPECT_EQ(tensor.shape, (std::vector<Index>{2, 3, 4}));
  EXPECT_EQ(load(tensor).values, expected);

  EXPECT_EQ(load(parse_npy(file_of(header_of("'<i8'", "(24,)", "True"), bytes_of(data)), "memory")).values.size(), 24u);
  EXPECT_EQ(load(parse_npy(file_of(header_of("'<f8'", "()", "True"), bytes_of<double>({7})), "memory")).values,
            std::vector<double>{7});
  EXPECT_TRUE(parse_npy(file_of(header_of("'<f8'", "(3, 0, 2)", "True"), ""), "memory").bytes.empty());
  EXPECT_TRUE(says(refusal(file_of(header_of("'<i8'", "(2, 3, 5)", "True"), bytes_of(data))), "truncated"));
}

TEST(Npy, WrongMagicIsRefused) {
  std::string bytes = serialize_npy(store(DType::f32, {{2}, {1, 2}}));
  for (std::size_t i = 0; i < 6; ++i) {
    std::string wrong = bytes;
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    EXPECT_TRUE(says(refusal(wrong), "not an .npy file")) << i;
  }
  EXPECT_TRUE(says(refusal("PK\x03\x04 an .npz archive"), "not an .npy file"));
}

TEST(Npy, EveryTruncationIsRefused) {
  for (const int major : {1, 2}) {
    const std::string bytes = file_of(header_of("'<f4'", "(3,)"), bytes_of<float>({1, 2, 3}), major);
    ASSERT_EQ(refusal(bytes), "accepted");
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::string message = refusal(bytes.substr(0, size));
      ASSERT_NE(message, "accepted") << size << " of " << bytes.size() << " bytes";
      if (size >= 6) {
        ASSERT_TRUE(says(message, "truncated")) << size << " of " << bytes.size() << " bytes";
      }
    }
  }
}

TEST(Npy, TrailingBytesAreRefused) {
  const std::string bytes = serialize_npy(store(DType::f32, {{3}, {1, 2, 3}}));
  EXPECT_TRUE(says(refusal(bytes + '\0'), "1 "));
  EXPECT_NE(refusal(bytes + bytes), "accepted") << "two arrays in one file";
}

TEST(Npy, DtypesItDoesNotHoldAreRefused) {
  EXPECT_TRUE(says(refusal(file_of(header_of("'>f4'", "(1,)"), "abcd")), "big-endian"));
  EXPECT_TRUE(says(refusal(file_of(header_of("'>i8'", "(1,)"), "abcdefgh")), "big-endian"));
  EXPECT_TRUE(says(refusal(file_of(header_of("'|O'", "(1,)"), "abcd")), "O"));
  EXPECT_TRUE(says(refusal(file_of(header_of("[('x', '<f4'), ('y', '<f4')]", "(1,)"), "abcdefgh")), "structured"));
  for (const char* descr : {"'<i4'", "'<f16'", "'<c8'", "'|S4'", "'<U1'", "'|V4'", "'<M8[ns]'", "''", "'<'"}) {
    const std::string message = refusal(file_of(header_of(descr, "(1,)"), "abcd"));
    for (const char* allowed : {"<f8", "<f4", "<f2", "V2", "<i8", "|b1"}) EXPECT_TRUE(says(message, allowed)) << descr;
  }
}

TEST(Npy, AnUnknownByteOrderMarkIsRefused) {
  for (const char* descr : {"'xf4'", "'!f4'"})
    EXPECT_NE(refusal(file_of(header_of(descr, "(1,)"), "abcd")), "accepted") << descr;
}

TEST(Npy, BrokenHeadersAreRefused) {
  for (const char* header :
       {"", "\n", "{}", "{", "{'descr': '<f4', 'fortran_order': False}", "{'descr': '<f4', 'shape': (1,)}",
        "{'fortran_order': False, 'shape': (1,)}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296)}"}) {
    EXPECT_NE(refusal(file_of(header, "abcd")), "accepted") << header;
  }
}

TEST(Npy, HeadersThatAreNoLiteralAreRefused) {
  for (const char* header : {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} more",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (,1)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'other': 'x'}"}) {
    EXPECT_NE(refusal(file_of(header, "abcd")), "accepted") << header;
  }
}

TEST(Npy, ALongHeaderDoesNotExhaustTheStack) {
  std::string shape = "(";
  for (int i = 0; i < 500000; ++i) shape += "1, ";
  EXPECT_NE(refusal(file_of(header_of("'<f4'", shape + ")"), "", 2)), "accepted") << "one element, no data";
}

TEST(Npy, WhatItCouldNotReadBackIsNotWritten) {
  EXPECT_ANY_THROW(serialize_npy({DType::f32, {2}, std::vector<std::byte>(4)})) << "shape and bytes disagree";
  EXPECT_ANY_THROW(serialize_npy({DType::boolean, std::vector<Index>(40000, 1), std::vector<std::byte>(1)}))
      << "version 1.0 counts the header's bytes in 16 bits";
}

}  // namespace
}  // namespace attest::golden
