import { statfsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Deps } from "../app/deps.ts";
import { call } from "../app/operation.ts";
import { describeRanges, listRanges } from "../backup/log/ranges.ts";
import { openTarget } from "../backup/open_target.ts";
import { listCompanies } from "../billing/companies/service.ts";
import type { Config } from "../core/config.ts";
import { AppError } from "../core/errors.ts";
import { readPrivateKey } from "../core/pem.ts";
import { countHolds } from "../emandate/holds/queries.ts";
import { checkFiles } from "../loans/documents/file_check.ts";
import { describeSums } from "../usage/consistency_check.ts";
import { describeClock } from "../server/newest_record_queries.ts";
import { LIMITS } from "../usage/limits.ts";
import { listHeld, listStopped } from "../usage/retention/queries.ts";
import { clickHousePlace } from "../usage/store_link/link_rules.ts";
import { UsageInUseError } from "../usage/store_link/usage_lock.ts";
import { acceptUsage } from "../usage/store_link/service.ts";
import { commandContext, operatorContext } from "./command.ts";
import { countSealed } from "./count_sealed_secrets.ts";

// What doctor checks: in the process that has the stores open, or opening them for each check.

const PING_MS = 5_000;

/** One line of the report. */
export interface Finding {
  ok: boolean;
  text: string;
}

/** How checks get at the stores: the transactional one alone, or both. */
export interface Stores {
  useRecords<T>(work: (deps: Deps) => Promise<T>): Promise<T>;
  useAll<T>(work: (deps: Deps) => Promise<T>): Promise<T>;
}

/** What is done beside looking. */
export interface Question {
  rebuild_sums: boolean;
  read_documents: boolean;
}

/** Every check; one that fails keeps none of the others from being made. */
export async function examine(config: Config, stores: Stores, question: Question): Promise<Finding[]> {
  return [
    await check("transactional store", () => stores.useRecords(examineStore)),
    await check("usage store", () => examineUsage(config, stores, question)),
    ...(config.instance_url === null
      ? []
      : [await check("instances", () => stores.useRecords(examineInstances))]),
    await check("usage retention", () => stores.useRecords(examineRetention)),
    await check("loan documents", () =>
      stores.useRecords((deps) => examineDocuments(deps, question.read_documents)),
    ),
    ...(config.backup_log === null ? [] : [await check("log", () => examineLog(config))]),
    examineSecret(config),
    await check("secrets in the database", () => stores.useRecords(examineSealing)),
    await check("FPX", () => examineFpx(config)),
    await check("debits", () => stores.useRecords(examineHolds)),
    examineDisk(config),
    examineFolder(config.data_dir),
    await check("clock", () => stores.useRecords(examineClock)),
    examineThreads(),
  ];
}

/** One line of the report, whatever becomes of the check. */
export async function check(name: string, look: () => Promise<string>): Promise<Finding> {
  try {
    return { ok: true, text: `${name}: ${await look()}` };
  } catch (error) {
    return { ok: false, text: `${name}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

async function examineStore({ store }: Deps): Promise<string> {
  await store.ping();
  return `${store.dialect}, answers, migrations up to date`;
}

async function examineDocuments({ store, documents: files }: Deps, reads_bytes: boolean): Promise<string> {
  const found = await checkFiles(store.read, files, { reads_bytes }).catch((error: unknown) => {
    // The message for callers does not say what an operator needs to know.
    throw error instanceof AppError && error.cause instanceof Error ? error.cause : error;
  });
  const { documents, broken, problems } = found;
  if (broken > 0) throw new Error(`${broken} of ${documents} have no good file: ${problems.join("; ")}`);
  const to_move =
    files.is_bucket && found.files > 0
      ? `; \`job loan_documents\` moves ${found.files} of them from DATA_DIR`
      : "";
  return `${documents}, each with its file${reads_bytes ? " and its bytes" : ""}${to_move}`;
}

async function examineUsage(
  { usage_url }: Config,
  stores: Stores,
  { rebuild_sums }: Question,
): Promise<string> {
  try {
    return await stores.useAll(async (deps) => {
      const accepted = await reportAccepted(deps);
      if (rebuild_sums) await deps.usage.rebuildSums();
      await deps.usage.ping(PING_MS);
      const sums = await deps.usage.check(null, LIMITS.usage_check_ms);
      if (sums.different > 0) throw new Error(describeSums(sums));
      const place = usage_url === null ? "" : `${clickHousePlace(usage_url)} `;
      return `${place}answers, ${describeSums(sums)}${accepted}`;
    });
  } catch (error) {
    const is_in_use =
      error instanceof UsageInUseError ||
      (usage_url === null && error instanceof AppError && error.kind === "unavailable");
    if (is_in_use) return "in use by another process: a running server";
    throw error;
  }
}

/** Whether this instance reaches the others: what it does not store itself it passes on to them. */
async function examineInstances({ instances: { others } }: Deps): Promise<string> {
  if (others.length === 0) return "no other one lives";
  const problems = await Promise.all(
    others.map(async ({ url }) => {
      try {
        const { ok, status } = await fetch(`${url}/health`, { signal: AbortSignal.timeout(PING_MS) });
        return ok ? [] : [`${url} answers ${status}`];
      } catch (error) {
        return [`${url} does not answer: ${error instanceof Error ? error.message : String(error)}`];
      }
    }),
  );
  if (problems.flat().length > 0)
    throw new Error(`${problems.flat().join("; ")}; is it the INSTANCE_URL at which others reach it?`);
  return `${others.map(({ url }) => url).join(", ")} ${others.length === 1 ? "answers" : "answer"}`;
}

async function examineRetention({ config, store }: Deps): Promise<string> {
  const stopped = await listStopped(store.read);
  if (stopped.length > 0)
    throw new Error(
      stopped
        .map(({ company_id, problem }) => `company ${company_id}: nothing is removed: ${problem}`)
        .join("; "),
    );
  const { usage_retention_months: months } = config;
  if (months === null) return "off: events are kept for good";
  const held = await listHeld(store.read);
  const longer = held.map(({ company_id, problem }) => `; company ${company_id}: ${problem}`);
  return `events are kept for ${months} months${longer.join("")}`;
}

/** From when to when an instant can be restored. */
async function examineLog({ backup_url, backup_log }: Config): Promise<string> {
  const ranges = await listRanges(openTarget(backup_url ?? ""));
  const last = ranges
    .map(({ to }) => to)
    .toSorted()
    .at(-1);
  if (last === undefined) throw new Error("BACKUP_LOG is set and nothing is shipped");
  return `shipped every ${(backup_log ?? 0) / 1_000} s; any instant can be restored of ${describeRanges(ranges)}`;
}

/** Writes into every company's audit log that the usage store was accepted, where it was. */
async function reportAccepted(deps: Deps): Promise<string> {
  const { accepted_usage: problem } = deps;
  if (problem === null) return "";
  for (const { id } of await call(operatorContext(deps), listCompanies, {})) {
    await call(commandContext(deps, id), acceptUsage, { problem });
  }
  return `; accepted although ${problem}`;
}

async function examineSealing(deps: Deps): Promise<string> {
  const { sealed, opened } = await countSealed(deps);
  if (opened < sealed) {
    const way_out = "put the key that sealed the others back, or set them anew";
    throw new Error(`SECRETS_KEY opens ${opened} of ${sealed}; ${way_out}`);
  }
  return deps.config.secrets_keys === null
    ? "SECRETS_KEY is not set: webhook secrets lie open in the database"
    : "sealed with SECRETS_KEY";
}

/** One that is too short has stopped the check of the configuration. */
function examineSecret({ jwt_secret }: Config): Finding {
  const from = jwt_secret === null ? "made once, kept in the data directory" : "JWT_SECRET, long enough";
  return { ok: true, text: `signing secret: ${from}` };
}

async function examineFpx({
  fpx_url,
  fpx_private_key_file: file,
  fpx_private_key_sellers: sellers,
}: Config): Promise<string> {
  const { problem } = file === null ? {} : readPrivateKey(await readFile(file, "utf8"));
  if (problem !== undefined) throw new Error(`FPX_PRIVATE_KEY_FILE ${problem}`);
  const named = (sellers ?? []).map((seller) => `${seller.seller_id} of company ${seller.company_id}`);
  const keys = file === null ? "keys are the companies' own" : `with a key for ${named.join(", ")}`;
  return fpx_url === null ? "not set up, e-mandates work in the sandbox" : `${fpx_url}, ${keys}`;
}

async function examineHolds({ store }: Deps): Promise<string> {
  const held = await countHolds(store.read);
  return held === 0
    ? "none are held"
    : `HELD for ${held === 1 ? "1 company" : `${held} companies`}; \`collections resume\` releases them`;
}

function examineDisk({ data_dir, disk_reserve_bytes }: Config): Finding {
  const { bavail, bsize } = statfsSync(data_dir);
  const free = bavail * bsize;
  return {
    ok: free >= disk_reserve_bytes,
    text: `disk: ${(free / 1e9).toFixed(1)} GB free in ${data_dir}, DISK_RESERVE keeps ${disk_reserve_bytes / 1e9} GB`,
  };
}

/** Its files are private in any case; their names and sizes are not. */
function examineFolder(data_dir: string): Finding {
  const is_private = (statSync(data_dir).mode & 0o077) === 0;
  const advice = is_private ? "nobody else may look into it" : "others may list it: chmod 700 is better";
  return { ok: true, text: `data directory: ${advice}` };
}

async function examineClock({ store, guards }: Deps): Promise<string> {
  const now = Temporal.Now.instant().toString({ smallestUnit: "second" });
  // A machine whose clock was never set stands at its epoch; bills would be cut in the wrong years.
  if (now < "2026-01-01") throw new Error(`${now} can't be: set it`);
  const { problem } = guards.clock;
  if (problem !== null) throw new Error(problem);
  return describeClock(store);
}

function examineThreads(): Finding {
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  return {
    ok: true,
    text: `threads: UV_THREADPOOL_SIZE is ${threads}${threads < 16 ? "; 16 keeps long usage queries from delaying others" : ""}`,
  };
}
