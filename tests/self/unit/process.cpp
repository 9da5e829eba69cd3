// SPDX-License-Identifier: MIT
// PluginProcess against plugins that each break one rule. The plugins are in tests/self/unit/plugins.
#include "attest/judge/process.hpp"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "attest/dtype.hpp"

namespace attest::judge {
namespace {

using End = Response::End;
using namespace std::chrono_literals;

std::filesystem::path plugin(const std::string& stem) {
  return std::filesystem::path(ATTEST_TEST_PLUGIN_DIR) / ("lib" + stem + ".so");
}

template <class T>
std::vector<std::byte> to_bytes(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> from_bytes(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

InputTensor input(std::string name, DType dtype, std::vector<Index> shape, std::vector<std::byte> bytes) {
  InputTensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.bytes = std::move(bytes);
  return tensor;
}

/// 0, 1, 2, ...
std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

/// Input 'x' and output 'o' of one shape, float32.
Request copy_request(const std::vector<Index>& shape, std::vector<float> values = {}) {
  if (values.empty()) values = numbers(static_cast<std::size_t>(count(shape)));
  Request request;
  request.equation = "test.copy";
  request.form = "plain";
  request.inputs.push_back(input("x", DType::f32, shape, to_bytes(values)));
  request.outputs.push_back({"o", DType::f32, shape});
  return request;
}

/// The response to one number in and one out.
Response call_with(PluginProcess& process, float value, std::chrono::milliseconds limit = 20000ms) {
  CallOptions options;
  options.time_limit = limit;
  return process.call(0, copy_request({1}, {value}), options);
}

CallOptions at_start() {
  CallOptions options;
  options.placement = Placement::start_at_guard;
  return options;
}

CallOptions aligned(std::size_t alignment) {
  CallOptions options;
  options.alignment = alignment;
  return options;
}

std::string refusal(const std::filesystem::path& library) {
  try {
    PluginProcess process(library);
  } catch (const InvalidCandidate& problem) {
    return problem.what();
  }
  return "was accepted";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

#define EXPECT_CONTAINS(text, part) EXPECT_TRUE(contains(text, part)) << "it says: " << (text)

std::string only(const std::vector<std::string>& lines) {
  if (lines.size() == 1) return lines[0];
  std::string all = std::to_string(lines.size()) + " lines:";
  for (const std::string& line : lines) all += "\n" + line;
  return all;
}

int open_descriptors() {
  int found = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++found;
  ::closedir(directory);
  return found;
}

int children() {
  std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  int found = 0;
  for (std::string pid; file >> pid;) ++found;
  return found;
}

TEST(Process, lists_the_table) {
  const PluginProcess process(plugin("good"));
  EXPECT_EQ(process.name(), "good");
  EXPECT_EQ(process.version(), "2.5");
  ASSERT_EQ(process.kernels().size(), 4U);
  const KernelInfo& first = process.kernels()[0];
  EXPECT_EQ(first.equation, "test.twice");
  EXPECT_EQ(first.form, "plain");
  EXPECT_EQ(first.reading, "value");
  EXPECT_EQ(first.dtype, DType::f32);
  EXPECT_EQ(first.device, "cpu");
  EXPECT_EQ(first.layout, "nd");
  EXPECT_EQ(first.capabilities, "n <= 4096");
  const KernelInfo& second = process.kernels()[1];
  EXPECT_EQ(second.reading, "gradient");
  EXPECT_EQ(second.dtype, DType::bf16);
  EXPECT_EQ(second.device, "cuda");
  EXPECT_EQ(second.layout, "bhnd");
  EXPECT_EQ(second.capabilities, "");
  EXPECT_EQ(process.kernels()[3].form, "");
}

TEST(Process, runs_a_kernel_at_every_placement) {
  PluginProcess process(plugin("good"));
  for (const auto placement : {Placement::end_at_guard, Placement::start_at_guard})
    for (const std::size_t alignment : {0, 1, 16, 64, 4096})
      for (const Index rows : {1, 33, 700}) {
        CallOptions options;
        options.placement = placement;
        options.alignment = alignment;
        const Response response = process.call(0, copy_request({rows, 5}), options);
        ASSERT_EQ(response.end, End::finished) << response.message;
        EXPECT_EQ(response.message, "");
        EXPECT_TRUE(response.violations.empty()) << only(response.violations);
        ASSERT_EQ(response.outputs.size(), 1U);
        const auto values = from_bytes<float>(response.outputs[0]);
        ASSERT_EQ(values.size(), static_cast<std::size_t>(rows * 5));
        for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], 2 * static_cast<float>(i));
      }
}

TEST(Process, passes_everything_that_the_interface_promises) {
  PluginProcess process(plugin("good"));
  Request request;
  request.equation = "test.facts";
  request.form = "plain";
  request.inputs = {input("a", DType::f64, {3, 4}, to_bytes(std::vector<double>(12))),
                    input("b", DType::bf16, {}, std::vector<std::byte>(2)),
                    input("c", DType::f16, {7, 0}, {}),
                    input("d", DType::i64, {2, 5, 3}, to_bytes(std::vector<std::int64_t>(30))),
                    input("e", DType::boolean, {9}, std::vector<std::byte>(9)),
                    input("f", DType::f32, {2}, to_bytes(std::vector<float>(2)))};
  request.outputs = {{"facts", DType::f64, {41}}};
  request.parameters = {{"scale", true, -std::numeric_limits<double>::infinity(), 0, ""},
                        {"causal", true, 0, (std::int64_t{1} << 62) + 1, ""},
                        {"mode", false, 0, 0, "after"}};
  const Response response = process.call(3, request, aligned(256));
  ASSERT_EQ(response.end, End::finished) << response.message;
  ASSERT_EQ(response.outputs.size(), 1U);
  const auto facts = from_bytes<double>(response.outputs[0]);
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> expected{1, 1, 6, 1, 1, 1, -infinity, 1, 0x1p62, 1};
  const auto expect = [&](std::initializer_list<double> row) { expected.insert(expected.end(), row); };
  expect({2064, 2, 1, 4, 0});   // kDLFloat 64
  expect({4016, 0, 1, -1, 0});  // kDLBfloat 16
  expect({2016, 2, 1, 0, 0});   // kDLFloat 16
  expect({64, 3, 1, 15, 0});    // kDLInt 64
  expect({1008, 1, 1, 1, 0});   // kDLUInt 8
  expect({2032, 1, 1, 1, 0});   // kDLFloat 32
  expected.push_back(1);
  if (facts.at(30) == 6008) expected.at(30) = 6008;  // kDLBool, of newer DLPack headers
  EXPECT_EQ(facts, expected);
}

TEST(Process, accepts_tensors_without_elements) {
  PluginProcess process(plugin("good"));
  for (const auto& options : {CallOptions{}, at_start()}) {
    const Response response = process.call(0, copy_request({0, 16}), options);
    ASSERT_EQ(response.end, End::finished) << response.message;
    ASSERT_EQ(response.outputs.size(), 1U);
    EXPECT_TRUE(response.outputs[0].empty());
    EXPECT_TRUE(response.violations.empty());
  }
}

TEST(Process, poisons_outputs) {
  PluginProcess process(plugin("good"));
  Request request = copy_request({2});
  request.outputs.push_back({"untouched", DType::f32, {2}});
  for (const unsigned char poison : {0xff, 0x5a}) {
    CallOptions options;
    options.poison = poison;
    const Response response = process.call(0, request, options);
    ASSERT_EQ(response.outputs.size(), 2U);
    EXPECT_EQ(response.outputs[1], std::vector<std::byte>(8, std::byte{poison}));
  }
}

TEST(Process, gives_a_workspace) {
  PluginProcess process(plugin("good"));
  for (const auto& options : {CallOptions{}, at_start(), aligned(4)}) {
    const Response response = process.call(2, copy_request({8}), options);
    ASSERT_EQ(response.end, End::finished) << response.message;
    EXPECT_TRUE(response.violations.empty()) << only(response.violations);
    EXPECT_EQ(from_bytes<float>(response.outputs.at(0)), numbers(8));
  }
}

TEST(Process, the_second_thread_is_always_the_same) {
  PluginProcess process(plugin("counts_per_thread"));
  CallOptions second_thread;
  second_thread.second_thread = true;
  const auto calls_from_its_thread = [&](const CallOptions& options) {
    return from_bytes<float>(process.call(0, copy_request({1}), options).outputs.at(0)).at(0);
  };
  for (const float before : numbers(3)) {
    EXPECT_EQ(calls_from_its_thread(second_thread), before + 1);
    EXPECT_EQ(calls_from_its_thread({}), before + 1);
  }
}

TEST(Process, rejects_wrong_use) {
  PluginProcess process(plugin("good"));
  EXPECT_THROW(process.call(4, copy_request({8})), std::out_of_range);
  Request request = copy_request({8});
  request.inputs[0].bytes.pop_back();
  EXPECT_THROW(process.call(0, request), std::invalid_argument);
  request = copy_request({8});
  request.outputs[0].shape = {-1};
  EXPECT_THROW(process.call(0, request), std::invalid_argument);
  EXPECT_THROW(process.call(0, copy_request({8}), aligned(3)), std::invalid_argument);
  EXPECT_EQ(process.call(0, copy_request({8})).end, End::finished);
}

TEST(Process, grows_its_memory) {
  PluginProcess process(plugin("good"));
  for (const Index size : {10, 3'000'000, 10, 5'000'000}) {
    const Response response = process.call(0, copy_request({size}));
    ASSERT_EQ(response.end, End::finished) << response.message;
    EXPECT_EQ(from_bytes<float>(response.outputs.at(0)).back(), 2 * static_cast<float>(size - 1));
  }
}

TEST(Candidate, missing_or_not_a_library) {
  EXPECT_CONTAINS(refusal("/nowhere/libnothing.so"), "there is no such file");
  EXPECT_CONTAINS(refusal(::testing::TempDir()), "is a directory");
  const auto text = std::filesystem::path(::testing::TempDir()) / ("attest_text_" + std::to_string(::getpid()) + ".so");
  std::ofstream(text) << "not a library\n";
  EXPECT_CONTAINS(refusal(text), "cannot be loaded as a shared library");
  EXPECT_CONTAINS(refusal(text), text.string() + ": ");
  std::filesystem::remove(text);
}

TEST(Candidate, relative_paths_are_of_the_parent) {
  PluginProcess process(std::filesystem::relative(plugin("good")));
  EXPECT_EQ(process.name(), "good");
}

TEST(Candidate, names_the_missing_symbol) {
  EXPECT_CONTAINS(refusal(plugin("no_symbol")), "has no symbol attest_plugin_v1; a plugin must export");
  EXPECT_CONTAINS(refusal(plugin("undefined_symbol")), "attest_test_nobody_defines_this");
}

TEST(Candidate, says_both_abi_versions) {
  EXPECT_CONTAINS(refusal(plugin("wrong_abi")), "has abi_version 42; this attest needs abi_version 1");
}

TEST(Candidate, malformed_tables) {
  EXPECT_CONTAINS(refusal(plugin("null_table")), "attest_plugin_v1() returned NULL");
  EXPECT_CONTAINS(refusal(plugin("null_kernels")), "has kernel_count 2 but kernels is NULL");
  EXPECT_CONTAINS(refusal(plugin("no_kernels")), "has kernel_count 0; allowed: 1 to");
  EXPECT_CONTAINS(refusal(plugin("null_run")), "kernel 0 (test.copy) has a NULL run function");
  EXPECT_CONTAINS(refusal(plugin("null_equation")), "kernel 0 has no equation");
  EXPECT_CONTAINS(refusal(plugin("bad_reading")), R"(has reading "backward"; allowed: "value", "gradient")");
  EXPECT_CONTAINS(refusal(plugin("bad_layout")), R"(has layout "dn"; allowed: "nd", "bhnd", "bnhd", "thd", "pkv")");
  EXPECT_CONTAINS(refusal(plugin("bad_dtype")), "has dtype {code 2, bits 8, lanes 1}; allowed: {kDLFloat, 64, 1}");
  EXPECT_CONTAINS(refusal(plugin("bad_device")), "has device 8; allowed: kDLCPU (1), kDLCUDA (2)");
}

TEST(Candidate, dies_while_it_is_loaded) {
  EXPECT_CONTAINS(refusal(plugin("exits_on_load")), "while it was loaded, ended the process with exit status 3");
  EXPECT_CONTAINS(refusal(plugin("crashes_on_load")), "while it was loaded, died of SIGABRT (Aborted): abort()");
}

TEST(Candidate, hangs_while_it_is_loaded) {
  EXPECT_CONTAINS(refusal(plugin("hangs_on_load")), "loading it took longer than 10 s");
  EXPECT_EQ(children(), 0);
}

TEST(Isolation, environment) {
  ::setenv("ATTEST_TEST_SECRET", "expected values", 1);
  ::setenv("OMP_NUM_THREADS", "3", 1);
  ::unsetenv("ATTEST_WORKER_OUTPUT");
  std::FILE* held = std::fopen("/proc/self/status", "r");  // without close-on-exec
  PluginProcess process(plugin("environment"));
  const Response response = process.call(0, copy_request({1}));
  std::fclose(held);
  EXPECT_EQ(response.end, End::refused);
  EXPECT_CONTAINS(response.message, "cwd=/ fds=5 silent=1 secret=none threads=3 stdin=0");
}

TEST(Isolation, RanksOfAMachineTakeItsGpusInTurn) {
  const auto environment = [](const char* local_rank) {
    ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", local_rank, 1);
    PluginProcess process(plugin("environment"));
    return process.call(0, copy_request({1})).message;
  };
  ::setenv("CUDA_VISIBLE_DEVICES", "2,GPU-5", 1);
  EXPECT_CONTAINS(environment("1"), "gpu=2,GPU-5");  // no rank of a job
  ::setenv("OMPI_COMM_WORLD_RANK", "6", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  EXPECT_CONTAINS(environment("0"), "gpu=2");
  EXPECT_EQ(environment("0").find("GPU-5"), std::string::npos);
  EXPECT_CONTAINS(environment("1"), "gpu=GPU-5");
  EXPECT_EQ(environment("2"), environment("0"));
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"})
    ::unsetenv(name);
}

TEST(Isolation, output_on_request) {
  ::setenv("ATTEST_WORKER_OUTPUT", "1", 1);
  PluginProcess process(plugin("environment"));
  ::unsetenv("ATTEST_WORKER_OUTPUT");
  struct stat own{};
  struct stat null{};
  ASSERT_EQ(::fstat(1, &own) | ::stat("/dev/null", &null), 0);
  if (own.st_rdev == null.st_rdev) GTEST_SKIP() << "the output of this test is not read";
  EXPECT_CONTAINS(process.call(0, copy_request({1})).message, "silent=0");
}

TEST(Kernel, error_text_is_bounded_and_printable) {
  PluginProcess process(plugin("throws_error"));
  const Response response = process.call(0, copy_request({1}));
  EXPECT_EQ(response.end, End::refused);
  EXPECT_CONTAINS(response.message, "the kernel returned 42: head size 7 is not supported?xxx");
  EXPECT_LT(response.message.size(), 1100U);
  EXPECT_TRUE(response.outputs.empty());
}

TEST(Kernel, writes_past_the_error_buffer) {
  PluginProcess process(plugin("writes_past_error"));
  const Response response = process.call(0, copy_request({1}));
  EXPECT_EQ(response.end, End::crashed);
  EXPECT_CONTAINS(response.message, "past the end of the error text's buffer");
}

TEST(Kernel, writes_past_the_end_into_the_guard) {
  PluginProcess process(plugin("writes_past_end"));
  const Response response = process.call(0, copy_request({33, 16}));
  EXPECT_EQ(response.end, End::crashed);
#ifdef __x86_64__
  EXPECT_EQ(
      response.message,
      "the kernel died of SIGSEGV (Segmentation fault): it wrote 1 byte past the end of output 'o' [33, 16] float32");
#endif
  EXPECT_TRUE(response.outputs.empty());
}

TEST(Kernel, writes_past_the_end_into_the_slack) {
  PluginProcess process(plugin("writes_past_end"));
  for (const auto& options : {at_start(), aligned(64)}) {
    const Response response = process.call(0, copy_request({3}), options);
    EXPECT_EQ(response.end, End::finished) << response.message;
    EXPECT_EQ(only(response.violations),
              "wrote past the end of output 'o' [3] float32: 4 bytes changed, the nearest 1 byte past the end");
    EXPECT_EQ(from_bytes<float>(response.outputs.at(0)), numbers(3));
  }
}

TEST(Kernel, writes_before_the_start) {
  PluginProcess process(plugin("writes_before_start"));
  Response response = process.call(0, copy_request({3}), at_start());
  EXPECT_EQ(response.end, End::crashed);
#ifdef __x86_64__
  EXPECT_CONTAINS(response.message, "it wrote 4 bytes before the start of output 'o' [3] float32");
#endif
  response = process.call(0, copy_request({3}));
  EXPECT_EQ(response.end, End::finished) << response.message;
  EXPECT_EQ(only(response.violations),
            "wrote before the start of output 'o' [3] float32: 4 bytes changed, the nearest 1 byte before the start");
}

TEST(Kernel, reads_past_the_end) {
  PluginProcess process(plugin("reads_past_end"));
  Response response = process.call(0, copy_request({33, 16}));
  EXPECT_EQ(response.end, End::crashed);
  EXPECT_CONTAINS(response.message, "1 byte past the end of input 'x' [33, 16] float32");
#ifdef __x86_64__
  EXPECT_CONTAINS(response.message, "it read 1 byte");
#endif
  for (const auto& options : {at_start(), aligned(64)}) {
    response = process.call(0, copy_request({3}), options);
    ASSERT_EQ(response.end, End::finished) << response.message;
    EXPECT_TRUE(std::isnan(from_bytes<float>(response.outputs.at(0))[0]));
  }
}

TEST(Kernel, reads_before_the_start) {
  PluginProcess process(plugin("reads_before_start"));
  Response response = process.call(0, copy_request({3}), at_start());
  EXPECT_EQ(response.end, End::crashed);
  EXPECT_CONTAINS(response.message, "4 bytes before the start of input 'x' [3] float32");
  response = process.call(0, copy_request({3}));
  ASSERT_EQ(response.end, End::finished) << response.message;
  EXPECT_TRUE(std::isnan(from_bytes<float>(response.outputs.at(0))[0]));
}

TEST(Kernel, writes_an_input) {
  PluginProcess process(plugin("writes_input"));
  for (const auto& options : {CallOptions{}, at_start(), aligned(64)}) {
    const Response response = process.call(0, copy_request({7, 9}), options);
    EXPECT_EQ(response.end, End::crashed);
    EXPECT_CONTAINS(response.message, "wrote to read-only input 'x' [7, 9] float32 at element (3, 5)");
  }
}

TEST(Kernel, makes_an_input_writable) {
  PluginProcess process(plugin("unprotects_input"));
  const Response response = process.call(0, copy_request({4}));
  EXPECT_EQ(response.end, End::finished) << response.message;
  EXPECT_EQ(only(response.violations), "changed input 'x' [4] float32");
}

TEST(Kernel, writes_past_the_workspace) {
  PluginProcess process(plugin("writes_workspace_end"));
  for (const auto& options : {CallOptions{}, at_start()}) {
    const Response response = process.call(0, copy_request({3}), options);
    EXPECT_EQ(response.end, End::finished) << response.message;
    EXPECT_EQ(only(response.violations),
              "wrote past the end of the workspace of 100 bytes: 1 byte changed, the nearest 1 byte past the end");
  }
}

TEST(Kernel, asks_for_too_much_workspace) {
  PluginProcess process(plugin("huge_workspace"));
  for (int i = 0; i < 2; ++i) {
    const Response response = process.call(0, copy_request({3}));
    EXPECT_EQ(response.end, End::kernel_error);
    EXPECT_CONTAINS(response.message, "asked for a workspace of 18446744073709551615 bytes; the limit is 4294967296");
  }
}

TEST(Kernel, hangs) {
  PluginProcess process(plugin("hangs"));
  const auto begin = std::chrono::steady_clock::now();
  const Response response = call_with(process, -1, 200ms);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(response.end, End::hung);
  EXPECT_EQ(response.message, "the kernel did not return within 200 ms");
  EXPECT_GE(took, 200ms);
  EXPECT_LT(took, 5s);
  EXPECT_EQ(children(), 0);
  EXPECT_EQ(call_with(process, 1).end, End::finished);
}

/// Other threads, on the only processor where this thread and the processes that it starts may run.
class Crowd {
public:
  explicit Crowd(int threads) {
    ::sched_getaffinity(0, sizeof allowed_, &allowed_);
    cpu_set_t one{};
    CPU_SET(::sched_getcpu(), &one);
    ::sched_setaffinity(0, sizeof one, &one);
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) continue;
      });
  }
  ~Crowd() { ::sched_setaffinity(0, sizeof allowed_, &allowed_); }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

private:
  cpu_set_t allowed_{};
  std::vector<std::jthread> threads_;
};

TEST(Kernel, gets_longer_where_it_waits_for_a_processor) {
  const Crowd crowd(4);
  PluginProcess process(plugin("computes"));
  const auto begin = std::chrono::steady_clock::now();
  const Response response = call_with(process, 0.8F, 1000ms);
  EXPECT_EQ(response.end, End::finished) << response.message;
  EXPECT_GT(std::chrono::steady_clock::now() - begin, 1000ms);
}

TEST(Kernel, that_waits_for_ever_gets_no_longer) {
  PluginProcess process(plugin("computes"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(call_with(process, -1, 1000ms).end, End::hung);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST(Kernel, that_loops_for_ever_gets_no_more_of_a_processor) {
  const auto used_by_children = [] {
    rusage all{};
    ::getrusage(RUSAGE_CHILDREN, &all);
    return std::chrono::seconds(all.ru_utime.tv_sec) + std::chrono::microseconds(all.ru_utime.tv_usec);
  };
  PluginProcess process(plugin("hangs"));
  const auto before = used_by_children();
  EXPECT_EQ(call_with(process, -1, 1000ms).end, End::hung);
  EXPECT_EQ(children(), 0);
  EXPECT_LT(used_by_children() - before, 3s);
}

TEST(Kernel, crashes_and_is_loaded_again) {
  PluginProcess process(plugin("crashes"));
  const std::vector<std::string> expected{"it used a null pointer (address 0x10)",
                                          "the kernel died of SIGABRT (Aborted): abort() was called",
                                          "the kernel died of SIGFPE (Floating point exception), which was sent to it",
                                          "its stack is full",
                                          "outside of all tensors (address 0x10000)",
                                          "the kernel died of SIGKILL (Killed), which attest did not send",
#ifdef __x86_64__
                                          "the kernel died of SIGILL (Illegal instruction)",
                                          "an address that no memory can have"
#endif
  };
  for (std::size_t how = 1; how <= expected.size(); ++how) {
    const Response response = call_with(process, static_cast<float>(how));
    EXPECT_EQ(response.end, End::crashed);
    EXPECT_CONTAINS(response.message, expected[how - 1]);
    EXPECT_TRUE(response.violations.empty()) << only(response.violations);
    const Response after = call_with(process, 0);
    EXPECT_EQ(after.end, End::finished) << after.message;
    EXPECT_TRUE(after.violations.empty()) << only(after.violations);
  }
}

TEST(Kernel, exits) {
  PluginProcess process(plugin("exits_zero"));
  const Response response = call_with(process, -1);
  EXPECT_EQ(response.end, End::crashed);
  EXPECT_EQ(response.message, "the kernel ended the process with exit status 0");
  EXPECT_EQ(call_with(process, 1).end, End::finished);
}

TEST(Kernel, writes_after_it_returned) {
  PluginProcess process(plugin("late_write"));
  const Response first = call_with(process, 5);
  ASSERT_EQ(first.end, End::finished) << first.message;
  EXPECT_EQ(from_bytes<float>(first.outputs.at(0)), std::vector<float>{5});
  std::this_thread::sleep_for(200ms);
  const Response second = call_with(process, 0);
  EXPECT_EQ(second.end, End::finished) << second.message;
  EXPECT_EQ(from_bytes<float>(second.outputs.at(0)), std::vector<float>{0});
  EXPECT_CONTAINS(only(second.violations), "between this call and the one before: the kernel, after it had returned,");
#ifdef __x86_64__
  EXPECT_CONTAINS(only(second.violations), "it wrote to output 'o' [1] float32 at element (0)");
#endif
  EXPECT_TRUE(call_with(process, 0).violations.empty());
}

TEST(Kernel, writes_after_its_last_call) {
  PluginProcess process(plugin("late_write"));
  ASSERT_EQ(call_with(process, 5).end, End::finished);
  EXPECT_CONTAINS(only(process.settle(200ms)), "after the last call: the kernel, after it had returned,");
  EXPECT_TRUE(process.settle(0ms).empty());
}

TEST(Kernel, meddles_with_the_socket) {
  PluginProcess process(plugin("writes_to_socket"));
  Response response = call_with(process, -1);
  EXPECT_EQ(response.end, End::crashed);
  EXPECT_CONTAINS(response.message, "wrote to attest's socket");
  response = call_with(process, 1);
  EXPECT_EQ(response.end, End::crashed) << response.message;
  response = call_with(process, 0);
  EXPECT_EQ(response.end, End::finished) << response.message;
}

TEST(Kernel, forks) {
  PluginProcess process(plugin("forks"));
  for (int i = 0; i < 20; ++i) {
    const Response response = process.call(0, copy_request({3}));
    ASSERT_EQ(response.end, End::finished) << response.message;
    EXPECT_TRUE(response.violations.empty()) << only(response.violations);
  }
}

/// Calls the kernel of that form in unit/plugins/cuda.c on the driver in unit/plugins/cuda_driver.c.
struct OnDevice : ::testing::Test {
  void SetUp() override { ::setenv("ATTEST_CUDA_DRIVER", plugin("cuda_driver").c_str(), 1); }
  void TearDown() override {
    ::unsetenv("ATTEST_CUDA_DRIVER");
    ::unsetenv("CUDA_VISIBLE_DEVICES");
  }

  Response call(const std::string& form, const CallOptions& options = {}) {
    if (!process) process.emplace(plugin("cuda"));
    const auto& kernels = process->kernels();
    const auto at =
        std::find_if(kernels.begin(), kernels.end(), [&](const KernelInfo& kernel) { return kernel.form == form; });
    return process->call(static_cast<std::size_t>(at - kernels.begin()), copy_request({3}), options);
  }
  std::string violation(const std::string& form, const CallOptions& options = {}) {
    const Response response = call(form, options);
    EXPECT_EQ(response.end, End::finished) << response.message;
    return only(response.violations);
  }

  std::optional<PluginProcess> process;
};

TEST_F(OnDevice, a_right_kernel_gets_and_gives_everything) {
  for (int i = 0; i < 100; ++i)  // what is not freed is missing soon
    for (const auto& options : {CallOptions{}, at_start(), aligned(256)}) {
      const Response response = call("copied", options);
      ASSERT_EQ(response.end, End::finished) << response.message;
      EXPECT_TRUE(response.violations.empty()) << only(response.violations);
      EXPECT_EQ(from_bytes<float>(response.outputs.at(0)), numbers(3));
    }
  const Response response = call("facts", aligned(4096));
  EXPECT_EQ(response.end, End::finished) << response.message;
  EXPECT_EQ(from_bytes<float>(response.outputs.at(0)), numbers(3));
}

TEST_F(OnDevice, a_second_thread_has_the_context_and_the_stream) {
  CallOptions options = aligned(4096);
  options.second_thread = true;
  const Response response = call("facts", options);
  EXPECT_EQ(response.end, End::finished) << response.message;
  EXPECT_TRUE(response.violations.empty()) << only(response.violations);
  EXPECT_EQ(from_bytes<float>(response.outputs.at(0)), numbers(3));
}

TEST_F(OnDevice, writes_outside_of_a_tensor_are_found) {
  for (const auto& options : {CallOptions{}, at_start()}) {
    EXPECT_EQ(violation("past_end", options),
              "wrote past the end of output 'o' [3] float32: 4 bytes changed, the nearest 1 byte past the end");
    EXPECT_EQ(violation("row_past_end", options),
              "wrote past the end of output 'o' [3] float32: 4 bytes changed, the nearest 32765 bytes past the end");
    EXPECT_EQ(violation("before_start", options),
              "wrote before the start of output 'o' [3] float32: 4 bytes changed, the nearest 1 byte before the start");
    EXPECT_EQ(violation("past_input", options),
              "wrote past the end of input 'x' [3] float32: 4 bytes changed, the nearest 1 byte past the end");
    EXPECT_EQ(violation("workspace_end", options),
              "wrote past the end of the workspace of 100 bytes: 1 byte changed, the nearest 1 byte past the end");
  }
}

TEST_F(OnDevice, a_changed_input_is_found) { EXPECT_EQ(violation("changed_input"), "changed input 'x' [3] float32"); }

TEST_F(OnDevice, what_is_not_written_keeps_the_poison) {
  CallOptions options;
  options.poison = 0x5a;
  EXPECT_EQ(call("nothing", options).outputs.at(0), std::vector<std::byte>(12, std::byte{0x5a}));
}

TEST_F(OnDevice, reads_past_the_end_give_poison) {
  for (const auto& options : {CallOptions{}, at_start()})
    EXPECT_TRUE(std::isnan(from_bytes<float>(call("reads_past_end", options).outputs.at(0))[0]));
}

TEST_F(OnDevice, an_error_on_the_device_is_a_crash_with_the_drivers_words) {
  for (int i = 0; i < 2; ++i) {
    const Response response = call("illegal");
    EXPECT_EQ(response.end, End::crashed);
    EXPECT_EQ(response.message,
              "the kernel died of an error on the device: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS, an illegal "
              "memory access was encountered");
    EXPECT_TRUE(response.outputs.empty());
    EXPECT_EQ(call("copied").end, End::finished) << "a fresh process has a working device";
  }
}

TEST_F(OnDevice, an_error_that_the_kernel_reports_is_no_crash) {
  Response response = call("refuses");
  EXPECT_EQ(response.end, End::refused);
  EXPECT_EQ(response.message, "the kernel returned 9: too much shared memory");
  response = call("returns_3");
  EXPECT_EQ(response.end, End::refused);
  EXPECT_EQ(response.message, "the kernel returned 3 without an error text");
  EXPECT_EQ(call("copied").end, End::finished);
}

TEST_F(OnDevice, is_not_available_without_a_driver_or_a_device) {
  ::setenv("ATTEST_CUDA_DRIVER", "/nowhere/libcuda.so", 1);
  for (int i = 0; i < 2; ++i) {
    const Response response = call("copied");
    EXPECT_EQ(response.end, End::unavailable);
    EXPECT_CONTAINS(response.message,
                    "the kernel needs a CUDA device: /nowhere/libcuda.so cannot be loaded (/nowhere/libcuda.so: cannot "
                    "open shared object file");
  }
  EXPECT_EQ(call("on_host").end, End::finished);
  process.reset();
  ::setenv("ATTEST_CUDA_DRIVER", plugin("good").c_str(), 1);
  EXPECT_EQ(call("copied").message, "the kernel needs a CUDA device: the CUDA driver has no cuInit");
  process.reset();
  SetUp();
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_EQ(call("copied").message,
            "the kernel needs a CUDA device: cuInit: CUDA_ERROR_NO_DEVICE, no CUDA-capable device is detected");
}

TEST(Process, fast_and_without_leaks) {
  const int before = open_descriptors();
  {
    PluginProcess process(plugin("good"));
    const Request request = copy_request({16, 16});
    process.call(0, request);
    const int during = open_descriptors();
    constexpr int calls = 200;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) ASSERT_EQ(process.call(0, request).end, End::finished);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    RecordProperty("milliseconds_per_call", std::to_string(took.count() / calls));
    std::printf("%.3f ms per call\n", took.count() / calls);
    EXPECT_LT(took.count() / calls, 5.0);  // for sanitizers and busy machines; usually it is far below 1 ms
    EXPECT_EQ(open_descriptors(), during);
    EXPECT_EQ(children(), 1);
  }
  {
    PluginProcess process(plugin("exits_zero"));
    for (int i = 0; i < 20; ++i) EXPECT_EQ(call_with(process, -1).end, End::crashed);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(children(), 0);
}

TEST(Process, several_at_once) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      PluginProcess process(plugin("good"));
      for (int i = 0; i < 100; ++i) ASSERT_EQ(process.call(0, copy_request({4, 4})).end, End::finished);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(children(), 0);
}

}  // namespace
}  // namespace attest::judge
