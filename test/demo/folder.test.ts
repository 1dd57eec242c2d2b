import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../src/core/config.ts";
import { demoConfig, findDemo, refuseDemo, takeFolder, writeMark } from "../../src/demo/folder.ts";
import { MADE_AT, SMALL } from "../support/small_demo.ts";

const parent = mkdtempSync(join(tmpdir(), "meterhouse-demo-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

/** A path below the parent where nothing is yet. */
const newPath = () => join(parent, crypto.randomUUID());

/** The id of a process that has ended. */
async function endedProcess(): Promise<number> {
  const child = Bun.spawn(["true"]);
  await child.exited;
  return child.pid;
}

describe("the settings of the demo", () => {
  test("lead to its own folder and nowhere else, whatever a real deployment has", () => {
    const config = demoConfig(
      readConfig({
        DATA_DIR: "/srv/billing/var",
        PORT: "8080",
        LOG_LEVEL: "warn",
        HOST: "0.0.0.0",
        PUBLIC_URL: "https://billing.example.com",
        DATABASE_URL: "postgres://meterhouse:secret@db/meterhouse",
        BACKUP_URL: "s3://bucket/prefix",
        FPX_URL: "https://fpx.example.com",
        OPERATOR_TOKEN: "x".repeat(40),
        METRICS_PORT: "9100",
        ADMIN_PASSWORD: "correct horse battery",
      }),
    );
    expect(config).toEqual({
      ...readConfig({}),
      port: 8080,
      log_level: "warn",
      host: "127.0.0.1",
      data_dir: "/srv/billing/demo",
      is_production: false,
    });
  });
});

describe("the folder of the demo", () => {
  test("is not there, or empty: there is no demo yet", () => {
    const path = newPath();
    expect(findDemo(path)).toBeNull();
    mkdirSync(path);
    expect(findDemo(path)).toBeNull();
  });

  test("with data of something else is refused, and left as it is", () => {
    const path = newPath();
    mkdirSync(path);
    writeFileSync(join(path, "meterhouse.sqlite"), "somebody's");
    expect(() => findDemo(path)).toThrow(`${path} holds data of something else`);
    expect(existsSync(join(path, "meterhouse.sqlite"))).toBe(true);
  });

  test("is not one that a start without --demo takes", () => {
    const path = newPath();
    refuseDemo({ data_dir: path });
    takeFolder(path, MADE_AT, SMALL);
    expect(() => refuseDemo({ data_dir: path })).toThrow("holds the demo; start it with --demo");
  });

  test("that was made is found, with its own password", () => {
    const [one, other] = [newPath(), newPath()];
    const mark = { ...takeFolder(one, MADE_AT, SMALL), making: null };
    writeMark(one, mark);
    expect(findDemo(one)).toEqual(mark);
    expect(takeFolder(other, MADE_AT, SMALL).password).not.toBe(mark.password);
  });

  test("that a process left unfinished is emptied and taken; one that is at work keeps it", async () => {
    const path = newPath();
    const mark = takeFolder(path, MADE_AT, SMALL);
    writeFileSync(join(path, "usage.duckdb"), "half");
    writeMark(path, { ...mark, making: await endedProcess() });
    expect(findDemo(path)).toBeNull();
    expect(takeFolder(path, MADE_AT, SMALL).making).toBe(process.pid);
    expect(existsSync(join(path, "usage.duckdb"))).toBe(false);

    const working = Bun.spawn(["sleep", "600"]);
    try {
      writeMark(path, { ...mark, making: working.pid });
      expect(() => takeFolder(path, MADE_AT, SMALL)).toThrow(`process ${working.pid} is making it`);
    } finally {
      working.kill();
      await working.exited;
    }
  });

  test("that another process has made meanwhile is not made again", () => {
    const path = newPath();
    writeMark(path, { ...takeFolder(path, MADE_AT, SMALL), making: null });
    writeFileSync(join(path, "usage.duckdb"), "whole");
    expect(() => takeFolder(path, MADE_AT, SMALL)).toThrow("another process has just made it");
    expect(existsSync(join(path, "usage.duckdb"))).toBe(true);
  });

  test("whose mark is damaged is neither served nor deleted", () => {
    const path = newPath();
    mkdirSync(path);
    writeFileSync(join(path, "demo.json"), "{");
    expect(() => findDemo(path)).toThrow("demo.json is damaged");
    expect(() => takeFolder(path, MADE_AT, SMALL)).toThrow("demo.json is damaged");
    expect(existsSync(join(path, "demo.json"))).toBe(true);
  });
});
