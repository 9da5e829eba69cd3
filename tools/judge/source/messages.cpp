// SPDX-License-Identifier: MIT
#include "messages.hpp"

#include <bit>
#include <string>
#include <utility>

#include "attest/dtype.hpp"

namespace attest::judge {

using protocol::Json;

Json place_message(const Region& region) {
  return {{"address", region.address}, {"size", region.mapped}, {"file", region.file}, {"front", region.front}};
}

Json call_message(std::uint64_t call, std::size_t kernel, const Request& request, const std::vector<Region>& regions,
                  bool second_thread) {
  Json tensors = Json::array();
  for (const Region& region : regions) {
    Json tensor = place_message(region);
    tensor["name"] = region.spec.name;
    tensor["dtype"] = static_cast<int>(region.spec.dtype);
    tensor["shape"] = region.spec.shape;
    tensor["strides"] = region.strides;
    tensor["data"] = region.front + region.data;
    tensor["input"] = region.role == Role::input;
    tensors.push_back(std::move(tensor));
  }
  Json parameters = Json::array();
  for (const ParameterValue& value : request.parameters)
    parameters.push_back({{"name", value.name},
                          {"given", value.given},
                          {"bits", std::bit_cast<std::uint64_t>(value.real)},  // JSON has no infinities
                          {"integer", value.integer},
                          {"text", value.text}});
  return {{"call", call},
          {"kernel", kernel},
          {"equation", request.equation},
          {"form", request.form},
          {"tensors", std::move(tensors)},
          {"parameters", std::move(parameters)},
          {"second_thread", second_thread}};
}

std::vector<KernelInfo> kernels_of_table(const Json& table) {
  std::vector<KernelInfo> kernels;
  for (const Json& row : table.at("kernels"))
    kernels.push_back({row.at("equation"), row.at("form"), row.at("reading"),
                       dtype_from(row.at("dtype").get<std::string>()), row.at("device"), row.at("layout"),
                       row.at("capabilities")});
  return kernels;
}

}  // namespace attest::judge
