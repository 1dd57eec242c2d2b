import type { Deps } from "../app/deps.ts";
import type { DemoAccount } from "../console/server/demo_accounts.ts";
import { call } from "../app/operation.ts";
import { decode } from "../core/validate.ts";
import { AddCompany } from "../billing/companies/model.ts";
import { foundCompany, listCompanies } from "../billing/companies/service.ts";
import { interruptCollections } from "../emandate/collections/service.ts";
import { listFollowingCompanies } from "../billing/billing_model_changes/follow_time_zones.ts";
import { followZoneRules } from "../billing/billing_model_changes/service.ts";
import { interruptRuns } from "../billing/runs/service.ts";
import { releaseIdempotencyKeys } from "../idempotency/service.ts";
import { randomPassword } from "../core/passwords.ts";
import { removeSentBlocks } from "../usage/import/sent_block.ts";
import { startBackups } from "../server/backups.ts";
import { startShipping } from "../server/ship_log.ts";
import { startJobs } from "../server/scheduler.ts";
import { listen, type Server } from "../server/listen.ts";
import { ACTIONS } from "./actions.ts";
import { commandContext, operatorContext } from "./command.ts";

/** An opened service at work. */
interface Serving {
  server: Server;
  /** The email of the admin that this start created; null if there was one. */
  first_admin: string | null;
  /** Gives up what other instances go on with, where there are any; requests are answered as before. */
  leave(): Promise<void>;
  /** Answers what is in flight, ends the jobs and closes both stores. */
  stop(): Promise<void>;
}

/** Sets an opened service to work: its first company, what a killed process left behind, HTTP, the jobs. */
export async function startServing(deps: Deps, demo_accounts: readonly DemoAccount[] = []): Promise<Serving> {
  const first_admin = await addFirstCompany(deps);
  await recoverInterruptedWork(deps);
  for (const id of await listFollowingCompanies(deps.store.read, deps.clock.now())) {
    await call(commandContext(deps, id), followZoneRules, {});
  }
  removeSentBlocks(deps.config.data_dir);
  const server = await listen(deps, ACTIONS, demo_accounts);
  const stopJobs = startJobs(deps);
  const stopBackups = startBackups(deps);
  const stopShipping = await startShipping(deps);
  return {
    server,
    first_admin,
    leave() {
      stopBackups();
      return deps.leave();
    },
    async stop() {
      stopBackups();
      await Promise.all([server.stop(), stopJobs(), deps.background.stop()]);
      await stopShipping();
      await deps.close();
    },
  };
}

/** On the very first start there must be someone who can sign in. Returns their email, else null. */
async function addFirstCompany(deps: Deps): Promise<string | null> {
  const ctx = operatorContext(deps);
  if ((await call(ctx, listCompanies, {})).length > 0) return null;
  const { company_name, admin_email, admin_password } = deps.config;
  const password = admin_password ?? randomPassword();
  const input = decode(AddCompany, { name: company_name, admin_email, admin_password: password });
  const { founded } = await call(ctx, foundCompany, input);
  // Another instance that started at the same time was first.
  if (!founded) return null;
  console.log(`Created the company ${input.name} with the admin ${input.admin_email}`);
  if (admin_password === null) console.log(`Its password, shown only now: ${password}`);
  return input.admin_email;
}

/** What a killed process left behind, where only this one can be at work. Among several instances jobs look for it. */
async function recoverInterruptedWork(deps: Deps): Promise<void> {
  if (deps.instances.url !== null) return;
  for (const { id } of await call(operatorContext(deps), listCompanies, {})) {
    await call(commandContext(deps, id), interruptRuns, {});
    await call(commandContext(deps, id), interruptCollections, {});
    await call(commandContext(deps, id), releaseIdempotencyKeys, {});
  }
}
