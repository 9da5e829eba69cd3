// SPDX-License-Identifier: MIT
#include "endpoint.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "death.hpp"
#include "messages.hpp"

namespace attest::judge {
namespace {

using protocol::Clock;
using protocol::Deadline;
using protocol::Json;
using protocol::Transfer;

/// How long a child whose socket is closed gets to finish dying.
constexpr std::chrono::milliseconds dying_limit{2000};
constexpr std::size_t device_slack =
    std::size_t{64} * 1024;  // on either side of a tensor, where there are no guard pages
constexpr std::size_t workspace_limit = std::size_t{4} << 30;

/// A whole number of a message. Throws Json::exception for anything else: JSON has numbers that no T is.
template <class T>
T whole(const Json& number) {
  const bool fits = number.is_number_unsigned()
                        ? std::in_range<T>(number.get<std::uint64_t>())
                        : number.is_number_integer() && std::in_range<T>(number.get<std::int64_t>());
  if (!fits) throw Json::out_of_range::create(406, "not a number of that type", &number);
  return number.get<T>();
}

/// Enters the result of a kernel that the child has run into the response. Throws Json::exception for a reply that the
/// child did not write.
void read_result(const Json& reply, const std::string& refusal, Response& response) {
  const int code = whole<int>(reply.at("code"));
  const auto thrown = reply.at("thrown").get<std::string>();
  const auto text = reply.at("error").get<std::string>();
  if (!refusal.empty()) {
    response.message = refusal;
  } else if (!thrown.empty()) {
    response.message = "the kernel " + thrown;
  } else if (code != 0) {
    response.message =
        "the kernel returned " + std::to_string(code) + (text.empty() ? " without an error text" : ": " + text);
  }
  if (!response.message.empty()) response.end = refusal.empty() ? Response::End::refused : Response::End::kernel_error;
}

}  // namespace

void Endpoint::reject(const std::string& problem) {
  child_.reset();
  throw InvalidCandidate(library_ + ": " + problem);
}

/// Starts a child that has the plugin loaded.
void Endpoint::start() {
  child_.reset();
  regions_before_.clear();
  memory_.reset_control();
  child_ = connect_(memory_.fd());
  read_table(receive_table());
}

/// The first message of a child: the plugin's table and the addresses that tensors can have.
Json Endpoint::receive_table() {
  Json table;
  const Transfer transfer =
      protocol::receive_message(child_->socket(), table, Deadline(child_->process(), protocol::load_limit));
  if (transfer == Transfer::timed_out) {
    child_->kill();
    reject("loading it took longer than " + std::to_string(protocol::load_limit.count()) + " s");
  }
  if (transfer != Transfer::done) reject(describe_death(child_->wait_or_kill(dying_limit), circumstances({})));
  if (table.contains("failed")) {
    child_.reset();
    throw WorkerFailure("worker process: " + table["failed"].dump());
  }
  if (const auto why = table.find("invalid"); why != table.end())
    reject(why->is_string() ? why->get<std::string>() : why->dump());
  return table;
}

void Endpoint::read_table(Json table) {
  constexpr const char* not_ours = "the library wrote to attest's socket while it was loaded";
  try {
    const Json& addresses = table.at("addresses");
    const auto begin = whole<std::uint64_t>(addresses.at("begin")), size = whole<std::uint64_t>(addresses.at("size"));
    if (size < protocol::least_addresses || begin > std::numeric_limits<std::uint64_t>::max() - size)
      throw std::invalid_argument("no addresses that a worker reserves");
    const std::size_t half = size / 2;
    fresh_ = {begin, half, 0};
    reused_ = {fresh_.begin + half, half, 0};
    table.erase("addresses");
    if (table_.is_null()) {
      name = table.at("name").get<std::string>();
      version = table.at("version").get<std::string>();
      kernels = kernels_of_table(table);
      table_ = std::move(table);
      return;
    }
  } catch (const Json::exception&) {
    reject(not_ours);
  } catch (const std::invalid_argument&) {
    reject(not_ours);
  }
  if (table != table_) reject("the library's table is not the one that it had at first");
}

Circumstances Endpoint::circumstances(const std::vector<Region>& regions) const {
  return {memory_.control(), regions, regions_before_, {fresh_.begin, fresh_.size + reused_.size, 0}};
}

AddressRange& Endpoint::addresses_of(const CallOptions& options) {
  return options.placement == Placement::start_at_guard ? reused_ : fresh_;
}

void Endpoint::poison(const Region& region, unsigned char byte) const {
  unsigned char* bytes = memory_.at(region.file);
  std::fill(bytes, bytes + region.mapped, byte);
}

/// Writes the regions into the shared memory as the kernel is to find them: an input with poison around it, anything
/// else full of it.
void Endpoint::write_inputs(const std::vector<Region>& regions, const std::vector<const View*>& inputs,
                            unsigned char poison_byte) const {
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const Region& region = regions[i];
    if (region.role != Role::input) {
      poison(region, poison_byte);
      continue;
    }
    unsigned char* bytes = memory_.at(region.file);
    std::fill_n(bytes, region.front, poison_byte);
    if (region.size != 0) std::memcpy(bytes + region.front, inputs[i]->buffer.data(), region.size);
    std::fill(bytes + region.front + region.size, bytes + region.mapped, poison_byte);
  }
}

/// Answers a kernel's request for a workspace: poisons one, or refuses one that is too large.
WorkspaceMessage Endpoint::grant_workspace(std::size_t size, const CallOptions& options, Layout& layout,
                                           Attempt& attempt) {
  WorkspaceMessage grant;
  if (size > workspace_limit) {
    attempt.refusal = "the kernel asked for a workspace of " + plural(size, "byte") + "; the limit is " +
                      std::to_string(workspace_limit);
    grant.refused = true;
  } else if (size != 0) {
    Region region = layout.workspace(size);
    memory_.grow(layout.file_end());
    poison(region, options.poison);
    region.address = addresses_of(options).take(region.mapped);
    grant.place = place_of(region);
    grant.first = region.front;
    attempt.regions.push_back(std::move(region));
  }
  return grant;
}

/// Sends the call and receives the reply, granting a workspace in between when the kernel asks for one.
Endpoint::Attempt Endpoint::attempt(std::size_t kernel, const Request& request, const std::vector<const View*>& inputs,
                                    const CallOptions& options, Layout& layout, const std::vector<Region>& tensors) {
  ++calls_;
  reused_.used = 0;
  Attempt attempt;
  attempt.regions = tensors;
  for (Region& region : attempt.regions) region.address = addresses_of(options).take(region.mapped);
  write_inputs(attempt.regions, inputs, options.poison);

  const Deadline deadline(child_->process(), options.time_limit);
  const auto exchange = [&](const auto& message) {
    attempt.transfer = protocol::send_bytes(child_->socket(), bytes_of(message), deadline);
    if (attempt.transfer == Transfer::done)
      attempt.transfer = protocol::receive_message(child_->socket(), attempt.reply, deadline);
  };
  exchange(call_message(calls_, kernel, request, attempt.regions, options.second_thread));
  const Json& reply = attempt.reply;
  if (attempt.transfer != Transfer::done || !reply.contains("workspace")) return attempt;
  const auto call = reply.find("call");
  if (call == reply.end() || *call != calls_ || !reply["workspace"].is_number_unsigned()) {
    attempt.transfer = Transfer::malformed;
    return attempt;
  }
  exchange(grant_workspace(reply["workspace"].get<std::size_t>(), options, layout, attempt));
  return attempt;
}

/// Enters the child's reply into the response; false when there is none that the child wrote.
bool Endpoint::read_reply(const Attempt& attempt, Response& response) {
  const Json& reply = attempt.reply;
  if (attempt.transfer != Transfer::done || reply.contains("failed")) return false;
  try {
    if (whole<std::uint64_t>(reply.at("call")) != calls_) return false;
    const bool died = reply.contains("died");
    if (!died && !reply.contains("unavailable")) {
      read_result(reply, attempt.refusal, response);
      return true;
    }
    response.end = died ? Response::End::crashed : Response::End::unavailable;
    response.message = died ? "the kernel died of an error on the device: " + reply["died"].get<std::string>()
                            : "the kernel needs a CUDA device: " + reply["unavailable"].get<std::string>();
    // After either of these nothing works on the device in that process.
    child_->kill();
    child_.reset();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

/// Enters into the response why the child gave no reply, and ends it.
void Endpoint::read_failure(const Attempt& attempt, const CallOptions& options, Response& response) {
  const std::string who = culprit(memory_.control().phase.load());
  switch (attempt.transfer) {
    case Transfer::timed_out:
      response.end = Response::End::hung;
      response.message = who + " did not return within " + std::to_string(options.time_limit.count()) + " ms";
      child_->kill();
      break;
    case Transfer::closed:
      response.end = Response::End::crashed;
      response.message = describe_death(child_->wait_or_kill(dying_limit), circumstances(attempt.regions));
      break;
    case Transfer::done:
      if (attempt.reply.contains("failed")) {
        child_.reset();
        throw WorkerFailure("worker process: " + attempt.reply["failed"].dump());
      }
      [[fallthrough]];
    case Transfer::malformed:
      response.end = Response::End::crashed;
      response.message = who + " wrote to attest's socket";
      child_->kill();
      break;
  }
  child_.reset();
}

/// Copies the outputs out of the shared memory, and adds a violation for each change of memory that is not the
/// kernel's own.
void Endpoint::inspect(const std::vector<Region>& regions, const std::vector<const View*>& inputs,
                       unsigned char poison_byte, Response& response) const {
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const Region& region = regions[i];
    const unsigned char* bytes = memory_.at(region.file);
    const auto* first = reinterpret_cast<const std::byte*>(bytes) + region.front;
    if (region.role == Role::output && response.end == Response::End::finished)
      response.outputs.emplace_back(first, first + region.size);
    // The page protection already keeps a kernel from this, unless it changes the protection.
    if (region.role == Role::input && region.size > 0 && std::memcmp(first, inputs[i]->buffer.data(), region.size) != 0)
      response.violations.push_back("changed " + region.text());
    check_slack(region, bytes, poison_byte, response.violations);
  }
}

/// Adds a violation when the child has died although no call runs: a thread of the call before went on. A SIGKILL is
/// not held against the plugin.
void Endpoint::report_death_between_calls(Response& response, const char* when) {
  if (!child_ || !child_->closed_or_sending()) return;
  const auto status = child_->wait_or_kill(dying_limit);
  if (memory_.control().recorded.load() != 0 || !status || !WIFSIGNALED(*status) || WTERMSIG(*status) != SIGKILL)
    response.violations.push_back(when + describe_death(status, circumstances(regions_before_)));
  child_.reset();
}

Response Endpoint::call(std::size_t kernel, const Request& request, const CallOptions& options) {
  Response response;
  const std::size_t slack = kernels[kernel].device == "cpu" ? 0 : device_slack;
  Layout layout(options, slack);
  std::vector<Region> tensors;
  std::vector<View> own;
  own.reserve(request.inputs.size());  // they stay where they are
  std::vector<const View*> inputs;
  for (const InputTensor& tensor : request.inputs) {
    inputs.push_back(tensor.view
                         ? &*tensor.view
                         : &own.emplace_back(laid_out(tensor, options.memory, inputs.size(), options.alignment)));
    tensors.push_back(layout.input(tensor, *inputs.back()));
  }
  for (const TensorSpec& tensor : request.outputs) tensors.push_back(layout.output(tensor));
  memory_.grow(layout.file_end());

  constexpr const char* between = "between this call and the one before: ";
  report_death_between_calls(response, between);
  const auto try_once = [&] {
    if (!child_) start();
    Layout with_workspace = layout;
    return attempt(kernel, request, inputs, options, with_workspace, tensors);
  };
  Attempt made;
  try {
    made = try_once();
    // A child that was dead before it began the call gets a successor, once.
    if (replaceable_ && made.transfer == Transfer::closed && memory_.control().call.load() != calls_) {
      report_death_between_calls(response, between);
      child_.reset();  // it may live where the connection alone was lost: its answer would be taken for the next one
      made = try_once();
    }
  } catch (const InvalidCandidate& problem) {
    response.end = Response::End::crashed;
    response.message = std::string("a fresh process could not load the library: ") + problem.what();
    return response;
  }
  if (!read_reply(made, response)) read_failure(made, options, response);
  inspect(made.regions, inputs, options.poison, response);
  regions_before_ = std::move(made.regions);
  report_death_between_calls(response, "right after this call: ");
  return response;
}

}  // namespace attest::judge
