export { type Dice, dice, pick } from "../../src/demo/dice.ts";
