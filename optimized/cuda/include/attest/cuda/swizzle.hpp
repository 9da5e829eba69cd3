// SPDX-License-Identifier: MIT
#pragma once

/// The swizzle of 128 bytes, in which Hopper's bulk copies and products of warpgroups may lay out a tile whose rows
/// have 128 bytes: bits 4 to 6 of an address, the place of 16 bytes in their row, become their exclusive or with bits 7
/// to 9, the row's number modulo 8 [PTX ISA, "Swizzling modes"]. The 16 bytes of one column then lie in all the banks,
/// for any 8 rows.

namespace attest::cuda {

/// The device takes the bits from the address in shared memory, not from the place in the tile: a tile begins at a
/// multiple of this. Dynamic shared memory does, and DynamicShared::align() goes on to the next multiple.
inline constexpr unsigned kSharedAlignment = 1024;

/// Where the byte at this address lies; or the byte so many bytes into an aligned tile.
__host__ __device__ constexpr unsigned swizzled_128(unsigned address) { return address ^ (address >> 3 & 0x70); }

}  // namespace attest::cuda
