import type { PasswordCost } from "../../src/core/passwords.ts";

/** The least that Argon2id takes. */
export const CHEAP: PasswordCost = { memoryCost: 8, timeCost: 1 };
