import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCommandFolder, startServer } from "../support/process.ts";
import { PASSWORD, TEST_STORE } from "../support/harness.ts";
import { TESTS_ALL } from "../support/properties.ts";
import { type Block, blocksOf, openTerminal, patternOf } from "../support/terminal.ts";

// The README's tour and docs/tour.md, which goes on from it, pasted block by block into bash and zsh, against a real
// server.

const ROOT = join(import.meta.dir, "../..");

/** The blocks of commands of both tours, in the order in which people follow them. */
function readTour(): Block[] {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const short = readme.slice(readme.indexOf("## A tour"), readme.indexOf("## Figures"));
  const long = readFileSync(join(ROOT, "docs/tour.md"), "utf8");
  return blocksOf(short + long);
}

for (const shell of ["bash", "zsh"]) {
  const lacks = [shell, "jq", "curl"].find((program) => !Bun.which(program));
  if (lacks) console.log(`skipped: the tour in ${shell}: there is no ${lacks}`);
  // PostgreSQL keeps the members of a line in another order than the page shows them in.
  const is_other = TEST_STORE !== "sqlite";
  // One shell is enough for most checks.
  const is_left_out = shell === "zsh" && !TESTS_ALL;

  test.skipIf(lacks !== undefined || is_other || is_left_out)(
    `the tours of the README and docs/tour.md work as they are pasted into ${shell}`,
    async () => {
      const place = await makeCommandFolder();
      // The tour writes files where it is walked.
      const folder = mkdtempSync(join(tmpdir(), "meterhouse-clone-"));
      for (const part of ["src", "data"]) symlinkSync(join(ROOT, part), join(folder, part));
      const server = await startServer(place.env);
      const { port } = new URL(server.url);
      const tour = readTour();
      expect(tour.length).toBeGreaterThan(25);
      const terminal = openTerminal(shell, folder, { ...place.env, HOME: place.data_dir });
      try {
        for (const { commands, shown } of tour) {
          const own = commands
            .replace("http://localhost:3000", `http://127.0.0.1:${port}`)
            .replace("the password that the first start printed", PASSWORD);
          const answer = await terminal.paste(own);
          if (shown !== null) expect(answer, commands).toMatch(patternOf(shown));
        }
        expect(await terminal.end()).toBe("");
      } finally {
        terminal.kill();
        server.kill("SIGKILL");
        await server.exited;
        place.remove();
        rmSync(folder, { recursive: true });
      }
    },
  );
}
