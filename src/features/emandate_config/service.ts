import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError, type ErrorDetail, invalid, placeOf } from "../../core/errors.ts";
import { readPrivateKey } from "../../core/pem.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import { findBanks } from "./banks.ts";
import { keyPlace, openConnector } from "./connect.ts";
import { Bank, ListEmandateBanks, MerchantConfig, UpdateEmandateConfig } from "./model.ts";
import * as queries from "./queries.ts";
import {
  answered,
  answeredBanks,
  changeProblems,
  connectorProblems,
  emptiedProblems,
  mayRefresh,
} from "./rules.ts";

/** Answers how the company works with the debit scheme, never its keys. */
export const getEmandateConfig = operation({
  name: "get_emandate_config",
  permission: "emandate:read",
  input: Nothing,
  output: MerchantConfig,
  run: async ({ store, actor, config }) =>
    answered(await queries.findConfig(store.read, scopeOf(actor)), config),
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
  async run({ store, actor, now, config, secrets, note }, change) {
    const scope = scopeOf(actor);
    refuse(changeProblems(change, config, now));
    const { private_key_pem: pem, holidays, ...plain } = change;
    if (pem && !secrets.can_seal) {
      throw invalid("/private_key_pem", "can't be stored: SECRETS_KEY is not set on the deployment");
    }
    return store.tx(async (q) => {
      const stored = await queries.findConfig(q, scope);
      const changed = {
        ...stored,
        ...plain,
        ...(holidays === undefined ? {} : { holidays: [...new Set(holidays)].toSorted() }),
        ...(pem === undefined
          ? {}
          : { private_key_sealed: pem && secrets.seal(normalised(pem), keyPlace(scope.company_id)) }),
        updated_at: iso(now),
      };
      refuse([
        ...connectorProblems(changed, config),
        ...((await queries.hasFpxMandates(q, scope)) ? emptiedProblems(stored, changed, config) : []),
      ]);
      await queries.saveConfig(q, now, changed);
      const after = answered(changed, config);
      note({ before: answered(stored, config), after });
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
  const summary = problems.map(({ path, message }) => `${placeOf(path)} ${message}`).join("; ");
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
  async run({ store, actor, now }, { type }) {
    const scope = scopeOf(actor);
    const { connector } = await queries.findConfig(store.read, scope);
    const { banks, checked_at } = await findBanks(store.read, scope, connector, now);
    return { data: answeredBanks(banks, checked_at, type) };
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
    const stored = await queries.findConfig(store.read, scope);
    if (!(await queries.worksWithFpx(store.read, scope, stored))) return {};
    // Before it is asked, so that one whose calls fail is not asked more often.
    const may_ask = await store.tx(async (q) => {
      const asked_at = (await queries.findBankList(q, scope))?.asked_at;
      if (!mayRefresh(asked_at === undefined ? null : instant(asked_at), now)) return false;
      await queries.noteAsked(q, scope, now);
      return true;
    });
    if (!may_ask) return {};
    const connector = await openConnector(ctx, stored, "fpx");
    const banks = await connector.listBanks(now);
    if (banks === null)
      log.warn({ company_id: scope.company_id }, "the scheme's list of banks could not be read");
    else await store.tx((q) => queries.updateBankList(q, scope, now, banks));
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
  run: ({ store, actor, secrets }) =>
    store.tx(async (q) => {
      const { company_id, private_key_sealed } = await queries.findConfig(q, scopeOf(actor));
      const resealed = private_key_sealed && secrets.reseal(private_key_sealed, keyPlace(company_id));
      if (resealed) await queries.updateSealedKey(q, { company_id }, resealed);
      return {};
    }),
});
