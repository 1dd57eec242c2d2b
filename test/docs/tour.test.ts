import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCommandFolder, startServer } from "../support/process.ts";
import { PASSWORD, TEST_STORE } from "../support/harness.ts";

// The README's tour and docs/tour.md, which goes on from it, pasted block by block into bash and zsh, against a real
// server.

const ROOT = join(import.meta.dir, "../..");

interface Block {
  commands: string;
  /** What it prints, as the page has it; null where the page shows nothing. */
  shown: string | null;
}

/** The blocks of commands of both tours, in the order in which people follow them. */
function readTour(): Block[] {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const short = readme.slice(readme.indexOf("## A tour"), readme.indexOf("## Figures"));
  const long = readFileSync(join(ROOT, "docs/tour.md"), "utf8");
  return [...(short + long).matchAll(/```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?/gs)].map(
    ([, commands = "", shown = null]) => ({ commands, shown }),
  );
}

/** What the page shows, where instants, secrets and durations are another time's. */
function patternOf(shown: string): RegExp {
  const exact = shown.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const times = exact
    .replaceAll(
      /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\\\.\d{3}Z/g,
      String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`,
    )
    .replaceAll(/20(?!23)\d\d-\d\d-\d\d/g, String.raw`\d{4}-\d\d-\d\d`)
    .replaceAll(/\b1[6-9]\d{11}\b/g, String.raw`\d{13}`)
    .replaceAll(/in \d+\\\.\d s/g, String.raw`in [\d.]+ s`);
  return new RegExp(`^${times.replaceAll("…", ".+")}$`);
}

for (const shell of ["bash", "zsh"]) {
  const lacks = [shell, "jq", "curl"].find((program) => !Bun.which(program));
  if (lacks) console.log(`skipped: the tour in ${shell}: there is no ${lacks}`);
  // PostgreSQL keeps the members of a line in another order than the page shows them in.
  const is_other = TEST_STORE !== "sqlite";

  test.skipIf(lacks !== undefined || is_other)(
    `the tours of the README and docs/tour.md work as they are pasted into ${shell}`,
    async () => {
      const place = await makeCommandFolder();
      // The tour writes files where it is walked.
      const folder = mkdtempSync(join(tmpdir(), "meterhouse-clone-"));
      for (const part of ["src", "data"]) symlinkSync(join(ROOT, part), join(folder, part));
      const start = () => startServer(place.env);
      let server = await start();
      // Imports want the server stopped; it stays so until the next other command.
      let serving = true;
      const port = new URL(server.url).port;
      // Where the tour restarts the server it is to be found again.
      place.env.PORT = port;
      const tour = readTour();
      expect(tour.length).toBeGreaterThan(25);
      const child = Bun.spawn([shell, ...(shell === "zsh" ? ["-f"] : ["--norc"])], {
        cwd: folder,
        env: { ...place.env, TERM: "dumb", HOME: place.data_dir },
        stdin: "pipe",
        stdout: "pipe",
        stderr: "pipe",
      });
      const lines = child.stdout.getReader();
      const decoder = new TextDecoder();
      let printed = "";
      /** Pastes a block, and reads what it prints. */
      const paste = async (commands: string): Promise<string> => {
        void child.stdin.write(`${commands}\nprintf '\\n:over\\n'\n`);
        void child.stdin.flush();
        while (!printed.endsWith("\n:over\n")) {
          const { value, done } = await lines.read();
          if (done) throw new Error(`${shell} ended: ${await child.stderr.text()}`);
          printed += decoder.decode(value, { stream: true });
        }
        const shown = printed.slice(0, -":over\n".length).trim();
        printed = "";
        return shown;
      };
      try {
        for (const { commands, shown } of tour) {
          const imports = commands.includes("src/main.ts import");
          if (imports && serving) {
            server.kill("SIGTERM");
            expect(await server.exited).toBe(0);
          } else if (!imports && !serving) {
            server = await start();
          }
          serving = !imports;
          const own = commands
            .replace("http://localhost:3000", `http://127.0.0.1:${port}`)
            .replace("the password that the first start printed", PASSWORD);
          const answer = await paste(own);
          if (shown !== null) expect(answer, commands).toMatch(patternOf(shown));
        }
        void child.stdin.end();
        expect(await child.stderr.text()).toBe("");
      } finally {
        child.kill();
        server.kill("SIGKILL");
        await server.exited;
        place.remove();
        rmSync(folder, { recursive: true });
      }
    },
    60_000,
  );
}
