import { reservationTable } from "../../../src/entitlements/reservations/tables.ts";
import type { Service } from "../../support/harness.ts";
import type { LimitedCompany } from "../fixtures.ts";

/** What is left of the month's limit. */
export async function left(company: LimitedCompany, external: string) {
  const { used, reserved, remaining } = (await company.check(external)).body.data;
  return { used, reserved, remaining };
}

export async function reserve(
  company: LimitedCompany,
  external: string,
  units: number,
  more: object = {},
): Promise<string> {
  const { body } = await company.check(external, { units, reserve_s: 60, ...more });
  return body.data.reservation.id;
}

/** The ids of reservations on record. */
export async function listReserved({ deps: { store } }: Service): Promise<string[]> {
  const t = store.read.use(reservationTable);
  const found = await store.read.select({ id: t.reservation_id }).from(t);
  return found.map(({ id }) => id);
}
