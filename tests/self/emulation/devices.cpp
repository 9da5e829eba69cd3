// SPDX-License-Identifier: MIT
// What a call asks of its device: that its tensors are there, and that it has the shared memory.
#include "attest/cuda/call.hpp"

#include <gtest/gtest.h>

#include <array>

namespace {

using namespace attest::cuda;
using emulation::settings;

__global__ void nothing() {}

/// Notes the device that is current while it runs, and launches blocks of so much shared memory.
struct Notes {
  static inline int device = -1;
  static inline std::size_t shared_bytes = 0;
  template <class T, class Factor>
  static void run(Call& call) {
    device = current_device();
    call.launch(nothing, {1, 1, 1}, 32, shared_bytes);
  }
};

/// The error of a call with an input and an output on these devices, after its workspace was measured.
std::string error_of_call(int input, int output) {
  std::array<std::int64_t, 4> shape{1, 1, 1, 1};
  float number = 0;
  const auto tensor = [&](const char* name, int device) {
    return attest_tensor{name, {&number, {kDevice, device}, 4, {kDLFloat, 32, 1}, shape.data(), shape.data(), 0}};
  };
  const attest_tensor in = tensor("x", input), out = tensor("y", output);
  char error[256] = "";
  attest_call call{};
  call.struct_size = sizeof call;
  call.inputs = &in;
  call.input_count = 1;
  call.outputs = &out;
  call.output_count = 1;
  call.error = error;
  call.error_size = sizeof error;
  const std::vector<attest_kernel> kernels = Kernels("devices").value<Notes>("", {}).rows();
  Notes::device = -1;
  EXPECT_EQ(kernels[0].workspace(&call), 0u);
  const int measured_on = std::exchange(Notes::device, -1);
  const bool ran = kernels[0].run(&call) == 0;
  EXPECT_EQ(ran, error[0] == '\0');
  EXPECT_TRUE(error[0] || measured_on == Notes::device);
  return error;
}

struct Devices : testing::Test {
  void TearDown() override {
    settings() = {};
    Notes::shared_bytes = 0;
  }
};

TEST_F(Devices, ThatOfTheTensorsIsCurrentDuringACall) {
  settings().devices = 3;
  for (const int current : {0, 1}) {
    set_device(current);
    for (const int device : {0, 1, 2}) {
      EXPECT_EQ(error_of_call(device, device), "");
      EXPECT_EQ(Notes::device, device);
      EXPECT_EQ(current_device(), current);
    }
  }
  set_device(0);
}

TEST_F(Devices, TensorsOfSeveralAreRefused) {
  settings().devices = 2;
  EXPECT_EQ(error_of_call(1, 0), "'x' is on device 1 and 'y' on device 0");
  EXPECT_EQ(Notes::device, -1);
}

TEST_F(Devices, OneThatIsNotThereIsRefused) {
  EXPECT_EQ(error_of_call(1, 1), "set_device 1: there are 1");
  EXPECT_EQ(Notes::device, -1);
  EXPECT_EQ(current_device(), 0);
}

TEST_F(Devices, MoreSharedMemoryThanABlockMayHaveIsRefused) {
  Notes::shared_bytes = 154 * 1024;
  EXPECT_EQ(error_of_call(0, 0), "");
  for (const int capability : {86, 89}) {
    settings().capability = capability;
    EXPECT_EQ(error_of_call(0, 0),
              "a call with blocks of 157696 bytes of shared memory; a block of this device has at most 101376");
  }
}

}  // namespace
