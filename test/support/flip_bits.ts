import type { Dice } from "./dice.ts";

/** A copy with one bit flipped. */
export function flipBit(bytes: Uint8Array, at: number, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(at) ^ (1 << bit), at);
  return copy;
}

/** A copy with one bit flipped anywhere, and where. */
export function flipAnywhere(bytes: Uint8Array, roll: Dice): { at: number; damaged: Buffer } {
  const at = roll(bytes.length);
  return { at, damaged: flipBit(bytes, at, roll(8)) };
}
