import { AppError } from "../../../src/core/errors.ts";
import { prepareAppend, usageOf } from "../../../src/usage_store/append/append_request.ts";
import type { AppendDecision, StoredRow } from "../../../src/usage_store/append/deduplicate.ts";
import { LaneWriter } from "../../../src/usage_store/clickhouse/append/lane_writer.ts";
import { LaneKeeper, type LaneService } from "../../../src/usage_store/clickhouse/lanes/lane_keeper.ts";
import {
  type LaneKnowledge,
  PreparedLanes,
} from "../../../src/usage_store/clickhouse/lanes/prepared_lanes.ts";
import type { LaneTools, Tenure } from "../../../src/usage_store/clickhouse/lanes/tenure.ts";
import { SipHash } from "../../../src/usage_store/index/siphash.ts";
import type { NewEvent } from "../../../src/usage_store/port.ts";
import { Random } from "./random.ts";
import { type SimBlock, SimEngine, SimLog, SimRow, SimRows, type SimStored } from "./services.ts";
import { SimProcess, World } from "./world.ts";

/** Changes what the protocol works with: what must not hold without it. */
export type Mutation = (tools: LaneTools<SimBlock>) => LaneTools<SimBlock>;

/** What a history has otherwise. */
export interface Changes {
  mutate?: Mutation | undefined;
  /** The number up to which a lane is read is noted after that. */
  is_noted_late?: boolean | undefined;
}

/** What came of a history. */
export interface Outcome {
  wrong: string[];
  answers: number;
  accepted: number;
  owners: number;
  /** Owners that had read the lane before they took it. */
  prepared: number;
  dropped: number;
}

const HASH = new SipHash(new Uint8Array(16));
const COMPANY = 1;
const IDS = Array.from({ length: 60 }, (_, i) => `00000000-0000-4000-8000-0000000000${10 + i}`);
const LIMITS = { group_events: 100, pending_events: 10_000, group_ms: 5, restMs: () => 50 };

const HISTORY_MS = 400_000;
const PROCESSES = 3;
const CLIENTS = 4;
const CALLS = 25;
const NOTED_LATE_MS = 1_000;

/** The index of the ids that a process knows. */
class SimIndex {
  readonly #known = new Map<string, number[]>();

  find(high: number, low: number): readonly number[] {
    return this.#known.get(`${high} ${low}`) ?? [];
  }

  addEvent(high: number, low: number, timestamp: number): void {
    this.#known.set(`${high} ${low}`, [timestamp]);
  }
}

/** What a process has read of the lane. */
class SimKnowledge implements LaneKnowledge {
  readonly rows: StoredRow[] = [];
  readonly #log: SimLog;
  readonly #engine: SimEngine;
  readonly #is_noted_late: boolean;
  #read_to = 0;

  constructor(log: SimLog, engine: SimEngine, is_noted_late: boolean) {
    this.#log = log;
    this.#engine = engine;
    this.#is_noted_late = is_noted_late;
  }

  async readOn(): Promise<void> {
    const note = () => this.#log.ask(() => this.#engine.last_seq);
    let read_to = await note();
    const isPast = ({ seq }: SimStored) => seq > this.#read_to && seq <= read_to;
    this.rows.push(...(await this.#log.ask(() => this.#engine.rows.filter(isPast))));
    if (this.#is_noted_late) {
      await this.#log.pause(NOTED_LATE_MS);
      read_to = await note();
    }
    this.#read_to = read_to;
  }
}

/** A lane as a process serves it. */
class SimService implements LaneService {
  readonly #writer: LaneWriter<SimBlock>;

  constructor(
    tenure: Tenure<SimBlock>,
    rows: readonly StoredRow[],
    log: SimLog,
    engine: SimEngine,
    process: SimProcess,
  ) {
    const index = new SimIndex();
    for (const { id, timestamp } of rows) {
      const { words } = prepareAppend(COMPANY, [eventOf({ id, usage: "1", timestamp })], 0, HASH);
      index.addEvent(words[4] ?? 0, words[5] ?? 0, timestamp);
    }
    this.#writer = new LaneWriter(
      {
        tenure,
        index,
        clock: process.clock,
        check: () => undefined,
        findRows: (candidates) =>
          log.ask(() => engine.rows.filter(({ id }) => candidates.some((one) => one.id === id))),
        encode: (decisions) => decisions.flatMap(rowsOf),
        onStored: () => undefined,
        refusal: unavailable,
      },
      LIMITS,
    );
  }

  append(event: NewEvent) {
    return this.#writer.append(prepareAppend(COMPANY, [event], 0, HASH));
  }

  exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#writer.exclusive(work);
  }

  close(): Promise<void> {
    return this.#writer.close(unavailable());
  }

  abandon(): Promise<void> {
    return this.#writer.abandon(unavailable());
  }
}

function unavailable(cause?: unknown): AppError {
  return new AppError("unavailable", "send it again", { cause });
}

function rowsOf({ request, fresh }: AppendDecision): StoredRow[] {
  return fresh.flatMap((position) => {
    const event = request.events[position];
    if (event === undefined) return [];
    const { id, subscription_id, timestamp, metadata } = event;
    const millionths = BigInt(usageOf(request, position));
    return [{ company_id: COMPANY, id, subscription_id, timestamp, millionths, metadata }];
  });
}

function eventOf(how: Pick<NewEvent, "id" | "usage" | "timestamp"> & Partial<NewEvent>): NewEvent {
  return { subscription_id: 1, timestamp_given: true, metadata: null, ...how };
}

/**
 * A history of one lane: processes take it, stall and die, calls and answers are lost, inserts land late, the clock of the
 * rows is set.
 */
export class History {
  readonly #random: Random;
  readonly #world = new World();
  readonly #engine = new SimEngine();
  readonly #row = new SimRow(this.#world);
  readonly #mutate: Mutation;
  readonly #is_noted_late: boolean;
  readonly #serving = new Set<LaneKeeper<SimBlock, SimService>>();
  readonly #processes = new Set<SimProcess>();
  readonly #wrong: string[] = [];
  #answers = 0;
  #accepted = 0;
  #owners = 0;
  #prepared = 0;
  #stopped_until_ms = 0;

  constructor(seed: number, { mutate = (tools) => tools, is_noted_late = false }: Changes = {}) {
    this.#random = new Random(seed);
    this.#mutate = mutate;
    this.#is_noted_late = is_noted_late;
  }

  async live(): Promise<Outcome> {
    for (let i = 0; i < PROCESSES; i++) this.#start(this.#random.below(3_000));
    for (let i = 0; i < CLIENTS; i++) void this.#send(CALLS);
    if (this.#random.oneIn(3)) this.#restoreRow();
    if (this.#random.oneIn(3)) this.#setClock();
    await this.#world.run(HISTORY_MS);
    const counts = Map.groupBy(this.#engine.rows, ({ id }) => id);
    for (const [id, rows] of counts)
      if (rows.length > 1) this.#wrong.push(`${id} is stored ${rows.length} times`);
    for (const token of this.#engine.overtaken) this.#wrong.push(`commit ${token} was overtaken`);
    return {
      wrong: this.#wrong,
      answers: this.#answers,
      accepted: this.#accepted,
      owners: this.#owners,
      prepared: this.#prepared,
      dropped: this.#engine.dropped,
    };
  }

  /** Starts a process, which dies one day and is replaced. */
  #start(delay_ms: number): void {
    const random = this.#random;
    this.#world.after(delay_ms, () => {
      const stopped_ms = this.#stopped_until_ms - this.#world.now_ms;
      if (stopped_ms > 0) return this.#start(stopped_ms + delay_ms);
      const process = new SimProcess(this.#world);
      const keeper = this.#keep(process);
      this.#serving.add(keeper);
      this.#processes.add(process);
      this.#disturb(process);
      this.#world.after(20_000 + random.below(200_000), () => {
        if (process.is_dead) return;
        const end = (): void => {
          process.is_dead = true;
          this.#processes.delete(process);
          this.#serving.delete(keeper);
        };
        if (random.oneIn(3)) void keeper.close().finally(end);
        else end();
        this.#start(random.below(20_000));
      });
    });
  }

  /** One day all processes are stopped, and the row is put back to an earlier time. */
  #restoreRow(): void {
    const random = this.#random;
    let copy = this.#row.copy();
    this.#world.after(10_000 + random.below(60_000), () => {
      copy = this.#row.copy();
    });
    this.#world.after(80_000 + random.below(150_000), () => {
      for (const process of this.#processes) process.is_dead = true;
      this.#processes.clear();
      this.#serving.clear();
      this.#row.restore(copy);
      // Nobody puts a database back within the time that an insert may be under way.
      this.#stopped_until_ms = this.#world.now_ms + 31_000;
      for (let i = 0; i < PROCESSES; i++) this.#start(random.below(3_000));
    });
  }

  /** Now and then the clock of the rows is set, ahead or back. */
  #setClock(): void {
    this.#world.after(this.#random.below(60_000), () => {
      this.#row.ahead_ms += this.#random.below(60_000) - 30_000;
      this.#setClock();
    });
  }

  #keep(process: SimProcess): LaneKeeper<SimBlock, SimService> {
    const random = this.#random;
    const log = new SimLog(this.#engine, this.#world, process, random);
    const rows = new SimRows(this.#row, this.#world, process, random);
    const holder = { id: String(random.next()), url: null };
    const tools = this.#mutate({ rows, log, clock: process.clock, holder });
    const readings = new PreparedLanes(async () => {
      const knowledge = new SimKnowledge(log, this.#engine, this.#is_noted_late);
      await knowledge.readOn();
      return knowledge;
    }, process.clock);
    const keeper = new LaneKeeper<SimBlock, SimService>(tools, {
      open: async (tenure) => {
        this.#owners++;
        if (readings.has(0)) this.#prepared++;
        const { rows: stored } = await readings.take(0);
        return new SimService(tenure, stored, log, this.#engine, process);
      },
      onFailure: () => undefined,
    });
    const look = (): void => {
      void tools.rows
        .list(holder)
        .then(([state]) => state && keeper.see(state))
        .catch(() => undefined);
      process.after(500 + random.below(1_000), look);
    };
    process.after(random.below(500), look);
    const want = () => rows.want(0, holder);
    this.#wish(process, {
      want: () => (random.oneIn(4) ? want() : readings.prepare(0).then(want)),
      raise: () => rows.raise(this.#row.epoch + 1 + random.below(3)),
    });
    return keeper;
  }

  /** Now and then it wants the lane, which it may have read before, or all lanes in a later epoch. */
  #wish(process: SimProcess, wishes: Record<"want" | "raise", () => Promise<void>>): void {
    process.after(5_000 + this.#random.below(120_000), () => {
      const wished = this.#random.oneIn(2) ? wishes.want() : wishes.raise();
      void wished.catch(() => undefined);
      this.#wish(process, wishes);
    });
  }

  #disturb(process: SimProcess): void {
    process.after(this.#random.below(30_000), () => {
      process.stall(this.#random.below(this.#random.oneIn(2) ? 4_000 : 40_000));
      this.#disturb(process);
    });
  }

  /** A client: sends events of few ids, some with other content, and never twice at once. */
  async #send(calls: number): Promise<void> {
    const random = this.#random;
    for (let i = 0; i < calls; ) {
      await new Promise<void>((resolve) => this.#world.after(random.below(3_000), resolve));
      const services = [...this.#serving].flatMap(({ service }) => service ?? []);
      // Mostly there is one; while a process stalls there may be two.
      const service = services[random.below(services.length)];
      if (service === undefined) continue;
      i++;
      const event = eventOf({
        id: IDS[random.below(IDS.length)] ?? "",
        usage: random.oneIn(8) ? "2" : "1",
        timestamp: 0,
        ...(random.oneIn(10) ? { only_if_stored: "too late" } : {}),
      });
      const before = this.#rowsOf(event);
      await this.#judge(event, before, service.append(event));
    }
  }

  async #judge(event: NewEvent, before: readonly StoredRow[], answer: ReturnType<SimService["append"]>) {
    const patience = new Promise<string>((resolve) => this.#world.after(60_000, () => resolve("none")));
    const what = await Promise.race([patience, answer.then(wordOf, wordOf)]);
    this.#answers++;
    const stored = this.#rowsOf(event);
    const same = stored.some(({ millionths }) => millionths === toMillionths(event));
    const other = stored.some(({ millionths }) => millionths !== toMillionths(event));
    if (what === "accepted") this.#accepted++;
    const is_right: Record<string, boolean> = {
      accepted: same,
      duplicate: same,
      conflict: other,
      invalid: before.length === 0,
    };
    if (is_right[what] === false) this.#wrong.push(`${event.id} was answered ${what}`);
  }

  #rowsOf({ id }: NewEvent): StoredRow[] {
    return this.#engine.rows.filter((row) => row.id === id);
  }
}

const toMillionths = ({ usage }: NewEvent) => BigInt(usage) * 1_000_000n;

/** The word for an answer or an error. */
function wordOf(answer: unknown): string {
  if (answer instanceof AppError) return answer.kind;
  if (typeof answer !== "object" || answer === null || !("accepted" in answer)) throw answer;
  return answer.accepted === 1 ? "accepted" : "duplicate";
}
