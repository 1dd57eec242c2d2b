import { statfsSync } from "node:fs";
import { readConfig } from "../core/config.ts";
import { openDeps } from "../deps.ts";
import type { Command } from "./command.ts";

const PING_MS = 5_000;
/** As long as the hash it keys: a shorter one is easier to guess than to break. */
const SECRET_BYTES = 32;
const LOW_DISK_BYTES = 1024 ** 3;

interface Finding {
  ok: boolean;
  text: string;
}

export const doctor: Command = {
  name: "doctor",
  summary: "Check configuration, stores, migrations, disk and clock",
  help: `Usage: bun src/main.ts doctor

Prints one line for each check and exits with 1 when one fails. On the embedded usage store the server must be
stopped, since one process at a time may open it.`,
  options: {},
  async run() {
    const findings = await examine();
    for (const { ok, text } of findings) console.log(`${ok ? "ok  " : "FAIL"}  ${text}`);
    if (findings.some(({ ok }) => !ok)) throw new Error("Some checks failed");
  },
};

async function examine(): Promise<Finding[]> {
  const config = readConfig({ LOG_LEVEL: "warn", ...process.env });
  const findings: Finding[] = [{ ok: true, text: "configuration: every setting can be used" }];
  const deps = await openDeps(config);
  try {
    findings.push({
      ok: true,
      text: `transactional store: ${deps.store.dialect}, opened, migrations up to date`,
    });
    await deps.store.ping();
    await deps.usage.ping(PING_MS);
    findings.push({ ok: true, text: "usage store: opened, answers" });
  } finally {
    await deps.close();
  }
  findings.push(
    examineSecret(config.jwt_secret),
    examineDisk(config.data_dir),
    examineClock(),
    examineThreads(),
  );
  return findings;
}

function examineSecret(jwt_secret: string | null): Finding {
  if (jwt_secret === null) return { ok: true, text: "signing secret: made once, kept in the data directory" };
  const bytes = new TextEncoder().encode(jwt_secret).length;
  return {
    ok: bytes >= SECRET_BYTES,
    text: `signing secret: JWT_SECRET has ${bytes} bytes, ${SECRET_BYTES} or more are safe`,
  };
}

function examineDisk(data_dir: string): Finding {
  const { bavail, bsize } = statfsSync(data_dir);
  const free = bavail * bsize;
  return {
    ok: free > LOW_DISK_BYTES,
    text: `disk: ${(free / 1024 ** 3).toFixed(1)} GiB free in ${data_dir}`,
  };
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
