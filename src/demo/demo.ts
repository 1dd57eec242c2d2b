import type { Deps } from "../app/deps.ts";
import type { DemoAccount } from "../console/server/demo_accounts.ts";
import type { Config } from "../core/config.ts";
import { PASSWORD_COST, type PasswordCost } from "../core/passwords.ts";
import type { Report } from "../server/operator/action.ts";
import { CLIENT_USERS, type Person, STAFF } from "./cast/company.ts";
import { type DemoSize, WHOLE } from "./cast/size.ts";
import { demoConfig, findDemo, type Mark, takeFolder, writeMark } from "./folder.ts";
import { Life } from "./live/life.ts";
import { makeDemo } from "./make.ts";

/** How a demo is prepared; tests make smaller ones, at a time of their own. */
interface PrepareOptions {
  report: Report;
  now?: Temporal.Instant;
  size?: DemoSize;
  password_cost?: PasswordCost;
}

/** A demo that is whole; its stores are not open. */
export interface Demo {
  config: Config;
  /** Who signs in by a button. */
  accounts: readonly DemoAccount[];
  /** Catches up with the time since it was last served, and opens what takes its webhooks. */
  open(deps: Deps): Promise<Life>;
}

/** Finds the demo in its folder beside DATA_DIR, or makes it there. Errors: throws one line that says what to do. */
export async function prepareDemo(configured: Config, options: PrepareOptions): Promise<Demo> {
  const config = demoConfig(configured);
  const mark = findDemo(config.data_dir) ?? (await make(config, options));
  return {
    config,
    accounts: accountsOf(mark),
    open: (deps) => Life.open(deps, mark, options.report),
  };
}

async function make(config: Config, options: PrepareOptions): Promise<Mark> {
  const { report, now = Temporal.Now.instant(), size = WHOLE, password_cost = PASSWORD_COST } = options;
  const { data_dir } = config;
  const begun_ms = performance.now();
  const taken = takeFolder(data_dir, now, size);
  report.line(`Making the demo, thirteen months of a company, in ${data_dir}: once, in half a minute`);
  const { password } = taken;
  const { receiver_port } = await makeDemo(config, { now, password, password_cost, size, report });
  const mark = { ...taken, making: null, receiver_port };
  writeMark(data_dir, mark);
  report.line(`Made the demo in ${((performance.now() - begun_ms) / 1_000).toFixed(1)} s`);
  return mark;
}

/** The first of the staff of each role, and of a client's people. */
function accountsOf({ password }: Mark): DemoAccount[] {
  const { admin, manager, analyst, loan_officer } = STAFF;
  const people: Person[] = [admin, manager, analyst, loan_officer, ...CLIENT_USERS.slice(0, 1)];
  return people.map(({ role, name, email }) => ({ role, name, email, password }));
}
