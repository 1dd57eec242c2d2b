import { apiOf } from "../support/harness.ts";
import { type CommandFolder, makeCommandFolder, run, startServer } from "../support/process.ts";
import { expectEqual } from "./expect_equal.ts";
import type { Work } from "./work.ts";
import type { World } from "./world.ts";

const KILLS = 2;

/** A fresh deployment whose first migration is killed, again and again, until it is left to end. */
export const migration: Work = (() => {
  const places = new WeakMap<World, CommandFolder>();
  return {
    name: "migration",
    lasts_ms: 1_000,
    async run(world) {
      const place = await makeCommandFolder();
      places.set(world, place);
      for (let i = 0; i < KILLS; i++) {
        const child = Bun.spawn(["bun", "src/main.ts", "migrate"], {
          env: place.env,
          stdout: "ignore",
          stderr: "ignore",
        });
        await Bun.sleep(100 + world.roll(500));
        child.kill("SIGKILL");
        await child.exited;
      }
    },
    async settle(world) {
      const place = places.get(world);
      if (!place) return;
      const { code, err } = await run(["migrate"], place.env);
      expectEqual([code, code === 0 ? "" : err], [0, ""], "the migration after a kill");
      const server = await startServer(place.env);
      const { status } = await apiOf(server.url, {})("GET", "origin:/ready");
      expectEqual(status, 200, "the readiness after a killed migration");
      server.kill("SIGKILL");
      await server.exited;
      place.remove();
    },
  };
})();
