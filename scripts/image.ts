// `bun run image` builds the image `meterhouse` with docker or buildah, tries it where docker runs, and writes its list
// of packages to meterhouse.cdx.json. Without an engine it says so and does nothing. `--tag NAME` names it otherwise.

import { parseArgs } from "node:util";
import { outputOf } from "./output_of.ts";

const { values } = parseArgs({ options: { tag: { type: "string", default: "meterhouse" } } });
const { tag } = values;

const output = (...command: string[]) => outputOf(command);

function run(...command: string[]): void {
  const { exitCode } = Bun.spawnSync(command, { stdout: "inherit", stderr: "inherit" });
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed with ${exitCode}`);
}

/** The one that builds here: docker with its daemon, else buildah. */
function findEngine(): "docker" | "buildah" | null {
  if (output("docker", "info", "--format", "{{.ServerVersion}}") !== null) return "docker";
  return output("buildah", "version") === null ? null : "buildah";
}

/**
 * Serves with a read-only root and a new volume, until it is healthy; takes and verifies a backup, for which a command
 * unpacks DuckDB by itself. SIGTERM must end it with 0.
 */
async function tryImage(): Promise<void> {
  const backups = ["-e", "BACKUP_URL=file:///data/backups"];
  const id = output("docker", "run", "-d", "--read-only", "--cap-drop=ALL", "-v", "/data", ...backups, tag);
  if (id === null) throw new Error(`Cannot run ${tag}`);
  try {
    let is_healthy = false;
    for (let tries = 0; tries < 40 && !is_healthy; tries++) {
      await Bun.sleep(500);
      is_healthy = output("docker", "exec", id, "/usr/local/bin/meterhouse", "health", "--ready") !== null;
    }
    if (!is_healthy) throw new Error(`${tag} does not get ready: ${output("docker", "logs", id)}`);
    for (const words of [["backup"], ["backup", "verify"]])
      run("docker", "exec", id, "/usr/local/bin/meterhouse", ...words);
    run("docker", "stop", "--time", "15", id);
    const code = output("docker", "inspect", "--format", "{{.State.ExitCode}}", id);
    if (code !== "0") throw new Error(`${tag} ended with ${code} on SIGTERM`);
  } finally {
    output("docker", "rm", "-f", "-v", id);
  }
}

const engine = findEngine();
if (engine === null) {
  console.log("skip  image: neither docker with its daemon nor buildah is here");
  process.exit(0);
}
const from = [
  `COMMIT=${output("git", "rev-parse", "--short", "HEAD") ?? "unknown"}`,
  `COMMIT_DATE=${output("git", "log", "-1", "--format=%cs") ?? "unknown"}`,
].flatMap((argument) => ["--build-arg", argument]);
// HEALTHCHECK is docker's: the OCI format has none.
const build = engine === "docker" ? ["build"] : ["build", "--format", "docker"];
run(engine, ...build, ...from, "-t", tag, ".");
if (engine === "docker") await tryImage();
await Bun.write("meterhouse.cdx.json", `${output("bun", "scripts/sbom.ts")}\n`);
console.log(`ok    image ${tag}, built by ${engine}; its packages are in meterhouse.cdx.json`);
