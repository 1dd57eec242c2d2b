import { iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { schemeBanks } from "../scheme/banks.ts";
import { sandbox } from "../scheme/sandbox.ts";
import { type BankList, findBankList } from "./queries.ts";
import type { ConnectorName } from "../scheme/connector.ts";

/** The banks of a connector; `checked_at` is null, and all known ones count as online, until the scheme has said. */
export async function findBanks(
  tx: ReadTx,
  connector: ConnectorName,
): Promise<Pick<BankList, "banks" | "checked_at">> {
  if (connector === "sandbox") {
    return { banks: (await sandbox.listBanks(tx.now)) ?? [], checked_at: iso(tx.now) };
  }
  const list = await findBankList(tx);
  if (list?.checked_at) return list;
  const banks = schemeBanks({ with_tests: false });
  return { banks: banks.map((bank) => ({ ...bank, status: "online" as const })), checked_at: null };
}
