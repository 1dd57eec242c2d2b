import { describe, expect, test } from "bun:test";
import { type Changes, History, type Mutation, type Outcome } from "./history.ts";

/** Few histories in every run; `LANE_HISTORIES=20000 bun test --timeout 36000000 test/sim/lanes` for a figure. */
const HISTORIES = Number(process.env.LANE_HISTORIES ?? 60);
const IS_LONG = process.env.LANE_HISTORIES !== undefined;
const SEED = Number(process.env.LANE_SEED ?? 1);
/** The histories among which a mutation must make one go wrong; one in two hundred does, at the least. */
const MUTATED = 2_000;

async function live(
  histories: number,
  { first, ...changes }: Changes & { first: number },
): Promise<Outcome & { wrong_histories: number }> {
  const sum = {
    wrong: [] as string[],
    answers: 0,
    accepted: 0,
    owners: 0,
    prepared: 0,
    dropped: 0,
    wrong_histories: 0,
  };
  for (let i = 0; i < histories; i++) {
    const seed = (first + i) * 7_919;
    const outcome = await new History(seed, changes).live();
    sum.wrong.push(...outcome.wrong.map((what) => `seed ${seed}: ${what}`));
    if (outcome.wrong.length > 0) sum.wrong_histories++;
    sum.answers += outcome.answers;
    sum.accepted += outcome.accepted;
    sum.owners += outcome.owners;
    sum.prepared += outcome.prepared;
    sum.dropped += outcome.dropped;
  }
  return sum;
}

test("whatever is lost, late, stalled or dead, each id is stored once and every answer is true", async () => {
  const { wrong, ...sum } = await live(HISTORIES, { first: SEED });
  if (IS_LONG) console.error(sum);
  expect(wrong).toEqual([]);
  expect(sum.accepted).toBeGreaterThan(HISTORIES);
  expect(sum.owners).toBeGreaterThan(HISTORIES * 3);
  expect(sum.prepared).toBeGreaterThan(HISTORIES / 4);
});

/** An object with some of its methods replaced. */
function changed<T extends object>(whole: T, part: Partial<T>): T {
  return new Proxy(whole, {
    get(target, name: keyof T & string) {
      const found = part[name] ?? target[name];
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
}

describe("without a part of the protocol answers are wrong:", () => {
  const MUTATIONS: Record<string, Mutation> = {
    "no check of trust": (tools) => {
      return { ...tools, rows: changed(tools.rows, { renew: async () => true }) };
    },
    "no voids": (tools) => {
      const isClosed = async () => ({ n: 0, is_void: true });
      return { ...tools, log: changed(tools.log, { tailOf: isClosed }) };
    },
    "no look at the last epoch where rows were put back": (tools) => {
      return { ...tools, log: changed(tools.log, { lastEpoch: async () => 0 }) };
    },
    "leases that end by the clock of the rows": (tools) => {
      const { rows } = tools;
      const list: typeof rows.list = async (...given) =>
        (await rows.list(...given)).map((state) => ({ ...state, is_free: state.owner === null }));
      return { ...tools, rows: changed(rows, { list }) };
    },
    "closing one epoch back": (tools) => {
      const { rows } = tools;
      const take: typeof rows.take = async (...given) => {
        const taken = await rows.take(...given);
        return taken && { ...taken, closed_epoch: taken.epoch - 2 };
      };
      return { ...tools, rows: changed(rows, { take }) };
    },
  };
  const changed_histories: [string, Changes][] = [
    ...Object.entries(MUTATIONS).map(([name, mutate]): [string, Changes] => [name, { mutate }]),
    ["a lane read ahead up to a number that is noted afterwards", { is_noted_late: true }],
  ];
  for (const [name, changes] of changed_histories) {
    test(name, async () => {
      let wrong = 0;
      for (let i = 0; i < MUTATED; i++) {
        wrong += (await live(1, { first: SEED + i, ...changes })).wrong_histories;
        // One is enough, unless they are to be counted.
        if (wrong > 0 && !IS_LONG) break;
      }
      if (IS_LONG) console.error(`${name}: ${wrong} of ${MUTATED} histories go wrong`);
      expect(wrong).toBeGreaterThan(0);
    });
  }
});
