import { operation } from "../../app/operation.ts";
import { AppError, type ErrorDetail, fieldName, invalid } from "../../core/errors.ts";
import { readPrivateKey } from "../../core/pem.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import { findBanks } from "./banks.ts";
import { keyPlace, openConnector } from "./open_connector.ts";
import { Bank, ListEmandateBanks, MerchantConfig, UpdateEmandateConfig } from "./model.ts";
import * as queries from "./queries.ts";
import { toMerchantConfig, changeProblems, connectorProblems, emptiedProblems, mayRefresh } from "./rules.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** Finds the company's settings for the debit scheme, without its keys. */
export const getEmandateConfig = operation({
  name: "get_emandate_config",
  permission: "emandate:read",
  input: Nothing,
  output: MerchantConfig,
  run: async (ctx) => toMerchantConfig(await queries.findConfig(readTx(ctx)), ctx.config),
});

/**
 * Changes the given fields of the configuration; null clears one. The private key is encrypted before it is stored.
 * Errors: invalid (a key, certificate or URL that can't be used, FPX while something it needs is missing, a key
 * where the deployment can't encrypt it). Decisions 0090, 0091.
 */
export const updateEmandateConfig = operation({
  name: "update_emandate_config",
  permission: "emandate_config:write",
  input: UpdateEmandateConfig,
  output: MerchantConfig,
  async run(ctx, change) {
    refuse(changeProblems(change, ctx.config, ctx.now));
    const { private_key_pem: pem, holidays, ...plain } = change;
    if (pem && !ctx.secrets.can_seal) {
      throw invalid("/private_key_pem", "can't be stored: SECRETS_KEY is not set on the deployment");
    }
    return transaction(ctx, async (tx) => {
      const stored = await queries.findConfig(tx);
      const changed = {
        ...stored,
        ...plain,
        ...(holidays === undefined ? {} : { holidays: [...new Set(holidays)].toSorted() }),
        ...(pem === undefined
          ? {}
          : { private_key_sealed: pem && ctx.secrets.seal(normalised(pem), keyPlace(stored.company_id)) }),
        updated_at: iso(ctx.now),
      };
      refuse([
        ...connectorProblems(changed, ctx.config),
        ...((await queries.hasFpxMandates(tx)) ? emptiedProblems(stored, changed, ctx.config) : []),
      ]);
      await queries.saveConfig(tx, changed);
      const after = toMerchantConfig(changed, ctx.config);
      ctx.annotateAudit({ before: toMerchantConfig(stored, ctx.config), after });
      return after;
    });
  },
});

/** The key as PKCS #8, which every PEM reader accepts. */
function normalised(pem: string): string {
  return readPrivateKey(pem).read?.export({ type: "pkcs8", format: "pem" }).toString() ?? pem;
}

/** Errors: invalid; unlike with `invalidAll`, the message has every problem. */
function refuse(problems: ErrorDetail[]): void {
  if (problems.length === 0) return;
  const summary = problems.map(({ path, message }) => `${fieldName(path)} ${message}`).join("; ");
  throw new AppError("invalid", summary, { details: problems });
}

/**
 * Lists the scheme's banks, of one type where one is given: from its last list for the company, or, before the first,
 * all that are known, with `checked_at` null. The sandbox has test banks, too.
 */
export const listEmandateBanks = operation({
  name: "list_emandate_banks",
  permission: "emandate:read",
  input: ListEmandateBanks,
  output: listed(Bank),
  async run(ctx, { type }) {
    const { connector } = await queries.findConfig(readTx(ctx));
    const { banks, checked_at } = await findBanks(readTx(ctx), connector);
    const wanted = banks.filter((bank) => type === undefined || bank.type === type);
    return { data: wanted.map((bank) => ({ ...bank, checked_at })) };
  },
});

/**
 * Requests the scheme's bank list for a company with FPX, at most every few minutes; without a valid response the
 * stored list stays. Errors: conflict where FPX is not configured.
 */
export const refreshEmandateBanks = operation({
  name: "refresh_emandate_banks",
  permission: "emandate_config:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const stored = await queries.findConfig(readTx(ctx));
    if (!(await queries.worksWithFpx(readTx(ctx), stored))) return {};
    // Recorded before the call, so that a company whose calls fail does not call more often.
    const is_due = await transaction(ctx, async (tx) => {
      const asked_at = (await queries.findBankList(tx))?.asked_at;
      if (!mayRefresh(asked_at === undefined ? null : instant(asked_at), tx.now)) return false;
      await queries.recordListRequest(tx);
      return true;
    });
    if (!is_due) return {};
    const connector = await openConnector(ctx, stored, "fpx");
    const banks = await connector.listBanks(ctx.now);
    if (banks === null) {
      ctx.log.warn({ company_id: stored.company_id }, "the scheme's list of banks could not be read");
    } else await transaction(ctx, (tx) => queries.updateBankList(tx, banks));
    return {};
  },
});

/**
 * Re-encrypts the company's private key with the newest key of SECRETS_KEY, so that the older one can be removed.
 * Errors: conflict where none of the keys decrypts it. Decision 0090.
 */
export const resealEmandateKey = operation({
  name: "reseal_emandate_key",
  permission: "emandate_config:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  run: (ctx) =>
    transaction(ctx, async (tx) => {
      const { company_id, private_key_sealed } = await queries.findConfig(tx);
      const resealed = private_key_sealed && ctx.secrets.reseal(private_key_sealed, keyPlace(company_id));
      if (resealed) await queries.updateSealedKey(tx, resealed);
      return {};
    }),
});
