import type { Role } from "../../core/access.ts";

/** Somebody as whom one signs in to the demo by a button: only documents of the demo have any. */
export interface DemoAccount {
  role: Role;
  name: string;
  email: string;
  password: string;
}
