import { readConfig } from "../../src/core/config.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { type Dice, dice, pick } from "../support/dice.ts";
import type { Json } from "../support/harness.ts";
import { proveEveryBill } from "../support/prove_bills.ts";
import type { Finding } from "../support/report.ts";
import { until } from "../support/webhook_receiver.ts";
import { BACKUP_WORKS } from "./backup_works.ts";
import { collection } from "./debit_work.ts";
import { expectEqual } from "./expect_equal.ts";
import { migration } from "./migration_work.ts";
import { RECORD_WORKS } from "./record_works.ts";
import { USAGE_WORKS } from "./usage_works.ts";
import { resumed } from "./resume_work.ts";
import type { Work } from "./work.ts";
import { closeWorld, openWorld, startWorld, type World } from "./world.ts";

const WORKS: readonly Work[] = [
  ...USAGE_WORKS,
  ...RECORD_WORKS,
  ...BACKUP_WORKS,
  resumed,
  collection,
  migration,
];
/** After so many a fresh deployment, so that checks stay short. */
const ROUNDS_A_WORLD = 10;
const DELIVERED_MS = 60_000;
const RESTART_MS = 5_000;

export interface ChaosPlan {
  rounds: number;
  seed: number;
  /** The works to choose from; all of them without names. */
  works?: readonly string[];
  progress(line: string): void;
}

/** What all rounds came to. */
export interface ChaosResult {
  rounds: number;
  kills: number;
  longest_restart_ms: number;
  bills: number;
  debits: number;
  events: number;
  messages: number;
  works: Record<string, number>;
}

const count = (n: number) => n.toLocaleString("en-US");

/** The findings of rounds: the first that does not hold has ended them, but for slow restarts. */
export function chaosFindings(result: ChaosResult): Finding[] {
  const { rounds, kills, longest_restart_ms, bills, debits, events, messages, works } = result;
  const holds = true;
  return [
    { what: "rounds", measured: `${rounds}, ${kills} kills`, holds },
    {
      what: `restart ≤ ${RESTART_MS / 1_000} s`,
      measured: `longest ${Math.round(longest_restart_ms)} ms`,
      holds: longest_restart_ms <= RESTART_MS,
    },
    { what: "usage events stored once each", measured: count(events), holds },
    { what: "bills proved from the stored events", measured: count(bills), holds },
    { what: "debits sent once each, by the scheme's record", measured: count(debits), holds },
    { what: "every event delivered at least once", measured: `${count(messages)} messages`, holds },
    ...Object.entries(works).map(([name, n]) => ({ what: `in ${name}`, measured: `${n} rounds`, holds })),
  ];
}

/** Kills a deployment in its work, round after round. Errors: throws the first that does not hold, with its seed. */
export async function killInRounds(plan: ChaosPlan): Promise<ChaosResult> {
  const result: ChaosResult = {
    rounds: 0,
    kills: 0,
    longest_restart_ms: 0,
    bills: 0,
    debits: 0,
    events: 0,
    messages: 0,
    works: {},
  };
  const deck = plan.works ? WORKS.filter(({ name }) => plan.works?.includes(name)) : WORKS;
  for (let first = 0; first < plan.rounds; first += ROUNDS_A_WORLD) {
    const seed = plan.seed + first;
    const world = await openWorld(seed);
    let round = first;
    try {
      for (; round < Math.min(first + ROUNDS_A_WORLD, plan.rounds); round++) {
        const chosen = choose(dice(plan.seed + round), deck);
        const started = performance.now();
        await playRound(world, chosen, result);
        const seconds = ((performance.now() - started) / 1_000).toFixed(1);
        plan.progress(
          `round ${round + 1}, seed ${plan.seed + round}: ${chosen.map(({ name }) => name).join(", ")} (${seconds} s)`,
        );
      }
      await endWorld(world, result);
      world.place.remove();
    } catch (error) {
      await closeWorld(world).catch(() => undefined);
      const where = `Round ${round + 1} does not hold; again: --seed ${seed} --rounds ${round - first + 1}; the folder is ${world.place.data_dir}`;
      throw new Error(`${where}\n${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }
  return result;
}

/** One to three works that go on at once; one that needs the server stopped stands alone. */
function choose(roll: Dice, deck: readonly Work[]): Work[] {
  const first = pick(roll, deck);
  if (first.command) return [first];
  const others = deck.filter((work) => work !== first && !work.command && work.name !== "compaction");
  const more = Array.from({ length: others.length > 0 ? roll(3) : 0 }, () => pick(roll, others));
  return [...new Set([first, ...more])];
}

async function playRound(world: World, works: readonly Work[], result: ChaosResult): Promise<void> {
  for (const work of works) await work.prepare?.(world);
  const moment_ms = 30 + world.roll(Math.max(...works.map(({ lasts_ms }) => lasts_ms)));
  const [alone] = works;
  if (alone?.command) await killCommand(world, await alone.command(world), moment_ms);
  else await killServer(world, works, moment_ms);
  result.kills += 1;
  // The start is killed too, now and then: what recovers must survive its own end.
  if (world.roll(4) === 0) {
    const child = Bun.spawn(["bun", "test/chaos/recording_server.ts"], { env: world.env, stdout: "ignore" });
    await Bun.sleep(200 + world.roll(700));
    child.kill("SIGKILL");
    await child.exited;
    result.kills += 1;
  }
  const before = performance.now();
  world.server = await startWorld(world.env);
  const restart_ms = performance.now() - before;
  result.longest_restart_ms = Math.max(result.longest_restart_ms, restart_ms);
  for (const work of works) {
    await work.settle(world).catch((error) => {
      throw new Error(`${work.name}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    });
    result.works[work.name] = (result.works[work.name] ?? 0) + 1;
  }
  await checkDeliveries(world);
  result.rounds += 1;
}

async function killServer(world: World, works: readonly Work[], moment_ms: number): Promise<void> {
  const running = Promise.all(works.map(async (work) => work.run?.(world)));
  await Promise.race([Bun.sleep(moment_ms), running]);
  world.server.kill("SIGKILL");
  await world.server.exited;
  await running;
}

async function killCommand(world: World, words: readonly string[], moment_ms: number): Promise<void> {
  world.server.kill("SIGTERM");
  await world.server.exited;
  const child = Bun.spawn(["bun", "src/main.ts", ...words], {
    env: world.env,
    stdout: "ignore",
    stderr: "ignore",
  });
  await Promise.race([Bun.sleep(300 + moment_ms), child.exited]);
  child.kill("SIGKILL");
  await child.exited;
}

/** Every event reached the endpoint, at least once. */
async function checkDeliveries(world: World): Promise<void> {
  const total = async () => (await world.api("GET", "/events?limit=1")).body.meta.total;
  const got = () => new Set(world.receiver.received.map(({ headers }) => headers["webhook-id"])).size;
  await until(
    async () => got() >= (await total()) - world.events_before,
    "webhooks of all events",
    DELIVERED_MS,
  );
}

/** Stops a deployment in order and proves its bills. */
async function endWorld(world: World, result: ChaosResult): Promise<void> {
  const check: Json = await world.api("POST", "/usage/search", { limit: 1 });
  expectEqual(check.body.meta.total, world.usage.ids.length, "events in the end");
  result.events += world.usage.ids.length;
  result.messages += world.receiver.received.length;
  world.server.kill("SIGTERM");
  expectEqual(await world.server.exited, 0, "the exit code of the last server");
  await world.deps.close();
  await world.receiver.stop();
  const deps = await openDeps(
    readConfig({ ...world.place.env, LOG_LEVEL: "fatal", USAGE_QUERY_TIMEOUT: "120" }),
  );
  try {
    const { bills, unproved } = await proveEveryBill(deps);
    expectEqual(unproved, [], "bills that are not proved");
    result.bills += bills;
    const { different } = await deps.usage.check(null, 120_000);
    expectEqual(different, 0, "sums of usage by hour that are not those of their events");
  } finally {
    await deps.close();
  }
  const sent = await Bun.file(world.sent_file).text();
  result.debits += sent.split("\n").length - 1;
}
