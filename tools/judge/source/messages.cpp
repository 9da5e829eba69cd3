// SPDX-License-Identifier: MIT
#include "messages.hpp"

#include <string>

#include "attest/dtype.hpp"

namespace attest::judge {

using protocol::Json;

Place place_of(const Region& region) { return {region.address, region.mapped, region.file}; }

CallMessage call_message(std::uint64_t call, std::size_t kernel, const Request& request,
                         const std::vector<Region>& regions, bool second_thread) {
  CallMessage message{call, kernel, request.equation, request.form, {}, request.parameters, second_thread};
  for (const Region& region : regions)
    message.tensors.push_back({region.spec.name, region.spec.dtype, region.spec.shape, region.strides, place_of(region),
                               region.front + region.data, region.role == Role::input});
  return message;
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
