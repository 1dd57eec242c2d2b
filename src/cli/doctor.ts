import { statfsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Deps } from "../app/deps.ts";
import { call } from "../app/operation.ts";
import { type Config, readConfig } from "../core/config.ts";
import { LIMITS } from "../usage/limits.ts";
import { AppError } from "../core/errors.ts";
import { readPrivateKey } from "../core/pem.ts";
import { openDeps } from "../server/open_deps.ts";
import { listCompanies } from "../billing/companies/service.ts";
import { countHolds } from "../emandate/holds/queries.ts";
import { checkFiles } from "../loans/documents/file_check.ts";
import { acceptUsage } from "../usage/store_link/service.ts";
import { describeSums } from "../usage/consistency_check.ts";
import { type Command, commandContext, operatorContext } from "./command.ts";
import { countSealed } from "./count_sealed_secrets.ts";

const PING_MS = 5_000;
const LOW_DISK_BYTES = 1024 ** 3;

interface Finding {
  ok: boolean;
  text: string;
}

export const doctor: Command = {
  name: "doctor",
  summary: "Check configuration, stores, migrations, documents, disk and clock",
  help: `Usage: bun src/main.ts doctor [--rebuild-sums] [--read-documents] [--accept-usage]

Prints one line for each check and exits with 1 when one fails. Beside a running server it leaves the usage
store to it, which checks it every night.

  --rebuild-sums    makes the sums of usage by hour anew from the events first
  --read-documents  reads the files of all loan documents, instead of looking at their sizes
  --accept-usage    goes on with a usage store that starts refuse because it is another one than the database's, or
                    because one of them is older than the other: for when what belongs together is lost. Usage that
                    is missing is in no later bill; keys and numbers that were used are not given again`,
  operands: 0,
  options: {
    "rebuild-sums": { type: "boolean" },
    "read-documents": { type: "boolean" },
    "accept-usage": { type: "boolean" },
  },
  async run({ values }) {
    const findings = await examine({
      rebuild_sums: values["rebuild-sums"] === true,
      read_documents: values["read-documents"] === true,
      accept_usage: values["accept-usage"] === true,
    });
    for (const { ok, text } of findings) console.log(`${ok ? "ok  " : "FAIL"}  ${text}`);
    if (findings.some(({ ok }) => !ok)) throw new Error("Some checks failed");
  },
};

interface Question {
  rebuild_sums: boolean;
  read_documents: boolean;
  accept_usage: boolean;
}

async function examine({ rebuild_sums, read_documents, accept_usage }: Question): Promise<Finding[]> {
  const configured = await check("configuration", async () => {
    readConfig(process.env);
    return "every setting can be used";
  });
  if (!configured.ok) return [configured];
  const config = readConfig({ LOG_LEVEL: "warn", ...process.env });
  return [
    configured,
    await check("transactional store", () => examineStore(config)),
    await check("usage store", () => examineUsage(config, { rebuild_sums, accept_usage })),
    await check("loan documents", () => examineDocuments(config, read_documents)),
    examineSecret(config),
    await check("secrets in the database", () => examineSealing(config)),
    await check("FPX", () => examineFpx(config)),
    await check("debits", () => examineHolds(config)),
    examineDisk(config.data_dir),
    examineFolder(config.data_dir),
    examineClock(),
    examineThreads(),
  ];
}

/** One line of the report, whatever becomes of the check. */
async function check(name: string, look: () => Promise<string>): Promise<Finding> {
  try {
    return { ok: true, text: `${name}: ${await look()}` };
  } catch (error) {
    return { ok: false, text: `${name}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

async function examineStore(config: Config): Promise<string> {
  const deps = await openDeps(config, { without_usage: true });
  try {
    await deps.store.ping();
    return `${deps.store.dialect}, answers, migrations up to date`;
  } finally {
    await deps.close();
  }
}

async function examineDocuments(config: Config, reads_bytes: boolean): Promise<string> {
  const deps = await openDeps(config, { without_usage: true });
  try {
    const found = await checkFiles(deps.store.read, deps.documents, { reads_bytes });
    const { documents, broken, problems } = found;
    if (broken > 0) throw new Error(`${broken} of ${documents} have no good file: ${problems.join("; ")}`);
    return `${documents}, each with its file${reads_bytes ? " and its bytes" : ""}`;
  } finally {
    await deps.close();
  }
}

async function examineUsage(
  config: Config,
  { rebuild_sums, accept_usage }: Pick<Question, "rebuild_sums" | "accept_usage">,
): Promise<string> {
  try {
    const deps = await openDeps(config, { accept_usage });
    try {
      const accepted = await reportAccepted(deps);
      if (rebuild_sums) await deps.usage.rebuildSums();
      await deps.usage.ping(PING_MS);
      const sums = await deps.usage.check(null, LIMITS.usage_check_ms);
      if (sums.different > 0) throw new Error(describeSums(sums));
      return `answers, ${describeSums(sums)}${accepted}`;
    } finally {
      await deps.close();
    }
  } catch (error) {
    if (error instanceof AppError && error.kind === "unavailable")
      return "in use by another process: a running server";
    throw error;
  }
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

async function examineSealing(config: Config): Promise<string> {
  const deps = await openDeps(config, { without_usage: true });
  try {
    const { sealed, opened } = await countSealed(deps);
    if (opened < sealed) {
      const way_out = "put the key that sealed the others back, or set them anew";
      throw new Error(`SECRETS_KEY opens ${opened} of ${sealed}; ${way_out}`);
    }
    return config.secrets_keys === null
      ? "SECRETS_KEY is not set: webhook secrets lie open in the database"
      : "sealed with SECRETS_KEY";
  } finally {
    await deps.close();
  }
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

async function examineHolds(config: Config): Promise<string> {
  const deps = await openDeps(config, { without_usage: true });
  try {
    const held = await countHolds(deps.store.read);
    return held === 0 ? "none are held" : `HELD for ${held} companies; \`collections resume\` releases them`;
  } finally {
    await deps.close();
  }
}

function examineDisk(data_dir: string): Finding {
  const { bavail, bsize } = statfsSync(data_dir);
  const free = bavail * bsize;
  return {
    ok: free > LOW_DISK_BYTES,
    text: `disk: ${(free / 1024 ** 3).toFixed(1)} GiB free in ${data_dir}`,
  };
}

/** Its files are private in any case; their names and sizes are not. */
function examineFolder(data_dir: string): Finding {
  const is_private = (statSync(data_dir).mode & 0o077) === 0;
  const advice = is_private ? "nobody else may look into it" : "others may list it: chmod 700 is better";
  return { ok: true, text: `data directory: ${advice}` };
}

function examineClock(): Finding {
  const now = Temporal.Now.instant().toString({ smallestUnit: "second" });
  // A machine whose clock was never set stands at its epoch; bills would be cut in the wrong years.
  return { ok: now > "2026-01-01", text: `clock: ${now}` };
}

function examineThreads(): Finding {
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  return {
    ok: true,
    text: `threads: UV_THREADPOOL_SIZE is ${threads}${threads < 16 ? "; 16 keeps long usage queries from delaying others" : ""}`,
  };
}
