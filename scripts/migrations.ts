// `bun run migrations NAME` writes the next migration of both dialects from the table definitions; with
// --check it writes nothing and fails when one is missing.
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

const DIALECTS = { sqlite: "sqlite", postgres: "postgresql" };

function generate(folder: string, dialect: string, out: string, name: string | undefined): void {
  const words = [
    "generate",
    "--dialect",
    dialect,
    "--schema",
    `src/server/schema.${folder}.ts`,
    "--out",
    out,
  ];
  const run = Bun.spawnSync([
    "bun",
    "x",
    "drizzle-kit",
    ...words,
    ...(name === undefined ? [] : ["--name", name]),
  ]);
  const printed = run.stdout.toString() + run.stderr.toString();
  if (run.exitCode !== 0) throw new Error(`drizzle-kit failed: ${printed}`);
  if (!/\d+ tables/.test(printed) || printed.includes("\n0 tables"))
    throw new Error(`No tables found: ${printed}`);
}

/** Whether the committed migrations of one dialect lead to the tables as they are defined now. */
function isCurrent(folder: string, dialect: string): boolean {
  const scratch = mkdtempSync(join(tmpdir(), "migrations-"));
  try {
    cpSync(join("data/migrations", folder), scratch, { recursive: true });
    const before = readdirSync(scratch).length;
    // drizzle-kit reads only relative paths.
    generate(folder, dialect, relative(".", scratch), undefined);
    return readdirSync(scratch).length === before;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

const words = process.argv.slice(2);
if (words[0] === "--check") {
  const stale = Object.entries(DIALECTS).filter(([folder, dialect]) => !isCurrent(folder, dialect));
  if (stale.length > 0) {
    console.error(
      `Tables and migrations differ (${stale.map(([folder]) => folder).join(", ")}): run \`bun run migrations NAME\``,
    );
    process.exit(1);
  }
} else {
  for (const [folder, dialect] of Object.entries(DIALECTS)) {
    generate(folder, dialect, join("data/migrations", folder), words[0]);
  }
}
