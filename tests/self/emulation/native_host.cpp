// SPDX-License-Identifier: MIT
// The host side of kernels for CUDA, which other tests only compile: against a runtime of a few lines.
#include "attest/cuda/native/host.hpp"

#include <gtest/gtest.h>

namespace {

using namespace attest::cuda;

struct NativeHost : testing::Test {
  void SetUp() override { runtime = {}; }
  void launch_with(std::size_t static_bytes, std::size_t dynamic_bytes) {
    runtime.static_bytes = static_bytes;
    launch(+[](int* argument) { *argument = 7; }, 1, 32, dynamic_bytes, nullptr, &argument_);
  }
  int argument_ = 0;
};

TEST_F(NativeHost, StaticAndDynamicMemoryBeyond48KiBIsAskedFor) {
  launch_with(4096, 46 * 1024);
  EXPECT_EQ(runtime.asked_for, 46u * 1024);
  EXPECT_EQ(argument_, 7);
}

TEST_F(NativeHost, MemoryThatPaddingTakesBeyond48KiBIsAskedFor) {
  launch_with(16, 47 * 1024 + 512);
  EXPECT_EQ(runtime.asked_for, 47u * 1024 + 512);
}

TEST_F(NativeHost, UpTo48KiBNothingIsAskedFor) {
  launch_with(1024, 47 * 1024);
  launch_with(0, 48 * 1024);
  launch_with(48 * 1024, 0);
  EXPECT_EQ(runtime.asked_for, 0u);
  EXPECT_EQ(runtime.launches, 3);
}

TEST_F(NativeHost, MoreThanTheDeviceHasIsAnError) {
  try {
    launch_with(4096, 99 * 1024);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "launch: invalid argument");
  }
}

TEST_F(NativeHost, DevicesAndTheirLimits) {
  EXPECT_EQ(compute_capability(), 86);
  EXPECT_EQ(shared_memory_limit(), 99u * 1024);
  set_device(1);
  EXPECT_EQ(current_device(), 1);
  try {
    set_device(2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "set_device 2: invalid device ordinal");
  }
}

}  // namespace
