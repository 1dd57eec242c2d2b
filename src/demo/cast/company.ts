import type { Role } from "../../core/access.ts";

/** The company of the demo. Whoever and whatever is in it is made up. */
export const COMPANY = { name: "Kenyalang AI", timezone: "Asia/Kuala_Lumpur", currency: "MYR" } as const;

const DOMAIN = "kenyalang.example";

/** Somebody who signs in. */
export interface Person {
  email: string;
  name: string;
  role: Role;
  /** The client of a client's user. */
  client?: string;
}

/** The company's people, the first of each role for the buttons of the sign-in page. */
export const STAFF = {
  admin: { email: `aisyah@${DOMAIN}`, name: "Aisyah Rahman", role: "admin" },
  manager: { email: `daniel@${DOMAIN}`, name: "Daniel Tan", role: "manager" },
  analyst: { email: `meiling@${DOMAIN}`, name: "Wong Mei Ling", role: "analyst" },
  loan_officer: { email: `rahul@${DOMAIN}`, name: "Rahul Menon", role: "loan_officer" },
  second_manager: { email: `suria@${DOMAIN}`, name: "Suria Abdullah", role: "manager" },
  second_loan_officer: { email: `joanna@${DOMAIN}`, name: "Joanna Lim", role: "loan_officer" },
} as const satisfies Record<string, Person>;
export type StaffName = keyof typeof STAFF;

/** Users of clients. */
export const CLIENT_USERS: readonly (Person & { client: string })[] = [
  { email: "nadia@tanjung.example", name: "Nadia Hassan", role: "client", client: "tanjung" },
  { email: "wei@tanjung.example", name: "Chong Wei", role: "client", client: "tanjung" },
  { email: "priya@straitsbank.example", name: "Priya Nair", role: "client", client: "straits" },
  { email: "farah@lazuli.example", name: "Farah Idris", role: "client", client: "lazuli" },
  { email: "adam@bayu.example", name: "Adam Lee", role: "client", client: "bayu" },
  { email: "hana@kancil.example", name: "Hana Yusof", role: "client", client: "kancil" },
];
