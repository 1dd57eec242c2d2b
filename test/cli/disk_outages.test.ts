import { afterAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dice } from "../support/dice.ts";
import { makePreparedFolder, startServer } from "../support/process.ts";

// The data folder lies on a small ext4 of its own, which fills up, or which the kernel makes read-only as it does after an
// error of the disk, while clients write and read. DISK_ROUNDS=50 tries that often, by DISK_SEED; it takes the right to
// mount.

const ROUNDS = Number(process.env.DISK_ROUNDS ?? 0);
const roll = dice(Number(process.env.DISK_SEED ?? 1));
const folder = mkdtempSync(join(tmpdir(), "disk-outage-"));
const [image, disk] = [join(folder, "image"), join(folder, "disk")];

function system(...words: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(words);
  if (exitCode > 1) throw new Error(`${words.join(" ")}: ${stderr.toString()}`);
}
afterAll(() => {
  Bun.spawnSync(["umount", "-l", disk]);
  rmSync(folder, { recursive: true, force: true });
});

test.skipIf(ROUNDS === 0)(
  "a disk that is full or read-only is a 503, nothing that was answered is lost, and with room again it is well without a restart",
  async () => {
    mkdirSync(disk);
    writeFileSync(image, new Uint8Array(64e6));
    system("mkfs.ext4", "-q", image);
    system("mount", "-o", "loop", image, disk);
    const place = await makePreparedFolder();
    const data_dir = join(disk, "data");
    cpSync(place.data_dir, data_dir, { recursive: true });
    place.remove();
    const env = {
      ...place.env,
      DATA_DIR: data_dir,
      LOG_LEVEL: "fatal",
      RATE_LIMIT_ENABLED: "false",
    };
    let server = await startServer(env);
    let api = await server.signIn();
    const answered = new Set<string>();
    const statuses = new Map<string, number>();
    const client = (await api("POST", "/clients", { name: "First" })).body.data.id;
    answered.add("First");
    expect(client).toBeGreaterThan(0);
    const filler = join(disk, "filler");
    for (let round = 0; round < ROUNDS; round++) {
      const stop = new AbortController();
      const ask = api;
      const write = async (writer: number): Promise<void> => {
        for (let i = 0; !stop.signal.aborted; i++) {
          const name = `Round ${round} writer ${writer} ${i} ${"x".repeat(100)}`;
          const { status } = await ask("POST", "/clients", { name });
          const read = (await ask("GET", `/clients/${client}`)).status;
          for (const key of [`write ${status}`, `read ${read}`])
            statuses.set(key, (statuses.get(key) ?? 0) + 1);
          if (status === 201) answered.add(name);
        }
      };
      const writers = Promise.all([0, 1, 2].map(write));
      await Bun.sleep(50 + roll(100));
      if (round % 2 === 0) {
        mkdirSync(filler, { recursive: true });
        for (let i = 0; ; i++) {
          try {
            writeFileSync(join(filler, String(i)), new Uint8Array(i < 63 ? 1e6 : 4096));
          } catch {
            if (i >= 63) break;
          }
        }
        await Bun.sleep(300);
        rmSync(filler, { recursive: true });
      } else {
        system("mount", "-o", "remount,abort", disk);
        await Bun.sleep(300);
        stop.abort();
        await writers;
        server.kill("SIGKILL");
        await server.exited;
        system("umount", disk);
        system("e2fsck", "-fy", image);
        system("mount", "-o", "loop", image, disk);
        server = await startServer(env);
        api = await server.signIn();
      }
      await Bun.sleep(200);
      stop.abort();
      await writers;
      expect((await api("POST", "/clients", { name: `Round ${round} after` })).status).toBe(201);
      answered.add(`Round ${round} after`);
    }
    const names = new Map<string, number>();
    for (let page = 1, more = true; more; page++) {
      const { data } = (await api("GET", `/clients?limit=200&page=${page}`)).body;
      for (const { name } of data) names.set(name, (names.get(name) ?? 0) + 1);
      more = data.length > 0;
    }
    expect([...answered].filter((name) => names.get(name) !== 1)).toEqual([]);
    expect(
      [...statuses.keys()].filter((key) => !["write 201", "write 503", "read 200"].includes(key)),
    ).toEqual([]);
    expect(statuses.get("write 503") ?? 0).toBeGreaterThan(0);
    console.log({ rounds: ROUNDS, answered: answered.size, ...Object.fromEntries(statuses) });
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  },
  7_200_000,
);
