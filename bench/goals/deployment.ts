import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import type { Cleanup } from "../cleanup.ts";
import { addCompanies } from "../companies.ts";
import { Company, type RecordCounts } from "../company.ts";
import { HISTORY_DAYS } from "../events.ts";
import { runProcess } from "../processes.ts";
import { DAY_MS } from "../queries.ts";
import { Service } from "../service.ts";
import { shaped } from "../shape.ts";
import type { Progress } from "../bench.ts";

/**
 * The companies of the deployment, in this order: a large one, a middle one and a small one, one that stores
 * what is measured while it is stored, so that the others stay as they are, and many more.
 */
const NAMED = ["large", "middle", "small", "writer"] as const;
const OTHERS = 60;

const LARGE_SHARE = 0.3;
/** Middle and small companies have the same events however many the others have. */
const MIDDLE_EVENTS = 100_000;
const SMALL_EVENTS = 10_000;

const RECORDS: Record<(typeof NAMED)[number] | "other", RecordCounts> = {
  large: { clients: 40, products: 6, subscriptions: 200 },
  middle: { clients: 20, products: 5, subscriptions: 50 },
  small: { clients: 5, products: 3, subscriptions: 10 },
  writer: { clients: 20, products: 3, subscriptions: 50 },
  other: { clients: 3, products: 2, subscriptions: 10 },
};

const Whole = Type.Integer({ minimum: 0 });

/** What a folder holds, written beside the data so that a later run can use it again. */
const Manifest = Type.Object({
  events: Whole,
  /** False until all events are stored. */
  stored: Type.Boolean(),
  /** The time of the events, from inclusive, until exclusive. */
  from_ms: Whole,
  until_ms: Whole,
  companies: Type.Array(
    Type.Object({
      id: Whole,
      email: Type.String(),
      events: Whole,
      subscriptions: Type.Array(
        Type.Object({
          id: Whole,
          external_subscription_id: Type.String(),
          client_id: Whole,
          product_id: Whole,
        }),
      ),
    }),
  ),
});
export type Manifest = Static<typeof Manifest>;

/** The service with many companies and their events; four of the companies are queried. */
export interface Deployment {
  manifest: Manifest;
  service: Service;
  companies: Record<(typeof NAMED)[number], Company>;
}

/** The service's data directory in a deployment's folder. */
export const dataDir = (folder: string) => join(folder, "data");
const manifestFile = (folder: string) => join(folder, "bench.json");

/**
 * Makes a deployment with so many events, in `keep` or in a folder that is deleted at the end; or opens the one
 * that `keep` has. The service then runs.
 */
export async function openDeployment(
  cleanup: Cleanup,
  events: number,
  { keep, progress }: { keep: string | undefined; progress: Progress },
): Promise<Deployment> {
  const folder = keep ?? cleanup.folder();
  if (!existsSync(manifestFile(folder))) await make(cleanup, folder, events, progress);
  const manifest = readManifest(folder);
  if (!manifest.stored)
    throw new Error(`Cannot use ${folder}: an earlier run did not store all events; remove it`);
  if (manifest.events !== events)
    throw new Error(`Cannot use ${folder}: it holds ${manifest.events} events, not ${events}`);
  const service = new Service(cleanup, dataDir(folder));
  progress("starting the service, and waiting until it has put its store in order");
  await service.start();
  await service.rest();
  const [large, middle, small, writer] = await Promise.all(
    NAMED.map((_, i) => openCompany(service, manifest, i)),
  );
  if (!large || !middle || !small || !writer) throw new Error(`Cannot use ${folder}: it lacks companies`);
  return { manifest, service, companies: { large, middle, small, writer } };
}

export function readManifest(folder: string): Manifest {
  const read: unknown = JSON.parse(readFileSync(manifestFile(folder), "utf8"));
  return shaped(Manifest, read, manifestFile(folder));
}

async function openCompany(service: Service, manifest: Manifest, i: number): Promise<Company> {
  const { id, email, subscriptions } = manifest.companies[i] ?? { id: 0, email: "", subscriptions: [] };
  const company = new Company(service, id, email);
  company.subscriptions = subscriptions;
  await company.signIn();
  return company;
}

async function make(cleanup: Cleanup, folder: string, events: number, progress: Progress): Promise<void> {
  const data_dir = dataDir(folder);
  if (existsSync(data_dir)) throw new Error(`Cannot use ${folder}: it holds data of something else`);
  mkdirSync(data_dir, { recursive: true });
  progress(`making ${NAMED.length + OTHERS} companies`);
  const counts = shares(events);
  const added = await addCompanies(
    data_dir,
    counts.map((_, i) => NAMED[i] ?? `other-${i}`),
  );
  const service = new Service(cleanup, data_dir);
  await service.start();
  const until_ms = Temporal.Now.instant().epochMilliseconds;
  const manifest: Manifest = {
    events,
    stored: false,
    from_ms: until_ms - HISTORY_DAYS * DAY_MS,
    until_ms,
    companies: [],
  };
  for (const [i, { id, email }] of added.entries()) {
    const company = new Company(service, id, email);
    await company.signIn();
    await company.makeRecords(RECORDS[NAMED[i] ?? "other"]);
    manifest.companies.push({ id, email, events: counts[i] ?? 0, subscriptions: [...company.subscriptions] });
  }
  await service.stop();
  writeFileSync(manifestFile(folder), JSON.stringify(manifest));
  progress(`storing ${events.toLocaleString("en-US")} events`);
  // In a process of its own: what its stored ids take of memory goes with it.
  await runProcess(cleanup, ["bench/main.ts", "--seed", folder], {});
  writeFileSync(manifestFile(folder), JSON.stringify({ ...manifest, stored: true }));
}

/** The events of each company. */
function shares(events: number): number[] {
  const large = Math.floor(events * LARGE_SHARE);
  const middle = Math.min(MIDDLE_EVENTS, Math.floor(events / 20));
  const small = Math.min(SMALL_EVENTS, Math.floor(events / 200));
  const rest = events - large - middle - small;
  const others = Array.from(
    { length: OTHERS },
    (_, i) => Math.floor((rest * (i + 1)) / OTHERS) - Math.floor((rest * i) / OTHERS),
  );
  return [large, middle, small, 0, ...others];
}
