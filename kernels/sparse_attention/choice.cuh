// The blocks of keys that a position of Q chooses.
#pragma once

/// The block that a number of `choices` means; -1: none, because it is negative or behind the position.
__device__ inline int chosen_block(int number, int position) {
  return number > position / BLOCK_SIZE ? -1 : number;
}
