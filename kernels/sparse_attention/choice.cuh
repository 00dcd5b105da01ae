// The blocks of keys that a position of Q chooses.
#pragma once

// CHOICE 0: the numbers of blocks are given; one that is negative, or of a block behind the position, is none. Others
// draw blocks, to tune with: 1 spreads them over all blocks up to the position's own; 2 always has the first block, the
// position's own and the one before it, as NSA does.
#ifndef CHOICE
#define CHOICE 0
#endif

/// A number that looks random.
__device__ inline unsigned mixed(unsigned number, unsigned position, unsigned slot) {
  unsigned bits = number * 0x9e3779b1u ^ position * 0x85ebca77u ^ slot * 0xc2b2ae3du;
  bits = (bits ^ bits >> 15) * 0x2c1b3c6du;
  bits = (bits ^ bits >> 12) * 0x297a2d39u;
  return bits ^ bits >> 15;
}

/// The slot-th of `count` blocks among `blocks`, all different; -1: none.
__device__ inline int spread_choice(unsigned number, int slot, int count, int blocks) {
  if (blocks <= count) return slot < blocks ? slot : -1;
  const int begin = slot * blocks / count, end = (slot + 1) * blocks / count;
  return begin + static_cast<int>(number % static_cast<unsigned>(end - begin));
}

/// The block in a slot of the `count` ones of a position; -1: none. number: what `choices` has there.
__device__ inline int chosen_block(int number, int slot, int count, int position) {
  const int own = position / BLOCK_SIZE;
#if CHOICE == 0
  return number > own ? -1 : number;
#elif CHOICE == 1
  return spread_choice(mixed(number, position, slot), slot, count, own + 1);
#else
  if (slot == 0) return 0;
  if (slot < 3) return own - slot + 1 > 0 ? own - slot + 1 : -1;
  const int block = spread_choice(mixed(number, position, slot), slot - 3, count - 3, own - 2);
  return block < 0 ? -1 : block + 1;
#endif
}
