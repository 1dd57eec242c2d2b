import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError, type ErrorDetail, invalid, fieldName } from "../../core/errors.ts";
import { readPrivateKey } from "../../core/pem.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import { findBanks } from "./banks.ts";
import { keyPlace, openConnector } from "./open_connector.ts";
import { Bank, ListEmandateBanks, MerchantConfig, UpdateEmandateConfig } from "./model.ts";
import * as queries from "./queries.ts";
import {
  toMerchantConfig,
  toBanks,
  changeProblems,
  connectorProblems,
  emptiedProblems,
  mayRefresh,
} from "./rules.ts";
import { readTx, transaction } from "../../app/transaction.ts";

/** Answers how the company works with the debit scheme, never its keys. */
export const getEmandateConfig = operation({
  name: "get_emandate_config",
  permission: "emandate:read",
  input: Nothing,
  output: MerchantConfig,
  run: async (ctx) => toMerchantConfig(await queries.findConfig(readTx(ctx)), ctx.config),
});

/**
 * Changes what is named of the configuration; null empties a field. The private key is sealed before it is
 * stored. Errors: invalid (a key, certificate or URL that can't be used, FPX while something it needs is missing,
 * a key where the deployment can keep none). Decisions 0090, 0091.
 */
export const updateEmandateConfig = operation({
  name: "update_emandate_config",
  permission: "emandate_config:write",
  input: UpdateEmandateConfig,
  output: MerchantConfig,
  async run(ctx, change) {
    const scope = scopeOf(ctx.actor);
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
          : { private_key_sealed: pem && ctx.secrets.seal(normalised(pem), keyPlace(scope.company_id)) }),
        updated_at: iso(ctx.now),
      };
      refuse([
        ...connectorProblems(changed, ctx.config),
        ...((await queries.hasFpxMandates(tx)) ? emptiedProblems(stored, changed, ctx.config) : []),
      ]);
      await queries.saveConfig(tx.q, ctx.now, changed);
      const after = toMerchantConfig(changed, ctx.config);
      ctx.annotateAudit({ before: toMerchantConfig(stored, ctx.config), after });
      return after;
    });
  },
});

/** The key as every reader of PEM takes it, whatever it was wrapped in. */
function normalised(pem: string): string {
  return readPrivateKey(pem).read?.export({ type: "pkcs8", format: "pem" }).toString() ?? pem;
}

/** Errors: invalid, with every problem. */
function refuse(problems: ErrorDetail[]): void {
  if (problems.length === 0) return;
  const summary = problems.map(({ path, message }) => `${fieldName(path)} ${message}`).join("; ");
  throw new AppError("invalid", summary, { details: problems });
}

/**
 * Lists the scheme's banks, of one type where one is asked for: as the scheme last told the company, or, until it
 * has, all that are known, with `checked_at` null. The sandbox has test banks, too.
 */
export const listEmandateBanks = operation({
  name: "list_emandate_banks",
  permission: "emandate:read",
  input: ListEmandateBanks,
  output: listed(Bank),
  async run(ctx, { type }) {
    const { connector } = await queries.findConfig(readTx(ctx));
    const { banks, checked_at } = await findBanks(readTx(ctx), connector, ctx.now);
    return { data: toBanks(banks, checked_at, type) };
  },
});

/**
 * Asks the scheme which banks are online, for a company that works with FPX or has mandates that do, at most every so many minutes; the
 * list stays as it was when there is no good answer. Errors: conflict where FPX is not configured.
 */
export const refreshEmandateBanks = operation({
  name: "refresh_emandate_banks",
  permission: "emandate_config:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const { store, actor, now, log } = ctx;
    const scope = scopeOf(actor);
    const stored = await queries.findConfig({ q: store.read, scope, now });
    if (!(await queries.worksWithFpx({ q: store.read, scope, now }, stored))) return {};
    // Before it is asked, so that one whose calls fail is not asked more often.
    const may_ask = await store.tx(async (q) => {
      const asked_at = (await queries.findBankList({ q, scope, now }))?.asked_at;
      if (!mayRefresh(asked_at === undefined ? null : instant(asked_at), now)) return false;
      await queries.recordListRequest({ q, scope, now });
      return true;
    });
    if (!may_ask) return {};
    const connector = await openConnector(ctx, stored, "fpx");
    const banks = await connector.listBanks(now);
    if (banks === null)
      log.warn({ company_id: scope.company_id }, "the scheme's list of banks could not be read");
    else await store.tx((q) => queries.updateBankList({ q, scope, now }, banks));
    return {};
  },
});

/**
 * Seals the company's private key with the newest of the keys that SECRETS_KEY names, so that the older one can be
 * taken away. Errors: conflict where none of them opens it. Decision 0090.
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
      if (resealed) await queries.updateSealedKey({ ...tx, scope: { company_id } }, resealed);
      return {};
    }),
});
