import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { type Config, readConfig } from "../core/config.ts";
import { errorCode } from "../core/error_code.ts";
import { unmendable } from "../core/exit_codes.ts";
import { randomPassword } from "../core/passwords.ts";
import { decode } from "../core/validate.ts";
import type { DemoSize } from "./cast/size.ts";

/** The file by which a folder is known to be the demo's. */
const MARK = "demo.json";

const Mark = Type.Object({
  /** The process that makes it; null once it is whole. */
  making: Type.Union([Type.Integer(), Type.Null()]),
  /** The end of the past that was made. */
  made_at: Type.String(),
  /** Of everybody who signs in to it. */
  password: Type.String(),
  /** Where its webhooks go on this machine. */
  receiver_port: Type.Integer(),
  /** Its size. */
  clients: Type.Integer(),
  events: Type.Integer(),
});

/** What a folder of the demo knows of itself. */
export type Mark = Static<typeof Mark>;

/**
 * The demo's own settings: a folder beside DATA_DIR, this machine alone, and nothing that leads elsewhere: no database
 * server, no backups, no bank. The rest of what is configured is of how the program runs, and holds.
 */
export function demoConfig(config: Config): Config {
  const { port, data_dir, log_level, usage_memory_limit, disk_reserve_bytes } = config;
  return Object.freeze({
    ...readConfig({}),
    port,
    log_level,
    usage_memory_limit,
    disk_reserve_bytes,
    host: "127.0.0.1",
    data_dir: join(dirname(data_dir), "demo"),
    // Its webhooks stay on this machine.
    is_production: false,
  });
}

/** Errors: throws where the folder is the demo's: whoever knows it, knows its passwords. */
export function refuseDemo({ data_dir }: Pick<Config, "data_dir">): void {
  if (existsSync(join(data_dir, MARK)))
    throw unmendable(
      `Cannot start: ${data_dir} holds the demo; start it with --demo, or choose another DATA_DIR`,
    );
}

/** The mark of a demo that is whole; null where there is none yet. Errors: throws for a folder of something else. */
export function findDemo(data_dir: string): Mark | null {
  const mark = readMark(data_dir);
  if (mark === null) {
    if (isEmpty(data_dir)) return null;
    throw unmendable(
      `Cannot start the demo: ${data_dir} holds data of something else; the demo's folder is beside DATA_DIR, so choose another one`,
    );
  }
  return mark.making === null ? mark : null;
}

/**
 * Takes the folder for making the demo in it, and empties it of what an earlier process left unfinished. Errors: throws
 * while another process is making it.
 */
export function takeFolder(data_dir: string, made_at: Temporal.Instant, size: DemoSize): Mark {
  const before = readMark(data_dir);
  if (before?.making != null && isRunning(before.making))
    throw new Error(
      `Cannot start the demo: process ${before.making} is making it; wait for it, or end it and delete ${data_dir}`,
    );
  if (before?.making === null)
    throw new Error(`Cannot start the demo: another process has just made it in ${data_dir}; start again`);
  if (before !== null) rmSync(data_dir, { recursive: true, force: true });
  mkdirSync(data_dir, { recursive: true, mode: 0o700 });
  const mark = {
    making: process.pid,
    made_at: made_at.toString(),
    password: randomPassword(),
    receiver_port: 0,
    ...size,
  };
  // Of two processes that come at once one finds it taken.
  writeFileSync(join(data_dir, MARK), JSON.stringify(mark), { flag: "wx", mode: 0o600 });
  return mark;
}

/** Writes the mark down, whole or not at all. */
export function writeMark(data_dir: string, mark: Mark): void {
  const path = join(data_dir, MARK);
  writeFileSync(`${path}.new`, JSON.stringify(mark), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function readMark(data_dir: string): Mark | null {
  try {
    return decode(Mark, JSON.parse(readFileSync(join(data_dir, MARK), "utf8")));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw unmendable(`Cannot start the demo: ${join(data_dir, MARK)} is damaged; delete ${data_dir}`, error);
  }
}

function isEmpty(data_dir: string): boolean {
  try {
    return readdirSync(data_dir).length === 0;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return true;
    throw error;
  }
}

function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}
